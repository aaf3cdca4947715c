// The text, with marks drawn in a copy of it that lies behind the text area.
import { $, el } from "./dom.js";

const LARGEST = 60000; // characters; a longer text has no marks
const FAINT = 0.12; // share of the strongest word, below which a word is not marked

let marks = []; // {start, end, share} in order; share > 0 raises the label, < 0 lowers it
let drawn = "";

/** Marks that an edit does not touch stay where their words are. */
function moved(before, after) {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const shift = after.length - before.length;
  return marks.flatMap((mark) => {
    if (mark.end <= head) return [mark];
    if (mark.start >= before.length - tail) return [{ ...mark, start: mark.start + shift, end: mark.end + shift }];
    return [];
  });
}

function draw() {
  const text = $("text").value;
  const parts = [];
  let done = 0;
  for (const { start, end, share } of text.length > LARGEST ? [] : marks) {
    const mark = el("mark", { class: share > 0 ? "for" : "against" }, text.slice(start, end));
    mark.style.setProperty("--share", Math.min(1, Math.abs(share)).toFixed(3));
    parts.push(text.slice(done, start), mark);
    done = end;
  }
  $("shadow").replaceChildren(...parts, `${text.slice(done)}\n`);
  drawn = text;
}

/** The text was edited. */
export function edited() {
  marks = moved(drawn, $("text").value);
  draw();
}

export function unmark() {
  marks = [];
  $("legend").hidden = true;
  draw();
}

/** pieces: the text, cut; weights: what each word of the document added to the label. */
export function mark(pieces, weights, name) {
  const sums = pieces.map((piece) => piece.words.reduce((sum, word) => sum + weights[word], 0));
  const largest = Math.max(1e-9, ...sums.map(Math.abs));
  let place = 0;
  marks = [];
  pieces.forEach((piece, i) => {
    const share = sums[i] / largest;
    if (Math.abs(share) > FAINT) marks.push({ start: place, end: place + piece.text.length, share });
    place += piece.text.length;
  });
  $("legend").hidden = marks.length === 0;
  $("legend-label").textContent = name;
  draw();
}
