// @ts-check
/**
 * The searches that workers run. Each is the driver of kernels, as its Python namesake is: agent.py of mcts,
 * alphabeta.py, maxn.py. A search is a generator: it yields now and then, with an analysis where one is due, so that
 * whoever runs it can listen in between.
 *
 * @import {Analysis, MoveInfo} from "./engine.js"
 * @import {WasmModule} from "./wasm_module.js"
 *
 * @typedef {object} Facts  what a search knows of its game
 * @property {number} seats
 * @property {[number | null, number | null]} range  of scores; null: no bound
 * @property {number} longest
 * @property {number} size  bytes of a record
 * @property {Record<string, Record<string, number>>} slots  array -> name -> place
 *
 * @typedef {object} Task
 * @property {Uint8Array} record
 * @property {string} origin  where the line begins
 * @property {number[]} moves  from there
 * @property {number} turn
 * @property {number[]} legal
 * @property {{seconds?: number | null, simulations?: number | null, depth?: number | null, nodes?: number | null}} limit
 * @property {number} every  seconds between two analyses
 * @property {boolean} act  only the best move counts
 *
 * @typedef {Generator<Analysis | null, Analysis, void>} Thinking
 */

export const SLICE = 12; // milliseconds between looks at the clock and at messages
const MASK = (1n << 64n) - 1n;

/** The `index`-th random stream of a seed, as `meijin.core.rng.stream` makes it. @param {bigint} seed @param {number} index */
export function stream(seed, index) {
  const mix = (/** @type {bigint} */ z) => {
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return z ^ (z >> 31n);
  };
  return mix((mix(seed & MASK) + (BigInt(index) + 1n) * 0x9e3779b97f4a7c15n) & MASK) || 1n;
}

/** When a search reports and when its time is over. */
export class Pace {
  /** @param {Task} task */
  constructor({ limit, every }) {
    this.began = performance.now();
    this.deadline = this.began + 1000 * (limit.seconds ?? Infinity);
    this.every = 1000 * every;
    this.next = this.began + this.every;
  }

  get seconds() {
    return (performance.now() - this.began) / 1000;
  }

  get over() {
    return performance.now() >= this.deadline;
  }

  get due() {
    const now = performance.now();
    if (now < this.next) return false;
    this.next = now + this.every;
    return true;
  }
}

/** How many steps fill a slice, learned from the slices before. */
class Slices {
  steps = 1;

  /** @param {number} most @param {(steps: number) => void} run */
  run(most, run) {
    const began = performance.now(), steps = Math.min(this.steps, most);
    run(steps);
    const spent = performance.now() - began;
    const wanted = spent > 0.05 ? (steps * SLICE) / spent : steps * 4;
    this.steps = Math.max(1, Math.min(4 * steps, Math.round(wanted), 1 << 20));
  }
}

/** The part of the game since the position searched before; null if this one does not continue it.
 *  @param {{origin: string, moves: number[]} | null} before @param {Task} task */
export function continuation(before, task) {
  if (!before || before.origin !== task.origin) return null;
  if (before.moves.some((move, i) => task.moves[i] !== move)) return null;
  return task.moves.slice(before.moves.length);
}

/** @param {Partial<Analysis>} found @returns {Analysis} */
export function analysis(found) {
  return {
    turn: 0, moves: [], value: null, proven: false, simulations: 0, nodes: 0, depth: 0, seconds: 0, note: "", advice: "",
    ...found,
  };
}

// ---- Monte Carlo tree search ----

const TREE_BYTES = 64 << 20;
const MOST_VISITS = 2 ** 31 - 2;

export class Mcts {
  /** @param {WasmModule} module @param {Facts} facts @param {{prefix?: string, c?: number, seed: bigint, index?: number}} options */
  constructor(module, facts, { prefix = "mcts", c = Math.SQRT2, seed, index = 0 }) {
    this.module = module;
    this.facts = facts;
    this.prefix = prefix;
    this.c = c;
    const arrays = module.manifest.arrays, name = (/** @type {string} */ part) => `${prefix}.${part}`;
    const node = Number(arrays[name("tree.nodes")].type.slice(1)), slots = arrays[name("tree.stats")].shape[1];
    const room = Math.floor(TREE_BYTES / (node + 4 * slots + 4));
    module.place(name("tree.nodes"), [room]);
    module.place(name("tree.stats"), [room, slots]);
    module.place(name("places"), [room]);
    module.array(name("thread.rng"))[0] = stream(seed, index);
    this.slices = new Slices();
    /** @type {{origin: string, moves: number[]} | null} */
    this.at = null;
    this.full = false;
  }

  /** @param {string} part @returns {any} */
  #array(part) {
    return this.module.array(`${this.prefix}.${part}`);
  }

  /** @param {string} name @param {number} i */
  #node(name, i, part = 0) {
    return this.module.field(`${this.prefix}.tree.nodes`, name)(i, part);
  }

  /** @param {"USED" | "DEEPEST" | "FULL"} slot */
  #info(slot) {
    return Number(this.#array("tree.info")[this.facts.slots["mcts.tree.info"][slot]]);
  }

  /** @param {Task} task */
  #setRoot(task) {
    const further = continuation(this.at, task), { prefix, module } = this;
    if (!further || !further.every((move) => module.run(`${prefix}.reroot`, move))) module.run(`${prefix}.reset`);
    this.#array("thread.states").set(task.record, this.facts.slots["mcts.thread.states"].ROOT * this.facts.size);
    this.at = { origin: task.origin, moves: task.moves };
    this.full = false;
  }

  /** @param {number} simulations */
  #simulate(simulations) {
    this.#array("tree.info")[this.facts.slots["mcts.tree.info"].FULL] = 0n;
    const done = this.module.run(`${this.prefix}.simulate`, simulations, this.full ? 1 : 0, this.c);
    if (this.#info("FULL")) this.full = true;
    return done;
  }

  /** @param {Task} task @returns {Thinking} */
  *think(task) {
    this.#setRoot(task);
    const pace = new Pace(task);
    let done = this.#simulate(1);
    const wanted = task.limit.simulations ?? Infinity;
    while (done < wanted && !this.#node("proven", 0) && !pace.over) {
      const room = MOST_VISITS - this.#node("visits", 0);
      if (room <= 0) break;
      this.slices.run(Math.min(wanted - done, room), (steps) => (done += this.#simulate(steps)));
      yield pace.due ? this.#report(task, done, pace.seconds) : null;
    }
    return this.#report(task, done, pace.seconds);
  }

  /** @param {number} i */
  #line(i) {
    const length = this.module.run(`${this.prefix}.line`, i);
    return /** @type {number[]} */ (Array.from(this.#array("thread.path").subarray(0, length)));
  }

  /** @param {Task} task @param {number} simulations @param {number} seconds */
  #report(task, simulations, seconds) {
    const { seats } = this.facts, first = this.#node("first", 0), count = first < 0 ? 0 : this.#node("count", 0);
    const value = (/** @type {number} */ i) => {
      const visits = this.#node("visits", i);
      return visits ? Array.from({ length: seats }, (_, k) => this.#node("total", i, k) / visits) : null;
    };
    const moves = Array.from({ length: count }, (_, k) => {
      const i = first + k, move = this.#node("move", i);
      return { move, visits: this.#node("visits", i), prior: null, value: value(i), proven: !!this.#node("proven", i), pv: [move, ...this.#line(i)] };
    });
    const found = analysis({
      turn: task.turn, moves, value: value(0), proven: !!this.#node("proven", 0), simulations, nodes: this.#info("USED"),
      depth: this.#info("DEEPEST"), seconds, note: this.full ? "memory full: the tree stopped growing" : "",
    });
    return ranked(found, this.facts);
  }
}

/** With the best move first: moves that keep a proven value, then those not lost, then by visits.
 *  @param {Analysis} found @param {Facts} facts @param {number} [rounding]  scores closer than this are equal */
export function ranked(found, facts, rounding = 1e-9) {
  const { turn, value, proven } = found, low = facts.range[0] ?? -Infinity;
  const reaches = (/** @type {number} */ one, /** @type {number} */ other) => one >= other - rounding * Math.max(1, Math.abs(other));
  const rank = (/** @type {MoveInfo} */ info) => {
    const mine = info.value ? info.value[turn] : -Infinity;
    const keeps = proven && info.proven && value !== null && reaches(mine, value[turn]);
    const lost = info.proven && reaches(low, mine);
    return [Number(keeps), Number(!lost), info.visits ?? 0, mine, info.prior ?? 0, -info.move];
  };
  const ranks = new Map(found.moves.map((info) => [info, rank(info)]));
  found.moves.sort((a, b) => descending(ranks.get(a) ?? [], ranks.get(b) ?? []));
  return found;
}

/** @param {number[]} a @param {number[]} b */
function descending(a, b) {
  const at = a.findIndex((x, i) => x !== b[i]);
  return at < 0 ? 0 : b[at] > a[at] ? 1 : -1;
}

/** What several trees of one position found together: a proof in one of them stands for all.
 *  @param {Analysis[]} parts @param {Facts} facts @returns {Analysis} */
export function merged(parts, facts) {
  if (parts.length === 1) return parts[0];
  /** @type {Map<number, MoveInfo[]>} */
  const byMove = new Map();
  for (const part of parts) for (const info of part.moves) byMove.set(info.move, [...(byMove.get(info.move) ?? []), info]);
  const mean = (/** @type {{visits: number, value: number[] | null, proven: boolean}[]} */ all) => {
    const exact = all.find((each) => each.proven);
    if (exact) return exact.value;
    const visits = all.reduce((n, each) => n + each.visits, 0);
    return visits ? Array.from({ length: facts.seats }, (_, k) => all.reduce((n, each) => n + each.visits * (each.value?.[k] ?? 0), 0) / visits) : null;
  };
  const moves = [...byMove.values()].map((all) => {
    const weighed = all.map((info) => ({ ...info, visits: info.visits ?? 0 }));
    const known = weighed.filter((info) => info.proven || !weighed.some((other) => other.proven));
    const most = known.reduce((a, b) => (b.visits > a.visits ? b : a));
    return { ...most, visits: weighed.reduce((n, info) => n + info.visits, 0), value: mean(weighed) };
  });
  const rootVisits = (/** @type {Analysis} */ part) => part.moves.reduce((n, info) => n + (info.visits ?? 0), 0) || 1;
  const proof = parts.find((part) => part.proven);
  const sum = (/** @type {"simulations" | "nodes"} */ what) => parts.reduce((n, part) => n + part[what], 0);
  const most = (/** @type {"depth" | "seconds"} */ what) => Math.max(...parts.map((part) => part[what]));
  const found = analysis({
    turn: parts[0].turn, moves, proven: !!proof, simulations: sum("simulations"), nodes: sum("nodes"), depth: most("depth"), seconds: most("seconds"),
    value: proof ? proof.value : mean(parts.map((part) => ({ visits: rootVisits(part), value: part.value, proven: false }))),
    note: parts.find((part) => part.note)?.note ?? "",
  });
  return ranked(found, facts);
}

// ---- alpha-beta ----

const WIN = 1_000_000, UNIT = 100_000, PROVEN = WIN - 100_000, INFINITE = WIN + 1;
const QUIET_PLIES = 8, MAX_DEPTH = 200, NO_LIMIT = 2n ** 62n;

export class AlphaBeta {
  /** @param {WasmModule} module @param {Facts} facts @param {{quiescence?: boolean}} options */
  constructor(module, facts, { quiescence = true }) {
    this.module = module;
    this.facts = facts;
    this.quiet = quiescence ? QUIET_PLIES : 0;
    this.slots = facts.slots["alphabeta.w.info"];
  }

  /** @param {string} slot */
  #info(slot) {
    return Number(this.module.array("alphabeta.w.info")[this.slots[slot]]);
  }

  /** Both seats' scores, from the search's number for one of them. @param {number} seat @param {number} value */
  #vector(seat, value) {
    const [low, high] = /** @type {[number, number]} */ (this.facts.range);
    const scaled = Math.abs(value) > PROVEN ? Math.sign(value) : value / UNIT;
    const mine = (low + high) / 2 + ((high - low) / 2) * scaled;
    return seat === 0 ? [mine, low + high - mine] : [low + high - mine, mine];
  }

  /** @param {Task} task @returns {Thinking} */
  *think(task) {
    const { module, facts } = this, n = task.legal.length, all = !task.act;
    const deepest = Math.min(task.limit.depth ?? MAX_DEPTH, MAX_DEPTH, facts.longest);
    for (const [name, shape] of /** @type {[string, number[]][]} */ ([["moves", [n]], ["values", [n]], ["lines", [n, deepest]]])) module.place(`alphabeta.${name}`, shape);
    module.array("alphabeta.w.killers").fill(-1);
    module.array("alphabeta.w.history").fill(0n);
    const info = () => module.array("alphabeta.w.info");
    info().fill(0n);
    info()[this.slots.MOST_NODES] = NO_LIMIT;
    module.array("alphabeta.w.states").set(task.record);
    /** @typedef {{move: number, value: number, line: number[]}} Row */
    /** @param {number} depth @param {Row[]} rows @param {number} alpha @param {number} beta */
    const look = (depth, rows, alpha, beta) => {
      info()[this.slots.HORIZON] = 0n;
      module.array("alphabeta.moves").set(rows.map((row) => row.move));
      module.array("alphabeta.values").set(rows.map((row) => BigInt(row.value)));
      module.array("alphabeta.lines").set(rows.flatMap((row) => row.line));
      const best = module.run("alphabeta.root", depth, this.quiet, alpha, beta, all ? 1 : 0);
      const values = module.array("alphabeta.values"), lines = module.array("alphabeta.lines");
      return { best, rows: rows.map((row, i) => ({ move: row.move, value: Number(values[i]), line: /** @type {number[]} */ (Array.from(lines.subarray(i * deepest, (i + 1) * deepest))) })) };
    };
    /** @param {Row[]} rows */
    const sorted = (rows) => [...rows].sort((a, b) => b.value - a.value); // stable
    const pace = new Pace(task);
    module.stopped = () => pace.over;
    const blank = task.legal.map((move) => ({ move, value: 0, line: Array(deepest).fill(-1) }));
    let { best, rows } = look(1, blank, -INFINITE, INFINITE);
    let done = 1, guess = Math.max(...rows.map((row) => row.value)), settled = best >= 0 && this.#info("HORIZON") === 0;
    info()[this.slots.MOST_NODES] = task.limit.nodes ? BigInt(task.limit.nodes) : NO_LIMIT;
    const report = () => {
      const moves = sorted(rows).map(({ move, value, line }, place) => {
        const exact = all || place === 0;
        return {
          move, visits: null, prior: null, value: exact ? this.#vector(task.turn, value) : null, proven: exact && (settled || Math.abs(value) > PROVEN),
          pv: exact ? [move, ...line.filter((m) => m >= 0)] : [],
        };
      });
      return analysis({ turn: task.turn, moves, value: moves[0].value, proven: moves[0].proven, nodes: this.#info("NODES"), depth: done, seconds: pace.seconds });
    };
    for (let depth = 2; depth <= deepest; depth++) {
      const known = all ? rows.every((row) => Math.abs(row.value) > PROVEN) : Math.abs(guess) > PROVEN || n === 1;
      if (settled || known || pace.over) break;
      yield pace.due ? report() : null;
      const before = sorted(rows);
      let span = UNIT / 20, found = look(depth, before, all ? -INFINITE : Math.max(guess - span, -INFINITE), all ? INFINITE : Math.min(guess + span, INFINITE));
      while (!all && found.best >= 0) { // widen the window until the value lies inside
        const value = found.rows[found.best].value;
        if ((guess - span < value && value < guess + span) || span > 2 * WIN) break;
        span *= 8;
        found = look(depth, before.map((row, i) => ({ ...row, ...found.rows[i], line: found.rows[i].line })), Math.max(guess - span, -INFINITE), Math.min(guess + span, INFINITE));
      }
      if (found.best < 0) break;
      const top = found.rows[found.best].value;
      rows = all ? found.rows : found.rows.map((row, i) => (i === found.best ? row : { ...row, value: Math.min(before[i].value, top - 1) }));
      done = depth;
      guess = top;
      settled = this.#info("HORIZON") === 0;
    }
    return report();
  }
}

// ---- full-width search ----

export class MaxN {
  /** @param {WasmModule} module @param {Facts} facts */
  constructor(module, facts) {
    this.module = module;
    this.facts = facts;
    this.slots = facts.slots["maxn.w.info"];
  }

  /** @param {Task} task @returns {Thinking} */
  *think(task) {
    const { module, facts } = this, n = task.legal.length, { seats } = facts;
    const room = module.manifest.arrays["maxn.lines"].shape[1];
    const deepest = Math.min(task.limit.depth ?? MAX_DEPTH, facts.longest, room - 2);
    for (const [name, shape] of /** @type {[string, number[]][]} */ ([["moves", [n]], ["values", [n, seats]], ["lengths", [n]], ["exact", [n]], ["lines", [n, room]]])) module.place(`maxn.${name}`, shape);
    let nodes = 0;
    const pace = new Pace(task);
    module.stopped = () => pace.over;
    const look = (/** @type {number} */ depth) => {
      module.array("maxn.w.states").set(task.record);
      const info = module.array("maxn.w.info");
      info.fill(0n);
      info[this.slots.MOST_NODES] = depth === 1 || !task.limit.nodes ? NO_LIMIT : BigInt(Math.max(1, task.limit.nodes - nodes));
      module.array("maxn.moves").set(task.legal);
      module.array("maxn.lines").fill(-1n);
      module.run("maxn.root", depth);
      nodes += Number(module.array("maxn.w.info")[this.slots.NODES]);
      const stopped = Number(module.array("maxn.w.info")[this.slots.STOPPED]);
      if (stopped) return stopped;
      const values = module.array("maxn.values"), lines = module.array("maxn.lines");
      return task.legal.map((move, i) => ({
        move, value: /** @type {number[]} */ (Array.from(values.subarray(i * seats, (i + 1) * seats))), length: module.array("maxn.lengths")[i], exact: module.array("maxn.exact")[i] === 1n,
        line: Array.from(lines.subarray(i * room, i * room + depth - 1), Number).filter((m) => m >= 0),
      }));
    };
    const one = look(1);
    let rows = Array.isArray(one) ? one : task.legal.map((move) => ({ move, value: Array(seats).fill(0), length: 0, exact: false, line: [] }));
    let done = 1;
    const report = () => this.#report(task, rows, nodes, done, pace.seconds);
    const deepens = task.limit.seconds || task.limit.nodes || Number.isFinite(task.every);
    for (let depth = deepens ? 2 : deepest; depth <= deepest; depth++) {
      if (depth === 1 || rows.every((row) => row.exact) || pace.over) break;
      yield pace.due ? report() : null;
      const found = look(depth);
      if (!Array.isArray(found)) break;
      rows = found;
      done = depth;
    }
    return report();
  }

  /** @param {Task} task @param {{move: number, value: number[], length: number, exact: boolean, line: number[]}[]} rows
   *  @param {number} nodes @param {number} depth @param {number} seconds */
  #report({ turn }, rows, nodes, depth, seconds) {
    const [low, high] = this.facts.range, middle = low === null || high === null ? Infinity : (low + high) / 2;
    const rank = (/** @type {typeof rows[0]} */ { value, length, move }) => [value[turn], value[turn] > middle ? -length : value[turn] < middle ? length : 0, -rows.findIndex((row) => row.move === move)];
    const moves = [...rows].sort((a, b) => descending(rank(a), rank(b))).map(({ move, value, exact, line }) => ({ move, visits: null, prior: null, value, proven: exact, pv: [move, ...line] }));
    const won = moves[0].proven && high !== null && moves[0].value[turn] >= high;
    return analysis({ turn, moves, value: moves[0].value, proven: won || rows.every((row) => row.exact), nodes, depth, seconds });
  }
}
