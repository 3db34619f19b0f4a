// @ts-check
/**
 * Positions as text, in the form of `meijin.core.positions`: the cells of each row from the top, a number for a run of
 * empty cells, rows apart by "/", trays after ":", then the seat to move (or "chance").
 *
 * @import {Description} from "./engine.js"
 */

import { CHANCE, EngineError } from "./engine.js";

/** The cells by rows, each seat's tray after those of the board. @param {Description} description */
function rows({ board }) {
  /** @type {Map<string, {order: [number, number], cells: number[]}>} */
  const found = new Map();
  const graph = board.kind === "graph"; // whose links lie in no rows
  board.cells.forEach((cell, i) => {
    const height = Math.round(cell.centre[1] * 1e6) / 1e6;
    /** @type {[number, number]} */
    const order = cell.tray !== null ? [1 + cell.tray, 0] : [0, graph ? 0 : height];
    const key = order.join();
    if (!found.has(key)) found.set(key, { order, cells: [] });
    found.get(key)?.cells.push(i);
  });
  const sorted = [...found.values()].sort((a, b) => a.order[0] - b.order[0] || a.order[1] - b.order[1]);
  const across = (/** @type {number} */ i) => (graph ? 0 : board.cells[i].centre[0]);
  return sorted.map(({ order, cells }) => ({ tray: order[0] > 0, cells: cells.sort((a, b) => across(a) - across(b) || a - b) }));
}

/** [value] -> how a piece is written; where two share a text, the later one has its number too. @param {Description} description */
function texts({ pieces }) {
  const first = (/** @type {string} */ text) => pieces.findIndex((piece) => piece.text === text);
  return pieces.map(({ text }, value) => (first(text) === value ? text : `${text}${value}`));
}

/** @param {Description} description @param {number[]} cells @param {number} turn */
export function writePosition(description, cells, turn) {
  const names = texts(description);
  let text = "";
  rows(description).forEach((row, number) => {
    let line = "", empty = 0;
    for (const cell of row.cells) {
      if (cells[cell] === 0) {
        empty++;
        continue;
      }
      const name = names[cells[cell]];
      line += (empty || "") + ([...name].length === 1 && !/\d/.test(name) ? name : `<${name}>`);
      empty = 0;
    }
    text += (row.tray ? ":" : number ? "/" : "") + line + (empty || "");
  });
  return `${text} ${turn === CHANCE ? "chance" : turn}`;
}

/** @param {Description} description @param {string} text @returns {{cells: number[], turn: number}} */
export function readPosition(description, text) {
  const bad = (/** @type {string} */ problem) => new EngineError(`This position cannot be read (${text}): ${problem}.`);
  const words = text.trim().split(/\s+/);
  if (words.length !== 2) throw bad("write the cells and the seat to move, as in 'X2/1O1/3 0'");
  if (words[1] !== "chance" && !/^\d{1,3}$/.test(words[1])) throw bad(`'${words[1]}' is not the number of a seat`);
  const lines = rows(description), parts = words[0].split(/[/:]/);
  if (parts.length !== lines.length) throw bad(`it has ${parts.length} rows, the board has ${lines.length}`);
  const names = texts(description), cells = description.board.cells.map(() => 0);
  parts.forEach((part, number) => {
    const row = lines[number].cells;
    let filled = 0;
    for (const [, run, long, short] of part.matchAll(/(\d+)|<([^<>]*)>|([\s\S])/gu)) {
      if (run) {
        filled += run.length < 4 ? Number(run) : row.length + 1;
        continue;
      }
      const value = names.indexOf(long ?? short);
      if (value < 0) throw bad(`row ${number + 1}: '${long ?? short}' is not a piece; pieces are ${names.join(" ")}`);
      if (filled < row.length) cells[row[filled]] = value;
      filled++;
    }
    if (filled !== row.length) throw bad(`row ${number + 1} has ${filled} cells, not ${row.length}`);
  });
  return { cells, turn: words[1] === "chance" ? CHANCE : Number(words[1]) };
}
