// @ts-check
/**
 * The engine that needs no server: rules in the page, agents in workers, tables in the page's storage.
 *
 * What can be played is a folder that `meijin publish` writes, or the same files inside one page:
 * index.json lists the games, each set of parameters has a JSON file of its own (see meijin/web/wasm/bundle.py).
 *
 * @import {AgentInfo, Analysis, At, Description, Engine, GameSummary, Limit, Question, Stream} from "./engine.js"
 * @import {Facts, Task} from "./worker_search.js"
 * @import {Manifest} from "./wasm_module.js"
 *
 * @typedef {object} LocalAgent  what `AgentInfo` says, and how the agent is run here
 * @property {string} kind  "random", "heuristic", or a search of worker.js
 * @property {string[]} measures  the limits it heeds
 * @property {Limit} limit  its own
 * @property {Record<string, any>} options  for the search
 * @property {string | null} net  the file of its net
 *
 * @typedef {object} GameFile
 * @property {Description} description
 * @property {Manifest} manifest
 * @property {string} code  the file of the module
 * @property {Record<string, Record<string, number>>} slots
 * @property {(AgentInfo & LocalAgent)[]} agents
 *
 * @typedef {{id: string, params: Record<string, any>, file: string}} GameSet
 * @typedef {{version: number, games: (GameSummary & {sets: GameSet[]})[], samples?: Record<string, number[]>}} Index
 * @typedef {{json(name: string): Promise<any>, bytes(name: string): Promise<ArrayBuffer>, worker(): Worker}} Files
 */

import { EngineError, OVER } from "./engine.js";
import { atOnce } from "./local_agents.js";
import { localTables } from "./local_tables.js";
import { localRecords } from "./local_records.js";
import { Thinker } from "./thinker.js";
import { argumentsOf, nameOf } from "./ui/expression.js";
import { WasmGame } from "./wasm_game.js";
import { merged } from "./worker_search.js";

const SURE = 0.95, ENOUGH = 200; // as in meijin.core.agent: when to resign
const MOST_THREADS = 4;

/** Files of a folder next to the page. @param {string} base @param {() => Worker} worker @returns {Files} */
export function folder(base, worker) {
  const get = async (/** @type {string} */ name) => {
    /** @type {Response} */
    let response;
    try {
      response = await fetch(new URL(name, new URL(base, document.baseURI)));
    } catch {
      throw new EngineError(`${name} cannot be loaded. Are you offline? After a first complete visit this page works without a connection.`, "closed");
    }
    if (!response.ok) throw new EngineError(`${name} is missing on this site (${response.status}); publish it again.`, "unknown");
    return response;
  };
  return {
    json: async (name) => (await get(name)).json(),
    bytes: async (name) => (await get(name)).arrayBuffer(),
    worker,
  };
}

/** Files inside the page, in the element of that name; the worker's script is in another. @param {string} id @returns {Files} */
export function embedded(id) {
  const text = (/** @type {string} */ name) => document.getElementById(name)?.textContent ?? "";
  /** @type {Record<string, any>} */
  const files = JSON.parse(text(id));
  let script = "";
  return {
    json: async (name) => files[name],
    bytes: async (name) => decoded(files[name]),
    worker: () => new Worker((script ||= URL.createObjectURL(new Blob([text("meijin-worker")], { type: "text/javascript" })))),
  };
}

/** Why this browser cannot run compiled games; "" when it can. */
export function unable() {
  if (typeof WebAssembly === "undefined") return "This browser has no WebAssembly, which the games are compiled to. A current Firefox, Chrome, Edge or Safari has it.";
  // a function that returns a vector of zeros
  const simd = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11]);
  return WebAssembly.validate(simd) ? "" : "This browser's WebAssembly has no SIMD instructions, which the games need. Browsers from 2021 on have them (Safari from 2023 on).";
}

/** @param {Files} files @returns {Promise<Engine>} */
export async function localEngine(files) {
  const problem = unable();
  if (problem) throw new EngineError(problem, "refused");
  /** @type {Index} */
  const index = await files.json("index.json");
  /** @type {Map<string, Promise<LoadedGame>>} */
  const loaded = new Map();

  /** The game of an expression. @param {string} expression @returns {Promise<LoadedGame>} */
  const open = (expression) => {
    const name = nameOf(expression), entry = index.games.find((each) => each.name === name);
    if (!entry) return Promise.reject(new EngineError(`This page has no game '${name}'; it has ${index.games.map((each) => each.name).join(", ")}.`, "unknown"));
    const given = argumentsOf(expression);
    const fits = (/** @type {GameSet} */ { params }) => Object.entries(given).every(([key, value]) => JSON.stringify(params[key]) === JSON.stringify(value));
    const exact = entry.sets.find(({ id }) => id === expression);
    const set = exact ?? (Object.keys(given).length ? entry.sets.find((each) => fits(each)) : entry.sets[0]);
    if (!set) return Promise.reject(new EngineError(`This page has no ${expression}; it has ${entry.sets.map(({ id }) => id).join(", ")}.`, "unknown"));
    let game = loaded.get(set.id);
    if (!game) {
      game = load(files, set);
      loaded.set(set.id, game);
      game.catch(() => loaded.delete(set.id));
    }
    return game;
  };

  /** @type {Engine} */
  const engine = {
    features: { tables: true, links: false, records: ["jsonl", "text"], access: "full" },
    games: async () => index.games.map(({ sets, ...summary }) => summary),
    describe: async (game) => (await open(game)).file.description,
    agents: async (game) => (await open(game)).file.agents,
    look: async ({ game, position, moves }) => (await open(game)).rules.look(position, moves),
    looks: async ({ game, position, moves }) => {
      const { rules } = await open(game);
      return Array.from({ length: moves.length + 1 }, (_, n) => rules.look(position, moves.slice(0, n)));
    },
    setup: async (game, cells, turn) => {
      const { rules } = await open(game), position = rules.setUp(cells, turn);
      return { position, look: rules.look(position, []) };
    },
    analyse: (at, question) => analyse(open(at.game), at, question),
    samples: async () => index.samples ?? {},
    ...localRecords(open),
    tables: localTables(open, analyse),
  };
  return engine;
}

/** @param {Files} files @param {GameSet} set */
async function load(files, set) {
  /** @type {GameFile} */
  const file = await files.json(set.file);
  const code = await WebAssembly.compile(await files.bytes(file.code));
  return new LoadedGame(files, file, code);
}

/** A game whose file holds its code, as base64. @param {GameFile} file @param {() => Worker} worker @returns {Promise<LoadedGame>} */
export async function embeddedGame(file, worker) {
  const files = { json: async () => null, bytes: async () => new ArrayBuffer(0), worker };
  return new LoadedGame(files, file, await WebAssembly.compile(decoded(file.code)));
}

/** @param {string} text  base64 */
function decoded(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
}

export class LoadedGame {
  /** @param {Files} files @param {GameFile} file @param {WebAssembly.Module} code */
  constructor(files, file, code) {
    this.files = files;
    this.file = file;
    this.code = code;
    this.rules = new WasmGame(code, file.manifest, file.description);
    const { seats, score_range: range, longest } = file.description;
    /** @type {Facts} */
    this.facts = { seats: seats.length, range, longest, size: this.rules.size, slots: file.slots };
    /** @type {Map<string, Thinker[]>} agents that wait for their next question, by what they are */
    this.idle = new Map();
    /** @type {Map<string, Promise<ArrayBuffer>>} */
    this.nets = new Map();
  }

  /** The agent of an expression, with its arguments. @param {string} expression */
  agent(expression) {
    const name = nameOf(expression), given = argumentsOf(expression);
    const found = this.file.agents.find((each) => each.name === name);
    if (!found || found.unfit) throw new EngineError(found?.unfit ?? `'${name}' does not play here; there are ${this.file.agents.map((each) => each.name).join(", ")}.`, "unknown");
    const known = found.parameters.map((parameter) => parameter.name);
    for (const key of Object.keys(given)) {
      if (!known.includes(key)) throw new EngineError(`${name} has no parameter '${key}' here; it has ${known.join(", ") || "none"}.`);
    }
    return { agent: found, given };
  }

  /** What an agent heeds of a limit; its own where that is nothing. @param {LocalAgent} agent @param {Record<string, any>} given
   *  @param {Limit & {clock?: {left: number, increment: number}} | null | undefined} limit @param {number} plies @returns {Limit} */
  limit(agent, given, limit, plies) {
    const level = agent.options.levels?.[given.level - 1];
    if (level) return { simulations: level[0] }; // a level below full strength decides by itself how long to think
    const measures = /** @type {("seconds" | "simulations" | "depth" | "nodes")[]} */ (agent.measures);
    const own = Object.fromEntries(measures.filter((name) => given[name] != null).map((name) => [name, given[name]]));
    let asked = { ...limit };
    if (asked.clock && measures.includes("seconds")) {
      const left = Math.max(1, Math.floor((this.facts.longest - plies) / this.facts.seats));
      asked = { ...asked, seconds: Math.min(share(asked.clock, Math.min(30, left)), asked.seconds ?? Infinity) };
    }
    for (const each of [asked, own, agent.limit]) {
      const heeded = Object.fromEntries(measures.filter((name) => each[name] != null).map((name) => [name, each[name]]));
      if (Object.keys(heeded).length) return heeded;
    }
    return {};
  }

  /** Workers for an agent. @param {AgentInfo & LocalAgent} agent @param {Record<string, any>} given @param {number} count @param {string} home */
  async take(agent, given, count, home) {
    const { seed, threads, ...own } = given, key = JSON.stringify([agent.name, own, seed ?? null, home]);
    const thinkers = this.idle.get(key) ?? [];
    this.idle.delete(key);
    const net = agent.net ? await this.#net(agent.net) : null;
    while (thinkers.length < count) {
      const options = { ...agent.options, ...own, seed: seed == null ? fresh() : BigInt(seed), index: thinkers.length, ...(net ? { net } : {}) };
      thinkers.push(new Thinker(() => this.files.worker(), { code: this.code, manifest: this.file.manifest, facts: this.facts, kind: agent.kind, options }));
    }
    return { key, thinkers };
  }

  /** @param {string} name */
  #net(name) {
    const known = this.nets.get(name);
    if (known) return known;
    const loading = this.files.bytes(name);
    this.nets.set(name, loading);
    loading.catch(() => this.nets.delete(name));
    return loading;
  }

  /** @param {string} key @param {Thinker[]} thinkers */
  give(key, thinkers) {
    this.idle.get(key)?.forEach((each) => each.close());
    this.idle.set(key, thinkers);
    const [oldest] = this.idle.keys();
    if (this.idle.size > 3) {
      this.idle.get(oldest)?.forEach((each) => each.close());
      this.idle.delete(oldest);
    }
  }
}

/** A seed nobody chose. */
export function fresh() {
  return crypto.getRandomValues(new BigUint64Array(1))[0] >> 1n;
}

/** Seconds for the next move, as `meijin.core.agent.Clock.share` has it. @param {{left: number, increment: number}} clock @param {number} moves */
function share({ left, increment }, moves) {
  const rest = Math.max(0, left - 0.05);
  return Math.max(0.001, Math.min(rest * (moves <= 1 ? 0.9 : 0.5), rest / moves + 0.8 * increment));
}

/** @param {Facts} facts @param {Analysis} analysis */
function advice({ seats, range: [low, high] }, { value, turn, proven, simulations, nodes }) {
  if (seats !== 2 || low === null || high === null || !value) return "";
  const mine = (2 * (value[turn] - low)) / (high - low) - 1;
  if (proven) return mine <= -1 + 1e-9 ? "resign" : Math.abs(mine) < 1e-9 ? "draw" : "";
  return mine < -SURE && Math.max(simulations, nodes) >= ENOUGH ? "resign" : "";
}

/** How many workers search together. @param {LocalAgent} agent @param {Record<string, any>} given */
function threads(agent, given) {
  if (agent.kind !== "mcts") return 1;
  if (given.threads) return Math.min(given.threads, 16);
  return given.seed != null ? 1 : Math.max(1, Math.min(MOST_THREADS, (globalThis.navigator?.hardwareConcurrency ?? 2) - 1));
}

/** An analysis by an agent of the game. @param {Promise<LoadedGame>} opening @param {At} at @param {Question & {act?: boolean, home?: string}} question @returns {Stream} */
export function analyse(opening, at, question) {
  /** @type {Analysis | null} */
  let newest = null;
  let over = false;
  /** @type {any} */
  let failure = null;
  let wake = () => {};
  let stop = () => {
    over = true;
    wake();
  };
  const say = (/** @type {Analysis} */ analysis) => {
    newest = analysis;
    wake();
  };

  async function run() {
    const game = await opening, { agent, given } = game.agent(question.agent);
    const record = game.rules.record(at.position, at.moves), { turn, legal } = game.rules.look(at.position, at.moves);
    if (turn < 0) throw new EngineError(turn === OVER ? "The game is over: there is nothing to think about." : "Chance moves next: there is nothing to think about.", "illegal");
    const advised = (/** @type {Analysis} */ found, final = false) => ({ ...found, advice: advice(game.facts, found), final });
    if (agent.kind === "random" || agent.kind === "heuristic") {
      return say(advised(atOnce(game, agent.kind, at, turn, legal), true));
    }
    const limit = game.limit(agent, given, question.limit, at.moves.length), count = threads(agent, given);
    if (question.act && legal.length === 1) return say(advised(single(turn, legal[0]), true));
    const { key, thinkers } = await game.take(agent, given, limit.simulations ? Math.min(count, Math.ceil(limit.simulations / 64)) : count, question.home ?? "");
    if (over) return game.give(key, thinkers);
    const stopHere = stop;
    stop = () => {
      thinkers.forEach((thinker) => thinker.stop());
      game.give(key, thinkers);
      stopHere();
    };
    /** @type {Analysis[]} */
    const parts = [];
    const avoids = question.act && agent.options.draw < 0 && !agent.options.levels?.[given.level - 1]; // draws
    const tell = (final = false) => {
      const found = merged(parts.filter(Boolean), game.facts);
      say(advised(final && avoids ? onward(game.rules, at, found, agent.options.draw) : found, final));
    };
    await Promise.all(thinkers.map(async (thinker, k) => {
      const simulations = limit.simulations ? Math.floor((limit.simulations + k) / thinkers.length) : null;
      /** @type {Task} */
      const task = { record, origin: at.position ?? "", moves: at.moves, turn, legal, limit: { ...limit, simulations }, every: question.act && !question.every ? Infinity : question.every ?? 0.1, act: !!question.act };
      await thinker.think(task, (analysis) => {
        parts[k] = analysis;
        if (k === 0) tell(); // one of them sets the pace
        if (analysis.proven) thinkers.forEach((other) => other !== thinker && other.stop());
      });
    }));
    if (over) return;
    tell(true);
    game.give(key, thinkers);
  }

  run().catch((error) => (failure = error)).finally(() => {
    over = true;
    wake();
  });

  async function* all() {
    try {
      for (;;) {
        if (newest) {
          const next = newest;
          newest = null; // a slow reader gets the newest only
          yield next;
        } else if (over) break;
        else await new Promise((resolve) => (wake = () => resolve(undefined)));
      }
      if (failure) throw failure instanceof EngineError ? failure : new EngineError(failure.message ?? String(failure));
    } finally {
      if (!over) stop();
    }
  }
  return { stop: () => stop(), [Symbol.asyncIterator]: all };
}

const CONCEDED = 0.1; // points, as in meijin.agents.zero

/** With the best move first that leads to cells and a turn which the game has not seen, if it is nearly as good.
 *  @param {import("./wasm_game.js").WasmGame} rules @param {{position?: string | null, moves: number[]}} at @param {Analysis} found
 *  @param {number} draw  what the net takes a draw to be worth @returns {Analysis} */
function onward(rules, at, found, draw) {
  const { moves, turn } = found, worth = (/** @type {import("./engine.js").MoveInfo} */ info) => info.value?.[turn] ?? -Infinity;
  if (found.proven || !moves[0]?.value || worth(moves[0]) < draw) return found;
  const place = (/** @type {number[]} */ line) => {
    const { cells, turn } = rules.look(at.position, line);
    return `${turn}|${cells}`;
  };
  const seen = new Set(Array.from({ length: at.moves.length + 1 }, (_, n) => place(at.moves.slice(0, n))));
  const best = moves.find((info) => worth(info) >= worth(moves[0]) - (info.proven ? 0 : CONCEDED) && !seen.has(place([...at.moves, info.move])));
  return best ? { ...found, moves: [best, ...moves.filter((info) => info !== best)] } : found;
}

/** @param {number} turn @param {number} move @returns {Analysis} */
function single(turn, move) {
  return {
    turn, moves: [{ move, visits: null, prior: null, value: null, proven: false, pv: [move] }], value: null, proven: false, simulations: 0, nodes: 0, depth: 0,
    seconds: 0, note: "the only move", advice: "",
  };
}
