// plotly itself makes the picture of what is on the screen.
function save(chart, format, name) {
  const plot = document.querySelector(`.st-key-${CSS.escape(chart)} .js-plotly-plot`);
  if (plot) globalThis.Plotly.downloadImage(plot, { format, filename: name, scale: format === "png" ? 2 : 1 });
}

export default function ({ data, parentElement }) {
  for (const button of parentElement.querySelectorAll("button")) {
    button.onclick = () => save(data.chart, button.dataset.format, data.name);
    button.setAttribute("aria-label", data.labels[button.dataset.format]);
  }
}
