/** What a reader chose on this device: theme, coordinates, the level of opponents. Lost without harm. */

const KEY = "meijin";

/** @type {Record<string, any>} */
let values = {};
try {
  values = JSON.parse(localStorage.getItem(KEY) ?? "{}") ?? {};
} catch {
  values = {}; // a page without storage, such as one in a sandbox
}

export const settings = Object.assign(new EventTarget(), {
  /** @template T @param {string} name @param {T} fallback @returns {T} */
  get(name, fallback) {
    return Object.hasOwn(values, name) ? values[name] : fallback;
  },
  /** @param {string} name @param {any} value */
  set(name, value) {
    values = { ...values, [name]: value };
    try {
      localStorage.setItem(KEY, JSON.stringify(values));
    } catch {
      // kept until the page is closed
    }
    settings.dispatchEvent(new CustomEvent("change", { detail: name }));
  },
});

/** "light", "dark" or "wood". */
export function theme() {
  return settings.get("theme", matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}
