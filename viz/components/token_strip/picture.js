// What the token strip shows: one cell a token, shaded for the chosen one, and the same in words.

const IDLE_CELLS = 48; // cells out of view that are brought up to date at a time

class Picture {
  constructor(root, element) {
    this.root = root;
    this.element = element;
    const find = (selector) => element.querySelector(selector);
    this.names = find(".names");
    this.frame = find(".frame");
    this.scroll = find(".scroll");
    this.gutter = find(".gutter");
    this.group = find(".cells");
    this.status = find(".status");
    this.parts = find(".parts");
    this.cells = [];
    this.chosen = 0; // the chosen token
    this.query = 0; // the token whose attention is shown: the chosen one, or the one under the pointer
    this.version = 0; // counts the paintings; a cell with an older one is out of date
    this.at = 0; // where the box is scrolled to; kept, because asking makes the browser lay out
    this.scroll.onscroll = () => {
      this.at = this.scroll.scrollTop;
      this.fade();
      this.paintView();
    };
    this.observer = new ResizeObserver(() => this.measure());
  }

  start() {
    this.observer.observe(this.group);
  }

  stop() {
    this.callOff?.();
    this.observer.disconnect();
  }

  /** Take new data; cells are made anew only where there are none. */
  load(data, rows, query) {
    const old = this.data;
    const same = (part) => old && sameList(old[part], data[part]);
    this.data = data;
    this.rows = rows;
    if (same("labels") && same("heads")) this.show(query);
    else {
      this.query = this.chosen = query;
      this.markPreview();
      this.build();
      this.paint();
    }
    this.catchUp();
  }

  /** Show what the token at `query` looks at, and mark it as the chosen one. */
  show(query) {
    this.query = query;
    this.markPreview();
    if (query !== this.chosen) {
      this.chosen = query;
      // Focus and scrolling make the browser lay out, which costs nothing as long as nothing has been restyled.
      this.follow();
      this.reveal();
    }
    this.paint();
  }

  /** Show what another token looks at, without choosing it. */
  preview(query) {
    if (query === this.query) return;
    this.query = query;
    this.markPreview();
    this.paint();
  }

  /** Mark the cell under the pointer whose attention is shown, if it is not the chosen one. */
  markPreview() {
    const cell = this.query === this.chosen ? undefined : this.cells[this.query];
    if (cell === this.previewed) return;
    this.previewed?.classList.remove("previewed");
    cell?.classList.add("previewed");
    this.previewed = cell;
  }

  /** Bring the cells in line with the labels; existing ones stay, so that focus survives. */
  build() {
    const { labels, heads, words } = this.data;
    const hadFocus = this.group.contains(this.root.activeElement);
    const stale = this.cells[0] && this.cells[0].looks.length !== heads.length;
    for (const cell of this.cells.splice(stale ? 0 : labels.length)) cell.remove();
    const fresh = document.createDocumentFragment();
    while (this.cells.length < labels.length) {
      const cell = makeCell(this.cells.length, heads.length);
      this.cells.push(cell);
      fresh.append(cell);
    }
    this.group.append(fresh);
    labels.forEach((label, i) => {
      this.cells[i].classList.toggle("cut", label.length > 8);
      for (const { text } of this.cells[i].looks) text.textContent = label;
    });
    this.element.classList.toggle("several", heads.length > 1);
    this.element.classList.toggle("short", labels.length <= 32);
    this.element.classList.toggle("long", labels.length > 256);
    this.element.style.setProperty("--lines", heads.length + 1);
    const names = heads.map((name) => make("b", "", name));
    for (const name of names) name.dataset.and = words.and;
    this.names.replaceChildren(...pieces(heads.length > 1 ? words.heads : words.head, { heads: names }));
    this.parts.textContent = sayParts(labels, words);
    this.parts.hidden = !this.parts.textContent;
    this.shown = null;
    this.measured = null;
    requestAnimationFrame(() => this.measure());
    this.follow();
    if (hadFocus) this.tabStop.focus({ preventScroll: true });
  }

  /** The shown token's row of weights, as they came. */
  row(head) {
    const start = (this.query * (this.query + 1)) / 2;
    return this.rows[head].subarray(start, start + this.query + 1);
  }

  weight(head, key, query = this.query) {
    return this.rows[head][(query * (query + 1)) / 2 + key] / this.data.scale;
  }

  /** Show the shown token's row: at once in the cells in view, `catchUp` does the others. */
  paint() {
    this.version += 1;
    this.callOff?.();
    this.paintView();
    this.mark();
    this.say();
    if (this.hinted?.isConnected) this.hint(this.hinted);
  }

  paintView() {
    const [from, to] = this.inView();
    for (let i = from; i < to; i += 1) this.paintCell(this.cells[i]);
  }

  /** Shade one cell; touches only what differs. */
  paintCell(cell) {
    if (cell.version === this.version) return;
    cell.version = this.version;
    const masked = cell.index > this.query;
    if (cell.masked !== masked) cell.classList.toggle("masked", (cell.masked = masked));
    cell.looks.forEach((look, head) => {
      const weight = masked ? 0 : this.weight(head, cell.index);
      const text = masked ? "–" : percent(weight, this.data.scale);
      if (look.said !== text) look.percent.data = look.said = text;
      const shade = Math.round(weight * 1000) / 1000;
      if (look.shade !== shade) look.element.style.setProperty("--w", (look.shade = shade));
    });
  }

  /** Bring the cells out of view up to date, and every cell's name for screen readers, a few at a time. */
  catchUp(from = 0) {
    this.callOff?.();
    if (from >= this.cells.length) return;
    this.callOff = whenIdle(() => {
      for (const cell of this.cells.slice(from, from + IDLE_CELLS)) {
        this.paintCell(cell);
        this.name(cell);
      }
      this.catchUp(from + IDLE_CELLS);
    });
  }

  /** The range of cells in the box or within half its height. */
  inView() {
    if (!this.measured) return [0, this.cells.length];
    const { cells, view } = this.measured;
    const from = cells.findIndex(({ top, height }) => top + height >= this.at - view / 2);
    const to = cells.findIndex(({ top }, i) => i > from && top > this.at + view * 1.5);
    return [Math.max(from, 0), to < 0 ? cells.length : to];
  }

  /** Move the tab stop to the chosen cell, and focus too if it was on a cell. */
  follow() {
    const cell = this.cells[this.chosen];
    if (this.tabStop === cell) return;
    cell.tabIndex = 0;
    if (this.root.activeElement?.index !== undefined) cell.focus({ preventScroll: true });
    if (this.tabStop) this.tabStop.tabIndex = -1;
    this.tabStop = cell;
  }

  /** Mark the chosen cell, and it alone. */
  mark() {
    const cell = this.cells[this.chosen];
    if (this.shown !== cell) {
      for (const other of this.shown ? [this.shown] : this.cells) setChosen(other, false);
      setChosen(cell, true);
      this.shown = cell;
    }
    this.name(cell);
  }

  /** What a screen reader says of a cell; a preview is the pointer's and does not change it. */
  name(cell) {
    const { labels, words } = this.data;
    const place = fill(words.place, { at: cell.index + 1, token: isolate(labels[cell.index]) });
    const name = [place, ...this.looks(cell.index, this.chosen)].join(", ");
    if (cell.name !== name) cell.setAttribute("aria-label", (cell.name = name));
  }

  /** What the pointer says of a cell; kept true while it rests there and the token changes. */
  hint(cell) {
    this.hinted = cell;
    const { titles, labels, words } = this.data;
    const lines = [`${cell.index + 1} · ${isolate(titles[cell.index])}`, ...this.looks(cell.index, this.query)];
    if (isPart(labels[cell.index])) lines.splice(1, 0, words.part);
    cell.title = lines.join("\n");
  }

  /** How much the token at `query` looks at token `i`, exactly. */
  looks(i, query) {
    const { heads, scale, words } = this.data;
    if (i > query) return [words.masked];
    return heads.map((name, head) => `${name} ${exact(this.weight(head, i, query), scale, words)}`);
  }

  /** The same in words. */
  say() {
    const { query } = this;
    const { labels, heads, scale, words } = this.data;
    const quoted = (at, role) => ["“", make("bdi", role, quote(labels[at])), "”"];
    const intro = make("p");
    intro.append(...pieces(words.intro, { at: query + 1, n: labels.length, token: quoted(query, "query") }));
    const lines = heads.map((name, head) => {
      const line = heads.length > 1 ? make("p") : intro;
      if (heads.length > 1) line.append(make("b", "", name));
      line.append(" ");
      for (const piece of describeLook(this.row(head), query, scale, words))
        line.append(...(piece.token === undefined ? [piece] : quoted(piece.token, "key")));
      return line;
    });
    this.status.replaceChildren(...new Set([intro, ...lines]));
  }

  /** Read where the cells lie: once after each change of layout, never while stepping. */
  measure() {
    if (this.cells.length === 0) return; // the weights are still on their way
    const cells = this.cells.map((cell) => ({ top: cell.offsetTop, height: cell.offsetHeight }));
    this.measured = { cells, ...this.cutLines(cells) };
    this.at = this.scroll.scrollTop;
    this.reveal();
    this.fade();
    this.nameLines(cells);
  }

  /** Make the box end at the middle of a line where not all lines fit: chips that fade say that more come below. */
  cutLines(cells) {
    const { scroll } = this;
    scroll.style.removeProperty("--view");
    const [most, total, first] = [scroll.clientHeight, scroll.scrollHeight, cells[0].top];
    const second = cells.find(({ top }) => top > first);
    if (total <= most || !second) return { view: most, total, line: 0, half: 0 };
    const line = second.top - first;
    const { chip } = this.cells[0].looks[0];
    const half = chip.offsetTop + chip.offsetHeight;
    const lines = Math.max(Math.floor((most - first - half) / line), 1);
    scroll.style.setProperty("--view", `${first + lines * line + half}px`);
    return { view: scroll.clientHeight, total, line, half };
  }

  /** Show at which edges of the box lines go on. */
  fade() {
    if (!this.measured) return;
    const { view, total } = this.measured;
    this.frame.classList.toggle("above", this.at > 1);
    this.frame.classList.toggle("below", this.at + view < total - 1);
  }

  /** Write the heads' names at the left of each line of cells, when there are several heads. */
  nameLines(cells) {
    const { heads } = this.data;
    if (heads.length < 2) return this.gutter.replaceChildren();
    const offsets = this.cells[0].looks.map(({ chip }) => chip.offsetTop + chip.offsetHeight / 2);
    const tags = [...new Set(cells.map(({ top }) => top))].flatMap((top) =>
      heads.map((name, head) => {
        const tag = make("span", "", name);
        tag.style.top = `${top + offsets[head]}px`;
        return tag;
      }),
    );
    this.gutter.replaceChildren(...tags);
  }

  /** Keep the chosen cell's line in view, clear of the half line below, by scrolling the box, never the page. */
  reveal() {
    if (!this.measured) return;
    const { cells, view, total, line, half } = this.measured;
    const above = cells[this.chosen].top - cells[0].top; // the height of the lines above it
    const least = Math.min(above + cells[0].top + line + half, total) - view;
    const to = Math.min(Math.max(this.at, least), above);
    if (Math.abs(to - this.at) > 1) this.scroll.scrollTop = this.at = to;
  }
}
