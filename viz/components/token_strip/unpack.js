// The weights as they travel, and as the strip reads them: a list for each head, its triangle row by row.

/** Weights that came as they are. */
const exactRows = ({ weights, heads }) => heads.map((_, head) => weights.getChildAt(head).toArray());

/** Rounded weights: the lower bytes of all numbers, then the upper ones, deflated. */
async function inflatedRows({ weights, heads }) {
  const deflated = new Blob([weights.getChildAt(0).toArray()]).stream();
  const bytes = new Uint8Array(await new Response(deflated.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
  const total = bytes.length / 2;
  const numbers = new Uint16Array(total);
  for (let i = 0; i < total; i += 1) numbers[i] = bytes[i] | (bytes[total + i] << 8);
  const each = total / heads.length;
  return heads.map((_, head) => numbers.subarray(head * each, (head + 1) * each));
}
