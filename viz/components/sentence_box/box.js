// The text is sent after a pause in typing, and at once on Enter; Shift+Enter is a new line.
const PAUSE_MS = 300;
// Who leaves the box may be on the way to another page: Streamlit drops that click if the text is sent at the same time.
const LEAVING_MS = 700;

// The browser cuts a longer text without a word, so the hint says it.
function showHint({ area, hint, words }) {
  const full = area.value.length >= area.maxLength;
  hint.classList.toggle("full", full);
  hint.textContent = full ? words.full : words.hint;
}

function wire(frame) {
  const [label, area, hint] = frame.children;
  const box = { area, label, hint, words: null, timer: 0, sent: null, revision: null, report: null, stopped: false };
  const send = () => {
    clearTimeout(box.timer);
    if (area.value === box.sent) return;
    box.sent = area.value;
    box.report(area.value);
  };
  box.sendAfter = (pause) => {
    clearTimeout(box.timer);
    box.timer = setTimeout(send, pause);
  };
  area.oninput = (event) => {
    showHint(box);
    clearTimeout(box.timer);
    if (!event.isComposing) box.sendAfter(PAUSE_MS);
  };
  // An input method's text is complete only now. There is no property `oncompositionend`.
  area.addEventListener("compositionend", () => box.sendAfter(PAUSE_MS));
  area.onblur = () => {
    if (area.value !== box.sent) box.sendAfter(LEAVING_MS);
  };
  area.onkeydown = (event) => {
    // Safari ends the composition before the key that ended it: the code 229 tells them apart.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
      event.preventDefault();
      send();
    }
  };
  return box;
}

/** Called by Streamlit on mount, on new data and on a change of theme; it may clean up and mount again at any time. */
export default function ({ data, parentElement, setStateValue }) {
  const box = partOf(parentElement.querySelector(".frame"), wire);
  const { area } = box;
  // The time makes it news even if Python was told the same text before and has shown another since.
  box.report = (text) => setStateValue("typed", { text, at: Date.now() });
  box.words = data.words;
  box.label.textContent = data.label;
  area.placeholder = data.words.placeholder;
  area.maxLength = data.max;
  if (box.revision !== data.revision) {
    box.revision = data.revision;
    clearTimeout(box.timer);
    area.value = box.sent = data.text;
  } else if (box.stopped && area.value !== box.sent) {
    box.sendAfter(PAUSE_MS); // typed before it was cleaned up
  }
  box.stopped = false;
  showHint(box);
  return () => {
    box.stopped = true;
    clearTimeout(box.timer);
  };
}
