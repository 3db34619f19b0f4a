/**
 * Which page is shown: the address after "#". In a frame without an address of its own it is only remembered.
 *
 * @typedef {{path: string[], query: URLSearchParams}} Route
 */

let remembered = "";

/** @returns {Route} */
export function route() {
  const text = (location.hash || remembered).replace(/^#\/?/, "");
  const [path, query = ""] = text.split("?");
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const changes = new EventTarget();
addEventListener("hashchange", () => changes.dispatchEvent(new Event("change")));

/** @param {...string} parts */
export function address(...parts) {
  return "#/" + parts.map((part) => encodeURIComponent(part).replace(/%2C/g, ",").replace(/%3D/g, "=").replace(/'/g, "%27")).join("/");
}

/** @param {string} hash @param {boolean} [replace] the address without a new entry in the history */
export function go(hash, replace = false) {
  remembered = hash;
  const before = location.href;
  try {
    if (replace) history.replaceState(null, "", hash);
    else location.hash = hash;
  } catch {
    // remembered
  }
  if (replace || location.href === before) changes.dispatchEvent(new Event("change"));
}
