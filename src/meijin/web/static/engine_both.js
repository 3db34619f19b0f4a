// @ts-check
/**
 * A server's engine that uses the browser for what it can: positions are looked at in the page, a person's move is
 * shown before the server has heard of it, and searches that need no net run in workers of the page. Until a game's
 * module is here, and where there is none, the server does all of that.
 *
 * @import {Engine, Question, Table, TableState} from "./engine.js"
 */

import { analyse, embeddedGame, unable } from "./engine_local.js";
import { argumentsOf, nameOf } from "./ui/expression.js";
import { ask } from "./engine_server.js";

const SEARCHES = ["mcts", "alphabeta"];

/** @param {Engine} server @returns {Engine} */
export function withBrowser(server) {
  if (!server.features.modules || unable()) return server;
  /** @type {Map<string, import("./engine_local.js").LoadedGame | null>} null: on its way, or not to be had */
  const games = new Map();
  const worker = () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" });

  /** The game, if its module is here. @param {string} game */
  const here = (game) => games.get(game) ?? null;

  /** Have a game's module come: somebody plays it or looks into it. @param {string} game */
  const want = (game) => {
    if (games.has(game)) return;
    games.set(game, null);
    ask(`module?game=${encodeURIComponent(game)}`).then(async (file) => file && games.set(game, await embeddedGame(file, worker))).catch(() => {});
  };

  /** @param {Table} table */
  const opened = (table) => {
    want(table.state.game);
    return shownAtOnce(table, here);
  };

  /** Whether an agent runs here as it does there. @param {NonNullable<ReturnType<typeof here>>} game @param {Question} question */
  const runs = (game, { agent }) => {
    const known = game.file.agents.find(({ name }) => name === nameOf(agent) && SEARCHES.includes(name));
    return !!known && Object.keys(argumentsOf(agent)).every((key) => known.parameters.some(({ name }) => name === key)) && !/\((?!\s*(\w+\s*=|\)))/.test(agent);
  };

  return {
    ...server,
    look: async (at) => here(at.game)?.rules.look(at.position, at.moves) ?? server.look(at),
    looks: async (at) => {
      const game = here(at.game);
      return game ? at.moves.concat(0).map((_, n) => game.rules.look(at.position, at.moves.slice(0, n))) : server.looks(at);
    },
    analyse: (at, question) => {
      want(at.game);
      const game = here(at.game);
      return game && runs(game, question) ? analyse(Promise.resolve(game), at, question) : server.analyse(at, question);
    },
    tables: {
      ...server.tables,
      create: async (options) => opened(await server.tables.create(options)),
      open: async (id, key) => opened(await server.tables.open(id, key)),
    },
  };
}

/** Show a move as soon as it is made; should the server refuse it, take it back. @param {Table} table
 *  @param {(game: string) => import("./engine_local.js").LoadedGame | null} here */
function shownAtOnce(table, here) {
  const send = table.play.bind(table);
  table.play = async (move) => {
    const before = table.state, sent = send(move), game = here(before.game);
    if (game) {
      const moves = [...before.moves, move];
      /** @type {TableState} */
      let next;
      try {
        next = { ...before, moves, movers: [...before.movers, before.look.turn], values: [...before.values, null], redo: [], look: game.rules.look(before.position, moves) };
      } catch {
        return sent; // the server says what is wrong
      }
      table.state = next;
      const changed = () => /** @type {any} */ (table).dispatchEvent(new Event("change"));
      changed();
      sent.catch(() => {
        if (table.state !== next) return;
        table.state = before;
        changed();
      });
    }
    return sent;
  };
  return table;
}
