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
