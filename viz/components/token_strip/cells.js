// The parts of the token strip as DOM elements.

/** Mark a cell as the chosen one, or as one of the others. */
function setChosen(cell, chosen) {
  cell.classList.toggle("chosen", chosen);
  cell.setAttribute("aria-checked", chosen);
}

/** One token's cell, with a percentage and a chip for each head. */
function makeCell(index, heads) {
  const cell = make("div", "cell");
  cell.index = index;
  cell.version = null; // the painting it shows; null: none yet
  cell.setAttribute("role", "radio");
  cell.tabIndex = -1;
  cell.looks = Array.from({ length: heads }, () => {
    const element = make("span", "look");
    const number = make("span", "percent", "–");
    const chip = make("span", "chip");
    const text = make("bdi"); // a token may be right-to-left; its neighbours must not care
    chip.append(text);
    element.append(number, chip);
    cell.append(element);
    return { element, chip, text, percent: number.firstChild, said: null, shade: null };
  });
  cell.append(make("span", "position", `${index + 1}`));
  return cell;
}

/** Whether two lists hold the same values. */
const sameList = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

/** Run `task` when the browser has nothing better to do; returns a function that calls it off. */
function whenIdle(task) {
  if (!globalThis.requestIdleCallback) {
    const timer = setTimeout(task, 30); // Safari
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(task);
  return () => cancelIdleCallback(handle);
}

