/**
 * An `Engine` behind which stands a server: REST for questions with one answer, one WebSocket for what goes on.
 *
 * @import {Analysis, At, Engine, Features, Notes, Question, SeatInfo, Stream, Table, TableState} from "./engine.js"
 */

import { EngineError } from "./engine.js";

/** @param {string} path @param {any} [body] @param {string} [method] */
export async function ask(path, body, method = body === undefined ? "GET" : "POST") {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(`api/${path}`, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new EngineError("The server does not answer. Is it still running?", "closed");
  }
  const text = await response.text();
  let answer;
  try {
    answer = text ? JSON.parse(text) : null;
  } catch {
    throw new EngineError(`The server answered ${response.status} in a form that is not JSON.`, "closed");
  }
  if (!response.ok) throw new EngineError(answer?.message ?? `The server answered ${response.status}.`, answer?.code ?? "bad");
  return answer;
}

/** @returns {Promise<Engine>} */
export async function serverEngine() {
  /** @type {Features} */
  const features = await ask("features");
  const socket = new Socket();
  /** @type {Engine} */
  const engine = {
    features,
    games: () => ask("games"),
    describe: (game) => ask(`description?game=${encodeURIComponent(game)}`),
    agents: (game) => ask(`agents?game=${encodeURIComponent(game)}`),
    look: (at) => ask("look", plain(at)),
    looks: (at) => ask("looks", plain(at)),
    setup: (game, cells, turn) => ask("setup", { game, cells, turn }),
    analyse: (at, question) => stream(socket, at, question),
    record: async ({ names, ...at }, format) => (await ask("record", { at: plain(at), agents: names ?? [], format })).text,
    read: async (text) => (await ask("read", { text })).games.map((/** @type {any} */ game) => ({ ...game, names: game.agents })),
    picture: async (at, format) => {
      const response = await fetch("api/picture", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ at: plain(at), format }) });
      if (!response.ok) throw new EngineError((await response.json().catch(() => null))?.message ?? "The picture could not be made.");
      return response.blob();
    },
    tables: {
      create: async (options) => new ServerTable(socket, await ask("tables", options)).begin(),
      open: async (id, key) => new ServerTable(socket, await ask(`tables/${encodeURIComponent(id)}${key ? `?key=${encodeURIComponent(key)}` : ""}`), key).begin(),
      list: () => ask("tables"),
      remove: async (id, key) => void (await ask(`tables/${encodeURIComponent(id)}${key ? `?key=${encodeURIComponent(key)}` : ""}`, undefined, "DELETE")),
    },
    server: { ask, follow: (message, hear) => follow(socket, message, hear) },
  };
  return engine;
}

/** @param {At} at */
const plain = ({ game, position, moves }) => ({ game, position: position ?? null, moves });

/** One WebSocket for the page, opened when first needed and again when it breaks. */
class Socket {
  constructor() {
    this.last = 0;
    /** @type {Map<number, (message: any) => void>} who waits for replies with an id */
    this.waiting = new Map();
    /** @type {Set<() => void>} what to send again after a break */
    this.again = new Set();
    /** @type {WebSocket | null} */
    this.socket = null;
    /** @type {Promise<WebSocket> | null} */
    this.opening = null;
    this.tries = 0;
  }

  /** @returns {Promise<WebSocket>} */
  open() {
    this.opening ??= new Promise((resolve, reject) => {
      const socket = new WebSocket(new URL("api/socket", location.href).href.replace(/^http/, "ws"));
      socket.onopen = () => {
        this.socket = socket;
        this.tries = 0;
        resolve(socket);
      };
      socket.onmessage = (event) => {
        const message = JSON.parse(event.data);
        this.waiting.get(message.id)?.(message);
      };
      socket.onclose = () => {
        this.opening = null;
        this.socket = null;
        reject(new EngineError("The connection to the server is closed.", "closed"));
        const waiting = [...this.waiting.entries()];
        this.waiting.clear();
        for (const [id, tell] of waiting) tell({ id, type: "error", code: "closed", message: "The connection to the server broke." });
        if (this.again.size) setTimeout(() => this.#restore(), Math.min(8000, 300 * 2 ** this.tries++));
      };
    });
    return this.opening;
  }

  #restore() {
    this.open().then(
      () => this.again.forEach((send) => send()),
      () => {},
    );
  }

  /** Send a message whose replies go to `hear`, until it is forgotten. @param {any} message @param {(reply: any) => void} hear @returns {number} its id */
  send(message, hear) {
    const id = ++this.last;
    this.waiting.set(id, hear);
    this.open().then(
      (socket) => this.waiting.has(id) && socket.send(JSON.stringify({ id, ...message })),
      (error) => {
        if (this.waiting.delete(id)) hear({ id, type: "error", code: "closed", message: error.message });
      },
    );
    return id;
  }

  /** @param {number} id */
  forget(id) {
    if (this.waiting.delete(id)) this.socket?.send(JSON.stringify({ id: ++this.last, type: "stop", target: id }));
  }

  /** One question, one answer. @param {any} message @returns {Promise<any>} */
  call(message) {
    return new Promise((resolve, reject) => {
      const id = this.send(message, (reply) => {
        this.waiting.delete(id);
        if (reply.type === "error") reject(new EngineError(reply.message, reply.code));
        else resolve(reply);
      });
    });
  }
}

/**
 * Be told what goes on until the returned function is called; again after a break.
 * @param {Socket} socket @param {any} message @param {(reply: any) => void} hear
 */
function follow(socket, message, hear) {
  let id = 0;
  const send = () => {
    id = socket.send(message, (reply) => {
      if (reply.type === "done" || reply.type === "error") socket.waiting.delete(id);
      hear(reply);
    });
  };
  socket.again.add(send);
  send();
  return () => {
    socket.again.delete(send);
    socket.forget(id);
  };
}

/** @param {Socket} socket @param {At} at @param {Question} question @returns {Stream} */
function stream(socket, at, { agent, limit, every }) {
  /** @type {Analysis | null} */
  let newest = null;
  let over = false;
  /** @type {EngineError | null} */
  let failure = null;
  let wake = () => {};
  const id = socket.send({ type: "analyse", at: plain(at), agent, ...(limit ? { limit } : {}), ...(every ? { every } : {}) }, (reply) => {
    if (reply.type === "analysis") newest = reply;
    else {
      over = true;
      socket.waiting.delete(id);
      if (reply.type === "error") failure = new EngineError(reply.message, reply.code);
    }
    wake();
  });
  const stop = () => {
    socket.forget(id);
    over = true;
    wake();
  };
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
      if (failure) throw failure;
    } finally {
      if (!over) stop();
    }
  }
  return { stop, [Symbol.asyncIterator]: all };
}

/** @implements {Table} */
class ServerTable extends EventTarget {
  /** @param {Socket} socket @param {TableState} state @param {string} [key] */
  constructor(socket, state, key) {
    super();
    this.socket = socket;
    this.id = state.id;
    this.key = key;
    this.state = state;
    this.joined = 0;
    this.join = () => {
      this.joined = socket.send({ type: "join", table: this.id, ...this.#keyed() }, (reply) => this.#hear(reply));
    };
  }

  begin() {
    this.socket.again.add(this.join);
    this.join();
    return this;
  }

  /** @param {any} reply */
  #hear(reply) {
    if (reply.type === "table") {
      this.dispatchEvent(new CustomEvent("trouble", { detail: "" }));
      this.#take(reply.table);
    } else if (reply.type === "thinking") {
      this.dispatchEvent(new CustomEvent("thinking", { detail: { seat: reply.seat, analysis: reply.analysis } }));
    } else if (reply.type === "error") {
      this.dispatchEvent(new CustomEvent("trouble", { detail: reply.code === "closed" ? "Reconnecting to the server …" : reply.message }));
    }
  }

  /** @param {any} table */
  #take(table) {
    if (table.version < /** @type {any} */ (this.state).version) return;
    this.state = table;
    this.dispatchEvent(new Event("change"));
  }

  #keyed() {
    return this.key ? { key: this.key } : {};
  }

  /** @param {string} type @param {any} [more] */
  async #call(type, more = {}) {
    await this.socket.call({ type, table: this.id, ...this.#keyed(), ...more });
  }

  /** @param {number} move */
  play(move) {
    return this.#call("play", { move, ply: this.state.moves.length });
  }
  undo() {
    return this.#call("undo", { ply: this.state.moves.length });
  }
  redo() {
    return this.#call("redo", { ply: this.state.moves.length });
  }
  /** @param {number} plies */
  back(plies) {
    return this.#call("undo", { ply: this.state.moves.length, plies });
  }
  /** @param {number} seat */
  resign(seat) {
    return this.#call("resign", { seat, ply: this.state.moves.length });
  }
  /** @param {number} seat @param {SeatInfo} who */
  seat(seat, { kind, name, agent, limit }) {
    return this.#call("seat", { seat, sitter: { kind, name: name ?? "", agent: agent ?? null, limit: limit ?? null } });
  }
  /** @param {{running?: boolean, speed?: number, step?: boolean}} change */
  run(change) {
    return this.#call("run", change);
  }
  async notes() {
    return (await ask(`tables/${this.id}/notes${this.key ? `?key=${encodeURIComponent(this.key)}` : ""}`)).notes;
  }
  /** @param {Notes} notes */
  async keep(notes) {
    await ask(`tables/${this.id}/notes`, { ...this.#keyed(), notes });
  }
  close() {
    this.socket.again.delete(this.join);
    this.socket.forget(this.joined);
  }
}
