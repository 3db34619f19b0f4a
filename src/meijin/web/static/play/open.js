/**
 * From an address to a session: a new table, an open one, or a game to look at.
 *
 * @import {Engine, Notes, SeatInfo, TableOptions} from "../engine.js"
 * @import {Route} from "../ui/router.js"
 */

import { address, go } from "../ui/router.js";
import { opponent } from "./opponents.js";
import { Session } from "./session.js";
import { packMoves, packTree, unpackMoves, unpackTree } from "./share.js";
import { toNotes } from "./tree.js";

/** @type {Map<string, Session>} sessions whose address is on its way */
const fresh = new Map();

/** @param {Engine} engine @param {Route} route @returns {Promise<Session | null>}  null: the address was changed to that of a new table */
export async function openSession(engine, { path, query }) {
  const [kind, what] = path;
  if (kind === "table") {
    const made = fresh.get(what);
    fresh.delete(what);
    return made ?? Session.at(engine, await engine.tables.open(what, query.get("key") ?? undefined));
  }
  if (kind === "game") return study(engine, what, query);
  const agents = await engine.agents(what);
  const description = await engine.describe(what);
  const seats = description.seats.map((_, seat) => /** @type {SeatInfo} */ (seat === 0 ? { kind: "person" } : { kind: "agent", agent: opponent(agents) }));
  go(tableAddress(await begin(engine, { game: what, seats })), true);
  return null;
}

/** Begin a game and remember it for its address. @param {Engine} engine @param {TableOptions} options */
export async function begin(engine, options) {
  const session = await Session.at(engine, await engine.tables.create(options));
  const id = session.table?.id ?? "";
  fresh.set(id, session);
  if (options.clock) clocks.set(id, options.clock);
  return session;
}

/** @type {Map<string, import("../engine.js").ClockSettings>} of the tables that this page began */
const clocks = new Map();

/** @param {string} id */
export const clockOf = (id) => clocks.get(id) ?? null;

/** @param {Session} session @param {string} [key] */
export function tableAddress({ table }, key = table?.key) {
  return address("table", table?.id ?? "") + (key ? `?key=${encodeURIComponent(key)}` : "");
}

/** @param {Engine} engine @param {string} game @param {URLSearchParams} query */
async function study(engine, game, query) {
  const description = await engine.describe(game);
  const packed = query.get("t");
  /** @type {Notes} */
  const notes = packed
    ? await unpackTree(packed)
    : { comment: "", nodes: unpackMoves(description, query.get("m") ?? "").map((move, i) => ({ parent: i - 1, move })) };
  return Session.study(engine, { game, position: query.get("p"), notes, ply: Number(query.get("n") ?? (packed ? 0 : notes.nodes.length)) });
}

/** An address that holds the whole game. @param {Session} session */
export async function gameAddress(session) {
  const { description, position, root, current, game } = session;
  const notes = toNotes(root);
  const simple = !notes.comment && notes.nodes.every((node, i) => node.parent === i - 1 && !node.comment);
  const query = new URLSearchParams();
  if (position) query.set("p", position);
  if (simple) query.set("m", packMoves(description, notes.nodes.map((node) => node.move)));
  else query.set("t", await packTree(notes));
  query.set("n", String(current.ply));
  return `${address("game", game)}?${query}`;
}
