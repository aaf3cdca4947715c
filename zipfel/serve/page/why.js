// Why a label: its words, its evidence as bars, its nearest documents.
import { el, signed } from "./dom.js";

const WORDS = 6;
const NEAREST = 5;

function bars(evidence, sum) {
  const rows = Object.entries(evidence);
  const largest = Math.max(1e-9, ...rows.map(([, value]) => Math.abs(value)));
  const row = ([kind, value]) => {
    const bar = el("span", { class: value < 0 ? "bar less" : "bar more" });
    bar.style.setProperty("--share", (Math.abs(value) / largest).toFixed(3));
    return el("tr", {}, el("th", { scope: "row" }, kind), el("td", { class: "track" }, bar), el("td", { class: "number" }, signed(value)));
  };
  const total = el("tr", { class: "total" }, el("th", { scope: "row" }, "together"), el("td"), el("td", { class: "number" }, signed(sum)));
  return [
    el("h4", {}, "Evidence"),
    el("table", { class: "evidence" }, el("tbody", {}, ...rows.map(row), Number.isFinite(sum) ? total : null)),
  ];
}

function words(told, label) {
  const pairs = told.words.map((word, i) => [word, label.contributions[i]]).filter(([, added]) => added > 0.005);
  if (!pairs.length) return [];
  pairs.sort((a, b) => b[1] - a[1]);
  const chip = ([word, added]) => el("li", {}, word, " ", el("span", { class: "quiet" }, signed(added)));
  return [el("h4", {}, "Words"), el("ul", { class: "chips" }, ...pairs.slice(0, WORDS).map(chip))];
}

/** The opening of a document, with the words that it shares with the text in bold. */
function opening(voter) {
  if (voter.opening === null) return [`Training document ${voter.row}`];
  const shared = new Set(voter.words.flatMap((word) => word.toLowerCase().split(" ")));
  return voter.opening
    .split(/([\p{L}\p{N}]+)/u)
    .map((part) => (shared.has(part.toLowerCase()) ? el("b", {}, part) : part));
}

function nearest(voters) {
  if (!voters.length) return [];
  const item = (voter) =>
    el(
      "li",
      {},
      el("p", {}, ...opening(voter)),
      el("span", { class: "quiet" }, `${signed(voter.added)}${voter.words.length ? ` · shares ${voter.words.join(", ")}` : ""}`),
    );
  return [el("h4", {}, "Nearest documents with this label"), el("ol", { class: "nearest" }, ...voters.slice(0, NEAREST).map(item))];
}

function identifier(label) {
  if (label.id === label.name) return [];
  const shown = /^https?:\/\//.test(label.id)
    ? el("a", { href: label.id, target: "_blank", rel: "noreferrer noopener" }, label.id)
    : label.id;
  return [el("p", { class: "quiet identifier" }, shown)];
}

/** told: the answer of /v1/explain for one label. */
export function reasons(told) {
  const [label] = told.labels;
  if (!label) return [el("p", { class: "quiet" }, "No training document near this text has the label.")];
  const parts = [...identifier(label), ...words(told, label)];
  if (Object.keys(label.evidence).length) parts.push(...bars(label.evidence, label.sum));
  parts.push(...nearest(label.nearest));
  if (!parts.length) parts.push(el("p", { class: "quiet" }, "The model knows none of the words of this text."));
  return parts;
}
