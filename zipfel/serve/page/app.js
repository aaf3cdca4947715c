// The page: what was typed goes to the service, its labels come back, verdicts on them are kept.
import { call, Failure, token } from "./api.js";
import * as card from "./card.js";
import { $, count, debounced, el, percent } from "./dom.js";
import * as editor from "./editor.js";
import * as labels from "./labels.js";
import * as search from "./search.js";
import { reasons } from "./why.js";

const PAUSE = 90; // ms without a key until the service is asked
const RETRY = 2000; // ms until it is asked again where it can't be reached

const state = {
  models: [], model: null, learning: true, labels: [], open: null, verdicts: new Map(), saved: false,
  get teaches() { return this.learning; },
  get explains() { return this.model?.explains; },
};
let asked = null; // AbortController of the newest question
let retry = 0;

const facts = () => ({ model: state.model.name, language: $("language-pick").hidden ? undefined : $("language").value });
const isEmpty = () => $("text").value.trim() === "";

// -- what goes wrong

function alertOf(message) {
  $("alert").hidden = !message;
  if ($("alert").textContent !== message) $("alert").textContent = message;
}

function failed(error, again) {
  if (error.name === "AbortError") return;
  if (!(error instanceof Failure)) { alertOf(`This page has a fault: ${error.message}`); throw error; }
  clearTimeout(retry);
  if (error.status === 401) { $("token-form").hidden = false; $("token").focus(); return; }
  const isLater = error.gone || error.status === 429;
  if (error.status === 503) alertOf("The service is starting. One moment…");
  else if (error.gone) alertOf("The service can’t be reached. Your text is kept here; trying again…");
  else if (error.status !== 429) alertOf(error.message);
  if (isLater && again) retry = setTimeout(again, error.status === 429 ? 1000 * Math.max(1, error.retryAfter) : RETRY);
}

function reached() {
  clearTimeout(retry);
  alertOf("");
}

// -- labels

async function predict() {
  asked?.abort();
  if (!state.model || state.model.input !== "text") return;
  if (isEmpty()) { nothing(); return; }
  asked = new AbortController();
  const { signal } = asked;
  const body = { text: $("text").value, k: Number($("k").value), threshold: Number($("threshold").value) / 100, ...facts() };
  const start = performance.now();
  try {
    const told = await call("v1/predict", body, signal);
    reached();
    state.labels = told.results[0].labels;
    $("speed").textContent = `${Math.max(1, Math.round(performance.now() - start))} ms`;
    show();
    if (state.open !== null) await explain(signal);
  } catch (error) { failed(error, predict); }
}

function nothing() {
  state.labels = [];
  state.open = null;
  $("speed").textContent = "";
  reset();
  editor.unmark();
}

const announce = debounced(() => {
  const [best] = state.labels;
  $("status").textContent = best ? `${state.labels.length} labels; the first is ${best.name}, ${percent(best.score)}` : $("empty").hidden ? "" : $("empty").textContent;
}, 900);

function show() {
  labels.show(state, actions);
  $("empty").hidden = state.labels.length > 0;
  $("empty").textContent = isEmpty()
    ? "No text yet. Try an example, or paste your own."
    : "No label is that probable. Lower “At least”, or write more.";
  $("teach").hidden = !state.teaches || isEmpty();
  const length = $("text").value.length;
  $("size").textContent = length ? `${count(length)} characters` : "";
  $("clear").hidden = length === 0;
  $("try").classList.toggle("written", length > 0);
  tally();
  announce();
}

// -- reasons

async function explain(signal) {
  const id = state.open;
  const body = { text: $("text").value, labels: [id], ...facts() };
  const told = await call("v1/explain", body, signal);
  const row = labels.row(id);
  if (state.open !== id || !row || told.pieces.map((piece) => piece.text).join("") !== $("text").value) return;
  row.body.replaceChildren(...reasons(told));
  if (told.labels.length) editor.mark(told.pieces, told.labels[0].contributions, told.labels[0].name);
  else editor.unmark();
}

const actions = {
  async open(id) {
    state.open = state.open === id ? null : id;
    show();
    if (state.open === null) { editor.unmark(); return; }
    const { body } = labels.row(id);
    if (!body.childElementCount) body.replaceChildren(el("p", { class: "quiet" }, "…"));
    try { await explain(); reached(); } catch (error) { failed(error, () => state.open === id && explain().catch(() => {})); }
  },

  judge(label, good) {
    if (!state.teaches) return;
    if (state.verdicts.get(label.id)?.good === good) state.verdicts.delete(label.id);
    else state.verdicts.set(label.id, { label, good });
    state.saved = false;
    show();
  },
};

// -- feedback

function reset() {
  state.verdicts.clear();
  state.sent = new Map();
  state.saved = false;
  show();
}

function tally() {
  const all = [...state.verdicts.values()];
  const good = all.filter((verdict) => verdict.good).length;
  const isChanged = all.length > 0 || state.sent.size > 0;
  $("save").disabled = state.saved || !isChanged;
  $("save").textContent = state.saved ? "Saved" : "Save feedback";
  $("verdicts").textContent = isChanged
    ? `${good} accepted, ${all.length - good} rejected`
    : "Accept or reject labels to teach the model.";
}

async function save() {
  const ids = (good) => [...state.verdicts].filter(([, verdict]) => verdict.good === good).map(([id]) => id);
  const withdrawn = [...state.sent.keys()].filter((id) => !state.verdicts.has(id));
  const body = { text: $("text").value, accepted: ids(true), rejected: ids(false), withdrawn, model: state.model.name };
  $("save").disabled = true;
  try {
    await call("v1/feedback", body);
    reached();
    state.sent = new Map(state.verdicts);
    state.saved = true;
    $("status").textContent = "Your feedback is saved.";
  } catch (error) { failed(error); }
  tally();
}

// -- controls

function write(text) {
  $("text").value = text;
  state.open = null;
  editor.edited();
  editor.unmark();
  reset();
  predict();
}

function onInput() {
  editor.edited();
  if (state.saved) { state.verdicts.clear(); state.sent = new Map(); state.saved = false; }
  show();
  later();
}
const later = debounced(predict, PAUSE);

function onPaste() {
  const box = $("text");
  if (box.selectionStart === 0 && box.selectionEnd === box.value.length) reset();
}

function sliders() {
  $("k-out").textContent = $("k").value;
  $("threshold-out").textContent = `${$("threshold").value} %`;
}

function theme() {
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const tell = () => $("theme").setAttribute("aria-pressed", String(isDark()));
  $("theme").addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    try { localStorage.setItem("zipfel-theme", chosen); } catch { /* for this visit only */ }
    tell();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  tell();
}

function view() {
  const name = location.hash === "#card" ? "card" : "try";
  for (const section of document.querySelectorAll(".view")) section.hidden = section.id !== name;
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (name === "card" && state.model) card.show(state.model.name).then(reached, (error) => failed(error, view));
}

// -- models

function examples(texts) {
  const button = (text) => el("li", {}, el("button", { type: "button", class: "example", onclick: () => write(text) }, el("span", {}, text)));
  $("examples").hidden = texts.length === 0;
  $("examples").querySelector("ul").replaceChildren(...texts.map(button));
}

function choose(name) {
  const model = state.models.find((one) => one.name === name) ?? state.models[0];
  state.model = model;
  const isText = model.input === "text";
  $("about").textContent = isText
    ? `${model.name} knows ${count(model.n_labels)} labels from ${count(model.n_documents)} documents. Type, and they appear.`
    : `${model.name} takes rows of features, which can’t be typed: send them to POST /v1/predict.`;
  $("text").disabled = !isText;
  $("language-pick").hidden = model.languages.length === 0;
  $("language").replaceChildren(...model.languages.map((code) => el("option", { value: code }, code)));
  examples(model.examples ?? []);
  state.open = null;
  state.labels = [];
  editor.unmark();
  reset();
  view();
  predict();
}

async function begin() {
  try {
    const told = await call("v1/models");
    reached();
    state.models = told.models;
    state.learning = told.learning;
    $("k").value = told.k;
    sliders();
    $("model-pick").hidden = told.models.length < 2;
    $("model").replaceChildren(...told.models.map((model) => el("option", { value: model.name }, model.name)));
    choose();
  } catch (error) { failed(error, begin); }
}

function listen() {
  $("text").addEventListener("input", onInput);
  $("text").addEventListener("paste", onPaste);
  $("clear").addEventListener("click", () => { write(""); $("text").focus(); });
  for (const id of ["k", "threshold"]) $(id).addEventListener("input", () => { sliders(); later(); });
  $("language").addEventListener("change", predict);
  $("model").addEventListener("change", () => choose($("model").value));
  $("save").addEventListener("click", save);
  $("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    token.set($("token").value.trim());
    $("token-form").hidden = true;
    begin();
  });
  addEventListener("hashchange", view);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.open !== null) {
      const row = labels.row(state.open);
      const isInside = row?.node.contains(document.activeElement);
      actions.open(state.open);
      if (isInside) row.open.focus();
    }
  });
}

state.sent = new Map();
theme();
listen();
search.start(
  facts,
  (label) => { if (state.verdicts.get(label.id)?.good !== true) actions.judge(label, true); $("search").focus(); },
  failed,
);
view();
begin();
