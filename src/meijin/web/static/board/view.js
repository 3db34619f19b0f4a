/**
 * A board on the page: draws positions and the way from one to the next. What may be clicked is for `hands.js`.
 *
 * @import {Description, Step} from "../engine.js"
 * @import {Motions} from "./motion.js"
 * @import {Place} from "./geometry.js"
 */

import { Geometry, inset, pathOf, round, roundedPath } from "./geometry.js";
import { motions } from "./motion.js";
import { lightness, paint } from "./paint.js";
import { PieceSet, escape } from "./pieces.js";
import { backing, scene } from "./scene.js";

const SVG = "http://www.w3.org/2000/svg";
let boards = 0;

/**
 * @typedef {object} Marks
 * @property {Iterable<number>} [targets]  cells that may be clicked
 * @property {number[]} [picked]
 * @property {number | null} [cursor]  for the keyboard
 * @property {number[]} [reach]  cells under the pointer that one click covers
 */

export class BoardView {
  /** @type {Geometry} */
  geometry;
  /** @type {import("./paint.js").Paint} */
  paint;
  /** @type {PieceSet} */
  pieces;
  /** @type {Record<"tints" | "ghosts" | "pieces" | "marks" | "hits" | "overlay", SVGGElement>} */
  layers;
  /** @type {Map<number, SVGGElement>} what is drawn on a cell */
  drawn;
  /** @type {(number | null)[]} the values that are drawn */
  shown;

  /**
   * @param {Description} description
   * @param {{theme?: string, flipped?: boolean, labels?: boolean, mini?: boolean}} [options]
   */
  constructor(description, { theme = "light", flipped = false, labels = true, mini = false } = {}) {
    this.description = description;
    this.options = { theme, flipped, labels: labels && !mini, mini };
    this.element = document.createElement("div");
    this.element.className = mini ? "board mini" : "board";
    /** @type {number[] | null} */
    this.cells = null;
    /** @type {number[]} */
    this.last = [];
    /** @type {Marks} */
    this.marks = {};
    /** @type {Animation[]} */
    this.running = [];
    this.#build();
  }

  /** Change the theme, the side it is seen from, or whether coordinates are shown. @param {{theme?: string, flipped?: boolean, labels?: boolean}} change */
  set(change) {
    const next = { ...this.options, ...change };
    if (Object.entries(next).every(([key, value]) => /** @type {any} */ (this.options)[key] === value)) return;
    this.options = next;
    this.#build();
    if (this.cells) this.show(this.cells, { last: this.last });
    this.mark(this.marks);
    this.element.dispatchEvent(new Event("rebuilt"));
  }

  #build() {
    const { description, options } = this;
    const prefix = `b${++boards}`;
    this.geometry = new Geometry(description.board, options);
    const square = description.board.cells[0].outline.length === 4;
    this.paint = paint(description.board.theme, square, options.theme);
    this.pieces = new PieceSet(description.pieces, this.geometry, this.paint, prefix);
    const { box } = this.geometry;
    const { defs, below, above } = scene(this.geometry, this.paint, this.pieces, description.seats.map((seat) => seat.colour ?? ""));
    const view = `viewBox="${round(box.x)} ${round(box.y)} ${round(box.width)} ${round(box.height)}"`;
    const hits = options.mini ? "" : this.geometry.cells.map((cell) => this.#hit(cell)).join("");
    const label = `${escape(description.title)} board`;
    const role = options.mini ? `role="img" aria-label="${label}"` : `role="group" aria-label="${label}"`;
    const ground = this.paint.material === "plate" ? this.paint.hole : this.paint.cell;
    this.element.dataset.ground = lightness(ground) < 0.42 ? "dark" : "light";
    this.element.style.setProperty("--ratio", String(round(1000 * (box.width / box.height)) / 1000));
    this.element.innerHTML =
      `<svg class="main" xmlns="${SVG}" ${view} ${role}><defs>${defs}${this.pieces.defs()}</defs>` +
      `<g class="below">${below}${backing(this.geometry, this.paint)}</g><g class="tints"></g><g class="ghosts"></g><g class="pieces"></g>` +
      `<g class="above">${above}</g><g class="marks"></g><g class="hits">${hits}</g></svg>` +
      (options.mini ? "" : `<svg class="overlay" xmlns="${SVG}" ${view} aria-hidden="true"></svg>`);
    const layer = (/** @type {string} */ name) => /** @type {SVGGElement} */ (this.element.querySelector(`.${name}`));
    this.layers = { tints: layer("tints"), ghosts: layer("ghosts"), pieces: layer("pieces"), marks: layer("marks"), hits: layer("hits"), overlay: layer("overlay") };
    this.drawn = new Map();
    this.shown = this.geometry.cells.map(() => null);
  }

  /** @param {Place} cell */
  #hit(cell) {
    const shape =
      cell.kind === "point"
        ? `<circle cx="${round(cell.x)}" cy="${round(cell.y)}" r="50"/>`
        : cell.kind === "link"
          ? `<path d="${pathOf(inset(cell.outline, cell, 0.8), false)}" class="wire"/>`
          : `<path d="${pathOf(cell.outline)}"/>`;
    return `<g data-cell="${cell.index}" role="button" tabindex="-1" aria-label="${escape(cell.name)}" aria-disabled="true">${shape}</g>`;
  }

  /** What is on a cell, in words. @param {number} value */
  pieceName(value) {
    if (this.pieces.empty(value)) return "empty";
    const piece = this.description.pieces[value];
    const owner = piece.owner === null ? "" : this.description.seats[piece.owner]?.name ?? "";
    const text = piece.glyph || !owner ? piece.text : "";
    return owner.toLowerCase() === text.toLowerCase() ? owner : [owner, text].filter(Boolean).join(" ");
  }

  /**
   * Draw a position. With a path or `animate`, show how the pieces got there from the position before.
   * @param {number[]} cells
   * @param {{last?: number[], path?: Step[] | null, animate?: boolean}} [options]
   */
  show(cells, { last = [], path = null, animate = false } = {}) {
    this.settle();
    const before = this.cells;
    const moved = animate && before && !still() ? motions(before, cells, path, this.geometry, this.pieces) : null;
    this.cells = cells;
    this.last = last;
    for (const cell of this.geometry.cells) {
      const value = cells[cell.index];
      if (this.shown[cell.index] === value) continue;
      this.shown[cell.index] = value;
      this.drawn.get(cell.index)?.remove();
      this.drawn.delete(cell.index);
      const drawn = this.piece(cell.index, value);
      if (drawn) {
        this.drawn.set(cell.index, drawn);
        this.layers.pieces.append(drawn);
      }
      const hit = this.layers.hits.children[cell.index];
      hit?.setAttribute("aria-label", `${cell.name}: ${this.pieceName(value)}`);
    }
    this.#tint();
    if (moved) this.#animate(moved);
  }

  /** A piece as it stands on a cell; null for an empty one. @param {number} index @param {number} value */
  piece(index, value) {
    const cell = this.geometry.cells[index];
    const group = document.createElementNS(SVG, "g");
    if (this.pieces.empty(value)) {
      const ghost = cell.tray === null ? undefined : this.description.alphabets?.[index]?.find((v) => !this.pieces.empty(v));
      if (ghost === undefined || this.pieces.counted(this.description.pieces[ghost])[1] || this.description.pieces[ghost].shape === "die") return null;
      group.innerHTML = `<g class="missing">${this.#use(ghost)}</g>`;
    } else if (cell.kind === "link") {
      const fill = this.description.pieces[value].fill ?? this.paint.ink;
      group.innerHTML = `<g class="body"><path d="${pathOf(cell.outline, false)}" stroke="${fill}" stroke-width="15" stroke-linecap="round"/></g>`;
      return group;
    } else {
      group.innerHTML = `<g class="body">${this.#use(value)}</g>`;
    }
    const size = round(cell.reach) === 50 ? "" : ` scale(${round(cell.reach) / 50})`;
    group.setAttribute("transform", `translate(${round(cell.x)} ${round(cell.y)})${size}`);
    return group;
  }

  /** @param {number} value */
  #use(value) {
    const piece = this.description.pieces[value];
    const turned = piece.shape === "man" && ((piece.owner ?? 0) % 2 === 1) !== this.options.flipped;
    const badge = this.pieces.badge(value);
    return `<use href="#${this.pieces.id(value)}"${turned ? ' transform="rotate(180)"' : ""}/>${badge ? `<use href="#${badge}"/>` : ""}`;
  }

  /** One piece as a small picture of its own, for lists and palettes. @param {number} value */
  icon(value) {
    const set = new PieceSet(this.description.pieces, this.geometry, this.paint, `b${++boards}`);
    if (this.geometry.cells[0].kind === "link") {
      return `<svg viewBox="-50 -50 100 100" aria-hidden="true"><path d="M-34 20L34 -20" stroke="${this.description.pieces[value].fill}" stroke-width="16" stroke-linecap="round"/></svg>`;
    }
    const kept = set.pieces.map((piece, i) => (i === value ? piece : { ...piece, fill: null, glyph: "" }));
    const defs = Object.assign(new PieceSet(kept, this.geometry, this.paint, set.prefix), { noughts: set.noughts }).defs();
    return `<svg viewBox="-50 -50 100 100" aria-hidden="true"><defs>${defs}</defs><use href="#${set.id(value)}"/></svg>`;
  }

  /** Cells to point out. @param {Marks} marks */
  mark(marks) {
    this.marks = marks;
    this.#tint();
    const parts = [];
    for (const index of marks.targets ?? []) parts.push(this.#target(this.geometry.cells[index]));
    if (marks.cursor !== null && marks.cursor !== undefined) parts.push(this.#around(this.geometry.cells[marks.cursor], "cursor"));
    this.layers.marks.innerHTML = parts.join("");
  }

  #tint() {
    const parts = this.last.map((index) => this.#lastMark(this.geometry.cells[index]));
    for (const index of this.marks.picked ?? []) parts.push(this.#around(this.geometry.cells[index], "picked", true));
    for (const index of this.marks.reach ?? []) parts.push(this.#around(this.geometry.cells[index], "reach", true));
    this.layers.tints.innerHTML = parts.join("");
    for (const old of this.element.querySelectorAll(".last-ring")) old.remove();
    for (const index of this.last) {
      const body = this.drawn.get(index)?.querySelector(".body");
      if (!body || !this.#ringed(this.geometry.cells[index])) continue;
      const fill = this.description.pieces[this.shown[index] ?? 0]?.fill ?? "#000000";
      body.insertAdjacentHTML("beforeend", `<circle class="last-ring" r="${this.paint.material === "plate" ? 13 : 15}" fill="none" stroke="${lightness(fill) > 0.55 ? "#1c1c1c" : "#fff"}" stroke-width="5" stroke-opacity=".85"/>`);
    }
  }

  /** Whether the latest move is shown by a ring on the piece, not by a tinted cell. @param {Place} cell */
  #ringed(cell) {
    const piece = this.description.pieces[this.shown[cell.index] ?? 0];
    return cell.kind !== "link" && !!piece?.fill && !piece.glyph && (cell.kind === "point" || ["plate", "bowls"].includes(this.paint.material) || this.description.board.kind === "rhombus");
  }

  /** @param {Place} cell */
  #lastMark(cell) {
    if (cell.kind === "link") return `<path class="last wire" d="${pathOf(cell.outline, false)}"/>`;
    return this.#ringed(cell) ? "" : this.#around(cell, "last", true);
  }

  /** @param {Place} cell */
  #target(cell) {
    if (cell.kind === "link") return `<path class="target wire" d="${pathOf(inset(cell.outline, cell, 0.72), false)}"/>`;
    const at = `cx="${round(cell.x)}" cy="${round(cell.y)}"`;
    const taken = !this.pieces.empty(this.shown[cell.index] ?? 0);
    return taken ? `<circle class="target ring" ${at} r="${round(cell.reach * 0.9)}"/>` : `<circle class="target" ${at} r="${round(cell.reach * 0.25)}"/>`;
  }

  /** The shape of a cell, a little inset. @param {Place} cell @param {string} name */
  #around(cell, name, filled = false) {
    if (cell.kind === "link") return `<path class="${name} wire" d="${pathOf(inset(cell.outline, cell, 0.9), false)}"/>`;
    const round_ = cell.kind === "point" || ["plate", "bowls"].includes(this.paint.material) || this.description.board.kind === "heaps";
    if (round_) return `<circle class="${name}" cx="${round(cell.x)}" cy="${round(cell.y)}" r="${round(cell.reach * (this.paint.material === "plate" ? 0.84 : 0.92))}"/>`;
    const tiled = this.paint.material === "paper" && this.pieces.tiled && cell.outline.length === 4;
    const outline = inset(cell.outline, cell, tiled ? 0.9 : filled ? 0.97 : 0.93);
    return `<path class="${name}" d="${tiled ? roundedPath(outline, 13) : pathOf(outline)}"/>`;
  }

  /** A translucent piece that a click would put there. @param {{cell: number, value: number}[]} pieces */
  ghost(pieces) {
    this.layers.ghosts.replaceChildren(...pieces.flatMap(({ cell, value }) => this.piece(cell, value) ?? []));
  }

  /** End what still moves. */
  settle() {
    for (const animation of this.running) animation.cancel();
    this.running = [];
    for (const old of this.layers.pieces.querySelectorAll(".gone")) old.remove();
  }

  /** @param {Motions} moved */
  #animate({ slides, leaves, appears, turns }) {
    const { cells } = this.geometry;
    const merging = new Set(slides.filter((slide) => slide.merged).map((slide) => slide.to));
    for (const { cell, value, to } of leaves) {
      const away = to ? `translate(${round(to.x - cells[cell].x)}px, ${round(to.y - cells[cell].y)}px) ` : "";
      const late = slides.length && !to ? 90 : 0;
      this.#passing(cell, value, [{ transform: "none", opacity: 1 }, { transform: `${away}scale(${to ? 0.8 : 0.55})`, opacity: 0 }], { duration: to ? 300 : 180, delay: late, easing: "ease-in" });
    }
    for (const { from, to, via, merged, value } of slides) {
      const way = [from, ...via, to].map((cell) => `translate(${round(cells[cell].x - cells[to].x)}px, ${round(cells[cell].y - cells[to].y)}px)`);
      const far = Math.hypot(cells[from].x - cells[to].x, cells[from].y - cells[to].y) / 100;
      const timing = { duration: 130 + 28 * Math.min(5, far) + 110 * via.length, easing: "cubic-bezier(.25,.7,.3,1)" };
      const frames = way.map((transform) => ({ transform }));
      if (merged) this.#passing(to, value, frames, timing);
      else this.#run(this.#body(to, true), frames, timing);
    }
    for (const cell of merging) {
      this.#run(this.#body(cell, true), [{ transform: "scale(0)" }, { transform: "scale(0)", offset: 0.45 }, { transform: "scale(1.14)", offset: 0.78 }, { transform: "none" }], { duration: 300, easing: "ease-out" });
    }
    for (const { cell, from } of appears) {
      if (from) {
        const far = Math.hypot(from.x - cells[cell].x, from.y - cells[cell].y) / 100;
        const drop = { transform: `translate(${round(from.x - cells[cell].x)}px, ${round(from.y - cells[cell].y)}px)` };
        const back = { transform: `translate(${round((from.x - cells[cell].x) * 0.035)}px, ${round((from.y - cells[cell].y) * 0.035)}px)`, offset: 0.87, easing: "ease-in" };
        this.#run(this.#body(cell), [{ ...drop, easing: "cubic-bezier(.45,.05,.85,.6)" }, { transform: "none", offset: 0.74, easing: "ease-out" }, back, { transform: "none" }], { duration: 190 + 62 * Math.sqrt(far) * 1.6 });
      } else if (this.description.pieces[this.shown[cell] ?? 0]?.shape === "die" && cells[cell].tray !== null) {
        this.#run(this.#body(cell), [{ transform: "translateY(-60px) rotate(-300deg) scale(.6)", opacity: 0 }, { transform: "none", opacity: 1 }], { duration: 420, easing: "cubic-bezier(.2,.8,.3,1)" });
      } else {
        const start = cells[cell].kind === "link" ? { opacity: 0 } : { transform: "scale(.5)", opacity: 0 };
        this.#run(this.#body(cell), [start, { transform: "none", opacity: 1 }], { duration: 150, delay: slides.length ? 120 : 0, easing: "cubic-bezier(.2,.9,.3,1.25)", fill: "backwards" });
      }
    }
    const origin = cells[(appears[0] ?? turns[0])?.cell ?? 0];
    for (const { cell, value } of turns) {
      if (cells[cell].tray !== null || cells[cell].kind === "link") continue;
      const delay = Math.min(420, 40 + Math.hypot(cells[cell].x - origin.x, cells[cell].y - origin.y) * 0.45);
      this.#passing(cell, value, [{ transform: "none" }, { transform: "scaleX(.04)" }], { duration: 110, delay, easing: "ease-in", fill: "backwards" });
      this.#run(this.#body(cell), [{ transform: "scaleX(0)" }, { transform: "scaleX(.04)" }, { transform: "none" }], { duration: 220 + 1, delay: delay, easing: "ease-out", fill: "backwards" });
    }
  }

  /** @param {number} cell */
  #body(cell, above = false) {
    const drawn = this.drawn.get(cell);
    if (drawn && above) this.layers.pieces.append(drawn);
    return /** @type {SVGGElement | null} */ (drawn?.querySelector(".body") ?? null);
  }

  /** A piece that is there only while it moves. @param {number} cell @param {number} value @param {Keyframe[]} frames @param {KeyframeAnimationOptions} timing */
  #passing(cell, value, frames, timing) {
    const drawn = this.piece(cell, value);
    const body = /** @type {SVGGElement | null} */ (drawn?.querySelector(".body") ?? null);
    if (!drawn || !body) return;
    drawn.classList.add("gone");
    this.layers.pieces.append(drawn);
    this.#run(body, frames, timing)?.addEventListener("finish", () => drawn.remove());
  }

  /** @param {Element | null} element @param {Keyframe[]} frames @param {KeyframeAnimationOptions} timing */
  #run(element, frames, timing) {
    if (!element) return null;
    const animation = element.animate(frames, timing);
    this.running.push(animation);
    return animation;
  }
}

/** Whether the reader asked for less motion. */
export function still() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
