/** Lines over numbers, as SVG: a few series, axes with round steps, what is under the pointer. */

import { useRef, useState } from "../vendor/preact.js";
import { html } from "./kit.js";

/** @typedef {{name: string, points: [number, number][], colour?: string}} Series */

const COLOURS = ["#b93a26", "#2f5d8c", "#2f7d5b", "#a86a12", "#7a4d8c", "#4a7f86", "#8a5a44", "#5b6472"];
const WIDTH = 520;
const BOX = { left: 46, right: 10, top: 10, bottom: 24 };

/** @param {number} i */
export const colourOf = (i) => COLOURS[i % COLOURS.length];

/** @param {{title: string, series: Series[], height?: number, x?: string, low?: number, high?: number, format?: (value: number) => string}} props */
export function Chart({ title, series, height = 190, x: xName = "iteration", low, high, format = short }) {
  const ref = useRef(/** @type {SVGSVGElement | null} */ (null));
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const shown = series.filter(({ points }) => points.length > 0);
  const all = shown.flatMap(({ points }) => points);
  if (!all.length) return html`<figure class="chart empty"><figcaption>${title}</figcaption><p class="hollow">Nothing yet.</p></figure>`;
  const xs = all.map((p) => p[0]);
  const ys = all.map((p) => p[1]);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const marks = ticks(low ?? Math.min(...ys), high ?? Math.max(...ys), 4);
  const [y0, y1] = [Math.min(low ?? marks[0], ...(low === undefined ? ys : [])), Math.max(high ?? marks[marks.length - 1], ...(high === undefined ? ys : []))];
  const px = (/** @type {number} */ v) => BOX.left + ((WIDTH - BOX.left - BOX.right) * (v - x0)) / (x1 - x0 || 1);
  const py = (/** @type {number} */ v) => height - BOX.bottom - ((height - BOX.top - BOX.bottom) * (v - y0)) / (y1 - y0 || 1);
  const hover = (/** @type {PointerEvent} */ event) => {
    const box = /** @type {SVGSVGElement} */ (ref.current).getBoundingClientRect();
    const v = x0 + ((((event.clientX - box.left) / box.width) * WIDTH - BOX.left) / (WIDTH - BOX.left - BOX.right)) * (x1 - x0);
    setAt(xs.reduce((best, each) => (Math.abs(each - v) < Math.abs(best - v) ? each : best), xs[0]));
  };
  const values = at === null ? [] : shown.flatMap(({ name, points, colour }, i) => {
    const found = points.find((p) => p[0] === at);
    return found ? [{ name, value: found[1], colour: colour ?? colourOf(i) }] : [];
  });
  const last = shown.map(({ name, points, colour }, i) => ({ name, value: points[points.length - 1][1], colour: colour ?? colourOf(i) }));
  return html`<figure class="chart">
    <figcaption>${title}<span class="legend numbers">${(values.length ? values : last).map(({ name, value, colour }) => html`<span><i style=${{ background: colour }}></i>${shown.length > 1 ? `${name} ` : ""}<b>${format(value)}</b></span>`)}</span></figcaption>
    <svg ref=${ref} viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}: ${last.map(({ name, value }) => `${name} ${format(value)}`).join(", ")}" onPointerMove=${hover} onPointerLeave=${() => setAt(null)}>
      ${marks.map((mark) => html`<path class="grid" d="M${BOX.left} ${py(mark)}H${WIDTH - BOX.right}" /><text x=${BOX.left - 7} y=${py(mark)} dy=".33em" text-anchor="end">${format(mark)}</text>`)}
      ${ticks(x0, x1, 5).filter((mark) => mark >= x0 && mark <= x1).map((mark) => html`<text x=${px(mark)} y=${height - 6} text-anchor="middle">${short(mark)}</text>`)}
      ${shown.map(({ points, colour }, i) => html`<path class="line" d="M${points.map((p) => `${px(p[0]).toFixed(1)} ${py(p[1]).toFixed(1)}`).join("L")}" style=${{ stroke: colour ?? colourOf(i) }} />${points.length === 1 && html`<circle r="3" cx=${px(points[0][0])} cy=${py(points[0][1])} fill=${colour ?? colourOf(i)} />`}`)}
      ${at !== null && html`<path class="now" d="M${px(at)} ${BOX.top}V${height - BOX.bottom}" />`}
    </svg>
    ${at !== null && html`<span class="where numbers">${xName} ${short(at)}</span>`}
  </figure>`;
}

/** Round numbers that cover a range. @param {number} low @param {number} high @param {number} count */
function ticks(low, high, count) {
  if (high - low < 1e-9) [low, high] = [low - Math.abs(low || 1) * 0.1, high + Math.abs(high || 1) * 0.1];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((each) => each * power >= raw) ?? 10);
  const first = Math.floor(low / step) * step;
  return Array.from({ length: Math.ceil((high - first) / step + 1e-9) + 1 }, (_, i) => Number((first + i * step).toPrecision(12)));
}

/** @param {number} value */
export function short(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (size >= 1e4) return `${Math.round(value / 1e3)}k`;
  return String(Number(value.toPrecision(size >= 100 ? 4 : 3)));
}
