/** Games and agents as expressions: `hex(size=7)`, `mcts(seconds=1)`. */

/** A value as Python writes it. @param {any} value @returns {string} */
export function literal(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return `(${value.map(literal).join(", ")}${value.length === 1 ? "," : ""})`;
  return `"${String(value).replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
}

/** @param {string} name @param {Record<string, any>} values @param {{name: string, kind: string, default: any}[]} parameters */
export function expression(name, values, parameters) {
  const given = parameters.flatMap((parameter) => {
    const value = values[parameter.name];
    if (value === undefined || value === null || value === "" || same(value, parameter.default)) return [];
    const text = ["agent", "run"].includes(parameter.kind) && parameter.kind === "agent" ? String(value) : literal(value);
    return [`${parameter.name}=${text}`];
  });
  return given.length ? `${name}(${given.join(", ")})` : name;
}

/** @param {any} a @param {any} b */
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The name at the beginning. @param {string} text */
export const nameOf = (text) => text.split("(")[0].trim();

/** The arguments given by name, where they are plain values. @param {string} text @returns {Record<string, any>} */
export function argumentsOf(text) {
  const inside = /^[^(]*\((.*)\)\s*$/s.exec(text)?.[1] ?? "";
  /** @type {Record<string, any>} */
  const found = {};
  for (const part of split(inside)) {
    const match = /^\s*(\w+)\s*=\s*(.*?)\s*$/s.exec(part);
    if (match) found[match[1]] = value(match[2]);
  }
  return found;
}

/** At the commas outside parentheses and quotes. @param {string} text */
function split(text) {
  const parts = [""];
  let depth = 0;
  let quote = "";
  for (const c of text) {
    if (quote) quote = c === quote ? "" : quote;
    else if (c === '"' || c === "'") quote = c;
    else if (c === "(" || c === "[") depth++;
    else if (c === ")" || c === "]") depth--;
    if (c === "," && !depth && !quote) parts.push("");
    else parts[parts.length - 1] += c;
  }
  return parts.filter((part) => part.trim());
}

/** @param {string} text @returns {any} */
function value(text) {
  if (text === "True" || text === "False") return text === "True";
  if (text === "None") return null;
  if (/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text)) return Number(text);
  if (/^(["']).*\1$/s.test(text)) return text.slice(1, -1);
  if (/^[([].*[)\]]$/s.test(text)) return split(text.slice(1, -1)).map((part) => value(part.trim()));
  return text;
}
