// Small helpers. Texts and names go in as text nodes only: nothing is ever parsed as HTML.

export const $ = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === undefined || value === null) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const el = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;
export const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
export const count = (number) => Number(number).toLocaleString("en");

export const icon = (path) => svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path }));
export const CHECK = "M5 12.5 10 17.5 19.5 7";
export const CROSS = "M6.5 6.5l11 11m0-11l-11 11";

/** Calls `work` when `wait` ms have passed without a further call. */
export function debounced(work, wait) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(work, wait); };
}
