// @ts-check
/**
 * The agents that answer at once, in the page: `random`, and `heuristic`, which looks one move ahead.
 *
 * @import {Analysis, At} from "./engine.js"
 * @import {LoadedGame} from "./engine_local.js"
 * @import {WasmGame} from "./wasm_game.js"
 */

import { CHANCE, OVER } from "./engine.js";
import { analysis } from "./worker_search.js";

/** @param {LoadedGame} game @param {string} kind @param {At} at @param {number} turn @param {number[]} legal @returns {Analysis} */
export function atOnce(game, kind, at, turn, legal) {
  if (kind === "random") {
    const rest = [...legal], [first] = rest.splice(Math.floor(Math.random() * rest.length), 1);
    const moves = [first, ...rest].map((move) => ({ move, visits: null, prior: 1 / legal.length, value: null, proven: false, pv: [move] }));
    return analysis({ turn, moves });
  }
  const moves = legal.map((move) => ({ move, visits: null, prior: null, value: worth(game.rules, at.position, [...at.moves, move]), proven: false, pv: [move] }));
  moves.sort((a, b) => b.value[turn] - a.value[turn]);
  return analysis({ turn, moves, value: moves[0].value, nodes: moves.length, depth: 1 });
}

/** What a position is worth to each seat, by the game's own estimate. @param {WasmGame} rules @param {string | null | undefined} position
 *  @param {number[]} moves @returns {number[]} */
function worth(rules, position, moves) {
  const record = rules.record(position, moves), { turn, scores } = rules.look(position, moves);
  if (turn === OVER) return scores;
  if (turn !== CHANCE) return rules.heuristic(record);
  const { outcomes, odds } = rules.odds(record), values = outcomes.map((outcome) => worth(rules, position, [...moves, outcome]));
  return scores.map((_, k) => values.reduce((sum, value, i) => sum + odds[i] * value[k], 0));
}
