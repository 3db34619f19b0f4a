/**
 * The moves of a game with its variations, comments and mistakes.
 *
 * @import {Session} from "./session.js"
 * @import {Node} from "./tree.js"
 */

import { CHANCE } from "../engine.js";
import { Button, html } from "../ui/kit.js";
import { useEffect, useRef, useState } from "../vendor/preact.js";
import { mistakeAt } from "./review.js";
import { moveName } from "./tree.js";

const LONG = 400; // moves that are listed at once

/** @param {{session: Session}} props */
export function Moves({ session }) {
  const [all, setAll] = useState(false);
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  const { root, current } = session;
  useEffect(() => {
    const list = ref.current;
    const here = /** @type {HTMLElement | null} */ (list?.querySelector(".current"));
    if (!list || !here) return;
    const top = here.offsetTop - list.offsetTop;
    if (top < list.scrollTop + 20 || top > list.scrollTop + list.clientHeight - 50) list.scrollTop = top - list.clientHeight / 2;
  }, [current, current.children.length]);
  const main = root.main;
  const first = all || main.length <= LONG ? root : main[main.length - LONG];
  return html`<div class="moves numbers" ref=${ref} role=${root.children.length ? "list" : undefined} aria-label=${root.children.length ? "Moves" : undefined}>
    ${first !== root && html`<${Button} kind="quiet" label="Show all ${main.length - 1} moves" onClick=${() => setAll(true)} />`}
    ${root.comment && html`<p class="comment">${root.comment}</p>`}
    ${root.children.length ? html`<${Line} session=${session} from=${first} start=${true} />` : html`<p class="hollow">No moves yet.</p>`}
  </div>`;
}

/** The moves after a node, with variations where there are several. @param {{session: Session, from: Node, start?: boolean}} props */
function Line({ session, from, start }) {
  const parts = [];
  let numbered = !!start;
  for (let node = from; node.children.length; node = node.children[0]) {
    const [next, ...others] = node.children;
    parts.push(html`<${Move} session=${session} node=${next} numbered=${numbered} />`);
    numbered = false;
    if (next.comment) {
      parts.push(html`<p class="comment">${next.comment}</p>`);
      numbered = true;
    }
    for (const other of others) {
      parts.push(html`<div class="variation"><${Move} session=${session} node=${other} numbered=${true} />${other.comment && html`<span class="comment">${other.comment}</span>`}<${Line} session=${session} from=${other} /></div>`);
      numbered = true;
    }
  }
  return parts;
}

/** @param {{session: Session, node: Node, numbered: boolean}} props */
function Move({ session, node, numbered }) {
  const { description, current, tip } = session;
  const pairs = description.seats.length === 2 && !description.chance;
  const begins = !pairs || node.mover === 0;
  const number = pairs ? `${Math.floor((node.ply - 1) / 2) + 1}.${begins ? "" : "…"}` : `${description.chance ? node.number : node.ply}.`;
  const mistake = mistakeAt(session, node);
  const name = moveName(description, node);
  const state = `${node === current ? "current" : ""} ${node.undone ? "undone" : ""} ${node === tip && session.table ? "tip" : ""} ${node.mover === CHANCE ? "chance" : ""} ${mistake?.kind ?? ""}`;
  return html`<span role="listitem" class="item">${(begins || numbered) && node.mover !== CHANCE ? html`<span class="number">${number}</span>` : ""}<button
      type="button"
      class="move ${state}"
      aria-current=${node === current ? "true" : undefined}
      title=${[node.random && "A random move", mistake?.text].filter(Boolean).join(". ") || undefined}
      onClick=${() => void session.go(node)}
    >${name}${node.random ? html`<sup>~</sup>` : ""}${mistake ? html`<sup>${mistake.mark}</sup>` : ""}</button></span>`;
}

/** A comment on the position shown. @param {{session: Session}} props */
export function CommentBox({ session }) {
  const { current } = session;
  const write = (/** @type {string} */ text) => {
    current.comment = text;
    session.save();
    session.dispatchEvent(new Event("change"));
  };
  return html`<textarea
    key=${current}
    class="comment-box"
    rows="1"
    maxlength="2000"
    placeholder="Comment on this position"
    aria-label="Comment on this position"
    value=${current.comment}
    onInput=${(/** @type {any} */ e) => write(e.target.value)}
  ></textarea>`;
}
