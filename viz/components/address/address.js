// The browser's history holds pages, each as it was left: Streamlit makes an entry of every change of the address, also
// of a step to the next token.
export default function () {
  if (history.headlight) return;
  history.headlight = true;
  const push = history.pushState;
  history.pushState = function (state, title, url) {
    const samePage = new URL(url ?? location.href, location.href).pathname === location.pathname;
    return (samePage ? history.replaceState : push).call(history, state, title, url);
  };
}
