/**
 * The lines an agent looked at most, drawn as a tree: thicker where it looked more.
 *
 * @import {Analysis} from "../engine.js"
 * @import {BoardArea} from "./board_area.js"
 * @import {Session} from "./session.js"
 */

import { hue, opinions } from "../board/overlay.js";
import { html } from "../ui/kit.js";

const LINES = 10;
const DEPTH = 6;
const [COLUMN, ROW, LEFT] = [62, 24, 10];

/**
 * @typedef {{move: number, line: number[], share: number, colour: string, children: Branch[], y: number}} Branch
 */

/** @param {Analysis} analysis @param {Map<number, import("../board/overlay.js").Opinion>} found @returns {Branch[]} */
function branches(analysis, found) {
  /** @type {Branch[]} */
  const roots = [];
  for (const info of analysis.moves.slice(0, LINES)) {
    const opinion = found.get(info.move);
    const colour = hue(opinion?.loss ?? null, opinion?.best);
    let level = roots;
    const line = info.pv.length ? info.pv : [info.move];
    line.slice(0, DEPTH).forEach((move, depth) => {
      let branch = level.find((each) => each.move === move);
      if (!branch) {
        branch = { move, line: line.slice(0, depth + 1), share: (opinion?.share ?? 0) / (depth + 1), colour, children: [], y: 0 };
        level.push(branch);
      }
      level = branch.children;
    });
  }
  return roots;
}

/** @param {{session: Session, area: BoardArea, analysis: Analysis}} props */
export function LineTree({ session, area, analysis }) {
  const { description } = session;
  const roots = branches(analysis, opinions(description, analysis, "value"));
  if (!roots.some((root) => root.children.length)) return "";
  let rows = 0;
  let depth = 0;
  const lay = (/** @type {Branch} */ branch, /** @type {number} */ level) => {
    depth = Math.max(depth, level);
    if (!branch.children.length) branch.y = ROW * (rows++ + 0.5);
    else {
      branch.children.forEach((child) => lay(child, level + 1));
      branch.y = (branch.children[0].y + branch.children[branch.children.length - 1].y) / 2;
    }
  };
  roots.forEach((root) => lay(root, 1));
  const [width, height] = [LEFT + COLUMN * depth + 8, ROW * rows];
  const x = (/** @type {number} */ level) => LEFT + COLUMN * (level - 1) + COLUMN;
  /** @type {any[]} */
  const drawn = [];
  const draw = (/** @type {Branch} */ branch, /** @type {number} */ level, /** @type {number} */ fromX, /** @type {number} */ fromY) => {
    const [toX, toY] = [x(level) - 34, branch.y];
    drawn.push(html`<path d="M${fromX} ${fromY}C${fromX + 12} ${fromY} ${toX - 12} ${toY} ${toX} ${toY}" style=${{ stroke: branch.colour, strokeWidth: 1 + 5 * Math.sqrt(branch.share) }} />
      <text x=${toX + 4} y=${toY} dy=".35em" onMouseEnter=${() => void area.showLine(branch.line)} onMouseLeave=${() => void area.showLine(null)}>${(description.moves[branch.move]?.name ?? "").slice(0, 6)}</text>`);
    branch.children.forEach((child) => draw(child, level + 1, x(level), branch.y));
  };
  roots.forEach((root) => draw(root, 1, LEFT, height / 2));
  return html`<details class="line-tree"><summary>Lines as a tree</summary><div class="scroll"><svg viewBox="0 0 ${width} ${height}" width=${width} height=${height} role="img" aria-label="The lines the agent looked at most, as a tree"><circle cx=${LEFT} cy=${height / 2} r="4" />${drawn}</svg></div></details>`;
}
