/**
 * What stands still on a board: slab, cells, lines, coordinates. SVG as text, from the geometry and the colours alone.
 *
 * @import {Geometry, Place} from "./geometry.js"
 * @import {PieceSet} from "./pieces.js"
 * @import {Paint} from "./paint.js"
 */

import { bounds, grown, inset, pathOf, round, roundedPath } from "./geometry.js";
import { darker, lighter, mix } from "./paint.js";
import { escape } from "./pieces.js";

/**
 * @param {Geometry} geometry
 * @param {Paint} paint
 * @param {PieceSet} set
 * @param {string[]} colours  of the seats
 * @returns {{defs: string, below: string, above: string}}  below and above the pieces
 */
export function scene(geometry, paint, set, colours) {
  const prefix = set.prefix;
  return {
    defs: definitions(geometry, paint, prefix),
    below: [
      slab(geometry, paint, prefix),
      trays(geometry, paint),
      edges(geometry, paint, colours),
      geometry.cells.map((cell) => ground(cell, geometry, paint, set)).join(""),
      lines(geometry, paint),
    ].join(""),
    above: (paint.material === "plate" ? plate(geometry, paint, prefix) : "") + joints(geometry, paint) + labels(geometry, paint),
  };
}

/** @param {Geometry} geometry @param {Paint} paint @param {string} prefix */
function definitions(geometry, paint, prefix) {
  const box = bounds(geometry.slab);
  const span = `gradientUnits="userSpaceOnUse" x1="${round(box.x)}" y1="${round(box.y)}" x2="${round(box.x + box.width * 0.4)}" y2="${round(box.y + box.height)}"`;
  const stops =
    paint.material === "wood"
      ? [lighter(paint.slab, 0.14), paint.slab, mix(paint.slab, "#a8713a", 0.16)]
      : [lighter(paint.slab, 0.06), paint.slab, darker(paint.slab, 0.05)];
  return (
    `<linearGradient id="${prefix}slab" ${span}>${stops.map((c, i) => `<stop offset="${i / 2}" stop-color="${c}"/>`).join("")}</linearGradient>` +
    `<radialGradient id="${prefix}bowl" cx=".5" cy=".36" r=".62"><stop offset=".35" stop-color="${darker(paint.hole, 0.12)}"/>` +
    `<stop offset=".8" stop-color="${paint.hole}"/><stop offset="1" stop-color="${lighter(paint.hole, 0.14)}"/></radialGradient>` +
    (paint.material === "wood" ? grain(prefix, paint) : "")
  );
}

/** Fine wavy lines, as of wood: the same on every visit. @param {string} prefix @param {Paint} paint */
function grain(prefix, paint) {
  let seed = 7;
  const next = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const waves = Array.from({ length: 22 }, (_, i) => {
    const x = (i + next()) * 20;
    const [a, b, c] = [next(), next(), next()].map((v) => round(x + (v - 0.5) * 26));
    const [width, opacity] = [round(1 + 3.5 * next()), round(10 * (0.03 + 0.07 * next())) / 10 || 0.05];
    return `<path d="M${round(x)} 0C${a} 180 ${b} 320 ${round(x)} 460S${c} 720 ${round(x)} 920" stroke-width="${width}" stroke-opacity="${opacity}"/>`;
  });
  return `<pattern id="${prefix}grain" width="440" height="920" patternUnits="userSpaceOnUse"><g fill="none" stroke="${darker(paint.line, 0.1)}">${waves.join("")}</g></pattern>`;
}

/** @param {Geometry} geometry @param {Paint} paint @param {string} prefix */
function slab(geometry, paint, prefix) {
  if (!geometry.slabbed) return "";
  const d = roundedPath(geometry.slab, geometry.straight ? 20 : 46);
  const layer = (/** @type {string} */ colour, dy = 0, more = "") => `<path d="${d}" fill="${colour}"${dy ? ` transform="translate(0 ${dy})"` : ""}${more}/>`;
  const soft = [9, 13].map((dy) => layer("#000", dy, ` opacity="${paint.dark ? 0.2 : 0.07}"`)).join("");
  const top = layer(`url(#${prefix}slab)`) + (paint.material === "wood" ? layer(`url(#${prefix}grain)`) : "");
  return `<g class="slab">${soft}${layer(paint.rim, 5)}${top}</g>`;
}

/** @param {Geometry} geometry @param {Paint} paint */
function trays(geometry, paint) {
  return geometry.trays
    .map(({ box: { x, y, width, height } }) => {
      const place = `x="${round(x)}" width="${round(width)}" height="${round(height)}" rx="16"`;
      return `<rect ${place} y="${round(y + 4)}" fill="${paint.rim}"/><rect ${place} y="${round(y)}" fill="${mix(paint.slab, paint.cell, 0.5)}"/>`;
    })
    .join("");
}

/** The sides that belong to a seat, half hidden under the cells. @param {Geometry} geometry @param {Paint} paint @param {string[]} colours */
function edges(geometry, paint, colours) {
  return geometry.edges
    .map(({ seat, line }) => {
      const d = pathOf(line, false);
      const colour = colours[seat] ?? paint.ink;
      const band = (/** @type {string} */ c, /** @type {number} */ width) =>
        `<path d="${d}" fill="none" stroke="${c}" stroke-width="${width}" stroke-linejoin="round" stroke-linecap="butt"/>`;
      return band(darker(paint.slab, 0.35), 46) + band(colour, 41);
    })
    .join("");
}

/** @param {Place} cell @param {Geometry} geometry @param {Paint} paint @param {PieceSet} set */
function ground(cell, geometry, paint, set) {
  const kind = geometry.board.kind;
  if (cell.kind === "point") return "";
  if (cell.kind === "link") return `<path d="${pathOf(cell.outline, false)}" stroke="${paint.line}" stroke-width="5" stroke-linecap="round"/>`;
  if (cell.tray !== null || paint.material === "plate") return "";
  if (kind === "cube") return `<path d="${roundedPath(inset(cell.outline, cell, 1.07), 12)}" fill="${paint.dark ? "#0c0d10" : "#2b2c31"}"/>`;
  if (kind === "heaps") return `<circle cx="${round(cell.x)}" cy="${round(cell.y)}" r="7" fill="${paint.line}" fill-opacity=".55"/>`;
  const fill = cell.other ? paint.other : paint.cell;
  if (paint.material === "bowls") {
    return (
      `<path d="${pathOf(cell.outline)}" fill="${fill}" stroke="${paint.line}" stroke-width="2.500"/>` +
      `<circle cx="${round(cell.x)}" cy="${round(cell.y)}" r="42.500" fill="url(#${set.prefix}bowl)"/>`
    );
  }
  if (paint.material === "paper" && set.tiled && cell.outline.length === 4) {
    return `<path d="${roundedPath(inset(cell.outline, cell, 0.9), 13)}" fill="${fill}"/>`;
  }
  const bare = paint.material === "wood" && fill === paint.slab;
  const see = bare && !geometry.edges.length ? ` fill-opacity="0"` : "";
  const shown = bare ? lighter(fill, 0.18) : fill;
  return `<path d="${pathOf(cell.outline)}" fill="${shown}"${see} stroke="${paint.line}" stroke-width="${paint.material === "wood" ? 2.5 : 3}" stroke-linejoin="round"/>`;
}

/** Lines between crossings, and star points. @param {Geometry} geometry @param {Paint} paint */
function lines(geometry, paint) {
  if (!geometry.lines.length) return "";
  const d = geometry.lines.map((pair) => pathOf(pair, false)).join("");
  const stars = geometry.stars.map(([x, y]) => `<circle cx="${round(x)}" cy="${round(y)}" r="8.500" fill="${paint.line}"/>`).join("");
  const frame = geometry.slabbed ? `<path d="${pathOf(geometry.hull)}" fill="none" stroke="${paint.line}" stroke-width="4.500"/>` : "";
  return `<path d="${d}" fill="none" stroke="${paint.line}" stroke-width="2.800"/>${frame}${stars}`;
}

/** A plate with round holes, in front of the discs. @param {Geometry} geometry @param {Paint} paint @param {string} prefix */
function plate(geometry, paint, prefix) {
  const box = grown(bounds(geometry.hull), 1);
  const holes = geometry.cells.filter((cell) => cell.tray === null);
  const hole = (/** @type {Place} */ { x, y }) => `M${round(x - 42)} ${round(y)}a42 42 0 1 0 84 0a42 42 0 1 0 -84 0Z`;
  const ring = (/** @type {Place} */ cell) => `<circle cx="${round(cell.x)}" cy="${round(cell.y)}" r="43.500"/>`;
  const face = `M${round(box.x)} ${round(box.y)}h${round(box.width)}v${round(box.height)}h${round(-box.width)}Z`;
  return (
    `<g class="plate"><path d="${face}${holes.map(hole).join("")}" fill="url(#${prefix}slab)" fill-rule="evenodd"/>` +
    `<g fill="none" stroke="${darker(paint.slab, 0.24)}" stroke-width="3.500">${holes.map(ring).join("")}</g>` +
    `<g fill="none" stroke="${lighter(paint.slab, 0.3)}" stroke-opacity=".5" stroke-width="2" transform="translate(0 2.500)">${holes.map(ring).join("")}</g></g>`
  );
}

/** The points that links join. @param {Geometry} geometry @param {Paint} paint */
function joints(geometry, paint) {
  return geometry.joints.map(([x, y]) => `<circle cx="${round(x)}" cy="${round(y)}" r="12" fill="${paint.ink}"/>`).join("");
}

/** @param {Geometry} geometry @param {Paint} paint */
function labels(geometry, paint) {
  if (!geometry.labels.length) return "";
  const texts = geometry.labels.map(({ text, at: [x, y] }) => `<text x="${round(x)}" y="${round(y)}" dy=".35em">${escape(text)}</text>`);
  const ink = geometry.slabbed ? paint.ink : "var(--muted)";
  const size = round(Math.max(21, Math.min(38, 0.025 * geometry.box.width))); // about as large on every board
  return `<g class="labels" fill="${ink}" font-size="${size}" font-weight="500" text-anchor="middle">${texts.join("")}</g>`;
}

/** The colour behind the holes of a plate, over the whole slab. @param {Geometry} geometry @param {Paint} paint */
export function backing(geometry, paint) {
  if (paint.material !== "plate") return "";
  return `<path d="${pathOf(geometry.hull)}" fill="${paint.hole}"/>`;
}
