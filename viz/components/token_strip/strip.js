// The token strip in the browser: holds all weights, steps by itself, reports the settled choice to Python.
//
// Where Python allows hovering, the token under the pointer is previewed: its attention is shown in all heads, nothing
// is reported. A choice locks the strip to its token; Esc, or the button that says so, lets the pointer lead again.

const SETTLE_MS = 60; // a choice that stands this long is reported
const PLAY_MS = 700; // one token while playing
const KEYS = { ArrowLeft: "previous", ArrowRight: "next", Home: "first", End: "last" };

// A strip made anew without Python's knowledge must not fall back to an old command: choices outlive it, by key.
const remembered = new Map();

/** Called by Streamlit on mount, on new data and on a change of theme; it may clean up and mount again at any time. */
export default function ({ data, parentElement, setStateValue }) {
  const strip = partOf(parentElement.querySelector(".strip"), (element) => new Strip(parentElement, element));
  strip.send = (choice) => setStateValue("choice", choice);
  strip.start();
  strip.receive(data);
  return () => strip.stop();
}

class Strip {
  constructor(root, element) {
    this.root = root;
    this.picture = new Picture(root, element);
    const button = (act) => element.querySelector(`[data-act=${act}]`);
    this.buttons = { previous: button("previous"), play: button("play"), next: button("next") };
    this.lockButton = button("lock");
    this.locked = false;
    this.choice = null; // {query, count, revision, command}; count: choices made here so far
    this.timer = null; // while playing
    this.settling = null; // while a choice waits to be reported
    element.onclick = (event) => this.onClick(event);
    element.onkeydown = (event) => this.onKey(event);
    element.onpointerover = ({ target, pointerType }) => {
      const cell = target.closest("[role=radio]");
      if (!cell) return;
      if (this.leads && pointerType === "mouse") this.picture.preview(cell.index);
      this.picture.hint(cell);
    };
    element.querySelector(".cells").onpointerleave = () => this.picture.preview(this.choice.query);
  }

  /** Go on where `stop` broke off: a choice that had not been reported yet still is. */
  start() {
    this.picture.start();
    if (this.settling) this.settle();
  }

  stop() {
    this.pause();
    clearTimeout(this.settling);
    this.picture.stop();
  }

  get last() {
    return this.data.labels.length - 1;
  }

  /** Whether the pointer leads: the token under it is previewed. */
  get leads() {
    return this.data.hover && !this.locked && !this.timer;
  }

  // ---------------------------------------------------------------- what Python says

  receive(data) {
    this.latest = data;
    if (!data.packed) return this.take(data, exactRows(data));
    if (this.unpacked?.name === data.packed) return this.take(data, this.unpacked.rows);
    inflatedRows(data).then((rows) => {
      this.unpacked = { name: data.packed, rows };
      if (this.latest === data) this.take(data, rows); // else something newer has come meanwhile
    });
  }

  take(data, rows) {
    this.data = data;
    this.choice ??= remembered.get(data.id) ?? { query: 0, count: data.command.seen, revision: null, command: null };
    remembered.set(data.id, this.choice);
    this.obey(data);
    this.picture.load(data, rows, this.choice.query);
    this.showWords();
    this.showEnds();
    this.showLock();
  }

  /** Follow a new command, unless the person has stepped on since Python last heard: then tell Python again. */
  obey({ command, revision }) {
    const { choice } = this;
    if (command.id !== choice.command) {
      const newText = revision !== choice.revision;
      choice.command = command.id;
      choice.revision = revision;
      if (newText) {
        this.pause();
        this.lock(false);
      }
      if (newText || command.seen >= choice.count) {
        clearTimeout(this.settling);
        this.settling = null;
        choice.query = command.query;
      } else {
        this.settle();
      }
    }
    choice.query = Math.min(choice.query, this.last);
  }

  // ---------------------------------------------------------------- what the person does

  onClick({ target }) {
    if (!this.data) return; // on its way
    const cell = target.closest("[role=radio]");
    const act = target.closest("button")?.dataset.act;
    if (cell) {
      this.pause();
      this.choose(cell.index);
    } else if (act === "lock") {
      this.lock(!this.locked);
    } else if (act === "play") {
      if (this.timer) this.pause();
      else this.play();
    } else if (act) {
      this.step(act);
    }
  }

  onKey(event) {
    if (!this.data) return;
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const { index } = event.target; // of a cell
    if (KEYS[event.key]) this.step(KEYS[event.key]);
    else if (index !== undefined && (event.key === " " || event.key === "Enter")) this.choose(index);
    else if (event.key === "Escape" && this.locked) this.lock(false);
    else return;
    event.preventDefault(); // else the page or the box scrolls along
  }

  step(to) {
    this.pause();
    const { query } = this.choice;
    this.choose({ previous: Math.max(query - 1, 0), next: Math.min(query + 1, this.last), first: 0, last: this.last }[to]);
  }

  play() {
    if (this.last === 0) return;
    if (this.choice.query === this.last) this.choose(0);
    const advance = () => {
      this.choose(Math.min(this.choice.query + 1, this.last));
      if (this.choice.query < this.last) this.timer = setTimeout(advance, PLAY_MS);
      else this.pause();
    };
    this.timer = setTimeout(advance, PLAY_MS);
    this.showPlaying();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.showPlaying();
  }

  choose(query) {
    this.lock(this.data.hover);
    if (query === this.choice.query) return;
    this.choice.query = query;
    this.picture.show(query);
    this.showEnds();
    this.settle();
  }

  /** Keep to the chosen token, or let the pointer lead. */
  lock(locked) {
    this.locked = locked;
    this.showLock();
  }

  /** Report the choice once it has stood for a moment. */
  settle() {
    if (!this.settling) this.choice.count += 1;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      this.settling = null;
      const { query, revision, count } = this.choice;
      this.send({ query, revision, count });
      this.picture.catchUp();
    }, SETTLE_MS);
  }

  // ---------------------------------------------------------------- the buttons

  showWords() {
    const { words } = this.data;
    writeWords(this.root, words);
    this.buttons.previous.title = words.previous_key;
    this.buttons.next.title = words.next_key;
    this.showPlaying();
  }

  showPlaying() {
    if (!this.data) return; // on its way
    const { play } = this.buttons;
    play.classList.toggle("playing", Boolean(this.timer));
    play.title = this.timer ? this.data.words.pause : this.data.words.play;
    play.setAttribute("aria-label", play.title);
  }

  showLock() {
    this.lockButton.hidden = !this.data.hover;
    this.lockButton.setAttribute("aria-pressed", this.locked);
  }

  showEnds() {
    const { previous, play, next } = this.buttons;
    previous.setAttribute("aria-disabled", this.choice.query === 0);
    next.setAttribute("aria-disabled", this.choice.query === this.last);
    play.setAttribute("aria-disabled", this.last === 0);
  }
}
