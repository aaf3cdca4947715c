// Adding a label: a combobox that searches the names of the vocabulary.
import { call } from "./api.js";
import { $, debounced, el } from "./dom.js";

let found = [];
let active = -1;
let serial = 0;

function close() {
  found = [];
  active = -1;
  $("found").hidden = true;
  $("search").setAttribute("aria-expanded", "false");
  $("search").removeAttribute("aria-activedescendant");
}

function point(to) {
  active = found.length ? (to + found.length) % found.length : -1;
  [...$("found").children].forEach((node, i) => node.setAttribute("aria-selected", String(i === active)));
  if (active < 0) return;
  $("found").children[active].scrollIntoView({ block: "nearest" });
  $("search").setAttribute("aria-activedescendant", `found-${active}`);
}

function show(labels, choose) {
  found = labels;
  active = -1;
  const option = (label, i) =>
    el(
      "li",
      { id: `found-${i}`, role: "option", "aria-selected": "false", onpointerdown: (event) => { event.preventDefault(); choose(label); } },
      label.name,
      label.notation ? el("span", { class: "quiet" }, ` ${label.notation}`) : null,
    );
  const nothing = el("li", { class: "quiet", role: "option", "aria-disabled": "true", "aria-selected": "false" }, "No label matches.");
  $("found").replaceChildren(...(labels.length ? labels.map(option) : [nothing]));
  $("found").hidden = false;
  $("search").setAttribute("aria-expanded", "true");
}

/** facts: gives the model and the language; add: called with the chosen label; failed: with what went wrong. */
export function start(facts, add, failed) {
  const input = $("search");
  const choose = (label) => { input.value = ""; close(); add(label); };
  const look = async () => {
    const query = input.value.trim();
    serial += 1;
    const own = serial;
    if (!query) { close(); return; }
    const { model, language } = facts();
    const words = new URLSearchParams({ query: query.slice(0, 200), model, limit: "8", ...(language ? { language } : {}) });
    try {
      const told = await call(`v1/labels?${words}`);
      if (own === serial) show(told.labels, choose);
    } catch (error) { close(); failed(error); }
  };
  input.addEventListener("input", debounced(look, 120));
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") point(active + 1);
    else if (event.key === "ArrowUp") point(active < 0 ? -1 : active - 1);
    else if (event.key === "Enter") { if (found.length) choose(found[Math.max(0, active)]); }
    else if (event.key === "Escape") { event.stopPropagation(); close(); }
    else return;
    event.preventDefault();
  });
}
