/**
 * After the game: an agent looks at every position, and moves that lost something are marked with what they lost.
 *
 * @import {Limit} from "../engine.js"
 * @import {Session} from "./session.js"
 * @import {Node} from "./tree.js"
 */

import { CHANCE, OVER } from "../engine.js";
import { capital } from "./tree.js";

/**
 * @typedef {{kind: "inaccuracy" | "mistake" | "blunder", mark: string, lost: number, better: number, text: string}} Mistake
 * lost: share of the way from the worst score to the best; better: the move an agent prefers
 */

const KINDS = /** @type {[Mistake["kind"], number, string][]} */ ([["blunder", 0.3, "??"], ["mistake", 0.16, "?"], ["inaccuracy", 0.08, "?!"]]);

/** What a move lost by the opinions there are; null if nothing or if it is not known. @param {Session} session @param {Node} node @returns {Mistake | null} */
export function mistakeAt(session, node) {
  const before = node.parent;
  const seat = node.mover;
  const [low, high] = session.description.score_range;
  if (!before || seat === CHANCE || low === null || high === null) return null;
  const opinion = [...before.analyses.values()].at(-1);
  if (!opinion?.value || opinion.moves.length < 2) return null;
  const after = node.look?.turn === OVER ? node.look.scores : ([...node.analyses.values()].at(-1)?.value ?? opinion.moves.find((info) => info.move === node.move)?.value);
  if (!after || opinion.moves[0].move === node.move) return null;
  const best = Math.max(opinion.value[seat], opinion.moves[0].value?.[seat] ?? -Infinity);
  const lost = (best - after[seat]) / (high - low);
  const found = KINDS.find(([, least]) => lost >= least);
  if (!found) return null;
  const better = opinion.moves[0].move;
  const [made, name] = [node.move, better].map((move) => session.description.moves[move]?.name);
  return { kind: found[0], mark: found[2], lost, better, text: `${capital(found[0])}: ${made} cost ${Math.round(100 * lost)} %. Better: ${name}.` };
}

/** All mistakes of the line that leads to the end, with their nodes. @param {Session} session */
export function mistakes(session) {
  return lineOf(session).flatMap((node) => {
    const mistake = mistakeAt(session, node);
    return mistake ? [{ node, mistake }] : [];
  });
}

/** The line to look at: through the position shown to its end. @param {Session} session @returns {Node[]} */
export function lineOf(session) {
  return [...session.current.path, ...session.current.main.slice(1)].filter((node) => !node.undone);
}

export class Review {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    this.done = 0;
    this.all = 0;
    this.running = false;
  }

  /** Let an agent look at every position of the line. @param {string} agent @param {Limit} limit */
  async start(agent, limit) {
    const { session } = this;
    const nodes = lineOf(session);
    this.running = true;
    this.done = 0;
    this.all = nodes.length;
    try {
      for (const node of nodes) {
        if (!this.running || session.life.signal.aborted) break;
        const look = await session.look(node);
        if (look.turn >= 0 && !node.analyses.get(agent)?.final) {
          this.stream = session.engine.analyse(session.place(node), { agent, limit, every: 1 });
          for await (const analysis of this.stream) session.heard(node, agent, analysis);
        }
        this.done++;
        session.dispatchEvent(new Event("change"));
      }
    } finally {
      this.running = false;
      session.dispatchEvent(new Event("change"));
    }
  }

  stop() {
    this.running = false;
    this.stream?.stop();
  }
}
