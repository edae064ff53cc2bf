// From weights to pixels. Pure functions but for the canvas they are given.

/** 256 colours, as 32-bit pixels, along the stops `[position, "#rrggbb"]`. */
function palette(stops) {
  const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return Uint32Array.from({ length: 256 }, (_, level) => {
    const at = level / 255;
    const next = Math.max(1, stops.findIndex(([position]) => position >= at));
    const [[from, a], [to, b]] = [stops[next - 1], stops[next]];
    const share = (at - from) / (to - from);
    const [red, green, blue] = parse(a).map((channel, i) => Math.round(channel + (parse(b)[i] - channel) * share));
    return (255 << 24) | (blue << 16) | (green << 8) | red; // little-endian RGBA
  });
}

/** All thumbnails on one canvas, a pixel a cell, side by side as in the grid. */
function paintAtlas({ weights, layers, heads, side }, { scale, masked }) {
  const canvas = document.createElement("canvas");
  canvas.width = heads * side;
  canvas.height = layers * side;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = palette(scale);
  pixels.fill(palette([[0, masked], [1, masked]])[0]);
  let from = 0;
  for (let layer = 0; layer < layers; layer += 1)
    for (let head = 0; head < heads; head += 1)
      for (let row = 0; row < side; row += 1) {
        const at = (layer * side + row) * canvas.width + head * side;
        for (let column = 0; column <= row; column += 1) pixels[at + column] = colours[weights[from++]];
      }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Where the thumbnails lie: each `size` pixels wide and high, one every `pitch` pixels. */
function layOut({ layers, heads }, width, coarse) {
  const gap = 5;
  const least = coarse ? 34 : 24;
  const fits = Math.floor(width / heads) - gap;
  const size = Math.min(96, Math.max(least, Math.min(fits, Math.floor(HIGHEST / layers) - gap)));
  const pitch = size + gap;
  return { size, gap, pitch, width: heads * pitch, height: layers * pitch };
}

/** Copy one thumbnail of the atlas into a square: cells keep their edges when they grow, and blend when they shrink. */
function paintThumbnail(context, atlas, side, [layer, head], [x, y, size]) {
  context.imageSmoothingEnabled = size * devicePixelRatio < side;
  context.imageSmoothingQuality = "high";
  context.drawImage(atlas, head * side, layer * side, side, side, x, y, size, size);
}

/** Give a canvas its size in CSS pixels, and as many real ones as the screen has for them; a clean context on it. */
function prepare(canvas, width, height) {
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(devicePixelRatio, devicePixelRatio);
  return context;
}

/** The row of a thumbnail that stands for the token at `query`. */
const rowOf = (queries, query) => Math.max(0, queries.findIndex((position) => position >= query));

