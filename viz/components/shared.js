// What several components are made of.

const PART = Symbol.for("headlight.part");

/**
 * The object that runs the element, made by `create` where there is none yet.
 *
 * Streamlit may clean a component up and mount it again over the same elements. The object is kept with its element, so
 * that it takes over what stands there.
 */
const partOf = (element, create) => (element[PART] ??= create(element));

/** A new element. Text is only ever set as text: a token is whatever somebody typed. */
function make(tag, className = "", text = null) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== null) element.textContent = text;
  return element;
}

/** A message's text and what takes its `{places}`, in order; a place may take a list. */
const pieces = (message, places) =>
  message.split(/\{(\w+)\}/).flatMap((part, i) => (i % 2 ? places[part] : part || []));

/** A message with its places filled in as text. */
const fill = (message, places) => pieces(message, places).join("");

/** Write messages where the component's HTML names them: as text (`data-text`) and as labels (`data-label`). */
function writeWords(root, words) {
  for (const element of root.querySelectorAll("[data-text]")) element.textContent = words[element.dataset.text];
  for (const element of root.querySelectorAll("[data-label]"))
    element.setAttribute("aria-label", words[element.dataset.label]);
}

const STILL = 6; // pixels: a hand is never quite still

const PRESSES = Symbol.for("headlight.presses");

/** Whether a click on the element is meant as one: once for each press, and not if it moved, as to scroll or select. */
const pressesOf = (element) => (element[PRESSES] ??= watchPresses(element));

function watchPresses(element) {
  let meant = false;
  element.addEventListener("pointerdown", (press) => {
    meant = true;
    const watch = new AbortController();
    const look = ({ type, clientX, clientY }) => {
      const far = Math.hypot(clientX - press.clientX, clientY - press.clientY);
      if (type === "pointercancel" || far > STILL) meant = false;
      if (type !== "pointermove") watch.abort();
    };
    // On the window: plotly lays a cover over the page while a button is down.
    for (const type of ["pointermove", "pointerup", "pointercancel"]) {
      window.addEventListener(type, look, { capture: true, signal: watch.signal });
    }
  });
  return { take: () => meant && !(meant = false) };
}

