// Streamlit switches its own widgets to a new theme at once but does not rerun the page. Without a rerun everything that
// Python has coloured, such as the charts, would keep the old colours.
const WATCH = Symbol.for("headlight.theme");

export default function ({ setTriggerValue }) {
  const app = document.querySelector('[data-testid="stApp"]');
  const ground = () => getComputedStyle(app).backgroundColor;
  if (app[WATCH]) {
    app[WATCH].report = setTriggerValue;
    return;
  }
  const watch = (app[WATCH] = { report: setTriggerValue, seen: ground() });
  new MutationObserver(() => {
    const now = ground();
    if (now === watch.seen) return;
    watch.seen = now;
    watch.report("ground", now);
  }).observe(app, { attributes: true, attributeFilter: ["class"] });
}
