/**
 * Where everything on a board is, in drawing units: computed once per board from its description.
 *
 * Trays stand close to the board, labels close to their rows, and a flipped board is turned by half a turn with its
 * labels left in place where rows and columns are straight.
 *
 * @import {BoardInfo, Point} from "../engine.js"
 */

/** Drawing units per cell: with fewer, browsers round the sizes of letters. */
export const UNIT = 100;

/**
 * @typedef {object} Place  a cell in drawing units
 * @property {number} index
 * @property {string} name
 * @property {"point" | "link" | "area"} kind
 * @property {number} x
 * @property {number} y
 * @property {Point[]} outline
 * @property {number} reach  radius of the largest circle around the centre inside the cell
 * @property {number | null} tray
 * @property {boolean} other
 *
 * @typedef {{x: number, y: number, width: number, height: number}} Box
 */

export class Geometry {
  /**
   * @param {BoardInfo} board
   * @param {{flipped?: boolean, labels?: boolean}} [options]
   */
  constructor(board, { flipped = false, labels = true } = {}) {
    this.board = board;
    this.flipped = flipped;
    const onBoard = board.cells.filter((cell) => cell.tray === null);
    const inner = bounds(onBoard.flatMap((cell) => cell.outline));
    const points = onBoard.every((cell) => cell.outline.length === 1);
    const links = onBoard.every((cell) => cell.outline.length === 2);
    const shown = labels ? board.labels : [];
    this.straight = board.kind === "square";
    /** Whether the cells lie on one slab; a net of a cube, heaps and graphs stand on the page itself. */
    this.slabbed = !links && !["cube", "heaps"].includes(board.kind) && !(points && board.kind === "graph");
    const tight = points ? 0.62 : 0.17;
    const roomy = points ? 1.06 : 0.5;
    const side = (/** @type {(label: import("../engine.js").Label) => boolean} */ there) => (!this.slabbed ? 0.1 : shown.some(there) ? roomy : tight);
    const margins = this.straight
      ? {
          left: side(({ row, at }) => row && at[0] < inner.x),
          right: side(({ row, at }) => row && at[0] > inner.x + inner.width),
          top: side(({ row, at }) => !row && at[1] < inner.y),
          bottom: side(({ row, at }) => !row && at[1] > inner.y + inner.height),
        }
      : even(side(() => true) + (this.slabbed && board.edges.length ? 0.28 : 0));

    const turn = (/** @type {Point} */ [x, y]) => /** @type {Point} */ (flipped ? [2 * inner.x + inner.width - x, 2 * inner.y + inner.height - y] : [x, y]);
    const place = (/** @type {Point} */ p) => /** @type {Point} */ (turn(p).map((v) => v * UNIT));

    const shifts = trayShifts(board, inner, margins);
    /** @type {Place[]} */
    this.cells = board.cells.map((cell, index) => {
      const [dx, dy] = shifts[index];
      const outline = cell.outline.map(([x, y]) => place([x + dx, y + dy]));
      const [x, y] = place([cell.centre[0] + dx, cell.centre[1] + dy]);
      const kind = outline.length === 1 ? "point" : outline.length === 2 ? "link" : "area";
      return { index, name: cell.name, kind, x, y, outline, reach: reach(outline, [x, y]), tray: cell.tray, other: cell.other };
    });
    this.trays = trayBoxes(this.cells);
    /** The outline of all cells on the board, and of the slab under them. */
    this.hull = hull(onBoard.flatMap((cell) => cell.outline)).map(place);
    this.slab = outset(this.hull, margins);
    this.labels = shown.map(({ text, at, row }) => {
      const near = !this.slabbed ? at : closer(at, row, inner, board.edges.length ? -0.05 : 0.22);
      if (!flipped || !this.straight) return { text, row, at: place(near) };
      const [x, y] = turn(near);
      return { text, row, at: /** @type {Point} */ ((row ? [near[0], y] : [x, near[1]]).map((v) => v * UNIT)) };
    });
    this.edges = board.edges.map(({ seat, line }) => ({ seat, line: line.map(place) }));
    this.lines = board.lines.map((pair) => pair.map(place));
    this.stars = board.stars.map(place);
    this.joints = links ? distinct(onBoard.flatMap((cell) => cell.outline)).map(place) : [];
    this.points = points;
    this.box = this.#extent();
  }

  /** Everything that is drawn, with a little air for shadows. */
  #extent() {
    const boxes = [grown(bounds(this.slab), 6), ...this.trays.map((tray) => grown(tray.box, 4))];
    for (const { at } of this.labels) boxes.push({ x: at[0] - 22, y: at[1] - 22, width: 44, height: 44 });
    for (const [x, y] of this.joints) boxes.push({ x: x - 20, y: y - 20, width: 40, height: 40 });
    for (const cell of this.cells) if (cell.kind === "point") boxes.push({ x: cell.x - 50, y: cell.y - 50, width: 100, height: 100 });
    return grown(union(boxes), 4);
  }

  /** The middle of some cells: where a mark for all of them goes. @param {number[]} cells */
  middle(cells) {
    const many = cells.map((cell) => this.cells[cell]);
    return { x: sum(many.map((cell) => cell.x)) / many.length, y: sum(many.map((cell) => cell.y)) / many.length };
  }

  /** The cell next to this one in a direction, for arrow keys. @param {number} from @param {number} dx @param {number} dy */
  step(from, dx, dy) {
    const start = this.cells[from];
    let best = -1;
    let least = Infinity;
    for (const cell of this.cells) {
      const x = cell.x - start.x;
      const y = cell.y - start.y;
      const along = x * dx + y * dy;
      const across = Math.abs(x * dy - y * dx);
      if (cell.index === from || along <= 1 || across > along * 1.8) continue;
      const cost = along + 2.2 * across;
      if (cost < least) [best, least] = [cell.index, cost];
    }
    return best < 0 ? from : best;
  }
}

/** @param {Point[]} points */
export function pathOf(points, close = true) {
  return "M" + points.map(([x, y]) => `${round(x)} ${round(y)}`).join("L") + (close ? "Z" : "");
}

/** A polygon with round corners. @param {Point[]} points @param {number} radius */
export function roundedPath(points, radius) {
  const parts = points.map((point, i) => {
    const before = points[(i + points.length - 1) % points.length];
    const after = points[(i + 1) % points.length];
    const a = towards(point, before, radius);
    const b = towards(point, after, radius);
    return `${i ? "L" : "M"}${round(a[0])} ${round(a[1])}Q${round(point[0])} ${round(point[1])} ${round(b[0])} ${round(b[1])}`;
  });
  return parts.join("") + "Z";
}

/** Every point moved towards a centre. @param {Point[]} points @param {{x: number, y: number}} centre @param {number} factor */
export function inset(points, { x, y }, factor) {
  return points.map(([px, py]) => /** @type {Point} */ ([x + factor * (px - x), y + factor * (py - y)]));
}

/** @param {number} value */
export const round = (value) => Math.round(value * 10) / 10;

/** @param {number[]} values */
const sum = (values) => values.reduce((a, b) => a + b, 0);

/** @param {Point} from @param {Point} to @param {number} by */
function towards(from, to, by) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const part = Math.min(0.5, by / length);
  return [from[0] + part * (to[0] - from[0]), from[1] + part * (to[1] - from[1])];
}

/** @param {Point[]} points @returns {Box} */
export function bounds(points) {
  const xs = points.map((p) => p[0]);
  const ys = points.map((p) => p[1]);
  const x = Math.min(...xs);
  const y = Math.min(...ys);
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

/** @param {Box} box @param {number} by */
export const grown = (box, by) => ({ x: box.x - by, y: box.y - by, width: box.width + 2 * by, height: box.height + 2 * by });

/** @param {Box[]} boxes */
const union = (boxes) =>
  bounds(boxes.flatMap((b) => [/** @type {Point} */ ([b.x, b.y]), /** @type {Point} */ ([b.x + b.width, b.y + b.height])]));

/** @param {Point[]} points */
function distinct(points) {
  return [...new Map(points.map((p) => [p.map((v) => v.toFixed(4)).join(), p])).values()];
}

/** @param {Point[]} outline @param {Point} centre */
function reach(outline, [x, y]) {
  if (outline.length === 1) return UNIT / 2;
  if (outline.length === 2) return UNIT * 0.2;
  return Math.min(
    ...outline.map(([ax, ay], i) => {
      const [bx, by] = outline[(i + 1) % outline.length];
      return Math.abs((bx - ax) * (ay - y) - (ax - x) * (by - ay)) / (Math.hypot(bx - ax, by - ay) || 1);
    }),
  );
}

/** The smallest convex polygon around some points. @param {Point[]} points @returns {Point[]} */
function hull(points) {
  const sorted = distinct(points).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (sorted.length < 3) return sorted;
  const half = (/** @type {Point[]} */ list) => {
    /** @type {Point[]} */
    const out = [];
    for (const p of list) {
      for (let n = out.length; n > 1; n = out.length) {
        const [a, b] = [out[n - 2], out[n - 1]];
        if ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 1e-9) break;
        out.pop();
      }
      out.push(p);
    }
    return out.slice(0, -1);
  };
  return [...half(sorted), ...half([...sorted].reverse())];
}

/** A label nearer to its row or column than the description has it. @param {Point} at @param {boolean} row @param {Box} inner @param {number} by @returns {Point} */
function closer([x, y], row, inner, by) {
  if (row) return [x + (x < inner.x + inner.width / 2 ? by : -by), y];
  return [x, y + (y < inner.y + inner.height / 2 ? by : -by)];
}

/** @param {number} margin */
const even = (margin) => ({ left: margin, right: margin, top: margin, bottom: margin });

/** A convex polygon grown by margins that depend on where a side faces. @param {Point[]} points @param {{left: number, right: number, top: number, bottom: number}} margins @returns {Point[]} */
function outset(points, margins) {
  if (points.length < 3) return points;
  const area = sum(points.map(([x, y], i) => x * points[(i + 1) % points.length][1] - points[(i + 1) % points.length][0] * y));
  const lines = points.map(([ax, ay], i) => {
    const [bx, by] = points[(i + 1) % points.length];
    const length = Math.hypot(bx - ax, by - ay);
    const [nx, ny] = [((by - ay) / length) * Math.sign(area), ((ax - bx) / length) * Math.sign(area)]; // outwards
    const margin = nx * nx * (nx < 0 ? margins.left : margins.right) + ny * ny * (ny < 0 ? margins.top : margins.bottom);
    return { nx, ny, c: nx * ax + ny * ay + margin * UNIT };
  });
  return lines.map((p, i) => {
    const q = lines[(i + lines.length - 1) % lines.length];
    const cross = p.nx * q.ny - p.ny * q.nx;
    return [(p.c * q.ny - q.c * p.ny) / cross, (p.nx * q.c - q.nx * p.c) / cross];
  });
}

/** How far each cell moves so that trays stand close to the board, wide ones in its middle. @param {BoardInfo} board @param {Box} inner @param {{top: number, bottom: number}} margins @returns {[number, number][]} */
function trayShifts(board, inner, margins) {
  const trays = board.cells.filter((cell) => cell.tray !== null);
  const above = Math.max(...trays.filter((c) => c.centre[1] < inner.y).map((c) => c.centre[1]), -Infinity);
  const below = Math.min(...trays.filter((c) => c.centre[1] > inner.y + inner.height).map((c) => c.centre[1]), Infinity);
  const sideways = new Map(trays.map((cell) => {
    const { x, width } = bounds(trays.filter((other) => other.tray === cell.tray).flatMap((other) => other.outline));
    return [cell.tray, width > inner.width / 2 ? inner.x + inner.width / 2 - (x + width / 2) : 0];
  }));
  return board.cells.map(({ tray, centre: [, y] }) => {
    if (tray === null) return [0, 0];
    const dx = sideways.get(tray) ?? 0;
    if (y < inner.y && Number.isFinite(above)) return [dx, inner.y - margins.top - 0.62 - above];
    if (y > inner.y + inner.height && Number.isFinite(below)) return [dx, inner.y + inner.height + margins.bottom + 0.62 - below];
    return [dx, 0];
  });
}

/** One box around the tray cells of each seat. @param {Place[]} cells */
function trayBoxes(cells) {
  const seats = [...new Set(cells.flatMap((cell) => (cell.tray === null ? [] : [cell.tray])))];
  return seats.map((seat) => ({ seat, box: bounds(cells.filter((cell) => cell.tray === seat).flatMap((cell) => cell.outline)) }));
}
