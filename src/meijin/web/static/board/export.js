/**
 * A board as a picture: SVG text, or PNG drawn from it.
 *
 * @import {BoardView} from "./view.js"
 */

/** The drawing on its own, without what only the page needs. @param {BoardView} view @param {number} [size] of its longer side in pixels */
export function svgText(view, size = 900) {
  const svg = /** @type {SVGSVGElement} */ (/** @type {Element} */ (view.element.querySelector("svg.main")).cloneNode(true));
  for (const part of svg.querySelectorAll(".hits, .marks, .ghosts, .missing, .gone")) part.remove();
  const overlay = view.layers.overlay?.innerHTML ?? "";
  if (overlay) svg.insertAdjacentHTML("beforeend", `<g>${overlay}</g>`);
  const { width, height } = view.geometry.box;
  const scale = size / Math.max(width, height);
  svg.setAttribute("width", String(Math.round(width * scale)));
  svg.setAttribute("height", String(Math.round(height * scale)));
  svg.setAttribute("font-family", "Inter, system-ui, sans-serif");
  for (const name of ["class", "role", "aria-label"]) svg.removeAttribute(name);
  const style = getComputedStyle(view.element);
  const colours = ".last{fill:#f2c14b;fill-opacity:.42}.last.wire{fill:none;stroke:#f2c14b;stroke-opacity:.65;stroke-width:30;stroke-linecap:round}.kanji{font-family:serif}";
  svg.insertAdjacentHTML("afterbegin", `<style>${colours}</style>`);
  return new XMLSerializer().serializeToString(svg).replace(/var\(--([\w-]+)[^)]*\)/g, (_, name) => style.getPropertyValue(`--${name}`).trim() || "#666");
}

/** @param {BoardView} view @param {number} [size] @returns {Promise<Blob>} */
export async function pngBlob(view, size = 1200) {
  const text = svgText(view, size);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.drawImage(image, 0, 0);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("This browser could not draw the picture."))), "image/png"));
}

/** Hand a file to the reader. @param {Blob | string} content @param {string} name */
export function download(content, name) {
  const blob = typeof content === "string" ? new Blob([content], { type: "text/plain;charset=utf-8" }) : content;
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}
