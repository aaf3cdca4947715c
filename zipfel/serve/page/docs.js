// The API, drawn from openapi.json: each call with an example that can be changed and sent.
import { token } from "./api.js";
import { $, el } from "./dom.js";

const LONGEST = 20000; // characters of an answer that are shown

let schemas = {};

const resolved = (schema) => (schema?.$ref ? schemas[schema.$ref.split("/").pop()] : schema) ?? {};

/** A value that fits the schema: its example, where it has one. */
function sample(given, depth = 0) {
  const schema = resolved(given);
  if (schema.examples) return schema.examples[0];
  if ("default" in schema) return schema.default;
  const [first] = schema.anyOf ?? schema.oneOf ?? [];
  if (first) return sample(first, depth);
  if (schema.type === "array") return depth > 4 ? [] : [sample(schema.items, depth + 1)];
  if (schema.type === "object") {
    const named = Object.entries(schema.properties ?? {}).filter(([name]) => (schema.required ?? []).includes(name));
    return Object.fromEntries(named.map(([name, value]) => [name, sample(value, depth + 1)]));
  }
  return { integer: 1, number: 0.5, boolean: true, string: "a text editor" }[schema.type] ?? null;
}

function shell(method, url, kind, body) {
  const address = new URL(url, document.baseURI);
  const quoted = (words) => `'${words.replaceAll("'", "'\\''")}'`;
  return `curl ${quoted(address.href)}${method === "post" ? ` -H 'Content-Type: ${kind}' -d ${quoted(body)}` : ""}`;
}

function addressOf(path, parameters, inputs) {
  let address = path.slice(1);
  const query = new URLSearchParams();
  parameters.forEach((parameter, i) => {
    const { value } = inputs[i];
    if (parameter.in === "path") address = address.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (value) query.set(parameter.name, value);
  });
  return `${address || "./"}${query.size ? `?${query}` : ""}`;
}

async function send(method, url, kind, body, output) {
  const headers = method === "post" ? { "content-type": kind } : {};
  if (token.get()) headers.authorization = `Bearer ${token.get()}`;
  try {
    const start = performance.now();
    const answer = await fetch(url, { method: method.toUpperCase(), headers, body: method === "post" ? body : undefined });
    const text = await answer.text();
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* it is no JSON */ }
    output.textContent = `${answer.status} in ${Math.round(performance.now() - start)} ms\n${shown.slice(0, LONGEST)}`;
  } catch { output.textContent = "The service can’t be reached."; }
}

function form(method, path, operation, model) {
  const parameters = (operation.parameters ?? []).filter((parameter) => ["path", "query"].includes(parameter.in));
  const start = (parameter) => (parameter.in === "path" ? model : parameter.required ? sample(parameter.schema) : "");
  const inputs = parameters.map((parameter) => el("input", { value: start(parameter), spellcheck: "false" }));
  const [[kind, media] = ["application/json", null]] = Object.entries(operation.requestBody?.content ?? {});
  const example = media && sample(media.schema);
  const text = kind === "application/json" ? JSON.stringify(example, null, 2) : String(new URLSearchParams(example ?? {}));
  const body = el("textarea", { rows: Math.min(14, text.split("\n").length + 1), spellcheck: "false" });
  body.value = text;
  const line = el("pre", { tabindex: "0" });
  const output = el("pre", { hidden: true, tabindex: "0", role: "status" });
  const url = () => addressOf(path, parameters, inputs);
  const tell = () => { line.textContent = shell(method, url(), kind, body.value); };
  for (const input of [...inputs, body]) input.addEventListener("input", tell);
  const act = () => { output.hidden = false; output.textContent = "…"; send(method, url(), kind, body.value, output); };
  tell();
  return [
    ...inputs.map((input, i) => el("label", {}, parameters[i].name, input)),
    media ? el("label", {}, `body, ${kind}`, body) : null,
    line,
    el("div", { class: "row" }, el("button", { type: "button", class: "strong", onclick: act }, "Send")),
    output,
  ];
}

/** A description, what stands between backticks as code. */
const words = (text) => text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));

function call(method, path, operation, model) {
  const inside = el("div", { class: "inside" });
  const details = el("details", { class: "call" },
    el("summary", {}, el("span", { class: `verb ${method}` }, method.toUpperCase()), el("span", { class: "path" }, path), el("span", { class: "quiet" }, ...words(operation.description ?? operation.summary))),
    inside);
  details.addEventListener("toggle", () => { if (!inside.childElementCount) inside.append(...form(method, path, operation, model).filter(Boolean)); });
  return details;
}

async function begin() {
  const told = await (await fetch("openapi.json")).json();
  schemas = told.components?.schemas ?? {};
  const headers = token.get() ? { authorization: `Bearer ${token.get()}` } : {};
  const models = await fetch("v1/models", { headers }).then((answer) => (answer.ok ? answer.json() : null)).catch(() => null);
  const model = models?.models[0]?.name ?? "";
  const groups = new Map();
  for (const [path, methods] of Object.entries(told.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const [tag = "zipfel"] = operation.tags ?? [];
      groups.set(tag, [...(groups.get(tag) ?? []), call(method, path, operation, model)]);
    }
  }
  const order = [...groups].sort(([a], [b]) => (b === "zipfel") - (a === "zipfel"));
  $("calls").replaceChildren(...order.map(([tag, calls]) => el("section", { class: "panel" }, el("h2", {}, tag), ...calls)));
}

begin().catch(() => { $("calls").replaceChildren(el("p", { class: "alert", role: "alert" }, "The service can’t be reached.")); });
