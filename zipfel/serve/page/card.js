// The model's card: what it is, what its parts gained, how good it is by label frequency, whether its probabilities hold.
import { call } from "./api.js";
import { $, count, el, percent, signed, svg } from "./dom.js";

const METRICS = ["P@1", "P@3", "P@5", "nDCG@5", "R@5", "PSP@5"];
const BUCKETS = { "": "all labels", head: "frequent", torso: "in between", tail: "rare" };

const panel = (title, ...children) => el("section", { class: "panel" }, el("div", { class: "head" }, el("h2", {}, title)), ...children);
const note = (...text) => el("p", { class: "quiet" }, ...text);

function facts(told) {
  const { training } = told;
  const rows = {
    Method: told.preset ? `${told.method}, preset ${told.preset}` : told.method,
    "Training data": training.data || "not named",
    Documents: count(training.n_points),
    Labels: count(told.n_labels),
    Features: count(told.n_features),
    "Fitted in": `${Number(training.seconds).toFixed(1)} s`,
    Size: told.bytes ? `${(told.bytes / 1e6).toFixed(1)} MB` : null,
    Languages: told.languages.join(", ") || null,
    Seed: training.seed,
    Data: training.fingerprint ? el("code", { title: training.fingerprint }, training.fingerprint.slice(0, 12)) : null,
  };
  const pairs = Object.entries(rows).filter(([, value]) => value !== null && value !== undefined);
  return el("dl", { class: "facts" }, ...pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function metrics(told) {
  const names = METRICS.filter((name) => name in told.metrics);
  if (!names.length) return [note("Not measured. Fit with ", el("code", {}, "--test FILE"), " to see this table.")];
  const buckets = Object.keys(BUCKETS).filter((bucket) => !bucket || `P@1[${bucket}]` in told.metrics);
  const cell = (name, bucket) => told.metrics[bucket ? `${name}[${bucket}]` : name];
  const line = (bucket) =>
    el("tr", {}, el("th", { scope: "row" }, BUCKETS[bucket]), ...names.map((name) => el("td", {}, Number.isFinite(cell(name, bucket)) ? (100 * cell(name, bucket)).toFixed(1) : "–")));
  const learned = told.training.n_points - told.measured_documents;
  return [
    el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Metrics by frequency of the label" },
      el("table", { class: "grid" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "in per cent"), ...names.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, ...buckets.map(line)))),
    note("Measured on test documents. P: share of right labels among the first k; R: share of the right labels that are found; PSP: P with more weight on rare labels."),
    learned > 0 ? note(`Since then ${count(learned)} documents were learned.`) : null,
  ];
}

function diagram({ probability, share, size }) {
  const x = (value) => 44 + 300 * value;
  const y = (value) => 312 - 300 * value;
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const most = Math.max(1, ...size);
  const line = (name, x1, y1, x2, y2) => svg("line", { class: name, x1: x(x1), y1: y(y1), x2: x(x2), y2: y(y2) });
  const dot = (p, i) =>
    svg("circle", { class: "dot", cx: x(p), cy: y(share[i]), r: (3 + 8 * Math.sqrt(size[i] / most)).toFixed(1) },
      svg("title", {}, `said ${percent(p)}, true ${percent(share[i])}, ${count(size[i])} labels`));
  const summary = probability.map((p, i) => `${percent(p)}: ${percent(share[i])}`).join("; ");
  return el("figure", { class: "reliability" },
    svg("svg", { viewBox: "0 0 360 356", role: "img", "aria-label": `Reliability diagram; probability said: share that is true. ${summary}` },
      ...ticks.flatMap((t) => [
        line("rule", 0, t, 1, t), line("rule", t, 0, t, 1),
        svg("text", { x: x(t), y: 330, "text-anchor": "middle" }, `${100 * t}`),
        svg("text", { x: 36, y: y(t) + 4, "text-anchor": "end" }, `${100 * t}`),
      ]),
      line("ideal", 0, 0, 1, 1),
      svg("polyline", { class: "curve", points: probability.map((p, i) => `${x(p)},${y(share[i])}`).join(" ") }),
      ...probability.map(dot),
      svg("text", { x: x(0.5), y: 350, "text-anchor": "middle" }, "probability that the model says, %"),
      svg("text", { x: 12, y: y(0.5), "text-anchor": "middle", transform: `rotate(-90 12 ${y(0.5)})` }, "labels that are true, %")));
}

function reliability(told) {
  if (!told.reliability) return [note("Not measured. Fit with ", el("code", {}, "--test FILE"), " to see whether probabilities hold.")];
  const error = told.metrics["ECE@5"];
  return [
    diagram(told.reliability),
    note("On the diagonal, of the labels that are called 70 % likely 70 % are true. A dot’s area follows the number of labels.",
      Number.isFinite(error) ? ` The mean distance from it is ${(100 * error).toFixed(1)} points.` : ""),
  ];
}

const partName = (row) => String(row.part).replaceAll("_", " ");

function gain(row) {
  if (!Number.isFinite(row.gain)) return "not measured";
  return `${signed(100 * row.gain)}${Number.isFinite(row.error) ? ` ± ${(100 * row.error).toFixed(2)}` : ""}`;
}

/** Parts that were not tried, those with the same reason together. */
function untried(rows) {
  const reasons = new Map();
  for (const row of rows) reasons.set(row.why || "not tried", [...(reasons.get(row.why || "not tried") ?? []), partName(row)]);
  return [...reasons].map(([why, names]) => note(`${names.join(", ")}: ${why}.`));
}

function plan(rows) {
  const tried = rows.filter((row) => row.tried !== false);
  tried.sort((a, b) => (b.gain ?? Infinity) - (a.gain ?? Infinity));
  const verdict = (row) => (row.kept === false ? `left out: ${row.why || "no gain"}` : "kept");
  const line = (row) => el("tr", {}, el("th", { scope: "row" }, partName(row)), el("td", {}, gain(row)), el("td", { class: "quiet" }, verdict(row)));
  return [
    el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Parts of the model" },
      el("table", { class: "grid parts" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "part"), el("th", { scope: "col" }, "gain"), el("td"))),
        el("tbody", {}, ...tried.map(line)))),
    note("Gain: points of the mean of P@1, P@3 and P@5 on held-out documents that are lost without the part."),
    ...untried(rows.filter((row) => row.tried === false)),
  ];
}

function timings(training) {
  const rows = Object.entries(training.timings ?? {}).filter(([, seconds]) => seconds > 0.005);
  const longest = Math.max(1e-9, ...rows.map(([, seconds]) => seconds));
  const line = ([name, seconds]) => {
    const bar = el("span", { class: "bar more" });
    bar.style.setProperty("--share", (seconds / longest).toFixed(3));
    return el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "track plain" }, bar), el("td", { class: "number" }, `${seconds.toFixed(1)} s`));
  };
  return rows.length ? [el("h3", {}, "Time of training"), el("table", { class: "evidence" }, el("tbody", {}, ...rows.map(line)))] : [];
}

function parts(told) {
  return [...(told.parts.length ? plan(told.parts) : []), ...timings(told.training)];
}

export async function show(name) {
  const told = await call(`v1/models/${encodeURIComponent(name)}`);
  const parameters = el("details", {}, el("summary", {}, "Parameters"), el("pre", {}, JSON.stringify(told.parameters, null, 2)));
  $("card-body").replaceChildren(
    el("div", {}, panel(told.name, facts(told), parameters), panel("Its parts, and what each gained", ...parts(told))),
    el("div", {},
      panel("How good it is", ...metrics(told).filter(Boolean)),
      panel("Whether its probabilities hold", ...reliability(told))),
  );
}
