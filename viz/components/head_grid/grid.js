// The head grid in the browser: points at heads by itself, reports the chosen one to Python.

// Where marks.js leaves what Python marked, by the grid's key; the grid may come before its marks, or after them.
const shared = (globalThis.headlightHeadGrids ??= { marks: new Map(), redraw: new Map() });

/** Called by Streamlit on mount, on new data and on a change of theme; it may clean up and mount again at any time. */
export default function ({ data, parentElement, setTriggerValue }) {
  const grid = partOf(parentElement.querySelector(".overview"), (element) => new Grid(element));
  grid.send = (choice) => setTriggerValue("choice", choice);
  grid.frame.start();
  grid.receive(data);
  return () => grid.stop();
}

class Grid {
  constructor(element) {
    this.element = element;
    this.frame = new Frame(element);
    this.at = [0, 0]; // where the keyboard is
    this.hovered = null;
    const { sheet, canvas } = this.frame;
    sheet.onkeydown = (event) => this.onKey(event);
    canvas.onpointermove = (event) => this.hover(this.frame.headAt(event));
    canvas.onpointerleave = () => this.hover(null);
    const presses = pressesOf(canvas);
    canvas.onclick = (event) => presses.take() && this.onClick(event);
  }

  stop() {
    this.frame.stop();
    if (shared.redraw.get(this.data.id) === this.redraw) shared.redraw.delete(this.data.id);
  }

  /** Marks belong to the revision they were made for; those of another text would point at wrong heads. */
  get marks() {
    const marks = shared.marks.get(this.data.id);
    return marks?.revision === this.data.revision ? marks : {};
  }

  receive(data) {
    const fresh = data.revision !== this.data?.revision;
    const same = this.data && !fresh && data.weights === this.data.weights;
    this.data = data;
    this.redraw = () => this.draw();
    shared.redraw.set(data.id, this.redraw);
    if (!same) this.frame.load(data);
    if (fresh) this.hovered = null;
    this.draw();
  }

  /** Draw anew; a head that was chosen elsewhere takes the keyboard's place with it. */
  draw() {
    const { first } = this.marks;
    if (first && `${first}` !== `${this.followed}`) this.at = this.followed = first;
    this.at = [Math.min(this.at[0], this.data.layers - 1), Math.min(this.at[1], this.data.heads - 1)];
    this.frame.draw({ marks: this.marks, at: this.hovered ?? this.at });
  }

  point() {
    this.frame.state.at = this.hovered ?? this.at;
    this.frame.point();
  }

  hover(head) {
    if (`${head}` === `${this.hovered}`) return;
    this.hovered = head;
    this.point();
  }

  onClick(event) {
    const head = this.frame.headAt(event);
    if (!head) return;
    this.at = head;
    this.choose(event.shiftKey);
  }

  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const [layer, head] = this.at;
    const to = {
      ArrowLeft: [layer, head - 1],
      ArrowRight: [layer, head + 1],
      ArrowUp: [layer - 1, head],
      ArrowDown: [layer + 1, head],
      Home: [layer, 0],
      End: [layer, this.data.heads - 1],
      PageUp: [0, head],
      PageDown: [this.data.layers - 1, head],
    }[event.key];
    if (to) this.moveTo(to);
    else if (event.key === "Enter" || event.key === " ") this.choose(event.shiftKey);
    else return;
    event.preventDefault(); // else the page or the frame scrolls along
  }

  moveTo([layer, head]) {
    const within = (value, size) => Math.max(0, Math.min(size - 1, value));
    this.at = [within(layer, this.data.layers), within(head, this.data.heads)];
    this.hovered = null;
    this.point();
    this.frame.reveal();
  }

  /** Report the head at the keyboard's place; Shift asks for the other of the two things that a click can do. */
  choose(other) {
    const beside = this.element.querySelector("[name=act]:checked").value === "beside";
    const [layer, head] = this.at;
    const wish = beside !== other ? "beside" : "open";
    this.send({ wish, layer, head, revision: this.data.revision });
  }
}
