/**
 * What an agent thinks, on the board: a spot on every cell that one click away makes a move, or arrows where a move is
 * a way from cell to cell. Colours say how good a move is, sizes how much the agent looked at it.
 *
 * @import {Analysis, Description, Step} from "../engine.js"
 * @import {BoardView} from "./view.js"
 */

import { pathOf, round } from "./geometry.js";

const FEW = 12; // as many spots are all written on; of more only the best
const ARROWS = 5;
const RED = 0.28; // a move that loses so much is as red as can be

/**
 * @typedef {"value" | "visits" | "prior"} Measure
 * @typedef {object} Opinion  one move as the overlay shows it
 * @property {number} move
 * @property {number} share  0..1: how much it counts beside the others
 * @property {number | null} loss  0: as good as the best, and not worse than even; 1: as bad as can be
 * @property {string} main
 * @property {string} more
 * @property {boolean} best
 */

/**
 * How good scores are for each seat, from 0 to 1, where scores have bounds. Those of three seats and more add up to 1:
 * seats that expect the same have the same share.
 * @param {Description} description @param {number[]} values
 */
export function shares({ score_range: [low, high] }, values) {
  if (low === null || high === null) return values.map(() => 0);
  const parts = values.map((value) => Math.max(0, Math.min(1, (value - low) / (high - low))));
  if (parts.length < 3) return parts;
  const sum = parts.reduce((a, b) => a + b, 0);
  return parts.map((part) => (sum ? part / sum : 1 / parts.length));
}

/** How a seat's score reads. @param {Description} description @param {number[]} values  of every seat @param {number} seat @param {boolean} [proven] */
export function scoreText(description, values, seat, proven = false) {
  const [low, high] = description.score_range;
  const value = values[seat];
  if (low === null || high === null) return compact(value);
  if (proven && description.seats.length > 1) {
    if (value >= high) return "win";
    if (value <= low) return "loss";
    if (Math.abs(value - (low + high) / 2) < 1e-9) return "draw";
  }
  return `${Math.round(100 * shares(description, values)[seat])}%`;
}

/** @param {number} value */
export function compact(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toFixed(size >= 1e7 ? 0 : 1)}M`;
  if (size >= 1e4) return `${Math.round(value / 1e3)}k`;
  if (size >= 1e3) return `${(value / 1e3).toFixed(1)}k`;
  return size >= 100 || Number.isInteger(value) ? `${Math.round(value)}` : value.toPrecision(2);
}

/**
 * How good each move is beside the best, and how much the agent looked at it.
 * @param {Description} description @param {Analysis} analysis @param {Measure} measure
 * @returns {Map<number, Opinion>}
 */
export function opinions(description, analysis, measure) {
  const { moves, turn } = analysis;
  const [low, high] = description.score_range;
  const bounded = low !== null && high !== null;
  const own = moves.map((info) => info.value?.[turn] ?? null);
  const known = own.filter((value) => value !== null);
  const span = Math.max(1e-9, Math.max(...known) - Math.min(...known)) * 2;
  const worths = moves.map(({ value }, rank) => (!value || own[rank] === null ? null : bounded ? shares(description, value)[turn] : own[rank] / span));
  const best = worths[0] ?? (known.length ? Math.max(...worths.filter((worth) => worth !== null)) : null);
  const seats = description.seats.length;
  /** What is worse than even does not look good, even if nothing is better. @param {number} worth */
  const behind = (worth) => (bounded && seats > 1 ? RED * (1 - seats * worth) : 0);
  const visits = moves.map((info) => info.visits ?? 0);
  const priors = moves.map((info) => info.prior ?? 0);
  const most = Math.max(...visits);
  const likely = Math.max(...priors);
  const all = visits.reduce((a, b) => a + b, 0);
  return new Map(
    moves.map((info, rank) => {
      const worth = worths[rank];
      const loss = worth === null || best === null ? null : Math.min(1, Math.max(0, best - worth, behind(worth)));
      const weight = measure === "prior" && likely > 0 ? (info.prior ?? 0) / likely : most > 0 ? visits[rank] / most : likely > 0 ? priors[rank] / likely : 1 - rank / moves.length;
      const texts = {
        value: worth === null ? "" : scoreText(description, info.value ?? [], turn, info.proven),
        visits: info.visits === null ? "" : all > 0 && measure === "visits" ? percent(visits[rank] / all) : compact(info.visits),
        prior: info.prior === null ? "" : percent(info.prior),
      };
      const main = texts[measure] || texts.value || texts.visits || texts.prior;
      const more = measure === "value" ? texts.visits || texts.prior : measure === "visits" ? compact(info.visits ?? 0) : "";
      return [info.move, { move: info.move, share: weight, loss: measure === "prior" ? null : loss, main, more: more === main ? "" : more, best: rank === 0 }];
    }),
  );
}

/** @param {number} share */
export const percent = (share) => (share >= 0.095 ? `${Math.round(100 * share)}%` : share >= 0.0095 ? `${(100 * share).toFixed(1)}%` : "<1%");

/** From green over amber to red. @param {number | null} loss @param {boolean} [best] */
export function hue(loss, best = false) {
  if (loss === null) return "hsl(212 62% 46%)";
  if (best && loss < RED / 3) return "hsl(172 68% 30%)";
  const bad = Math.min(1, loss / RED);
  const angle = bad < 0.5 ? 152 - 2 * bad * 112 : 40 - 2 * (bad - 0.5) * 34;
  return `hsl(${Math.round(angle)} ${Math.round(52 + 18 * bad)}% ${Math.round(36 + (bad < 0.5 ? 8 * bad : 4))}%)`;
}

/**
 * @param {BoardView} view
 * @param {Map<number, Opinion>} found
 * @param {{picked: (number | string)[], landings: Map<number, number>, turn: number}} options  landings: where a move into a row of cells ends
 * @returns {string}  SVG
 */
export function overlayMarkup(view, found, { picked, landings, turn }) {
  const { description } = view;
  /** @type {Map<number, Opinion>} best opinion by the cell to click next */
  const spots = new Map();
  /** @type {{from: number, to: number, opinion: Opinion}[]} */
  const arrows = [];
  for (const opinion of found.values()) {
    const path = description.moves[opinion.move]?.path;
    if (!path || !picked.every((click, i) => fits(path[i], click))) continue;
    const cells = path.map((step) => cellOf(step, opinion.move)).filter((cell) => cell !== null);
    const next = path.length > picked.length ? cellOf(path[picked.length], opinion.move) : null;
    const rest = path.slice(picked.length).filter((step) => typeof step !== "string").length;
    if (rest === 1 && next !== null) {
      const there = spots.get(next);
      if (!there || opinion.share > there.share) spots.set(next, opinion);
    } else if (rest > 1) arrows.push({ from: cells[0], to: cells[cells.length - 1], opinion });
  }
  const scale = view.element.clientWidth / view.geometry.box.width; // pixels per unit
  const sorted = [...spots].sort((a, b) => b[1].share - a[1].share);
  const drawn = sorted.map(([cell, opinion], i) => spot(cell, opinion, i < FEW && (sorted.length <= FEW || opinion.share > 0.1))).reverse();
  const ways = arrows.sort((a, b) => b.opinion.share - a.opinion.share).slice(0, ARROWS).filter(({ opinion }) => opinion.share > 0.03).reverse();
  return drawn.join("") + ways.map(arrow).join("") + ways.map(label).join("");

  /** @param {Step} step @param {number} move */
  function cellOf(step, move) {
    if (typeof step === "number") return step;
    if (typeof step === "string") return null;
    const own = step.filter((cell) => view.geometry.cells[cell].tray === turn);
    return landings.get(move) ?? own[0] ?? step[Math.floor(step.length / 2)];
  }

  /** @param {number} cell @param {Opinion} opinion @param {boolean} written */
  function spot(cell, { share, loss, main, more, best }, written) {
    const place = view.geometry.cells[cell];
    const weak = share < 0.015 && !best;
    const r = place.reach * (weak ? 0.2 : written ? 0.62 + 0.28 * Math.sqrt(share) : 0.24 + 0.16 * share);
    const alpha = loss === null ? 0.12 + 0.8 * share : weak ? 0.4 : written ? 0.6 + 0.35 * Math.sqrt(share) : 0.6;
    const roomy = 2 * r * scale > 24 && written && !weak;
    const large = place.reach * 2 * scale > 40 && more && roomy;
    const size = Math.min(place.reach * 0.66, (r * 2.5) / Math.max(3, main.length));
    const ring = best ? `<circle r="${round(r)}" fill="none" stroke="#fff" stroke-width="4.500"/>` : "";
    const text = roomy
      ? `<text dy="${large ? "-.02em" : ".35em"}" font-size="${round(size)}" font-weight="650">${main}</text>` +
        (large ? `<text dy="1.15em" y="${round(size * 0.12)}" font-size="${round(size * 0.68)}" opacity=".85">${more}</text>` : "")
      : "";
    return `<g transform="translate(${round(place.x)} ${round(place.y)})" text-anchor="middle" fill="#fff"><circle r="${round(r)}" fill="${hue(loss, best)}" fill-opacity="${alpha.toFixed(2)}"${weak ? "" : ` stroke="#fff" stroke-opacity=".4" stroke-width="2"`}/>${ring}${text}</g>`;
  }

  /** What an arrow says, at its end; where several end, the labels stand one above the other. @param {{to: number, opinion: Opinion}} way @param {number} place */
  function label({ to, opinion }, place) {
    const told = (/** @type {Opinion} */ { share, best }) => share > 0.12 || best;
    if (!told(opinion)) return "";
    const below = ways.slice(place + 1).filter((other) => other.to === to && told(other.opinion)).length;
    const { loss, main, best } = opinion;
    const { x, y, reach } = view.geometry.cells[to];
    return `<g transform="translate(${round(x)} ${round(y + reach * 0.62 - 37 * below)})"><rect x="-31" y="-17" width="62" height="34" rx="17" fill="${hue(loss, best)}"/><text dy=".35em" font-size="24" font-weight="650" fill="#fff" text-anchor="middle">${main}</text></g>`;
  }

  /** @param {{from: number, to: number, opinion: Opinion}} way */
  function arrow({ from, to, opinion: { share, loss, best } }) {
    const [a, b] = [view.geometry.cells[from], view.geometry.cells[to]];
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
    const width = 7 + 13 * Math.sqrt(share);
    const head = width * 1.9;
    const [ex, ey] = [b.x - ux * (b.reach * 0.36), b.y - uy * (b.reach * 0.36)];
    const [sx, sy] = [a.x + ux * a.reach * 0.5, a.y + uy * a.reach * 0.5];
    const [nx, ny] = [-uy, ux];
    const at = (/** @type {number} */ back, /** @type {number} */ side) => /** @type {[number, number]} */ ([ex - ux * back + nx * side, ey - uy * back + ny * side]);
    const shape = pathOf([[sx + nx * width * 0.3, sy + ny * width * 0.3], at(head, width * 0.42), at(head, head * 0.62), at(0, 0), at(head, -head * 0.62), at(head, -width * 0.42), [sx - nx * width * 0.3, sy - ny * width * 0.3]]);
    return `<path d="${shape}" fill="${hue(loss, best)}" fill-opacity="${(0.35 + 0.5 * Math.sqrt(share)).toFixed(2)}" stroke="#fff" stroke-opacity=".5" stroke-width="2" stroke-linejoin="round"/>`;
  }
}

/** @param {Step | undefined} step @param {number | string} click */
function fits(step, click) {
  return Array.isArray(step) ? step.includes(/** @type {number} */ (click)) : step === click;
}

/** Numbers in the order of a line of moves, where each move ends. @param {BoardView} view @param {{cell: number, text: string, fill: string, ink: string}[]} marks */
export function lineMarkup(view, marks) {
  return marks
    .map(({ cell, text, fill, ink }) => {
      const { x, y, reach } = view.geometry.cells[cell];
      return `<g transform="translate(${round(x)} ${round(y)})"><circle r="${round(reach * 0.44)}" fill="${fill}" stroke="#fff" stroke-width="3"/><text dy=".35em" font-size="${round(reach * 0.52)}" font-weight="650" fill="${ink}" text-anchor="middle">${text}</text></g>`;
    })
    .join("");
}

/** Who is expected to own each cell. @param {BoardView} view @param {number[]} ownership  1: seat 0, -1: seat 1 */
export function ownershipMarkup(view, ownership) {
  const colours = view.description.seats.map((seat) => seat.colour ?? "#888888");
  return ownership
    .map((value, cell) => {
      const place = view.geometry.cells[cell];
      const size = place.reach * 0.62 * Math.min(1, Math.abs(value));
      if (place.tray !== null || size < 4) return "";
      const fill = colours[value > 0 ? 0 : 1];
      return `<rect x="${round(place.x - size)}" y="${round(place.y - size)}" width="${round(2 * size)}" height="${round(2 * size)}" fill="${fill}" fill-opacity=".8" stroke="#888" stroke-width="1.500"/>`;
    })
    .join("");
}
