// @ts-check
/**
 * Tables without a server: live games in the page, kept in its storage. The rules of what may be done when are those
 * of meijin/web/server/tables.py.
 *
 * @import {Analysis, At, Notes, Question, SeatInfo, Stream, Table, Tables, TableOptions, TableState, TableSummary} from "./engine.js"
 * @import {LoadedGame} from "./engine_local.js"
 *
 * @typedef {[number, number, number[] | null, boolean?]} Ply  move, mover, what the agent that moved expected, and whether it drew the move by chance
 * @typedef {{left: number[], increment: number, since: number | null}} Clock  since: when the clock of the seat to move was started
 * @typedef {object} Body  what is kept
 * @property {string} id
 * @property {string} game
 * @property {string} title
 * @property {string | null} position
 * @property {Ply[]} plies
 * @property {Ply[]} redo
 * @property {SeatInfo[]} seats
 * @property {Clock | null} clock
 * @property {TableState["result"]} result
 * @property {boolean} running
 * @property {number} speed
 * @property {string} seed
 * @property {Notes} notes
 * @property {number} updated
 */

import { CHANCE, EngineError, OVER } from "./engine.js";
import { stream } from "./worker_search.js";

const PREFIX = "meijin-table-", MOST_TABLES = 200;

/** The page's storage; in a notebook, and in a frame that has none, a map that is forgotten with it. */
const store = (() => {
  try {
    if (document.documentElement.dataset.compact !== undefined) throw new Error("not here");
    localStorage.setItem("meijin-test", "");
    localStorage.removeItem("meijin-test");
    return localStorage;
  } catch {
    /** @type {Map<string, string>} */
    const kept = new Map();
    return {
      getItem: (/** @type {string} */ key) => kept.get(key) ?? null,
      setItem: (/** @type {string} */ key, /** @type {string} */ value) => void kept.set(key, value),
      removeItem: (/** @type {string} */ key) => void kept.delete(key),
      key: (/** @type {number} */ i) => [...kept.keys()][i] ?? null,
      get length() {
        return kept.size;
      },
    };
  }
})();

/** All tables that are kept, the newest first. @returns {Body[]} */
function kept() {
  const found = [];
  for (let i = 0; i < store.length; i++) {
    const key = store.key(i);
    try {
      if (key?.startsWith(PREFIX)) found.push(JSON.parse(store.getItem(key) ?? ""));
    } catch {
      // damaged: as good as none
    }
  }
  return found.sort((a, b) => b.updated - a.updated);
}

/** @param {Body} body */
function keep(body) {
  body.updated = Date.now();
  for (const old of kept().slice(MOST_TABLES - 1)) if (old.id !== body.id) store.removeItem(PREFIX + old.id);
  try {
    store.setItem(PREFIX + body.id, JSON.stringify(body));
  } catch {
    // the storage is full: the game goes on, but is not kept
  }
}

/** A float from 0 to 1 that depends on the seed and the ply alone: taking a move back does not roll the dice again.
 *  @param {string} seed @param {number} ply */
function uniform(seed, ply) {
  let x = stream(BigInt(seed), ply);
  x ^= x >> 12n;
  x ^= (x << 25n) & ((1n << 64n) - 1n);
  x ^= x >> 27n;
  return Number(((x * 0x2545f4914f6cdd1dn) & ((1n << 64n) - 1n)) >> 32n) / 2 ** 32;
}

/**
 * @param {(game: string) => Promise<LoadedGame>} open
 * @param {(opening: Promise<LoadedGame>, at: At, question: Question & {act?: boolean, home?: string}) => Stream} analyse
 * @returns {Tables}
 */
export function localTables(open, analyse) {
  /** @type {Map<string, LocalTable>} */
  const tables = new Map();
  return {
    /** @param {TableOptions} options */
    async create({ game, position, moves, seats, clock, running = true, speed = 0 }) {
      const loaded = await open(game), { description } = loaded.file, random = crypto.getRandomValues(new BigUint64Array(2));
      if (seats.length > description.seats.length) throw new EngineError(`${description.title} has ${description.seats.length} seats, not ${seats.length}.`);
      seats.forEach((seat) => seat.kind === "agent" && loaded.agent(seat.agent ?? ""));
      const line = moves ?? [];
      loaded.rules.record(position, line);
      /** @type {Body} */
      const body = {
        id: random[0].toString(36), game: description.id, title: description.title, position: position ?? null, redo: [], result: null, running, speed,
        plies: line.map((move, n) => [move, loaded.rules.turn(loaded.rules.record(position, line.slice(0, n))), null]),
        seats: description.seats.map((_, k) => ({ name: "", agent: null, limit: null, ...(seats[k] ?? { kind: "person" }) })),
        clock: clock ? { left: description.seats.map(() => clock.seconds), increment: clock.increment, since: null } : null,
        seed: String(random[1] >> 1n), notes: { comment: "", nodes: [] }, updated: 0,
      };
      const table = new LocalTable(loaded, body, analyse);
      tables.set(body.id, table);
      table.begin();
      return table;
    },

    async open(id) {
      const known = tables.get(id);
      if (known) return known;
      const text = store.getItem(PREFIX + id);
      if (!text) throw new EngineError("This table is not kept in this browser; it may have been deleted.", "unknown");
      const body = /** @type {Body} */ (JSON.parse(text));
      if (body.clock?.since) body.clock.since = Date.now(); // it stood still while nobody looked
      const table = new LocalTable(await open(body.game), body, analyse);
      tables.set(id, table);
      table.begin();
      return table;
    },

    async list() {
      return kept().map((body) => {
        /** @type {TableSummary} */
        const summary = { id: body.id, game: body.game, title: body.title, seats: body.seats, plies: body.plies.length, turn: body.result ? OVER : 0, result: body.result, updated: body.updated };
        return summary;
      });
    },

    async remove(id) {
      tables.get(id)?.close();
      tables.delete(id);
      store.removeItem(PREFIX + id);
    },
  };
}

/** @implements {Table} */
class LocalTable extends EventTarget {
  /** @param {LoadedGame} game @param {Body} body @param {(opening: Promise<LoadedGame>, at: At, question: any) => Stream} analyse */
  constructor(game, body, analyse) {
    super();
    this.game = game;
    this.body = body;
    this.analyse = analyse;
    this.id = body.id;
    /** @type {string | undefined} */
    this.key = undefined;
    /** @type {number | null} */
    this.thinking = null;
    /** @type {string | null} */
    this.problem = null;
    /** @type {Stream | null} */
    this.stream = null;
    this.steps = 0;
    /** @type {any} */
    this.flag = 0;
    this.look = game.rules.look(body.position, this.moves);
    this.state = this.#state();
  }

  get moves() {
    return this.body.plies.map(([move]) => move);
  }

  get turn() {
    return this.body.result ? OVER : this.look.turn;
  }

  begin() {
    this.#roll();
    this.#changed();
    return this;
  }

  /** @returns {TableState} */
  #state() {
    const { body } = this;
    return {
      id: body.id, game: body.game, position: body.position, moves: this.moves, movers: body.plies.map(([, mover]) => mover), redo: body.redo.map(([move]) => move),
      look: this.look, seats: body.seats, clocks: this.#clocks(), result: body.result, running: body.running, speed: body.speed, thinking: this.thinking,
      problem: this.problem, values: body.plies.map(([, , value]) => value),
      random: body.plies.flatMap(([, , , random], k) => (random ? [k] : [])), you: body.seats.map((_, k) => k), host: true,
    };
  }

  /** Keep, tell, and let agents move. */
  #changed() {
    keep(this.body);
    this.#tell();
    this.#setFlag();
    this.#wake();
  }

  #tell() {
    this.state = this.#state();
    this.dispatchEvent(new Event("change"));
  }

  // ---- what people do ----

  #expect() {
    if (this.turn === OVER) throw new EngineError("The game is over.", "closed");
    return this.turn;
  }

  /** @param {number} move */
  async play(move) {
    const seat = this.#expect();
    if (this.body.seats[seat]?.kind !== "person") throw new EngineError("It is the turn of an agent; take its seat over first.", "illegal");
    this.#apply(move, null);
    this.#changed();
  }

  async undo() {
    const { plies, seats } = this.body, chosen = plies.map((_, k) => k).filter((k) => plies[k][1] >= 0);
    const people = chosen.filter((k) => seats[plies[k][1]].kind === "person");
    const target = people.at(-1) ?? chosen.at(-1) ?? (this.body.result ? plies.length : undefined);
    if (target === undefined) throw new EngineError("There is nothing to undo.", "illegal");
    this.#go(target);
  }

  /** @param {number} count */
  async back(count) {
    const chosen = this.body.plies.map((_, k) => k).filter((k) => this.body.plies[k][1] >= 0);
    if (count > chosen.length) throw new EngineError("There is nothing to undo.", "illegal");
    this.#go(chosen[chosen.length - count]);
  }

  async redo() {
    const { plies, redo, seats } = this.body, all = [...plies, ...redo];
    if (!redo.length) throw new EngineError("There is nothing to redo.", "illegal");
    let at = plies.length, chosen = 0;
    while (at < all.length) {
      chosen += Number(all[at][1] >= 0);
      at++;
      const following = all[at]?.[1] ?? CHANCE;
      if (following >= 0 && chosen && seats[following].kind === "person") break;
    }
    this.#go(at);
  }

  /** @param {number} seat */
  async resign(seat) {
    this.#expect();
    if (this.body.seats[seat]?.kind !== "person") throw new EngineError("Only a person can resign.", "refused");
    this.#interrupt();
    this.#end(seat, "resign");
    this.#changed();
  }

  /** @param {number} seat @param {SeatInfo} who */
  async seat(seat, who) {
    if (who.kind === "agent") this.game.agent(who.agent ?? "");
    this.#interrupt();
    this.body.seats[seat] = { ...who, name: who.name ?? "", agent: who.agent ?? null, limit: who.limit ?? null };
    this.problem = null;
    this.#changed();
  }

  /** @param {{running?: boolean, speed?: number, step?: boolean}} change */
  async run({ running, speed, step }) {
    if (running !== undefined) {
      this.body.running = running;
      this.steps = 0;
      if (running) this.#startClock();
      else this.#stopClock();
    }
    if (speed !== undefined) this.body.speed = speed;
    if (step) this.steps = 1;
    this.problem = null;
    this.#interrupt();
    this.#changed();
  }

  async notes() {
    return this.body.notes;
  }

  /** @param {Notes} notes */
  async keep(notes) {
    this.body.notes = notes;
    keep(this.body);
  }

  /** Agents rest until somebody opens it again. */
  close() {
    this.#interrupt();
    clearTimeout(this.flag);
  }

  // ---- what happens then ----

  /** @param {number} move @param {number[] | null} value  what the agent that moves expects */
  #apply(move, value, random = false) {
    const { body } = this, mover = this.look.turn;
    this.look = this.game.rules.look(body.position, [...this.moves, move]); // raises where it is not legal
    this.#moveClock(mover);
    body.plies.push([move, mover, value, random]);
    body.redo = [];
    this.problem = null;
    this.#finish();
    if (this.look.turn === CHANCE) {
      keep(body);
      this.#tell(); // the move is shown before what chance makes of it
      this.#roll();
    }
  }

  /** Let chance move. */
  #roll() {
    const { body } = this;
    while (this.look.turn === CHANCE && !body.result) {
      let u = uniform(body.seed, body.plies.length), k = 0;
      const odds = this.look.odds ?? [];
      while (k < odds.length - 1 && (u -= odds[k]) >= 0) k++;
      const outcome = this.look.legal[k];
      this.look = this.game.rules.look(body.position, [...this.moves, outcome]);
      body.plies.push([outcome, CHANCE, null]);
      if (this.look.turn === CHANCE) this.#tell();
    }
    this.#finish();
  }

  #finish() {
    if (this.look.turn === OVER && !this.body.result) {
      this.body.result = { scores: this.look.scores, ending: "rules", seat: null, reason: this.look.ending };
      this.#stopClock();
    }
  }

  /** Stand after that many plies of all that were made; the others can be made again. @param {number} ply */
  #go(ply) {
    const { body } = this, all = [...body.plies, ...body.redo];
    this.#interrupt();
    this.#stopClock();
    body.plies = all.slice(0, ply);
    body.redo = all.slice(ply);
    body.result = null;
    this.problem = null;
    this.look = this.game.rules.look(body.position, this.moves);
    if (this.turn >= 0 && body.seats[this.turn].kind === "agent" && body.redo.length) body.running = false; // or it would move again at once
    this.#finish();
    this.#startClock();
    this.#changed();
  }

  /** @param {number} seat @param {string} ending */
  #end(seat, ending) {
    const [worst, most] = this.game.facts.range, high = most ?? Math.max(1, (worst ?? -1) + 1), low = worst ?? (high > -1 ? -1 : high - 1);
    const count = this.body.seats.length, rest = low <= 0 && high > 0 ? high / Math.max(1, count - 1) : high;
    this.#stopClock();
    this.body.result = { scores: this.body.seats.map((_, k) => (k === seat ? low : rest)), ending, seat, reason: "" };
  }

  // ---- agents ----

  #agentToMove() {
    const { body, turn } = this;
    return turn >= 0 && body.seats[turn].kind === "agent" && (body.running || this.steps) ? turn : null;
  }

  #wake() {
    if (!this.stream && this.#agentToMove() !== null) void this.#drive();
  }

  #interrupt() {
    this.stream?.stop();
    this.stream = null;
    this.thinking = null;
  }

  async #drive() {
    for (let seat = this.#agentToMove(); seat !== null; seat = this.#agentToMove()) {
      const sitter = this.body.seats[seat], clocks = this.#clocks(), began = performance.now();
      const limit = { ...sitter.limit, ...(clocks ? { clock: { left: clocks.left[seat], increment: clocks.increment } } : {}) };
      const stream = this.analyse(Promise.resolve(this.game), { game: this.body.game, position: this.body.position, moves: this.moves }, { agent: sitter.agent ?? "", limit, every: 0.25, act: true, home: `${this.id}:${seat}` });
      this.stream = stream;
      this.thinking = seat;
      this.#tell();
      /** @type {Analysis | null} */
      let last = null;
      try {
        for await (const analysis of stream) {
          last = analysis;
          if (this.stream === stream) this.dispatchEvent(new CustomEvent("thinking", { detail: { seat, analysis } }));
        }
        const rest = 1000 * this.body.speed - (performance.now() - began);
        if (rest > 0 && this.stream === stream) await new Promise((resolve) => setTimeout(resolve, rest));
      } catch (error) {
        this.problem = /** @type {Error} */ (error).message;
      }
      if (this.stream !== stream) return; // something else happened meanwhile
      this.stream = null;
      this.thinking = null;
      this.steps = Math.max(0, this.steps - 1);
      if (last?.final && !this.problem) this.#apply(last.moves[0].move, last.value, last.random);
      else this.body.running = false;
      keep(this.body);
      this.#tell();
      this.#setFlag();
    }
  }

  // ---- clocks ----

  #clocks() {
    const { clock } = this.body;
    if (!clock) return null;
    const left = [...clock.left], active = clock.since !== null && this.turn >= 0 ? this.turn : null;
    if (active !== null) left[active] = Math.max(0, left[active] - (Date.now() - (clock.since ?? 0)) / 1000);
    return { left, increment: clock.increment, active, at: Date.now() };
  }

  /** A seat has moved; from the first move on, somebody's clock runs. @param {number} seat */
  #moveClock(seat) {
    const { clock } = this.body;
    if (!clock || seat < 0) return;
    if (clock.since !== null) clock.left[seat] = Math.max(0, clock.left[seat] - (Date.now() - clock.since) / 1000) + clock.increment;
    clock.since = this.body.running ? Date.now() : null;
  }

  #stopClock() {
    const { clock } = this.body, clocks = this.#clocks();
    if (!clock || !clocks) return;
    clock.left = clocks.left;
    clock.since = null;
  }

  #startClock() {
    const { clock, plies, running } = this.body;
    if (clock && clock.since === null && plies.length && running && this.turn >= 0) clock.since = Date.now();
  }

  /** Have the game end when the running clock does. */
  #setFlag() {
    clearTimeout(this.flag);
    const clocks = this.#clocks();
    if (!clocks || clocks.active === null) return;
    const seat = clocks.active, ply = this.body.plies.length;
    this.flag = setTimeout(() => {
      const now = this.#clocks();
      if (now?.active !== seat || this.body.plies.length !== ply) return;
      if (now.left[seat] > 0) this.#setFlag();
      else {
        this.#interrupt();
        this.#end(seat, "time");
        this.#changed();
      }
    }, Math.min(1000 * clocks.left[seat] + 5, 2 ** 30));
  }
}
