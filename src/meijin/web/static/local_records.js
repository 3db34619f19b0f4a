// @ts-check
/**
 * Records of games without a server: JSON lines, as `meijin games` reads and writes them, and one line of text
 * ("othello(size=6) d3 c5"), as `State.text` has it.
 *
 * @import {At, Description, RecordText} from "./engine.js"
 * @import {LoadedGame} from "./engine_local.js"
 */

import { CHANCE, EngineError } from "./engine.js";
import { readPosition } from "./positions.js";

/** @param {(game: string) => Promise<LoadedGame>} open */
export function localRecords(open) {
  return {
    /** @param {At & {names?: string[], comments?: Record<string, string>}} at @param {string} format */
    async record({ game, position, moves, names }, format) {
      const { rules, file } = await open(game), { description } = file;
      const words = moves.map((move, n) => named(description, rules.turn(rules.record(position, moves.slice(0, n))))[move].name);
      if (format === "text") return [description.id, ...(position ? [`[${position}]`] : []), ...words].join(" ") + "\n";
      if (format !== "jsonl") throw new EngineError(`This page writes records as JSON lines and as text, not as ${format}.`);
      const { scores, ending } = rules.look(position, moves);
      const agents = names ?? description.seats.map((seat) => seat.name);
      return JSON.stringify({ game: description.id, agents, ...(position ? { position } : {}), scores, ending: "rules", reason: ending, moves: words }) + "\n";
    },

    /** @param {string} text @param {string} [game] @returns {Promise<RecordText[]>} */
    async read(text, game) {
      const found = [];
      for (const line of text.split("\n").map((each) => each.trim()).filter(Boolean)) found.push(await readLine(open, line, game));
      if (!found.length) throw new EngineError("There is no game in this text.");
      return found;
    },
  };
}

/** What the numbers of moves are called. @param {Description} description @param {number} turn */
const named = (description, turn) => (turn === CHANCE ? description.outcomes : description.moves);

/** @param {(game: string) => Promise<LoadedGame>} open @param {string} line @param {string} [game] @returns {Promise<RecordText>} */
async function readLine(open, line, game) {
  /** @type {any} */
  let said;
  if (line.startsWith("{")) {
    try {
      said = JSON.parse(line);
    } catch {
      throw new EngineError("This record is not valid JSON. Copy the whole line.");
    }
  } else {
    const parts = /^([^\s(]+(?:\([^)]*\))?)(?:\s+\[([^\]]*)\])?\s*(.*)$/s.exec(line);
    said = { game: parts?.[1], position: parts?.[2], moves: parts?.[3].split(/[\s,]+/).filter(Boolean) };
  }
  if (!said || typeof said.game !== "string" || !Array.isArray(said.moves)) throw new EngineError("This is not a record that this page can read: it reads JSON lines, and text such as 'othello d3 c5'.");
  const { rules, file } = await open(said.game), { description } = file, position = typeof said.position === "string" ? said.position : null;
  if (game && (await open(game)).file !== file) throw new EngineError(`This is a record of ${said.game}, not of ${game}.`);
  if (position) readPosition(description, position);
  /** @type {number[]} */
  const moves = [];
  for (const word of said.moves) {
    const names = named(description, rules.turn(rules.record(position, moves)));
    const move = typeof word === "number" ? word : names.findIndex(({ name }) => name.toLowerCase() === String(word).toLowerCase());
    if (!names[move]) throw new EngineError(`'${word}' is not a move of ${description.title} (move ${moves.length + 1}).`);
    moves.push(move);
    rules.record(position, moves); // raises where it is not legal
  }
  return { game: description.id, position, moves, ...(Array.isArray(said.agents) ? { names: said.agents.map(String) } : {}) };
}
