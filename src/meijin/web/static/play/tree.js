/**
 * A game as a tree: every position that was played or tried, with what is known about it.
 *
 * @import {Analysis, Description, Look, Notes} from "../engine.js"
 */

import { CHANCE } from "../engine.js";

/** @typedef {{agent: string, analysis: Analysis}} Thought */

export class Node {
  /** Moves and outcomes before this position. */
  ply = 0;

  /** @param {Node | null} parent @param {number} move @param {number} mover */
  constructor(parent, move, mover) {
    this.parent = parent;
    this.move = move; // that led here; -1 at the start
    this.mover = mover;
    if (parent) this.ply = parent.ply + 1;
    /** @type {Node[]} the line that is played first */
    this.children = [];
    /** @type {Look | null} */
    this.look = null;
    this.comment = "";
    /** @type {Thought | null} what the agent to move thought here */
    this.thought = null;
    /** @type {Map<string, Analysis>} what analysts say, by their expression */
    this.analyses = new Map();
    /** @type {number[] | null} what the agent that moved expected */
    this.expected = null;
    this.random = false; // whether the agent that played it drew it by chance, and thought another one best
    /** Taken back; may be played again. */
    this.undone = false;
  }

  /** The moves from the start. @returns {number[]} */
  get line() {
    return this.path.slice(1).map((node) => node.move);
  }

  /** From the start to here. @returns {Node[]} */
  get path() {
    /** @type {Node[]} */
    const nodes = [];
    for (let node = /** @type {Node | null} */ (this); node; node = node.parent) nodes.unshift(node);
    return nodes;
  }

  /** Moves of seats up to here, without what chance did. */
  get number() {
    let count = 0;
    for (let node = /** @type {Node} */ (this); node.parent; node = node.parent) if (node.mover !== CHANCE) count++;
    return count;
  }

  /** From here along the first moves to the end. @returns {Node[]} */
  get main() {
    /** @type {Node[]} */
    const nodes = [this];
    for (let node = this.children[0]; node; node = node.children[0]) nodes.push(node);
    return nodes;
  }

  /** The child with a move, made if there is none. @param {number} move @param {number} mover */
  child(move, mover) {
    const found = this.children.find((node) => node.move === move);
    if (found) return found;
    const made = new Node(this, move, mover);
    this.children.push(made);
    return made;
  }

  /** Make this line the first everywhere on its way. */
  promote() {
    for (const node of this.path.slice(1)) {
      const siblings = /** @type {Node} */ (node.parent).children;
      siblings.splice(siblings.indexOf(node), 1);
      siblings.unshift(node);
    }
  }

  /** Take this node and what follows out of the tree. */
  remove() {
    const siblings = this.parent?.children ?? [];
    if (siblings.includes(this)) siblings.splice(siblings.indexOf(this), 1);
  }

  /** @param {(node: Node) => void} visit */
  each(visit) {
    visit(this);
    for (const child of this.children) child.each(visit);
  }

  /** What is expected here for every seat: by an analyst, else by the agents that played. */
  get value() {
    let best = /** @type {Analysis | null} */ (null);
    for (const analysis of this.analyses.values()) if (analysis.value && (!best || analysis.simulations >= best.simulations)) best = analysis;
    return best?.value ?? this.thought?.analysis.value ?? this.expected;
  }
}

/** @param {string} text */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** How a seat is called in a sentence. @param {Description} description @param {number} seat */
export function seatName(description, seat) {
  return description.seats[seat]?.name ?? "";
}

/** How a move is written. @param {Description} description @param {Node} node */
export function moveName(description, node) {
  return (node.mover === CHANCE ? description.outcomes : description.moves)[node.move]?.name ?? String(node.move);
}

/** The tree as notes that a table keeps. @param {Node} root @returns {Notes} */
export function toNotes(root) {
  /** @type {Notes} */
  const notes = { comment: root.comment, nodes: [] };
  const add = (/** @type {Node} */ node, /** @type {number} */ parent) => {
    for (const child of node.children) {
      if (child.undone && !child.comment) continue;
      notes.nodes.push({ parent, move: child.move, comment: child.comment, marks: "" });
      add(child, notes.nodes.length - 1);
    }
  };
  add(root, -1);
  return notes;
}

/** Add what notes hold to a tree. Movers are learned when the positions are looked at. @param {Node} root @param {Notes} notes */
export function fromNotes(root, notes) {
  root.comment = notes.comment || root.comment;
  /** @type {Node[]} */
  const made = [];
  for (const { parent, move, comment } of notes.nodes) {
    const above = parent < 0 ? root : made[parent];
    if (!above) return;
    const node = above.child(move, above.look?.turn ?? 0);
    if (comment) node.comment = comment;
    made.push(node);
  }
}
