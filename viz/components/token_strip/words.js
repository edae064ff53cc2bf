// Numbers and sentences of the token strip. Pure functions: no DOM, no state.

const QUOTE_MAX = 18;
const segmenter = globalThis.Intl?.Segmenter ? new Intl.Segmenter() : null;

/** A weight from 0 to 1 as a short percentage: 50%, 18%, 0.5%, 0.03%, <0.01%, 0%. */
function percent(weight, scale) {
  const exactly = scale === 1;
  if (weight === 0 && exactly) return "0%"; // cut, or hidden: a softmax gives every key something
  const p = weight * 100;
  const least = exactly ? 0.01 : Math.max(50 / scale, 0.01); // half a step
  if (p < least) return `<${least.toFixed(2)}%`;
  const digits = p >= 0.995 ? 0 : p >= 0.0995 ? 1 : 2;
  return `${p.toFixed(digits)}%`;
}

/** A weight to four significant digits, or to what its step of 1/scale allows. */
function exact(weight, scale, words) {
  const p = weight * 100;
  if (scale > 1) return fill(words.about, { share: `${p.toFixed(scale > 10000 ? 3 : scale > 2000 ? 2 : 1)}%` });
  if (p === 0) return "0%";
  return p < 1e-4 ? `${p.toExponential(3)}%` : `${p.toPrecision(4)}%`;
}

/** A label for running text: at most QUOTE_MAX characters as a person counts them. */
function quote(label) {
  const units = segmenter ? Array.from(segmenter.segment(label), (s) => s.segment) : Array.from(label);
  return units.length > QUOTE_MAX ? `${units.slice(0, QUOTE_MAX - 1).join("")}…` : label;
}

/** Text for an attribute, isolated so that a right-to-left token cannot reorder what stands around it. */
const isolate = (label) => `\u2068${label}\u2069`;

/** The one or two keys that a row of weights favours most. */
function favourites(row, scale) {
  let first = 0;
  let second = -1;
  for (let i = 1; i < row.length; i += 1) {
    if (row[i] > row[first]) [first, second] = [i, first];
    else if (second < 0 || row[i] > row[second]) second = i;
  }
  const list = [{ at: first, weight: row[first] / scale }];
  // A runner-up is worth naming when it is no crumb beside the first.
  if (second >= 0 && row[second] * 5 >= row[first]) list.push({ at: second, weight: row[second] / scale });
  return list;
}

/** What a head does with the token at `query`, in pieces: strings, and {token} where a token is to be quoted. */
function describeLook(row, query, scale, words) {
  if (row.length === 1) return [words.alone];
  const named = favourites(row, scale);
  const sum = named.reduce((total, { weight }) => total + weight, 0);
  const [first, second] = named.map(({ at, weight }) => [
    ...(at === query ? [words.itself] : [`${at + 1}\u00a0`, { token: at }]),
    `\u00a0(${percent(weight, scale)})`,
  ]);
  const how = sum >= 0.5 ? "mostly" : "widely";
  return pieces(words[second ? `${how}_two` : how], { first, second });
}

const BYTES = /(?:\u27e8[0-9A-F]{2}\u27e9)+/; // how labels show bytes that are no whole character; typed text never is

/** Whether a label shows only a part of a character. */
const isPart = (label) => BYTES.test(label);

/** The character that the first bytes in the labels begin, itself or by number; "" where it is not all there. */
function firstSplit(labels) {
  const run = labels.join("").match(BYTES)?.[0] ?? "";
  const bytes = Uint8Array.from(run.match(/[0-9A-F]{2}/g) ?? [], (byte) => parseInt(byte, 16));
  const length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
  const text = new TextDecoder().decode(bytes.slice(0, length));
  if (bytes.length < length || text.includes("\ufffd")) return "";
  const number = text.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(text) ? `\u201c${isolate(text)}\u201d` : `U+${number}`;
}

/** What tokens are that show bytes, in one sentence; "" where there are none. */
function sayParts(labels, words) {
  const part = labels.find(isPart)?.match(BYTES)[0];
  if (part === undefined) return "";
  const character = firstSplit(labels);
  return fill(character ? words.part_of : words.part_of_some, { part, character });
}
