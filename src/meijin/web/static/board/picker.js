/**
 * From clicks to a move: the clicks so far, and what may be clicked next.
 *
 * @import {Description, Step} from "../engine.js"
 */

export class Picker {
  /**
   * @param {Description} description
   * @param {number[]} legal  moves, or outcomes at a chance turn
   * @param {boolean} [chance]
   */
  constructor(description, legal, chance = false) {
    this.description = description;
    const names = chance ? description.outcomes : description.moves;
    /** @type {{move: number, path: Step[]}[]} */
    this.candidates = legal.flatMap((move) => (names[move]?.path ? [{ move, path: /** @type {Step[]} */ (names[move].path) }] : []));
    /** @type {(number | string)[]} */
    this.picked = [];
  }

  /** The candidates that begin with the clicks so far. */
  get matching() {
    return this.candidates.filter(({ path }) => path.length >= this.picked.length && this.picked.every((click, i) => matches(path[i], click)));
  }

  /** Cells that may be clicked next. */
  get cells() {
    return new Set(this.#next().flatMap((step) => (typeof step === "string" ? [] : step)));
  }

  /** Words that may be clicked next; "" ends the move here although it could go on. */
  get words() {
    const words = /** @type {string[]} */ ([...new Set(this.#next().filter((step) => typeof step === "string"))]);
    return this.picked.length && this.complete !== null ? ["", ...words] : words;
  }

  /** The move that the clicks so far are, if they are one. @returns {number | null} */
  get complete() {
    return this.matching.find(({ path }) => path.length === this.picked.length)?.move ?? null;
  }

  /** What a word's button says. @param {string} word */
  label(word) {
    return this.description.words[word] ?? (word || "stop here");
  }

  /**
   * Add a click. Returns the move once it is decided, else null.
   * @param {number | string} click
   * @returns {number | null}
   */
  pick(click) {
    if (click === "") return this.complete;
    const fits = this.#next().some((step) => matches(step, click));
    if (!fits) {
      this.picked = [];
      if (!this.#next().some((step) => matches(step, click))) return null;
    }
    this.picked = [...this.picked, click];
    const left = this.matching;
    const decided = left.length === 1 && left[0].path.slice(this.picked.length).every((step) => typeof step === "string");
    return decided ? left[0].move : null;
  }

  /** Whether a click would continue or begin a move. @param {number | string} click */
  accepts(click) {
    return this.#next().some((step) => matches(step, click)) || this.starts(click);
  }

  /** @param {number | string} click */
  starts(click) {
    return this.candidates.some(({ path }) => matches(path[0], click));
  }

  /** The moves that a click would leave possible. @param {number | string} click */
  after(click) {
    const at = this.picked.length;
    return this.matching.filter(({ path }) => path.length > at && matches(path[at], click));
  }

  #next() {
    const at = this.picked.length;
    return this.matching.filter(({ path }) => path.length > at).map(({ path }) => path[at]);
  }
}

/** @param {Step} step @param {number | string} click */
function matches(step, click) {
  return Array.isArray(step) ? step.includes(/** @type {number} */ (click)) : step === click;
}
