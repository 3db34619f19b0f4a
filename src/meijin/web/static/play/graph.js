/**
 * How the game went: what was expected for every seat after every move.
 *
 * @import {Session} from "./session.js"
 */

import { scoreText } from "../board/overlay.js";
import { OVER } from "../engine.js";
import { html } from "../ui/kit.js";
import { lineOf, mistakeAt } from "./review.js";
import { seatName } from "./tree.js";

const WIDTH = 400;
const HEIGHT = 92;
const EDGE = 6;

/** @param {{session: Session}} props */
export function ValueGraph({ session }) {
  const { description, current } = session;
  const nodes = lineOf(session);
  const points = nodes.map((node) => (node.look?.turn === OVER ? node.look.scores : node.value));
  const known = points.flatMap((value) => value ?? []).filter((v) => v !== null);
  if (points.filter(Boolean).length < 2) return "";
  const [low, high] = [description.score_range[0] ?? Math.min(0, ...known), description.score_range[1] ?? Math.max(1, ...known)];
  const x = (/** @type {number} */ i) => EDGE + ((WIDTH - 2 * EDGE) * i) / Math.max(1, nodes.length - 1);
  const y = (/** @type {number} */ v) => HEIGHT - EDGE - ((HEIGHT - 2 * EDGE) * (v - low)) / (high - low || 1);
  const line = (/** @type {number} */ seat) =>
    points.flatMap((value, i) => (value ? [`${x(i).toFixed(1)} ${y(value[seat]).toFixed(1)}`] : [])).join("L");
  const here = nodes.indexOf(current);
  const opposite = description.seats.length === 2 && points.every((value) => !value || Math.abs(value[0] + value[1] - (low + high)) < 0.03 * (high - low));
  const seats = opposite ? [0] : [...description.seats.keys()];
  const pick = (/** @type {MouseEvent} */ event) => {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    const at = Math.round(((((event.clientX - box.left) / box.width) * WIDTH - EDGE) / (WIDTH - 2 * EDGE)) * (nodes.length - 1));
    void session.go(nodes[Math.max(0, Math.min(nodes.length - 1, at))]);
  };
  const now = points[here];
  const label = now ? seats.map((seat) => `${seatName(description, seat)} ${scoreText(description, now, seat)}`).join(", ") : "";
  const ground = seats.length === 1 ? description.seats[0].colour : null;
  return html`<figure class="graph">
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="Expected result over the game. ${label}" onClick=${pick}>
      ${ground && html`<path d="M${x(points.findIndex(Boolean))} ${HEIGHT}L${line(0)}L${x(points.findLastIndex(Boolean))} ${HEIGHT}Z" class="area" />`}
      <path class="middle" d="M0 ${HEIGHT / 2}H${WIDTH}" />
      ${seats.map((seat) => html`<path class="value" d="M${line(seat)}" style=${{ stroke: seats.length === 1 ? "var(--ink)" : (description.seats[seat].colour ?? "var(--ink)") }} />`)}
      ${nodes.map((node, i) => {
        const mistake = mistakeAt(session, node);
        const value = points[i];
        return mistake && value ? html`<ellipse class="spot ${mistake.kind}" cx=${x(i)} cy=${y(value[seats[0]])} rx="4" ry="4" />` : "";
      })}
      ${here >= 0 && html`<path class="here" d="M${x(here)} 0V${HEIGHT}" />`}
    </svg>
    ${seats.length === 1 && html`<figcaption>${seatName(description, 0)} expects</figcaption>`}
  </figure>`;
}
