/**
 * How pieces look: SVG definitions, one per piece, drawn around the origin for a cell that a circle of radius 50 fits
 * into. Stones, discs, marbles, tiles, shogi men and dice, each in any colour.
 *
 * @import {Geometry} from "./geometry.js"
 * @import {Paint} from "./paint.js"
 * @import {PieceInfo, Point} from "../engine.js"
 */

import { inset, roundedPath } from "./geometry.js";
import { darker, lighter, lightness, mix } from "./paint.js";

/** @typedef {"stone" | "disc" | "marble" | "counter" | "sticker" | "tile" | "man" | "die" | "cross" | "ring" | "text"} Style */

const MAN = "M0 -45 L26 -33 Q29 -31 29.5 -28 L37 37 Q37.500 41 33.500 41 L-33.500 41 Q-37.500 41 -37 37 L-29.500 -28 Q-29 -31 -26 -33 Z";
const PIPS = /** @type {Record<string, Point[]>} */ ({
  1: [[0, 0]],
  2: [[-19, -19], [19, 19]],
  3: [[-21, -21], [0, 0], [21, 21]],
  4: [[-19, -19], [19, -19], [-19, 19], [19, 19]],
  5: [[-20, -20], [20, -20], [0, 0], [-20, 20], [20, 20]],
  6: [[-19, -22], [-19, 0], [-19, 22], [19, -22], [19, 0], [19, 22]],
});

export class PieceSet {
  /**
   * @param {PieceInfo[]} pieces
   * @param {Geometry} geometry
   * @param {Paint} paint
   * @param {string} prefix  of ids
   */
  constructor(pieces, geometry, paint, prefix) {
    this.pieces = pieces;
    this.paint = paint;
    this.prefix = prefix;
    this.cell = geometry.cells.find((cell) => cell.tray === null) ?? geometry.cells[0];
    this.kind = geometry.board.kind;
    this.points = geometry.points;
    const glyphs = pieces.filter((piece) => piece.fill && piece.glyph && piece.shape !== "die").map((piece) => piece.glyph.toUpperCase());
    this.noughts = glyphs.length === 2 && glyphs.includes("X") && glyphs.includes("O");
    /** Whether the pieces fill their cells, which are then drawn as hollows. */
    this.tiled = pieces.some((piece) => piece.fill) && pieces.every((piece) => !piece.fill || ["tile", "die"].includes(piece.shape));
  }

  /** @param {number} value */
  empty(value) {
    const piece = this.pieces[value];
    return !piece || (piece.fill === null && !piece.glyph);
  }

  /** @param {number} value */
  id(value) {
    return `${this.prefix}p${value}`;
  }

  /** A number written on a piece in hand: "歩2" is two of "歩". @param {PieceInfo} piece @returns {[string, string]} */
  counted(piece) {
    const match = /^(\D+)(\d+)$/.exec(piece.glyph);
    const single = match && this.pieces.some((other) => other.glyph === match[1] && other.owner === piece.owner);
    return match && single ? [match[1], match[2]] : [piece.glyph, ""];
  }

  /** @param {PieceInfo} piece @returns {Style} */
  style(piece) {
    if (piece.fill === null) return "text";
    if (this.noughts && piece.shape === "tile") return piece.glyph.toUpperCase() === "X" ? "cross" : "ring";
    if (piece.shape === "man" || piece.shape === "die") return piece.shape;
    if (this.kind === "cube") return "sticker";
    if (piece.shape === "tile") return "tile";
    if (this.paint.material === "plate") return "counter";
    if (this.paint.material === "bowls") return "marble";
    return this.points || this.cell.outline.length === 6 || this.kind === "heaps" ? "stone" : "disc";
  }

  /** All definitions. */
  defs() {
    const shadow =
      `<radialGradient id="${this.prefix}shade"><stop offset=".62" stop-color="#000" stop-opacity="${this.paint.dark ? 0.5 : 0.34}"/>` +
      `<stop offset="1" stop-color="#000" stop-opacity="0"/></radialGradient>`;
    return shadow + this.pieces.map((piece, value) => (this.empty(value) ? "" : this.#define(piece, value))).join("");
  }

  /** @param {PieceInfo} piece @param {number} value */
  #define(piece, value) {
    const style = this.style(piece);
    const id = this.id(value);
    const [glyph, count] = this.counted(piece);
    const drawn = this.#body(style, piece.fill ?? this.paint.ink, glyph, id, piece);
    const badge = count
      ? `<g transform="translate(31 -31)"><circle r="15" fill="var(--accent,#c5402d)"/><text dy=".35em" font-size="20" font-weight="700" fill="#fff" text-anchor="middle">${count}</text></g>`
      : "";
    return `<g id="${id}">${drawn}</g>${badge ? `<g id="${id}n">${badge}</g>` : ""}`;
  }

  /** The definition of a count beside the piece, if it has one. @param {number} value */
  badge(value) {
    return this.counted(this.pieces[value])[1] ? `${this.id(value)}n` : null;
  }

  /** @param {Style} style @param {string} fill @param {string} glyph @param {string} id @param {PieceInfo} piece */
  #body(style, fill, glyph, id, piece) {
    const light = lightness(fill);
    const shade = (/** @type {number} */ r, dx = 3, dy = 5) =>
      `<circle cx="${dx}" cy="${dy}" r="${r * 1.1}" fill="url(#${this.prefix}shade)"/>`;
    const radial = (/** @type {[number, string][]} */ stops, at = "cx='.36' cy='.3' r='.78'") =>
      `<radialGradient id="${id}g" ${at}>${stops.map(([o, c]) => `<stop offset="${o}" stop-color="${c}"/>`).join("")}</radialGradient>`;
    const linear = (/** @type {[number, string][]} */ stops) =>
      `<linearGradient id="${id}g" x1="0" y1="0" x2=".25" y2="1">${stops.map(([o, c]) => `<stop offset="${o}" stop-color="${c}"/>`).join("")}</linearGradient>`;
    const body = `fill="url(#${id}g)"`;
    const shine = (/** @type {number} */ opacity, cx = -15, cy = -19, rx = 15, ry = 9) =>
      `<ellipse cx="${cx}" cy="${cy}" rx="${rx}" ry="${ry}" transform="rotate(-38 ${cx} ${cy})" fill="#fff" fill-opacity="${opacity}"/>`;
    const ink = light > 0.55 ? "#2a2119" : "#ffffff";
    const words = (/** @type {number} */ size, /** @type {string} */ colour, family = "") =>
      glyph ? `<text dy=".355em" font-size="${size}" font-weight="700" text-anchor="middle" fill="${colour}"${family}>${escape(glyph)}</text>` : "";
    const fit = Math.min(52, 128 / Math.max(2, [...glyph].length));

    switch (style) {
      case "stone": {
        const r = this.points ? 47.5 : 40;
        const stops = /** @type {[number, string][]} */ (
          light > 0.75
            ? [[0, "#ffffff"], [0.55, lighter(fill, 0.35)], [0.86, mix(fill, "#b9b2a4", 0.25)], [1, mix(fill, "#8d8678", 0.45)]]
            : [[0, lighter(fill, 0.42)], [0.3, lighter(fill, 0.17)], [0.75, fill], [1, darker(fill, 0.35)]]
        );
        return radial(stops) + shade(r) + `<circle r="${r}" ${body}/>` + (light < 0.75 ? shine(0.1) : shine(0.7)) + words(fit * 0.9, ink);
      }
      case "disc": {
        const edge = light > 0.75 ? mix(fill, "#8a8172", 0.5) : darker(fill, 0.45);
        return (
          linear([[0, lighter(fill, light > 0.75 ? 0.7 : 0.2)], [0.6, fill], [1, darker(fill, 0.1)]]) +
          shade(41, 2, 6) + `<circle cy="3" r="40" fill="${edge}"/><circle r="40" ${body}/>` +
          `<circle r="31.500" fill="none" stroke="${light > 0.75 ? "#000" : "#fff"}" stroke-opacity=".09" stroke-width="2.500"/>` + words(fit * 0.9, ink)
        );
      }
      case "marble":
        return (
          radial(
            light > 0.75
              ? [[0, "#ffffff"], [0.5, lighter(fill, 0.3)], [0.85, mix(fill, "#a59c8c", 0.45)], [1, mix(fill, "#6f6657", 0.6)]]
              : [[0, lighter(fill, 0.5)], [0.25, lighter(fill, 0.22)], [0.7, fill], [1, darker(fill, 0.5)]],
          ) + shade(42, 2, 5) + `<circle r="42" ${body}/>` + shine(light > 0.75 ? 0.9 : 0.42, -15, -18, 11, 7) +
          `<path d="M-24 27 A36 36 0 0 0 30 20" fill="none" stroke="#fff" stroke-opacity="${light > 0.75 ? 0.5 : 0.1}" stroke-width="4" stroke-linecap="round"/>` + words(fit * 0.85, ink)
        );
      case "counter":
        return (
          linear([[0, lighter(fill, 0.2)], [1, darker(fill, 0.12)]]) +
          `<circle r="44" ${body}/><circle r="43" fill="none" stroke="${darker(fill, 0.22)}" stroke-width="2"/>` +
          `<circle r="30" fill="${mix(fill, darker(fill, 0.3), 0.22)}"/><circle r="30" fill="none" stroke="${darker(fill, 0.25)}" stroke-width="2.500"/>` +
          `<path d="M-33 -18 A37.500 37.500 0 0 1 6 -37" fill="none" stroke="#fff" stroke-opacity=".45" stroke-width="4.500" stroke-linecap="round"/>` + words(fit * 0.8, ink)
        );
      case "sticker":
        return linear([[0, lighter(fill, 0.16)], [1, darker(fill, 0.05)]]) + `<rect x="-44" y="-44" width="88" height="88" rx="13" ${body}/>` + words(fit, ink);
      case "die": {
        const marks = PIPS[glyph]
          ? PIPS[glyph].map(([x, y]) => `<circle cx="${x}" cy="${y}" r="8" fill="${ink}"/>`).join("")
          : words(fit, ink);
        return (
          linear([[0, lighter(fill, 0.24)], [0.5, fill], [1, darker(fill, 0.14)]]) +
          `<rect x="-36" y="-31" width="76" height="76" rx="17" fill="#000" fill-opacity=".16"/>` +
          `<rect x="-38" y="-35" width="76" height="76" rx="17" fill="${darker(fill, 0.35)}"/><rect x="-38" y="-39" width="76" height="76" rx="17" ${body}/>` +
          `<g transform="translate(0 -1)">${marks}</g>`
        );
      }
      case "man": {
        const wood = light > 0.55 ? fill : lighter(fill, 0.08);
        const promoted = piece.text.startsWith("+");
        const colour = promoted ? (light > 0.55 ? "#b3261e" : "#ff9d8a") : light > 0.55 ? "#2b1d10" : "#fdf3dc";
        const letters = /[A-Za-z]/.test(glyph);
        return (
          linear([[0, lighter(wood, 0.3)], [0.55, wood], [1, darker(wood, 0.12)]]) +
          `<path d="${MAN}" transform="translate(2 4)" fill="#000" fill-opacity=".2"/>` +
          `<path d="${MAN}" fill="${darker(wood, 0.34)}" transform="translate(0 2.500)"/><path d="${MAN}" ${body}/>` +
          `<g transform="translate(0 6)">${words([...glyph].length > 1 ? (letters ? 34 : 30) : letters ? 42 : 48, colour, letters ? "" : ` class="kanji"`)}</g>`
        );
      }
      case "cross":
        return `<path d="M-25 -25L25 25M25 -25L-25 25" stroke="${this.#vivid(fill)}" stroke-width="13" stroke-linecap="round" fill="none"/>`;
      case "ring":
        return `<circle r="27" stroke="${this.#vivid(fill)}" stroke-width="12.500" fill="none"/>`;
      case "text":
        return words(fit, piece.fill ?? this.paint.ink);
      default: {
        const outline = inset(this.cell.outline.map(([x, y]) => [x - this.cell.x, y - this.cell.y]), { x: 0, y: 0 }, 0.88);
        const shape = roundedPath(this.cell.outline.length > 2 ? outline : [[-42, -42], [42, -42], [42, 42], [-42, 42]], 14);
        return (
          linear([[0, lighter(fill, 0.1)], [1, darker(fill, 0.04)]]) +
          `<path d="${shape}" transform="translate(0 2.500)" fill="${darker(fill, 0.22)}"/><path d="${shape}" ${body}/>` + words(fit, light > 0.72 ? "#6b6256" : "#fffaf2")
        );
      }
    }
  }

  /** A colour that also reads on a dark page. @param {string} fill */
  #vivid(fill) {
    return this.paint.dark ? lighter(fill, 0.22) : fill;
  }
}

/** @param {string} text */
export function escape(text) {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
