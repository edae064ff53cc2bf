// The token strip in the browser: holds all weights, steps by itself, reports the settled choice to Python.

const SETTLE_MS = 80; // a choice that stands this long is reported
const PLAY_MS = 700; // one token while playing
const KEYS = { ArrowLeft: "previous", ArrowRight: "next", Home: "first", End: "last" };

const strips = new WeakMap(); // shadow root -> Strip
// A remount without Python's knowledge must not fall back to an old command, so choices outlive their strip, by key.
const remembered = new Map();

/** Called by Streamlit on mount, on new data and on a change of theme; never cleaned up in between. */
export default function ({ data, parentElement, setStateValue }) {
  let strip = strips.get(parentElement);
  if (!strip) strips.set(parentElement, (strip = new Strip(parentElement)));
  strip.send = (choice) => setStateValue("choice", choice);
  strip.receive(data);
  return () => {
    strip.stop();
    strips.delete(parentElement);
  };
}

class Strip {
  constructor(root) {
    const element = root.querySelector(".strip");
    this.picture = new Picture(root, element);
    const button = (act) => element.querySelector(`[data-act=${act}]`);
    this.buttons = { previous: button("previous"), play: button("play"), next: button("next") };
    this.choice = null; // {query, count, revision, command}; count: choices made here so far
    this.timer = null; // while playing
    this.settling = null; // while a choice waits to be reported
    element.onclick = (event) => this.onClick(event);
    element.onkeydown = (event) => this.onKey(event);
    element.onpointerover = ({ target }) => {
      const cell = target.closest("[role=radio]");
      if (cell) this.picture.hint(cell);
    };
  }

  stop() {
    this.pause();
    clearTimeout(this.settling);
    this.picture.stop();
  }

  get last() {
    return this.data.labels.length - 1;
  }

  // ---------------------------------------------------------------- what Python says

  receive(data) {
    this.data = data;
    this.choice ??= remembered.get(data.id) ?? { query: 0, count: data.command.seen, revision: null, command: null };
    remembered.set(data.id, this.choice);
    this.obey(data);
    this.picture.load(data, this.choice.query);
    this.showEnds();
  }

  /** Follow a new command, unless the person has stepped on since Python last heard: then tell Python again. */
  obey({ command, revision }) {
    const { choice } = this;
    if (command.id !== choice.command) {
      const newText = revision !== choice.revision;
      choice.command = command.id;
      choice.revision = revision;
      if (newText) this.pause();
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
    const cell = target.closest("[role=radio]");
    const act = target.closest("button")?.dataset.act;
    if (cell) {
      this.pause();
      this.choose(cell.index);
    } else if (act === "play") {
      this.timer ? this.pause() : this.play();
    } else if (act) {
      this.step(act);
    }
  }

  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const { index } = event.target; // of a cell
    if (KEYS[event.key]) this.step(KEYS[event.key]);
    else if (index !== undefined && (event.key === " " || event.key === "Enter")) this.choose(index);
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
    if (query === this.choice.query) return;
    this.choice.query = query;
    this.picture.show(query);
    this.showEnds();
    this.settle();
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

  showPlaying() {
    const { play } = this.buttons;
    play.classList.toggle("playing", Boolean(this.timer));
    play.title = this.timer ? "Pause" : "Play: step through the tokens";
    play.setAttribute("aria-label", play.title);
  }

  showEnds() {
    const { previous, play, next } = this.buttons;
    previous.setAttribute("aria-disabled", this.choice.query === 0);
    next.setAttribute("aria-disabled", this.choice.query === this.last);
    play.setAttribute("aria-disabled", this.last === 0);
  }
}
