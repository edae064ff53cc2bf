// Streamlit shows its own parts in another theme at once, but draws no page again for it: what Python has coloured, as
// all charts are, would stay in the old one's colours.
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
