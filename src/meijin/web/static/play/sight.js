/**
 * What a net sees of a position and what it expects at its end, for agents that say so.
 *
 * @import {Analysis} from "../engine.js"
 * @import {Session} from "./session.js"
 */

import { Geometry, pathOf, round } from "../board/geometry.js";
import { html } from "../ui/kit.js";
import { settings } from "../ui/settings.js";

/** @param {{session: Session, analysis: Analysis}} props */
export function Sight({ session, analysis }) {
  const { planes, ownership, score } = analysis;
  const known = typeof score === "number";
  if (!planes && !ownership && !known) return "";
  const owned = settings.get("ownership", false);
  return html`<section class="sight">
    ${known && html`<p>Expected margin: <b>${score > 0 ? "+" : ""}${score.toFixed(2)}</b></p>`}
    ${ownership && html`<label><input type="checkbox" checked=${owned} onChange=${(/** @type {any} */ e) => settings.set("ownership", e.target.checked)} /> Show who is expected to own each cell</label>`}
    ${planes && html`<details><summary>What the net sees: ${planes.length} planes</summary><div class="planes">${planes.map((plane, i) => html`<${Plane} session=${session} plane=${plane} number=${i} />`)}</div></details>`}
  </section>`;
}

/** @param {{session: Session, plane: number[], number: number}} props */
function Plane({ session, plane, number }) {
  const geometry = new Geometry(session.description.board, { labels: false });
  const most = Math.max(1e-9, ...plane.map(Math.abs));
  const { box } = geometry;
  const shapes = geometry.cells.map((cell) => {
    const shade = (Math.abs(plane[cell.index]) / most).toFixed(2);
    return cell.kind === "area"
      ? html`<path d=${pathOf(cell.outline)} style=${{ fillOpacity: shade }} />`
      : cell.kind === "link"
        ? html`<path d=${pathOf(cell.outline, false)} class="wire" style=${{ strokeOpacity: shade }} />`
        : html`<circle cx=${round(cell.x)} cy=${round(cell.y)} r="46" style=${{ fillOpacity: shade }} />`;
  });
  return html`<figure><svg viewBox="${box.x} ${box.y} ${box.width} ${box.height}" role="img" aria-label="Plane ${number + 1}">${shapes}</svg><figcaption>${number + 1}</figcaption></figure>`;
}
