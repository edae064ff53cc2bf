// The browser's history holds pages and sentences, each as it was left: Streamlit makes an entry of every change of the
// address, also of a step to the next token.
const TYPING_MS = 4000; // changes of the text that follow each other within this time are one entry

const textOf = ({ searchParams }) => searchParams.get("text") ?? searchParams.get("textz");

// On the way to another page Streamlit may set the new one's parameters before its path. Those are none of the page that
// is still in the address: the tab has its title by then. They come again with the path.
function isEarly(pages, { pathname }) {
  const last = pathname.split("/").pop();
  const shown = Object.values(pages).includes(last) ? last : "";
  return (pages[document.title] ?? shown) !== shown;
}

// On a narrow screen the list of pages lies over the page; who has chosen one wants to see it.
function closePages() {
  const open = document.querySelector('[data-testid="stSidebar"][data-collapsed="false"]');
  if (open && innerWidth < 768) open.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
}

export default function ({ data }) {
  if (history.headlight) return;
  history.headlight = true;
  const push = history.pushState;
  let changed = 0;
  history.pushState = function (state, title, url) {
    const from = new URL(location.href);
    const to = new URL(url ?? from, from);
    const otherPage = to.pathname !== from.pathname;
    if (!otherPage && isEarly(data, from)) return undefined;
    const otherText = Boolean(from.search) && textOf(to) !== textOf(from);
    const typing = otherText && performance.now() - changed < TYPING_MS;
    if (otherText) changed = performance.now();
    if (otherPage) closePages();
    const isStep = otherPage || (otherText && !typing);
    return (isStep ? push : history.replaceState).call(history, state, title, url);
  };
}
