/**
 * The board of a session with all that belongs to it: moves by hand, choices, what agents think, lines that are
 * hovered, and the live region that says the moves.
 *
 * @import {Session} from "./session.js"
 * @import {Node} from "./tree.js"
 */

import { Hands } from "../board/hands.js";
import { lineMarkup, opinions, overlayMarkup, ownershipMarkup } from "../board/overlay.js";
import { lightness } from "../board/paint.js";
import { BoardView } from "../board/view.js";
import { CHANCE } from "../engine.js";
import { attempt } from "../ui/kit.js";
import { settings, theme } from "../ui/settings.js";
import { mistakeAt } from "./review.js";

/**
 * @typedef {object} Choice
 * @property {string} word
 * @property {string} label
 * @property {number | null} move
 *
 * @typedef {{x: number, y: number, edge: boolean}} Spot
 *
 * @typedef {object} AreaOptions
 * @property {(choices: Choice[], at: Spot | null) => void} choose  words to offer, at a point of the board in per cent or beside it
 * @property {() => void} [painted]
 */

export class BoardArea {
  /** @type {string | undefined} what is offered now */
  offered;
  /** @type {string | undefined} what is drawn on the overlay */
  markup;
  /** @type {Element | undefined} */
  layer;
  /** @type {import("../board/overlay.js").Measure} */
  measure = "value";

  /** @param {Session} session @param {AreaOptions} options */
  constructor(session, options) {
    this.session = session;
    this.options = options;
    this.view = new BoardView(session.description, { theme: theme(), labels: settings.get("labels", true), flipped: false });
    this.hands = new Hands(this.view, {
      play: (move) => void attempt(() => this.#play(move)),
      choose: (choices, cell) => {
        options.choose(choices, cell === null ? null : this.#spot(cell, [...(this.hands.picker?.cells ?? [])]));
        this.draw();
      },
      preview: (move) => session.preview(move).catch(() => null),
    });
    this.hands.showTargets = settings.get("targets", true);
    /** @type {number[] | null} a line that is hovered */
    this.line = null;
    /** @type {Map<number, number>} */
    this.landings = new Map();
    this.frame = 0;
    this.measure = settings.get("measure", this.measure);
    const life = { signal: session.life.signal };
    session.addEventListener("position", (event) => this.#moved(/** @type {CustomEvent} */ (event).detail.from), life);
    session.addEventListener("change", () => this.#offer(), life);
    session.addEventListener("thought", () => this.draw(), life);
    settings.addEventListener("change", () => this.#settings(), life);
    new ResizeObserver(() => this.draw()).observe(this.view.element);
    this.#show(null);
    this.#offer();
  }

  #settings() {
    this.view.set({ theme: theme(), labels: settings.get("labels", true) });
    this.hands.showTargets = settings.get("targets", true);
    this.measure = settings.get("measure", this.measure);
    this.hands.refresh();
    this.draw();
  }

  flip() {
    this.view.set({ flipped: !this.view.options.flipped });
    this.draw();
  }

  /** @param {number} move */
  async #play(move) {
    try {
      await this.session.play(move);
    } catch (error) {
      this.offered = undefined;
      this.#offer();
      throw error;
    }
  }

  /** @param {Node} from */
  #moved(from) {
    this.line = null;
    this.landings = new Map();
    this.#show(from);
  }

  /** @param {Node | null} from */
  #show(from) {
    const { current, description } = this.session;
    const look = current.look;
    if (!look) return;
    const pathOf = (/** @type {Node} */ node) => (node.mover === CHANCE ? description.outcomes : description.moves)[node.move]?.path ?? null;
    const forward = from !== null && current.path.includes(from) && current.ply - from.ply <= 3;
    const backward = from !== null && from.parent === current;
    const path = forward && from !== current ? pathOf(current) : backward && from ? [...(pathOf(from) ?? [])].reverse() : null;
    this.view.show(look.cells, { last: look.last, path, animate: forward || backward });
    this.draw();
    this.options.painted?.();
  }

  #offer() {
    const { session } = this;
    const look = session.current.look;
    const legal = this.line ? null : session.offered;
    const key = `${session.current.ply}/${look?.turn}/${legal?.join()}/${session.live}`;
    if (key === this.offered && this.at === session.current) return;
    this.offered = key;
    this.at = session.current;
    this.hands.offer(legal, look?.turn ?? CHANCE);
  }

  /** Where a choice is offered: at its cell; at the far edge of the board if more cells may be clicked. @param {number} cell @param {number[]} next @returns {Spot} */
  #spot(cell, next) {
    const { box, cells } = this.view.geometry;
    if (next.length) {
      const middle = this.view.geometry.middle([cell, ...next]).y;
      return { x: 50, y: middle > box.y + box.height / 2 ? 0 : 100, edge: true };
    }
    return { x: (100 * (cells[cell].x - box.x)) / box.width, y: (100 * (cells[cell].y + cells[cell].reach - box.y)) / box.height, edge: false };
  }

  /** Show where a line leads; null: the position itself again. @param {number[] | null} line */
  async showLine(line) {
    const { session } = this;
    const node = session.current;
    this.line = line;
    if (!line?.length) {
      this.#show(null);
      this.offered = undefined;
      this.#offer();
      return;
    }
    this.hands.offer(null, CHANCE);
    this.offered = undefined;
    const at = session.place(node);
    const looks = await session.engine.looks({ ...at, moves: [...at.moves, ...line] }).catch(() => null);
    if (!looks || this.line !== line || session.current !== node) return;
    this.#drawLine(line, looks.slice(at.moves.length));
  }

  /** @param {number[]} line @param {import("../engine.js").Look[]} looks  before the first move, and after each */
  #drawLine(line, looks) {
    const { description } = this.session;
    this.view.show(looks[looks.length - 1].cells, { last: [] });
    /** @type {Map<number, {cell: number, text: string, fill: string, ink: string}>} */
    const marks = new Map();
    line.forEach((move, i) => {
      const cell = looks[i + 1].last.at(-1);
      const fill = description.seats[looks[i].turn]?.colour ?? "#3b6ea5";
      if (cell !== undefined && looks[i].turn !== CHANCE) marks.set(cell, { cell, text: String(i + 1), fill, ink: lightness(fill) > 0.55 ? "#1c1c1c" : "#ffffff" });
      void move;
    });
    this.view.layers.overlay.innerHTML = lineMarkup(this.view, [...marks.values()]);
  }

  /** Draw the opinions again, once per frame at most. */
  draw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (!this.line) this.#overlay();
    });
  }

  #overlay() {
    const { session, view } = this;
    const layer = view.layers.overlay;
    const said = settings.get("overlay", true) ? session.opinion : null;
    const look = session.current.look;
    let markup = "";
    if (said && look && look.turn >= 0 && said.analysis.moves.length) {
      const { analysis } = said;
      if (settings.get("ownership", false) && analysis.ownership) markup = ownershipMarkup(view, analysis.ownership);
      else {
        this.#land(analysis.moves.map((info) => info.move));
        const picked = this.hands.picker?.picked ?? [];
        markup = overlayMarkup(view, opinions(session.description, analysis, this.measure), { picked, landings: this.landings, turn: look.turn });
      }
    }
    markup += this.#better();
    if (markup !== this.markup || layer !== this.layer) layer.innerHTML = markup;
    this.markup = markup;
    this.layer = layer;
  }

  /** After a mistake: where the better move would have gone. */
  #better() {
    const { session, view } = this;
    const mistake = mistakeAt(session, session.current);
    const step = mistake && session.description.moves[mistake.better]?.path?.filter((each) => typeof each !== "string").at(-1);
    if (step === null || step === undefined) return "";
    const cells = view.cells ?? [];
    const cell = typeof step === "number" ? step : (step.filter((each) => view.pieces.empty(cells[each])).at(-1) ?? step[0]);
    return lineMarkup(view, [{ cell, text: "★", fill: "hsl(172 68% 30%)", ink: "#ffffff" }]);
  }

  /** Find out where moves into a row of cells end. @param {number[]} moves */
  #land(moves) {
    const { session } = this;
    const { current, description } = session;
    for (const move of moves) {
      const row = description.moves[move]?.path?.find((step) => Array.isArray(step) && step.every((cell) => description.board.cells[cell].tray === null));
      if (!Array.isArray(row) || this.landings.has(move)) continue;
      this.landings.set(move, row[Math.floor(row.length / 2)]);
      session.preview(move).then(
        (look) => {
          const before = current.look?.cells ?? [];
          const changed = row.filter((cell) => look.cells[cell] !== before[cell]);
          if (session.current !== current || changed.length !== 1) return;
          this.landings.set(move, changed[0]);
          this.draw();
        },
        () => {},
      );
    }
  }
}
