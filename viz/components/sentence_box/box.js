// The text is sent after a pause in typing, and at once on Enter; Shift+Enter is a new line.
const PAUSE_MS = 300;
// Who leaves the box may be on the way to another page: Streamlit drops that click if the text is sent at the same time.
const LEAVING_MS = 700;

// The browser cuts a longer text without a word, so the hint says it.
function showHint({ area, hint }) {
  const full = area.value.length >= area.maxLength;
  hint.classList.toggle("full", full);
  hint.textContent = full
    ? `${area.maxLength.toLocaleString("en")} characters: no more fit in here`
    : "Shift + Enter starts a new line";
}

function build(parent) {
  const frame = document.createElement("div");
  const label = document.createElement("label");
  const area = document.createElement("textarea");
  const hint = document.createElement("p");
  label.htmlFor = area.id = "sentence";
  area.rows = 1;
  area.spellcheck = false;
  area.dir = "auto";
  area.placeholder = "Type a sentence";
  hint.className = "hint";
  hint.id = "hint";
  area.setAttribute("aria-describedby", "hint");
  frame.className = "frame";
  frame.append(label, area, hint);
  parent.append(frame);
  return { area, label, hint, timer: 0, sent: null, revision: null };
}

export default function ({ data, parentElement, setStateValue }) {
  const box = (parentElement.headlightBox ??= build(parentElement));
  const { area } = box;

  const send = () => {
    clearTimeout(box.timer);
    if (area.value === box.sent) return;
    box.sent = area.value;
    // The time makes it news even if Python was told the same text before and has shown another since.
    setStateValue("typed", { text: area.value, at: Date.now() });
  };

  box.label.textContent = data.label;
  area.maxLength = data.max;
  if (box.revision !== data.revision) {
    box.revision = data.revision;
    clearTimeout(box.timer);
    area.value = box.sent = data.text;
  }
  showHint(box);
  area.oninput = (event) => {
    showHint(box);
    clearTimeout(box.timer);
    if (!event.isComposing) box.timer = setTimeout(send, PAUSE_MS);
  };
  area.oncompositionend = () => { box.timer = setTimeout(send, PAUSE_MS); };
  area.onblur = () => {
    if (area.value === box.sent) return;
    clearTimeout(box.timer);
    box.timer = setTimeout(send, LEAVING_MS);
  };
  area.onkeydown = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  };
  return () => clearTimeout(box.timer);
}
