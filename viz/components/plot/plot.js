// A chart that plotly draws where it stands: new numbers change the picture in place, zoom and all, in one drawing.

const LIBRARY = Symbol.for("headlight.plotly");
const EDGE = 40; // pixels: what is nearer to the frame's edge counts as out of view

// plotly.js, fetched once for each tab.
function library(url) {
  return (globalThis[LIBRARY] ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => resolve(globalThis.Plotly);
    script.onerror = () => {
      delete globalThis[LIBRARY];
      reject(new Error("plotly.js could not be fetched"));
    };
    document.head.append(script);
  }));
}

// What a person zoomed into stays chosen as long as the axis spans the same.
function keepingZoom(layout) {
  const axes = Object.entries(layout).filter(([name, axis]) => /^[xy]axis/.test(name) && axis.range);
  const kept = axes.map(([name, axis]) => [name, { ...axis, uirevision: JSON.stringify(axis.range) }]);
  return { ...layout, ...Object.fromEntries(kept) };
}

// Draws what was asked for last; what was asked for while a drawing went on is drawn after it.
async function draw(holder, state) {
  if (state.drawing) return;
  state.drawing = true;
  try {
    const plotly = (state.plotly = await library(state.url));
    while (state.drawn !== state.wanted && !state.gone) {
      const asked = state.wanted;
      const { figure, config } = asked;
      await plotly.react(holder, figure.data, keepingZoom(figure.layout), config);
      state.drawn = asked;
      holder.dataset.drawings = Number(holder.dataset.drawings ?? 0) + 1;
      if (!state.observer) listen(holder, state);
      bringIntoView(holder, figure.layout);
    }
  } catch (error) {
    if (state.gone) return;
    holder.textContent = state.wanted.failed;
    console.error(error);
  } finally {
    state.drawing = false;
    if (state.gone) clear(holder, state);
  }
}

// Leaves nothing behind, so that what is mounted here again starts from nothing.
function clear(holder, state) {
  state.plotly?.purge(holder);
  state.drawn = state.wanted = undefined;
}

function listen(holder, state) {
  const presses = pressesOf(holder);
  for (const event of ["plotly_click", "plotly_afterplot"]) holder.removeAllListeners(event);
  holder.on("plotly_click", ({ points }) => {
    const [{ curveNumber: curve, pointNumber: point }] = points;
    if (presses.take() && state.drawn.clicks) state.report("click", { revision: state.drawn.revision, curve, point });
  });
  holder.on("plotly_afterplot", () => oneStop(holder));
  // plotly looks where the pointer is once in 50 ms at most: a tap sooner than that would choose what was tapped before.
  holder.onpointerdown = ({ pointerType }) => {
    if (pointerType === "touch") state.plotly.Fx.unhover(holder);
  };
  oneStop(holder);
  const frame = holder.parentElement;
  frame.onscroll = () => tellOfMore(frame);
  state.observer = new ResizeObserver(() => {
    const width = holder.clientWidth;
    if (width && width !== holder._fullLayout?.width) state.plotly.Plots.resize(holder);
    tellOfMore(frame);
  });
  state.observer.observe(holder);
  state.observer.observe(frame);
}

// A chart wider than its frame fades where there is more of it.
function tellOfMore(frame) {
  frame.toggleAttribute("data-before", frame.scrollLeft > 4);
  frame.toggleAttribute("data-more", frame.scrollWidth - frame.clientWidth - frame.scrollLeft > 4);
}

// Where a chart is wider than its frame: scroll to the place on its x axis that it is about.
function bringIntoView(holder, { meta, xaxis, margin }) {
  const frame = holder.parentElement;
  if (meta?.in_view === undefined || frame.scrollWidth <= frame.clientWidth) return;
  const [low, high] = xaxis.range;
  const share = (meta.in_view - low) / (high - low);
  const at = margin.l + share * (holder.clientWidth - margin.l - margin.r);
  const hidden = at < frame.scrollLeft + EDGE || at > frame.scrollLeft + frame.clientWidth - EDGE;
  if (hidden) frame.scrollLeft = at - frame.clientWidth / 2;
}

// The toolbar is one stop for the Tab key; the arrow keys go along it.
function oneStop(holder) {
  const buttons = [...holder.querySelectorAll(".modebar-btn")];
  buttons.forEach((button, i) => {
    button.tabIndex = i ? -1 : 0;
    button.onkeydown = ({ key }) => {
      const to = { ArrowLeft: i - 1, ArrowRight: i + 1, ArrowUp: i - 1, ArrowDown: i + 1 }[key];
      buttons.at((to ?? i) % buttons.length).focus();
    };
  });
}

export default function ({ data, parentElement, setTriggerValue }) {
  const asked = JSON.parse(new TextDecoder().decode(data));
  const holder = parentElement.querySelector(".plot");
  const state = partOf(holder, () => ({}));
  state.report = setTriggerValue;
  state.gone = false;
  if (!asked.figure) {
    library(asked.library).catch(() => {}); // the first chart tries again, and says so
  } else if (state.wanted?.revision !== asked.revision) {
    state.wanted = asked;
    state.url = asked.library;
    holder.style.minWidth = `${asked.min_width}px`;
    holder.style.height = `${asked.figure.layout.height}px`; // room for it before it is drawn
    draw(holder, state);
  }
  if (asked.figure) {
    holder.setAttribute("role", "figure");
    holder.setAttribute("aria-label", asked.alt); // may change where the figure does not
  }
  return () => {
    state.gone = true;
    state.observer?.disconnect();
    state.observer = undefined;
    if (!state.drawing) clear(holder, state); // else when it is drawn: plotly cannot stop half-way
  };
}
