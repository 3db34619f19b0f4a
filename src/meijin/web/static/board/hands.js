/**
 * Moves by mouse, touch and keyboard on a `BoardView`: clicks and drags along a move's path, arrows and Enter, swipes
 * where a game has words for directions. Emits the move; offers choices where the clicks leave several.
 *
 * @import {BoardView} from "./view.js"
 * @import {Look} from "../engine.js"
 */

import { CHANCE } from "../engine.js";
import { Picker } from "./picker.js";

const ARROWS = /** @type {Record<string, [number, number, string]>} */ ({
  ArrowLeft: [-1, 0, "left"],
  ArrowRight: [1, 0, "right"],
  ArrowUp: [0, -1, "up"],
  ArrowDown: [0, 1, "down"],
});

/**
 * @typedef {object} Handlers
 * @property {(move: number) => void} play
 * @property {(choices: {word: string, label: string, move: number | null}[], cell: number | null) => void} choose  words to offer; at a cell, or beside the board
 * @property {(move: number) => Promise<Look | null>} [preview]  the position after a move
 * @property {(cell: number | null) => void} [hover]
 * @property {(cell: number, event: PointerEvent | KeyboardEvent) => void} [edit]  clicks while the position is set up
 */

export class Hands {
  /** @param {BoardView} view @param {Handlers} handlers */
  constructor(view, handlers) {
    this.view = view;
    this.handlers = handlers;
    /** @type {Picker | null} */
    this.picker = null;
    this.turn = 0;
    this.showTargets = true;
    this.editing = false;
    /** @type {number | null} */
    this.hovered = null;
    this.cursor = 0;
    /** @type {{cell: number, x: number, y: number, moved: boolean, fresh: boolean} | null} */
    this.drag = null;
    this.waiting = 0;
    const element = view.element;
    element.addEventListener("pointerdown", (event) => this.#down(event));
    element.addEventListener("pointermove", (event) => this.#move(event));
    element.addEventListener("pointerup", (event) => this.#up(event));
    element.addEventListener("pointercancel", () => this.#drop());
    element.addEventListener("pointerleave", () => this.#hover(null));
    element.addEventListener("keydown", (event) => this.#key(event));
    element.addEventListener("focusin", (event) => this.#focus(event, true));
    element.addEventListener("focusout", (event) => this.#focus(event, false));
    element.addEventListener("contextmenu", (event) => this.editing && event.preventDefault());
    element.addEventListener("rebuilt", () => this.refresh());
  }

  /** What may be played now; null for nothing. @param {number[] | null} legal @param {number} turn */
  offer(legal, turn) {
    this.picker = legal ? new Picker(this.view.description, legal, turn === CHANCE) : null;
    this.turn = turn;
    this.#drop();
    this.refresh();
    this.#choices();
    if (this.hovered !== null) this.#hover(this.hovered, true);
  }

  /** Take back the clicks so far. */
  cancel() {
    if (!this.picker?.picked.length) return false;
    this.picker.picked = [];
    this.refresh();
    this.#choices();
    return true;
  }

  /** A click on a cell or a word. @param {number | string} click */
  pick(click) {
    const picker = this.picker;
    if (!picker) return;
    const again = typeof click === "number" && picker.picked.at(-1) === click && !picker.cells.has(click);
    if (again) {
      if (picker.complete !== null) this.#play(picker.complete);
      else this.cancel();
      return;
    }
    const move = picker.pick(click);
    if (move !== null) this.#play(move);
    else {
      this.refresh();
      this.#choices();
    }
  }

  /** @param {number} move */
  #play(move) {
    this.picker = null;
    this.view.ghost([]);
    this.refresh();
    this.#choices();
    this.handlers.play(move);
  }

  #choices() {
    const picker = this.picker;
    const picked = picker?.picked ?? [];
    const at = [...picked].reverse().find((click) => typeof click === "number");
    const choices = (picker?.words ?? []).map((word) => ({
      word,
      label: /** @type {Picker} */ (picker).label(word),
      move: word === "" ? /** @type {Picker} */ (picker).complete : onlyMove(/** @type {Picker} */ (picker).after(word)),
    }));
    this.handlers.choose(choices, /** @type {number | undefined} */ (at) ?? null);
  }

  /** Draw the marks again. */
  refresh() {
    const { view, picker } = this;
    const next = picker?.cells ?? new Set();
    const picked = (picker?.picked ?? []).filter((click) => typeof click === "number");
    const children = view.layers.hits.children;
    for (let i = 0; i < children.length; i++) {
      const off = this.editing || next.has(i) || picker?.starts(i) ? "false" : "true";
      if (children[i].getAttribute("aria-disabled") !== off) children[i].setAttribute("aria-disabled", off);
      const tab = i === this.cursor ? "0" : "-1";
      if (children[i].getAttribute("tabindex") !== tab) children[i].setAttribute("tabindex", tab);
    }
    const focused = view.layers.hits.contains(document.activeElement) && document.activeElement?.matches(":focus-visible");
    view.mark({ targets: this.#targets(next, picked.length > 0), picked, cursor: focused ? this.cursor : null });
  }

  /** Which cells get a mark: after a first click all; before, only a few that stand out. @param {Set<number>} next @param {boolean} begun */
  #targets(next, begun) {
    if (!this.showTargets || !this.picker) return [];
    if (begun) return next;
    const cells = this.view.cells ?? [];
    const free = [...next].filter((cell) => this.view.pieces.empty(cells[cell]));
    const all = cells.filter((value, i) => this.view.geometry.cells[i].tray === null && this.view.pieces.empty(value)).length;
    const sets = this.picker.matching.some(({ path }) => Array.isArray(path[0]));
    return free.length < 0.6 * all && !sets ? free : [];
  }

  // ---- pointer ----

  /** @param {Event} event */
  #cellOf(event) {
    const hit = /** @type {Element} */ (event.target).closest?.("[data-cell]");
    return hit ? Number(hit.getAttribute("data-cell")) : null;
  }

  /** @param {PointerEvent} event */
  #down(event) {
    const cell = this.#cellOf(event);
    if (this.editing) {
      if (cell !== null) this.handlers.edit?.(cell, event);
      return;
    }
    if (event.button !== 0) return;
    this.swipe = { x: event.clientX, y: event.clientY };
    if (cell === null || !this.picker) {
      this.cancel();
      return;
    }
    this.cursor = cell;
    const picked = this.picker.picked;
    const ends = this.picker.after(cell).some(({ path }) => path.length === picked.length + 1);
    // A piece is picked up at once, so that it can be dragged; a target is taken when the button goes up.
    const lifts = this.picker.cells.has(cell) ? !ends : this.picker.starts(cell) && picked.at(-1) !== cell;
    if (lifts) this.pick(cell);
    this.drag = { cell, x: event.clientX, y: event.clientY, moved: false, fresh: lifts };
    if (event.pointerType !== "mouse") /** @type {Element} */ (event.target).releasePointerCapture?.(event.pointerId);
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const drag = this.drag;
    if (drag?.fresh && this.picker) {
      const far = Math.hypot(event.clientX - drag.x, event.clientY - drag.y);
      if (far > 6 || drag.moved) {
        if (!drag.moved) this.#lift(drag.cell);
        drag.moved = true;
        this.#carry(event);
      }
    }
    this.#hover(this.#cellOf(event));
  }

  /** @param {PointerEvent} event */
  #up(event) {
    const drag = this.drag;
    const under = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-cell]");
    const cell = under && this.view.element.contains(under) ? Number(under.getAttribute("data-cell")) : null;
    this.#drop();
    if (this.editing || this.#swiped(event)) return;
    if (!drag || !this.picker) return;
    if (drag.moved) {
      if (cell !== null && cell !== drag.cell && this.picker.cells.has(cell)) this.pick(cell);
      else if (cell !== drag.cell) this.cancel();
    } else if (!drag.fresh && cell === drag.cell) this.pick(cell);
  }

  /** A swipe plays the word of its direction. @param {PointerEvent} event */
  #swiped(event) {
    if (!this.swipe || !this.picker) return false;
    const [dx, dy] = [event.clientX - this.swipe.x, event.clientY - this.swipe.y];
    this.swipe = undefined;
    if (Math.max(Math.abs(dx), Math.abs(dy)) < 24) return false;
    const word = Math.abs(dx) > Math.abs(dy) ? (dx > 0 ? "right" : "left") : dy > 0 ? "down" : "up";
    if (!this.picker.words.includes(word)) return false;
    this.pick(word);
    return true;
  }

  /** @param {number} cell */
  #lift(cell) {
    const drawn = this.view.drawn.get(cell);
    if (!drawn) return;
    this.carried = /** @type {SVGGElement} */ (drawn.cloneNode(true));
    drawn.classList.add("lifted");
    this.view.layers.pieces.append(this.carried);
    this.view.element.classList.add("dragging");
  }

  /** @param {PointerEvent} event */
  #carry(event) {
    const svg = /** @type {SVGSVGElement} */ (this.view.element.querySelector("svg.main"));
    const matrix = svg.getScreenCTM();
    if (!this.carried || !matrix) return;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    this.carried.setAttribute("transform", `translate(${x} ${y}) scale(1.08)`);
  }

  #drop() {
    this.drag = null;
    this.carried?.remove();
    this.carried = undefined;
    this.view.element.classList.remove("dragging");
    for (const lifted of this.view.element.querySelectorAll(".lifted")) lifted.classList.remove("lifted");
  }

  /** Show what a click would do. @param {number | null} cell */
  #hover(cell, again = false) {
    if (cell === this.hovered && !again) return;
    this.hovered = cell;
    this.handlers.hover?.(cell);
    const waiting = ++this.waiting;
    const moves = cell !== null && this.picker && this.picker.cells.has(cell) ? this.picker.after(cell) : [];
    const ends = moves.filter(({ path }) => path.length === (this.picker?.picked.length ?? 0) + 1);
    if (cell === null || ends.length !== 1 || this.drag?.moved) {
      this.view.ghost([]);
      return;
    }
    const own = this.view.description.pieces.flatMap((piece, value) => (piece.owner === this.turn && !this.view.pieces.empty(value) ? [value] : []));
    const step = ends[0].path[ends[0].path.length - 1];
    if (ends[0].path.length === 1 && typeof step === "number" && own.length === 1 && this.view.pieces.empty(this.view.cells?.[cell] ?? 0)) {
      this.view.ghost([{ cell, value: own[0] }]);
      return;
    }
    this.view.ghost([]);
    if (!Array.isArray(step)) return;
    void this.handlers.preview?.(ends[0].move).then((look) => {
      if (!look || waiting !== this.waiting || !this.view.cells) return;
      const before = this.view.cells;
      const added = look.cells.flatMap((value, at) => (value !== before[at] && this.view.pieces.empty(before[at]) ? [{ cell: at, value }] : []));
      this.view.ghost(added.filter(({ cell: at }) => this.view.geometry.cells[at].tray === null));
    });
  }

  // ---- keyboard ----

  /** @param {FocusEvent} event @param {boolean} inside */
  #focus(event, inside) {
    const cell = this.#cellOf(event);
    if (cell === null) return;
    if (inside) this.cursor = cell;
    this.refresh();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.#cellOf(event) === null) return;
    const arrow = ARROWS[event.key];
    if (arrow) {
      event.preventDefault();
      event.stopPropagation();
      if (this.arrow(arrow[2])) return;
      this.moveTo(this.view.geometry.step(this.cursor, arrow[0], arrow[1]));
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (this.editing) this.handlers.edit?.(this.cursor, event);
      else this.pick(this.cursor);
    } else if (event.key === "Escape" && this.cancel()) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /** Play the word of a direction, if the game has it. @param {string} word */
  arrow(word) {
    if (!this.picker?.candidates.some(({ path }) => path[0] === word)) return Object.hasOwn(this.view.description.words, word) && this.directional();
    this.pick(word);
    return true;
  }

  /** Whether the game is played with words for directions. */
  directional() {
    return ["up", "down", "left", "right"].every((word) => this.view.description.moves.some(({ path }) => path?.[0] === word));
  }

  /** @param {number} cell */
  moveTo(cell) {
    this.cursor = cell;
    this.refresh();
    /** @type {SVGElement} */ (this.view.layers.hits.children[cell]).focus();
  }
}

/** @param {{move: number}[]} moves */
function onlyMove(moves) {
  return moves.length === 1 ? moves[0].move : null;
}
