// The chart's own toolbar makes the picture; only the format and the name are told to it here.
function save(chart, format, name) {
  const plot = document.querySelector(`.st-key-${CSS.escape(chart)} .js-plotly-plot`);
  const camera = plot?.querySelector('.modebar-btn[data-title^="Download plot"]');
  if (!camera) return;
  const options = plot._context.toImageButtonOptions;
  const before = { ...options };
  Object.assign(options, { format, filename: name, scale: format === "png" ? 2 : 1 });
  // It reads the options before this returns. Not bubbling: a click outside the open menu would close it early.
  camera.dispatchEvent(new MouseEvent("click"));
  for (const option of Object.keys(options)) delete options[option];
  Object.assign(options, before);
}

export default function ({ data, parentElement }) {
  for (const button of parentElement.querySelectorAll("button")) {
    button.onclick = () => save(data.chart, button.dataset.format, data.name);
    button.setAttribute("aria-label", `Save the picture as ${button.dataset.format.toUpperCase()}`);
  }
}
