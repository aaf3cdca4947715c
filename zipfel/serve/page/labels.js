// The list of labels: probability, accept and reject, and a place that opens with the reasons.
import { $, CHECK, CROSS, el, icon, percent } from "./dom.js";

const rows = new Map(); // label id -> its row
let serial = 0;

function verdictButton(kind, name, path, act) {
  const button = el("button", { type: "button", class: `icon ${kind}`, "aria-pressed": "false", onclick: act }, icon(path));
  button.setAttribute("aria-label", `${kind === "accept" ? "Accept" : "Reject"} ${name}`);
  button.title = kind === "accept" ? "Accept" : "Reject";
  return button;
}

function make(label, actions) {
  serial += 1;
  const body = el("div", { class: "why", id: `why-${serial}`, hidden: true, role: "region", "aria-label": `Why ${label.name}` });
  const bar = el("span", { class: "share" });
  const score = el("span", { class: "score" });
  const name = el("span", { class: "name" }, label.name);
  const open = el("button", { type: "button", class: "label", "aria-expanded": "false", "aria-controls": body.id, onclick: () => actions.open(label.id) }, name, score, bar);
  const accept = verdictButton("accept", label.name, CHECK, () => actions.judge(label, true));
  const reject = verdictButton("reject", label.name, CROSS, () => actions.judge(label, false));
  const node = el("li", {}, el("div", { class: "line" }, open, el("div", { class: "verdict" }, accept, reject)), body);
  open.addEventListener("keydown", (event) => keys(event, label, actions));
  return { node, open, bar, score, name, accept, reject, body };
}

function keys(event, label, actions) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const all = [...document.querySelectorAll("button.label")];
  const here = all.indexOf(event.currentTarget);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) all[Math.max(0, Math.min(all.length - 1, here + step))].focus();
  else if (event.key.toLowerCase() === "a") actions.judge(label, true);
  else if (event.key.toLowerCase() === "r") actions.judge(label, false);
  else return;
  event.preventDefault();
}

export const row = (id) => rows.get(id);

function update(label, state, actions) {
  let found = rows.get(label.id);
  if (!found || found.name.textContent !== label.name) {
    found = make(label, actions);
    rows.set(label.id, found);
  }
  const known = Number.isFinite(label.score);
  found.score.textContent = known ? percent(label.score) : "added";
  found.bar.style.setProperty("--share", known ? label.score.toFixed(4) : "0");
  const verdict = state.verdicts.get(label.id);
  found.node.className = verdict === undefined ? "" : verdict.good ? "accepted" : "rejected";
  found.accept.setAttribute("aria-pressed", String(verdict?.good === true));
  found.reject.setAttribute("aria-pressed", String(verdict?.good === false));
  found.node.querySelector(".verdict").hidden = !state.teaches;
  found.open.disabled = !state.explains;
  const isOpen = state.open === label.id;
  found.open.setAttribute("aria-expanded", String(isOpen));
  found.body.hidden = !isOpen;
  return found.node;
}

/** Puts nodes into a list in this order; nodes that are in their place are not touched, so that they keep the focus. */
function arrange(list, nodes) {
  for (const old of [...list.children]) if (!nodes.includes(old)) old.remove();
  nodes.forEach((node, i) => { if (list.children[i] !== node) list.insertBefore(node, list.children[i] ?? null); });
}

export function show(state, actions) {
  const ids = new Set(state.labels.map((label) => label.id));
  const own = [...state.verdicts.values()].map((verdict) => verdict.label).filter((label) => !ids.has(label.id));
  arrange($("labels"), state.labels.map((label) => update(label, state, actions)));
  arrange($("own-labels"), own.map((label) => update({ id: label.id, name: label.name }, state, actions)));
  $("own").hidden = own.length === 0;
  for (const id of rows.keys()) if (!ids.has(id) && !state.verdicts.has(id)) rows.delete(id);
}
