/**
 * How the pieces got from one position to the next: slides, captures, pushes, drops, merges and turns, worked out from
 * the two positions and the clicks of the move. No game says anything about it.
 *
 * @import {Geometry} from "./geometry.js"
 * @import {PieceSet} from "./pieces.js"
 * @import {Step} from "../engine.js"
 *
 * @typedef {object} Motions
 * @property {{from: number, to: number, via: number[], merged?: boolean, value: number}[]} slides  what is at `to` came from there
 * @property {{cell: number, value: number, to: {x: number, y: number} | null}[]} leaves  what was there is gone
 * @property {{cell: number, from: {x: number, y: number} | null}[]} appears
 * @property {{cell: number, value: number}[]} turns  what is there had another value before
 */

/**
 * @param {number[]} before
 * @param {number[]} after
 * @param {Step[] | null} path  of the move between them
 * @param {Geometry} geometry
 * @param {PieceSet} set
 * @returns {Motions}
 */
export function motions(before, after, path, geometry, set) {
  const changed = before.flatMap((value, cell) => (value === after[cell] ? [] : [cell]));
  const lost = new Set(changed.filter((cell) => !set.empty(before[cell])));
  const gained = new Set(changed.filter((cell) => !set.empty(after[cell])));
  /** @type {Motions} */
  const found = { slides: [], leaves: [], appears: [], turns: [] };
  const emptied = changed.some((cell) => set.empty(after[cell]) || geometry.cells[cell].tray !== null);
  const steps = (path ?? []).flatMap((step) =>
    typeof step === "number" ? [step] : Array.isArray(step) ? step.filter((cell) => lost.has(cell)).slice(0, 1) : [],
  );

  const slide = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number[]} */ via = []) => {
    found.slides.push({ from, to, via, value: after[to] });
    lost.delete(from);
    gained.delete(to);
  };

  if (emptied && lost.size) {
    if (steps.length >= 2 && lost.has(steps[0])) alongPath();
    if (!steps.length) together();
    inStep();
    nearest();
  }
  for (const cell of lost) {
    if (gained.has(cell)) found.turns.push({ cell, value: before[cell] });
    else found.leaves.push({ cell, value: before[cell], to: null });
  }
  for (const cell of gained) if (!lost.has(cell)) found.appears.push({ cell, from: entrance(cell) });
  intoTrays();
  return found;

  /** From the first click to the last, pushing what is in the way if the second click's cell stayed as it was. */
  function alongPath() {
    const [from, next] = steps;
    const last = steps[steps.length - 1];
    if (gained.has(last) && sameSide(before[from], after[last])) {
      if (lost.has(last)) found.leaves.push({ cell: last, value: before[last], to: null });
      lost.delete(last);
      slide(from, last, steps.slice(1, -1));
      return;
    }
    if (steps.length !== 2 || gained.has(next) || set.empty(before[next])) return;
    const [a, b] = [geometry.cells[from], geometry.cells[next]];
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const chain = [from];
    for (let cell = next; cell >= 0 && !set.empty(before[cell]); cell = at(geometry.cells[cell].x + dx, geometry.cells[cell].y + dy)) chain.push(cell);
    const pushed = chain.map((cell) => at(geometry.cells[cell].x + dx, geometry.cells[cell].y + dy));
    if (chain.some((cell, i) => pushed[i] >= 0 && after[pushed[i]] !== before[cell])) return;
    chain.forEach((cell, i) => {
      lost.delete(cell);
      if (pushed[i] >= 0) found.slides.push({ from: cell, to: pushed[i], via: [], value: after[pushed[i]] });
      else found.leaves.push({ cell, value: before[cell], to: { x: geometry.cells[cell].x + dx, y: geometry.cells[cell].y + dy } });
      if (pushed[i] >= 0) gained.delete(pushed[i]);
    });
    for (const cell of chain) gained.delete(cell);
  }

  /** Everything one way along rows or columns, equal pieces merging. */
  function together() {
    for (const [along, sign] of /** @type {["x" | "y", number][]} */ ([["x", -1], ["x", 1], ["y", -1], ["y", 1]])) {
      const slides = lines(along, sign).map(explain);
      if (slides.some((line) => line === null)) continue;
      for (const each of slides.flat()) {
        if (!each) continue;
        lost.delete(each.from);
        gained.delete(each.to);
        if (each.from !== each.to || each.merged) found.slides.push(each);
      }
      return;
    }
  }

  /** @param {"x" | "y"} along @param {number} sign */
  function lines(along, sign) {
    const across = along === "x" ? "y" : "x";
    /** @type {Map<number, number[]>} */
    const groups = new Map();
    for (const cell of geometry.cells) {
      if (cell.tray !== null) continue;
      const key = Math.round(cell[across]);
      groups.set(key, [...(groups.get(key) ?? []), cell.index]);
    }
    return [...groups.values()].map((line) => line.sort((a, b) => -sign * (geometry.cells[a][along] - geometry.cells[b][along])));
  }

  /** Where the pieces of a line went, if they all moved towards its beginning. @param {number[]} line */
  function explain(line) {
    const old = line.filter((cell) => !set.empty(before[cell]));
    const now = line.filter((cell) => !set.empty(after[cell]));
    /** @type {Motions["slides"]} */
    const out = [];
    let i = 0;
    for (const to of now) {
      const from = old[i];
      if (from === undefined || line.indexOf(from) < line.indexOf(to)) return null;
      if (before[from] === after[to]) out.push({ from, to, via: [], value: after[to] });
      else if (i + 1 < old.length && before[old[i + 1]] === before[from]) {
        for (const cell of [from, old[i + 1]]) out.push({ from: cell, to, via: [], merged: true, value: before[cell] });
        i++;
      } else return null;
      i++;
    }
    return i === old.length ? out : null;
  }

  /** Equal pieces that all moved by the same step. */
  function inStep() {
    const cells = [...lost].filter((cell) => geometry.cells[cell].tray === null);
    if (cells.length < 2) return;
    const start = geometry.cells[cells[0]];
    for (const goal of gained) {
      const [dx, dy] = [geometry.cells[goal].x - start.x, geometry.cells[goal].y - start.y];
      const goals = cells.map((cell) => at(geometry.cells[cell].x + dx, geometry.cells[cell].y + dy));
      if (goals.some((to, i) => to < 0 || after[to] !== before[cells[i]])) continue;
      cells.forEach((cell, i) => slide(cell, goals[i]));
      return;
    }
  }

  /** The rest: equal pieces go to where they are nearest. */
  function nearest() {
    const pairs = [...lost].flatMap((from) =>
      [...gained].filter((to) => before[from] === after[to]).map((to) => ({ from, to, far: distance(from, to) })),
    );
    for (const { from, to } of pairs.sort((a, b) => a.far - b.far)) if (lost.has(from) && gained.has(to)) slide(from, to);
  }

  /** Captured pieces fly to the hand they arrived in. */
  function intoTrays() {
    for (const { cell } of [...found.appears, ...found.turns]) {
      if (geometry.cells[cell].tray === null) continue;
      const taken = found.leaves.find((leave) => leave.to === null && geometry.cells[leave.cell].tray === null);
      if (taken) taken.to = geometry.cells[cell];
    }
  }

  /** Where a dropped piece came in: the end of the clicked row of cells that is free all the way. @param {number} cell */
  function entrance(cell) {
    const row = (path ?? []).find((step) => Array.isArray(step) && step.includes(cell));
    if (!Array.isArray(row) || row.length < 2 || geometry.cells[cell].tray !== null) return null;
    const ends = [row[0], row[row.length - 1]].map((end) => geometry.cells[end]);
    const [a, b] = ends;
    const length = Math.hypot(b.x - a.x, b.y - a.y);
    const straight = row.every((c) => {
      const p = geometry.cells[c];
      return Math.abs((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)) < length;
    });
    if (!straight) return null;
    const goal = geometry.cells[cell];
    const free = ends.filter((end) => {
      const between = row.filter((c) => distance(c, end.index) < distance(cell, end.index));
      return between.every((c) => set.empty(before[c]));
    });
    const end = free.sort((p, q) => distance(cell, q.index) - distance(cell, p.index))[0];
    if (!end) return null;
    const away = end === a ? [a.x - b.x, a.y - b.y] : [b.x - a.x, b.y - a.y];
    return end.index === goal.index && free.length > 1 ? null : { x: end.x + (away[0] / length) * 100, y: end.y + (away[1] / length) * 100 };
  }

  /** @param {number} a @param {number} b */
  function sameSide(a, b) {
    const [p, q] = [set.pieces[a], set.pieces[b]];
    return a === b || (p.owner !== null && p.owner === q.owner);
  }

  /** @param {number} a @param {number} b */
  function distance(a, b) {
    return Math.hypot(geometry.cells[a].x - geometry.cells[b].x, geometry.cells[a].y - geometry.cells[b].y);
  }

  /** The cell on the board at a place, or -1. @param {number} x @param {number} y */
  function at(x, y) {
    return geometry.cells.findIndex((cell) => cell.tray === null && Math.abs(cell.x - x) < 20 && Math.abs(cell.y - y) < 20);
  }
}
