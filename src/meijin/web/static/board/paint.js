/**
 * Colours of a board on the page: those of its description, fitted to the page's theme.
 *
 * @import {BoardTheme} from "../engine.js"
 */

/** @param {string} colour @returns {[number, number, number]} */
export function rgb(colour) {
  const part = (/** @type {number} */ i) => parseInt(colour.slice(i, i + 2), 16) || 0;
  return [part(1), part(3), part(5)];
}

/** A colour between two. @param {string} a @param {string} b @param {number} share of b */
export function mix(a, b, share) {
  const [from, to] = [rgb(a), rgb(b)];
  return "#" + from.map((v, i) => Math.round(v + share * (to[i] - v)).toString(16).padStart(2, "0")).join("");
}

/** @param {string} colour @param {number} share */
export const lighter = (colour, share) => mix(colour, "#ffffff", share);

/** @param {string} colour @param {number} share */
export const darker = (colour, share) => mix(colour, "#000000", share);

/** From 0 (black) to 1 (white). @param {string} colour */
export function lightness(colour) {
  const [r, g, b] = rgb(colour);
  return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
}

/** @param {string} colour */
function saturation(colour) {
  const parts = rgb(colour);
  return (Math.max(...parts) - Math.min(...parts)) / 255;
}

/**
 * @typedef {object} Paint
 * @property {"paper" | "wood" | "felt" | "plate" | "bowls"} material
 * @property {string} slab
 * @property {string} rim  the slab's edge
 * @property {string} cell
 * @property {string} other
 * @property {string} line
 * @property {string} ink
 * @property {string} hole
 * @property {boolean} dark
 */

const PAPER = {
  light: { slab: "#e4ddd0", rim: "#d3cabb", cell: "#f7f4ee", other: "#ece6da", line: "#cfc6b6", ink: "#857d70", hole: "#e4ddd0" },
  dark: { slab: "#2b2d34", rim: "#202228", cell: "#383b44", other: "#31343c", line: "#50545f", ink: "#9a9ca4", hole: "#2b2d34" },
  wood: { slab: "#c99f66", rim: "#a97f49", cell: "#ecd3a4", other: "#e0c08a", line: "#a57c48", ink: "#6b4d27", hole: "#c99f66" },
};

/**
 * @param {BoardTheme} theme
 * @param {boolean} square  whether the cells are squares
 * @param {string} page  "light", "dark" or "wood"
 * @returns {Paint}
 */
export function paint(theme, square, page) {
  const dark = page === "dark";
  if (saturation(theme.back) < 0.1 && lightness(theme.back) > 0.8 && !theme.hole) {
    return { material: "paper", ...PAPER[dark ? "dark" : page === "wood" ? "wood" : "light"], dark };
  }
  const material = theme.hole ? (square ? "plate" : "bowls") : warm(theme.cell) ? "wood" : "felt";
  const dim = (/** @type {string} */ colour) => (dark ? mix(colour, "#14151a", 0.14) : colour);
  return {
    material,
    slab: dim(theme.back),
    rim: dim(darker(theme.back, 0.28)),
    cell: dim(theme.cell),
    other: dim(theme.other ?? theme.cell),
    line: dim(theme.line),
    ink: theme.ink,
    hole: material === "plate" ? (dark ? "#1b2440" : darker(theme.hole ?? "#000000", 0.06)) : dim(theme.hole ?? theme.cell),
    dark,
  };
}

/** @param {string} colour */
function warm(colour) {
  const [r, g, b] = rgb(colour);
  return r > g && g > b;
}
