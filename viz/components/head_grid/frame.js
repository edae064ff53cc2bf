// The picture on the page: the canvas with all heads, the marks over it, one head drawn large beside it.

const HIGHEST = 760; // pixels that all layers should fit in
const LARGE = 216; // pixels of the head drawn large

class Frame {
  constructor(element) {
    const find = (selector) => element.querySelector(selector);
    this.element = element;
    this.sheet = find(".sheet");
    this.canvas = find(".sheet canvas");
    this.across = find(".across");
    this.down = find(".down");
    this.marks = find(".marks");
    this.cursor = find(".cursor");
    this.large = find(".near canvas");
    this.words = find(".near .words");
    this.body = find(".body");
    this.near = find(".near");
    this.puts = find(".act .puts");
    this.chosen = find(".act .chosen");
    this.note = find(".note");
    this.observer = new ResizeObserver(() => this.resize());
  }

  start() {
    this.observer.observe(this.body);
  }

  stop() {
    this.observer.disconnect();
  }

  /** Take new thumbnails, or the same in another theme. */
  load(data) {
    this.data = data;
    const side = data.queries.length;
    this.picture = { ...data, side, weights: data.weights.getChildAt(0).toArray() };
    this.sheet.setAttribute("aria-rowcount", data.layers);
    this.sheet.setAttribute("aria-colcount", data.heads);
    this.note.textContent = data.note;
    writeWords(this.element.parentNode, data.words);
    this.puts.replaceChildren(...pieces(data.words.puts, { head: this.chosen }));
    this.kind = null;
    this.width = null;
  }

  /** Draw everything. `state` is {marks, at}: what Python marked, and the head that is pointed at. */
  draw(state) {
    this.state = state;
    const kind = getComputedStyle(this.note).colorScheme === "dark" ? "dark" : "light";
    if (kind !== this.kind) {
      this.kind = kind;
      this.atlas = paintAtlas(this.picture, this.data.colours[kind]);
    }
    this.resize(true);
    this.point();
  }

  /** Lay out anew where the width is another one. */
  resize(always = false) {
    const width = this.body.clientWidth;
    if (!this.atlas || !width || (width === this.width && !always)) return;
    const changed = width !== this.width;
    this.width = width;
    if (changed) {
      const gutter = parseFloat(getComputedStyle(this.sheet).getPropertyValue("--gutter"));
      const { flexDirection, columnGap } = getComputedStyle(this.body);
      const beside = flexDirection === "row" ? this.near.offsetWidth + parseFloat(columnGap) : 0;
      this.layout = layOut(this.data, width - beside - gutter - 4, matchMedia("(pointer: coarse)").matches);
      this.sheet.style.setProperty("--pitch", `${this.layout.pitch}px`);
      this.sheet.style.setProperty("--size", `${this.layout.size}px`);
      this.sheet.classList.toggle("small", this.layout.size < 36);
      const labels = (n, letter) => Array.from({ length: n }, (_, i) => make("span", "", `${letter}${i}`));
      this.across.replaceChildren(...labels(this.data.heads, "H"));
      this.down.replaceChildren(...labels(this.data.layers, "L"));
    }
    this.paint();
    this.showMarks();
  }

  paint() {
    const { size, gap, pitch, width, height } = this.layout;
    const { side, queries } = this.picture;
    const context = prepare(this.canvas, width, height);
    const { query } = this.state.marks;
    context.strokeStyle = getComputedStyle(this.large).borderTopColor;
    for (let layer = 0; layer < this.data.layers; layer += 1)
      for (let head = 0; head < this.data.heads; head += 1) {
        const [x, y] = [head * pitch, layer * pitch];
        paintThumbnail(context, this.atlas, side, [layer, head], [x, y, size]);
        context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
      }
    if (query === undefined) return;
    context.fillStyle = getComputedStyle(this.cursor).color;
    const at = ((rowOf(queries, query) + 0.5) / side) * size;
    for (let layer = 0; layer < this.data.layers; layer += 1)
      for (let head = 0; head < this.data.heads; head += 1) {
        context.beginPath(); // a wedge in the gap, pointing at the row from the right
        context.moveTo(head * pitch + size, layer * pitch + at);
        context.lineTo(head * pitch + size + gap - 0.5, layer * pitch + at - 3);
        context.lineTo(head * pitch + size + gap - 0.5, layer * pitch + at + 3);
        context.fill();
      }
  }

  /** Outlines of the chosen heads, numbers on the found ones. */
  showMarks() {
    const { first, beside = [], off = [], found = [] } = this.state.marks;
    const mark = ([layer, head], kind, text = null) => {
      const element = make("div", `mark ${kind}`);
      if (text) element.append(make("span", "", text));
      this.place(element, [layer, head]);
      return element;
    };
    this.marks.replaceChildren(
      ...off.map((at) => mark(at, "off")),
      ...found.map((at, i) => mark(at, "found", `${i + 1}`)),
      ...beside.map((at) => mark(at, "beside")),
      ...(first ? [mark(first, "first")] : []),
    );
    this.element.classList.toggle("with-off", off.length > 0);
    if (first) this.chosen.textContent = headName(first);
    [...this.across.children].forEach((label, i) => label.classList.toggle("here", i === first?.[1]));
    [...this.down.children].forEach((label, i) => label.classList.toggle("here", i === first?.[0]));
  }

  place(element, [layer, head]) {
    element.style.setProperty("--layer", layer);
    element.style.setProperty("--head", head);
  }

  /** Show which head is pointed at, and draw it large with its words. */
  point() {
    const { at, marks } = this.state;
    this.place(this.cursor, at);
    this.cursor.parentElement.setAttribute("aria-rowindex", at[0] + 1);
    this.cursor.setAttribute("aria-colindex", at[1] + 1);
    const found = (marks.found ?? []).findIndex(([layer, head]) => layer === at[0] && head === at[1]);
    const off = (marks.off ?? []).some(([layer, head]) => layer === at[0] && head === at[1]);
    const lines = [off && this.data.words.switched_off, marks.words?.[at[0] * this.data.heads + at[1]], found >= 0 && `${found + 1}. ${marks.found[found][2]}`];
    const said = lines.filter(Boolean).flatMap((words) => words.split("\n"));
    this.cursor.setAttribute("aria-label", [headName(at), ...said].join(", "));
    this.words.replaceChildren(make("b", "", headName(at)), ...said.map((line) => make("p", "", line)));
    const context = prepare(this.large, LARGE, LARGE);
    paintThumbnail(context, this.atlas, this.picture.side, at, [0, 0, LARGE]);
    if (marks.query === undefined) return;
    const height = Math.max(2, LARGE / this.picture.side);
    context.strokeStyle = getComputedStyle(this.cursor).color;
    context.lineWidth = 1.5;
    const top = (rowOf(this.picture.queries, marks.query) / this.picture.side) * LARGE;
    context.strokeRect(0.75, Math.min(top, LARGE - height) + 0.75, LARGE - 1.5, Math.max(height - 1.5, 1));
  }

  /** The head under the pointer, or null beside the thumbnails. */
  headAt({ clientX, clientY }) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const { pitch } = this.layout;
    const [layer, head] = [Math.floor((clientY - top) / pitch), Math.floor((clientX - left) / pitch)];
    return layer >= 0 && head >= 0 && layer < this.data.layers && head < this.data.heads ? [layer, head] : null;
  }

  reveal() {
    this.cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

const headName = ([layer, head]) => `L${layer}H${head}`;
