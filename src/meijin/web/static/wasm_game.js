// @ts-check
/**
 * A game's rules in the page: positions as records, and what the page shows of them. Answers at once, without a worker.
 *
 * @import {Description, Look} from "./engine.js"
 * @import {Manifest} from "./wasm_module.js"
 */

import { CHANCE, EngineError, OVER } from "./engine.js";
import { readPosition, writePosition } from "./positions.js";
import { ModuleError, WasmModule } from "./wasm_module.js";

const MOST_KEPT = 16 << 20; // bytes of records that are kept to be continued
const HERE = 0; // the record that rules are asked about

export class WasmGame {
  /** @param {WebAssembly.Module} code @param {Manifest} manifest @param {Description} description */
  constructor(code, manifest, description) {
    this.description = description;
    this.module = new WasmModule(code, manifest);
    this.size = this.module.array("states").length / manifest.arrays.states.shape[0];
    /** @type {Map<string, Uint8Array>} records by position and line, the ones used last at the end */
    this.kept = new Map();
  }

  // ---- records ----

  /** @param {string} name @param {number[]} numbers */
  #run(name, ...numbers) {
    try {
      return this.module.run(name, ...numbers);
    } catch (error) {
      if (error instanceof ModuleError) throw new EngineError(error.message, "bad");
      throw error;
    }
  }

  /** Make a record the one that rules are asked about. @param {Uint8Array} record */
  #load(record) {
    this.module.array("states").set(record, HERE * this.size);
  }

  #copy() {
    return this.module.array("states").slice(HERE * this.size, (HERE + 1) * this.size);
  }

  /** The record after a line. @param {string | null | undefined} position @param {number[]} moves @returns {Uint8Array} */
  record(position, moves) {
    const key = (/** @type {number} */ n) => `${position ?? ""}|${moves.slice(0, n).join(",")}`;
    let known = moves.length;
    while (known > 0 && !this.kept.has(key(known))) known--;
    const start = key(0);
    if (!this.kept.has(start)) this.#keep(start, this.#first(position));
    let record = /** @type {Uint8Array} */ (this.kept.get(key(known)));
    if (known < moves.length) this.#load(record);
    for (let n = known; n < moves.length; n++) {
      const { turn, legal } = this.#choices();
      if (!legal.includes(moves[n])) throw new EngineError(this.#illegal(moves[n], turn), "illegal");
      this.#run("play", HERE, moves[n]);
      record = this.#copy();
      this.#keep(key(n + 1), record);
    }
    return record;
  }

  /** @param {string} key @param {Uint8Array} record */
  #keep(key, record) {
    this.kept.delete(key);
    this.kept.set(key, record);
    for (const old of this.kept.keys()) {
      if (this.kept.size * (this.size + 200) <= MOST_KEPT) break;
      this.kept.delete(old);
    }
  }

  /** @param {string | null | undefined} position */
  #first(position) {
    if (position === null || position === undefined) {
      this.module.array("states").fill(0, HERE * this.size, (HERE + 1) * this.size);
      this.#run("start", HERE);
      return this.#copy();
    }
    const { cells, turn } = readPosition(this.description, position);
    return this.#setUp(cells, turn);
  }

  /** @param {number[]} cells @param {number} turn */
  #setUp(cells, turn) {
    const { setup, refusals, board, pieces, alphabets, seats, chance } = this.description;
    if (!setup) throw new EngineError("This game cannot set up positions; play the moves from the start.", "refused");
    if (cells.length !== board.cells.length) throw new EngineError(`${cells.length} cells given; the board has ${board.cells.length}.`);
    cells.forEach((value, i) => {
      const allowed = alphabets?.[i] ?? pieces.map((_, k) => k);
      if (!allowed.includes(value)) throw new EngineError(`Cell ${board.cells[i].name} cannot hold ${pieces[value]?.text ?? value}.`, "refused");
    });
    if (!(turn >= 0 && turn < seats.length) && !(turn === CHANCE && chance)) throw new EngineError(`There is no seat ${turn}.`);
    this.module.array("cells").set(cells);
    this.module.array("states").fill(0, HERE * this.size, (HERE + 1) * this.size);
    const code = this.#run("setup", HERE, turn);
    if (code) throw new EngineError(refusals[code - 1] ?? "The rules refuse this position.", "refused");
    return this.#copy();
  }

  /** A position as text, if the rules allow it. @param {number[]} cells @param {number} turn */
  setUp(cells, turn) {
    this.#setUp(cells, turn);
    return writePosition(this.description, cells, turn);
  }

  // ---- looking ----

  #choices() {
    this.#run("look", HERE);
    const [turn, count] = Array.from(this.module.array("found"), Number);
    return { turn, legal: /** @type {number[]} */ (Array.from(this.module.array("moves").subarray(0, count))) };
  }

  #cells() {
    this.#run("cells", HERE);
    return /** @type {number[]} */ (Array.from(this.module.array("cells")));
  }

  /** Whose turn it is in a record. @param {Uint8Array} record */
  turn(record) {
    this.#load(record);
    return this.#choices().turn;
  }

  /** What chance may bring in a record. @param {Uint8Array} record */
  odds(record) {
    this.#load(record);
    const { legal } = this.#choices();
    return { outcomes: legal, odds: /** @type {number[]} */ (Array.from(this.module.array("probs").subarray(0, legal.length))) };
  }

  /** The game's own estimate of a record, per seat. @param {Uint8Array} record @returns {number[]} */
  heuristic(record) {
    this.#load(record);
    this.#run("heuristic", HERE);
    return Array.from(this.module.array("scores"));
  }

  /** @param {string | null | undefined} position @param {number[]} moves @returns {Look} */
  look(position, moves) {
    const record = this.record(position, moves), { description, module } = this;
    this.#load(record);
    const { turn, legal } = this.#choices();
    const finite = (/** @type {number} */ x) => (Number.isFinite(x) ? x : /** @type {any} */ (null));
    const scores = Array.from(module.array("scores"), finite), odds = Array.from(module.array("probs").subarray(0, legal.length), finite);
    /** @type {Record<string, number[]>} */
    const tallies = {};
    if (description.tallies.length) {
      this.#run("tally", HERE);
      const counts = Array.from(module.array("tallies"), finite), seats = description.seats.length;
      description.tallies.forEach((name, k) => (tallies[name] = counts.slice(k * seats, (k + 1) * seats)));
    }
    const ending = turn === OVER && description.endings.length ? description.endings[this.#run("ending", HERE)] : "";
    const cells = this.#cells();
    const last = this.#last(position, moves, cells);
    return { cells, turn, legal, scores, tallies, ending, last, ...(turn === CHANCE ? { odds } : {}) };
  }

  /** The cells of the latest move of a seat and of what chance did after it; none before a seat has moved.
   *  @param {string | null | undefined} position @param {number[]} moves @param {number[]} after */
  #last(position, moves, after) {
    /** @type {number[]} */
    let found = [];
    for (let n = moves.length - 1; n >= 0; n--) {
      this.#load(this.record(position, moves.slice(0, n)));
      const { turn } = this.#choices(), before = this.#cells();
      found = [...this.#cellsOf(moves[n], turn, before, after), ...found];
      if (turn !== CHANCE) return found;
      after = before;
    }
    return [];
  }

  /** The cells of a move or outcome. @param {number} move @param {number} turn @param {number[]} before @param {number[]} after */
  #cellsOf(move, turn, before, after) {
    const path = (turn === CHANCE ? this.description.outcomes : this.description.moves)[move].path ?? [];
    const exact = path.filter((step) => typeof step === "number");
    if (exact.length) return exact;
    const clicked = new Set(path.filter(Array.isArray).flat());
    return after.map((_, cell) => cell).filter((cell) => after[cell] !== before[cell] && clicked.has(cell));
  }

  /** @param {number} move @param {number} turn */
  #illegal(move, turn) {
    if (turn === OVER) return "The game is over.";
    const names = turn === CHANCE ? this.description.outcomes : this.description.moves;
    return `${names[move]?.name ?? `Move ${move}`} is not legal here.`;
  }
}
