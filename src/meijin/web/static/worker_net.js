// @ts-check
/**
 * Nets in a worker: reading a net's file (meijin/web/wasm/nets.py writes it), and AlphaZero's search with it, which is
 * the driver of the forest's kernels that `meijin.learning.zero.player` is in Python.
 *
 * @import {Analysis} from "./engine.js"
 * @import {Facts, Task, Thinking} from "./worker_search.js"
 * @import {WasmModule} from "./wasm_module.js"
 */

import { analysis, continuation, Pace, ranked, SLICE, stream } from "./worker_search.js";

const LARGE = 1e6; // the score that the values of a game without a highest score call 1
const FOREVER = 2 ** 31 - 1;
const ROUNDING = 1e-6; // of values, which are kept in single precision

/** Put a net into a module: its program, its weights, and where it sees and answers.
 *  @param {WasmModule} module @param {ArrayBuffer} file @returns {number} positions that are worked on together */
export function loadNet(module, file) {
  const length = new DataView(file).getUint32(0, true), header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 4, length)));
  const kinds = /** @type {Record<string, any>} */ ({ u2: Uint16Array, f4: Float32Array, i4: Int32Array });
  const array = (/** @type {string} */ name) => {
    const { type, shape, at } = header.arrays[name];
    return new kinds[type](file, 4 + length + at, shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1));
  };
  const long = (/** @type {string} */ name) => BigInt64Array.from(array(name), BigInt);
  const put = (/** @type {string} */ name, /** @type {number[]} */ shape, /** @type {any} */ values) => {
    module.place(name, shape);
    module.array(name).set(values);
  };
  put("net.code.ops", header.arrays.ops.shape, long("ops"));
  put("net.code.tables", header.arrays.tables.shape, array("tables"));
  put("net.code.grid", header.arrays.grid.shape, long("grid"));
  put("net.starts", header.arrays.starts.shape, long("starts"));
  put("net.steps", header.arrays.steps.shape, long("steps"));
  put("net.memory", [header.memory], array("constants"));
  put("net.code.weights", [header.weights], packed(header, array("halves")));
  const { at } = module.place("net.memory"), starts = array("starts");
  const slots = /** @type {[string, number][]} */ ([["x", 1], ["logits", 2], ["outlook", 3]]);
  for (const [name, region] of slots) {
    const { shape } = module.manifest.arrays[`forest.${name}`];
    module.put(`forest.${name}`, { at: at + 4 * starts[region], shape, room: 0 });
  }
  return header.chunk;
}

/** The weights as the kernels want them: [point, panel of outputs, input, output in it].
 *  @param {any} header @param {Uint16Array} halves */
function packed({ layers, points, panel, weights }, halves) {
  const table = halfTable(), found = new Float32Array(weights);
  let from = 0, to = 0;
  for (const { outputs, inputs, taps } of layers) {
    const filters = taps === 1 ? [[1]] : points, panels = Math.ceil(outputs / panel), step = panels * inputs * panel;
    for (let o = 0; o < outputs; o++) {
      for (let i = 0; i < inputs; i++) {
        const place = to + (Math.floor(o / panel) * inputs + i) * panel + (o % panel);
        for (let p = 0; p < filters.length; p++) {
          let sum = 0;
          for (let t = 0; t < taps; t++) sum += filters[p][t] * table[halves[from + t]];
          found[place + p * step] = sum;
        }
        from += taps;
      }
    }
    to += filters.length * step;
  }
  return found;
}

/** @type {Float32Array | null} */
let halfValues = null;

/** The number that each of the 65536 float16 stands for. */
function halfTable() {
  halfValues ??= Float32Array.from({ length: 65536 }, (_, bits) => {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
  });
  return halfValues;
}

/** With a move first that is drawn by chance, as `meijin.agents.champion` does below full strength. @param {Analysis} found @param {number} temperature */
function drawn(found, temperature) {
  const worth = found.moves.map(({ visits, prior }) => ((visits ?? 0) + (prior ?? 0)) ** (1 / temperature));
  let left = Math.random() * worth.reduce((sum, each) => sum + each, 0);
  const at = Math.max(0, worth.findIndex((each) => (left -= each) < 0));
  found.moves.unshift(...found.moves.splice(at, 1));
  found.random = at > 0;
  return found;
}

export class Zero {
  /** @param {WasmModule} module @param {Facts} facts @param {{net: ArrayBuffer, c?: number, fpu?: number, reuse?: boolean, draw?: number, seed?: bigint,
   *  level?: number, levels?: [number, number][]}} options  levels: [simulations, temperature] of those below full strength */
  constructor(module, facts, { net, c = 1.5, fpu = 0.15, reuse = true, draw = 0, seed = 0n, level = 0, levels = [] }) {
    this.module = module;
    this.facts = facts;
    this.temperature = levels[level - 1]?.[1] ?? 0;
    this.reuse = reuse && !this.temperature;
    this.draw = draw; // what a draw is worth to both sides
    this.chunk = loadNet(module, net);
    const options = module.array("forest.options"), slots = facts.slots["forest.options"];
    options[slots.C] = c;
    options[slots.FPU] = fpu;
    options[slots.DRAW] = draw;
    module.array("forest.rng")[0] = stream(seed, 0);
    /** @type {{origin: string, moves: number[]} | null} */
    this.at = null;
  }

  /** @param {string} slot */
  #info(slot) {
    return this.module.array("forest.info")[this.facts.slots["forest.info"][slot]];
  }

  /** @param {Task} task */
  #setRoot(task) {
    const further = this.reuse ? continuation(this.at, task) : null, { module, facts } = this, slots = facts.slots["forest.info"];
    this.at = { origin: task.origin, moves: task.moves };
    if (further) for (const move of further) module.run("forest.follow", 0, move);
    else module.run("forest.forget", 0, 1);
    const info = module.array("forest.info");
    info[slots.READY] = info[slots.WAITS] = info[slots.DEEPEST] = 0;
    module.array("forest.roots").set(task.record);
  }

  /** Let the next steps search until the root has so many visits. @param {number} simulations */
  #want(simulations) {
    this.module.array("forest.options")[this.facts.slots["forest.options"].FULL_SIMULATIONS] = Math.min(simulations, FOREVER);
    if (this.#info("READY")) this.module.array("forest.info")[this.facts.slots["forest.info"].TARGET] = Math.min(simulations, FOREVER);
  }

  get #finished() {
    return this.#info("READY") === 1 && (this.#info("DONE") >= this.#info("TARGET") || this.#info("PROVEN") === 1);
  }

  #step() {
    this.module.run("forest.step", 0, 1);
    if (this.#info("WAITS")) this.module.run("net.run", 1, this.chunk);
  }

  /** @param {Task} task @returns {Thinking} */
  *think(task) {
    this.#setRoot(task);
    const pace = new Pace(task);
    const kept = this.#info("NODES") > 0 ? this.module.field("forest.nodes", "visits")(0) : 0;
    this.#want(kept + 1);
    while (!this.#finished) this.#step();
    this.#want(kept + (task.limit.simulations ?? FOREVER));
    while (!this.#finished && !pace.over) {
      const end = Math.min(performance.now() + SLICE, pace.deadline);
      do this.#step();
      while (!this.#finished && performance.now() < end);
      yield pace.due ? this.#report(task, kept, pace.seconds) : null;
    }
    const found = this.#report(task, kept, pace.seconds);
    return task.act && this.temperature ? drawn(found, this.temperature) : found;
  }

  /** The score of a value. @param {number} value */
  #unscaled(value) {
    const [low, high] = this.facts.range;
    if (low !== null && high !== null) return low + ((value + 1) / 2) * (high - low);
    return (low ?? 0) + Math.expm1(value * Math.log1p(LARGE));
  }

  /** @param {Task} task @param {number} kept @param {number} seconds @returns {Analysis} */
  #report(task, kept, seconds) {
    const { module, facts } = this, { seats } = facts;
    const node = (/** @type {string} */ name) => module.field("forest.nodes", name), edge = (/** @type {string} */ name) => module.field("forest.edges", name);
    const first = node("first"), count = node("count"), turn = node("turn"), nodeVisits = node("visits");
    const visits = edge("visits"), total = edge("total"), child = edge("child"), move = edge("move"), prior = edge("prior"), proven = edge("proven");
    const line = (/** @type {number} */ e) => {
      const moves = [move(e)];
      for (let i = child(e); i >= 0 && turn(i) >= 0 && nodeVisits(i) > 0; ) {
        let best = first(i);
        for (let k = first(i); k < first(i) + count(i); k++) if (visits(k) > visits(best)) best = k;
        moves.push(move(best));
        i = child(best);
      }
      return moves;
    };
    const edges = Array.from({ length: count(0) }, (_, k) => first(0) + k), all = nodeVisits(0);
    const scores = (/** @type {(k: number) => number} */ sum, /** @type {number} */ count) => {
      const values = Array.from({ length: seats }, (_, k) => sum(k) / count);
      const shift = this.draw ? values.reduce((a, b) => a + b, 0) / seats : 0; // a draw is even again
      return values.map((value) => this.#unscaled(value - shift));
    };
    const moves = edges.map((e) => ({
      move: move(e), visits: visits(e), prior: prior(e), proven: !!proven(e), pv: line(e),
      value: visits(e) ? scores((k) => total(e, k), visits(e)) : null,
    }));
    const mean = scores((k) => edges.reduce((sum, e) => sum + total(e, k), 0), Math.max(1, all));
    const known = moves.filter((info) => info.proven && info.value), isProven = this.#info("PROVEN") === 1;
    const best = known.reduce((/** @type {any} */ a, b) => (!a || (b.value ?? [])[task.turn] > a.value[task.turn] ? b : a), null);
    const found = analysis({
      turn: task.turn, moves, value: isProven && best ? best.value : mean, proven: isProven, simulations: all - kept, nodes: this.#info("NODES"),
      depth: this.#info("DEEPEST"), seconds,
      note: this.#info("NODES") >= module.manifest.arrays["forest.nodes"].shape[1] ? "memory full: the tree stopped growing" : "",
    });
    return ranked(found, facts, ROUNDING);
  }
}
