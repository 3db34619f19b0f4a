/**
 * One game on the page: the tree of its positions, the table where it is played (if it is), and the position shown.
 *
 * At the latest position of a table moves go to the table. Anywhere else they make a variation, and nobody answers.
 *
 * Events: "change" (anything but opinions), "position" (another position is shown; detail {from}), "thought" (an opinion
 * came in), "said" (detail: a sentence for the live region).
 *
 * @import {Analysis, At, Description, Engine, Look, Notes, SeatInfo, Table, TableState} from "../engine.js"
 */

import { CHANCE, OVER } from "../engine.js";
import { Analyst } from "./analyst.js";
import { Node, capital, fromNotes, moveName, seatName, toNotes } from "./tree.js";

export class Session extends EventTarget {
  /**
   * @param {Engine} engine
   * @param {Description} description
   * @param {{game: string, position: string | null, table?: Table | null}} options
   */
  constructor(engine, description, { game, position, table = null }) {
    super();
    this.engine = engine;
    this.description = description;
    this.game = game;
    this.position = position;
    this.table = table;
    this.root = new Node(null, -1, CHANCE);
    this.current = this.root;
    this.tip = this.root;
    this.trouble = "";
    this.received = performance.now();
    this.wanted = 0;
    this.saving = 0;
    /** @type {Map<Node, Promise<Look>>} */
    this.looking = new Map();
    this.analysts = [new Analyst(this), new Analyst(this)];
    /** @type {AbortController} */
    this.life = new AbortController();
  }

  /** A game that is played at a table. @param {Engine} engine @param {Table} table */
  static async at(engine, table) {
    const { game, position } = table.state;
    const session = new Session(engine, await engine.describe(game), { game, position, table });
    const listen = (/** @type {string} */ type, /** @type {(event: CustomEvent) => void} */ act) => table.addEventListener(type, act);
    listen("change", () => session.#sync());
    listen("thinking", ({ detail }) => session.#thinks(detail));
    listen("trouble", ({ detail }) => {
      if (session.trouble === detail) return;
      session.trouble = detail;
      session.#changed();
    });
    session.#sync();
    table.notes().then(
      (notes) => {
        fromNotes(session.root, notes);
        session.#changed();
      },
      () => {}, // comments are no reason not to play
    );
    return session;
  }

  /** A game to look at. @param {Engine} engine @param {{game: string, position?: string | null, notes: Notes, ply?: number}} given */
  static async study(engine, { game, position = null, notes, ply }) {
    const session = new Session(engine, await engine.describe(game), { game, position });
    fromNotes(session.root, notes);
    const main = session.root.main;
    const looks = await engine.looks(session.place(main[main.length - 1]));
    main.forEach((node, i) => {
      node.look = looks[i];
      if (i) node.mover = looks[i - 1].turn;
    });
    session.current = main[Math.min(ply ?? 0, main.length - 1)];
    return session;
  }

  close() {
    this.life.abort();
    this.table?.close();
    for (const analyst of this.analysts) analyst.stop();
  }

  /** @returns {TableState | null} */
  get state() {
    return this.table?.state ?? null;
  }

  /** @returns {SeatInfo[]} */
  get seats() {
    return this.state?.seats ?? this.description.seats.map(() => ({ kind: "person" }));
  }

  /** Whether this page may use agents and begin games; a guest may only play and look. */
  get guest() {
    return this.engine.features.access === "guest";
  }

  /** Whether the position shown is where the table is. */
  get live() {
    return this.table !== null && this.current === this.tip;
  }

  /** Whether the position shown is not on the line that is played. */
  get aside() {
    return this.table === null || !this.tip.path.includes(this.current);
  }

  /** What a person on this page may play in the position shown; null for nothing. */
  get offered() {
    const look = this.current.look;
    if (!look || look.turn === OVER) return null;
    if (!this.live) return look.legal;
    const state = /** @type {TableState} */ (this.state);
    const mine = look.turn >= 0 && state.you.includes(look.turn) && state.seats[look.turn].kind === "person";
    return mine && !state.result ? look.legal : null;
  }

  /** @param {Node} node @returns {At} */
  place(node) {
    return { game: this.game, position: this.position, moves: node.line };
  }

  /** @param {Node} node @returns {Promise<Look>} */
  look(node) {
    if (node.look) return Promise.resolve(node.look);
    let asked = this.looking.get(node);
    if (!asked) {
      asked = this.engine.look(this.place(node)).then((look) => {
        node.look ??= look;
        for (const child of node.children) child.mover = look.turn;
        this.looking.delete(node);
        return node.look;
      });
      this.looking.set(node, asked);
      asked.catch(() => this.looking.delete(node));
    }
    return asked;
  }

  /** The position after a move in the position shown, without going there. @param {number} move */
  preview(move) {
    const { current } = this;
    const known = current.children.find((node) => node.move === move);
    if (known) return this.look(known);
    const extra = new Node(current, move, current.look?.turn ?? 0);
    return this.look(extra).then((look) => {
      this.previews.set(move, look);
      return look;
    });
  }

  /** @type {Map<number, Look>} of the position shown, by move */
  previews = new Map();

  /** Show a position. @param {Node} node */
  async go(node) {
    const wanted = ++this.wanted;
    await this.look(node);
    if (wanted === this.wanted) this.#show(node);
  }

  /** @param {Node} node */
  #show(node) {
    const from = this.current;
    this.current = node;
    this.previews = new Map();
    if (from !== node) {
      for (const analyst of this.analysts) analyst.moved();
      this.dispatchEvent(new CustomEvent("position", { detail: { from } }));
    }
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }

  /** Play a move in the position shown. @param {number} move */
  async play(move) {
    if (this.live) {
      await /** @type {Table} */ (this.table).play(move);
      return;
    }
    const from = this.current;
    const look = await this.look(from);
    const node = from.child(move, look.turn);
    node.undone = false;
    await this.go(node);
    this.say(node);
    this.save();
    await this.#roll(node);
  }

  /** In a variation chance decides at once. @param {Node} node */
  async #roll(node) {
    const look = node.look;
    if (this.current !== node || look?.turn !== CHANCE || !look.legal.length) return;
    let left = Math.random();
    const chosen = look.legal.find((_, i) => (left -= look.odds?.[i] ?? 1 / look.legal.length) < 0) ?? look.legal[0];
    const next = node.child(chosen, CHANCE);
    await this.go(next);
    this.save();
    await this.#roll(next);
  }

  /** Take over what the table says. */
  #sync() {
    const { moves, movers, redo, look, values, random, result } = /** @type {TableState} */ (this.state);
    const before = this.tip;
    const following = this.current === before;
    this.received = performance.now();
    let node = this.root;
    moves.forEach((move, i) => {
      node = node.child(move, movers[i]);
      node.undone = false;
      node.expected = values[i] ?? null;
      node.random = !!random?.includes(i);
    });
    node.look = look;
    let later = node;
    const kept = new Set([node]);
    for (const move of redo) {
      later = later.child(move, later.look?.turn ?? 0);
      later.undone = true;
      kept.add(later);
    }
    this.#prune(kept);
    later.promote();
    this.tip = node;
    if (node !== before) {
      if (before.ply < node.ply || !node.ply) for (const made of node.path.slice(before.ply + 1)) this.say(made);
      if (result) this.dispatchEvent(new CustomEvent("said", { detail: `The game is over: ${resultText(this)}` }));
    }
    if (following || !this.#within(this.current)) {
      this.wanted++;
      this.#show(node);
    } else this.#changed();
  }

  /** Forget moves that were taken back and cannot be played again. @param {Set<Node>} kept */
  #prune(kept) {
    /** @type {Node[]} */
    const stale = [];
    this.root.each((node) => {
      if (node.undone && !kept.has(node) && !node.comment) stale.push(node);
    });
    for (const node of stale) node.remove();
  }

  /** @param {Node} node */
  #within(node) {
    return node.path.every((each) => !each.parent || each.parent.children.includes(each));
  }

  /** @param {{seat: number, analysis: Analysis}} said */
  #thinks({ seat, analysis }) {
    if (this.tip.look?.turn !== seat) return;
    this.tip.thought = { agent: this.seats[seat]?.agent ?? "", analysis };
    this.dispatchEvent(new Event("thought"));
  }

  /** Tell the live region about a move. @param {Node} node */
  say(node) {
    const who = node.mover === CHANCE ? "chance" : seatName(this.description, node.mover);
    this.dispatchEvent(new CustomEvent("said", { detail: `${who}: ${moveName(this.description, node)}` }));
  }

  /** Keep variations and comments with the table. */
  save() {
    if (!this.table || !this.state?.host) return;
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.table?.keep(toNotes(this.root)).catch(() => {}), 800);
  }

  /** Make the position shown the latest one of the table. */
  async continueHere() {
    const table = /** @type {Table} */ (this.table);
    const target = this.current;
    const shared = this.tip.path.filter((node) => target.path.includes(node));
    const back = this.tip.ply - (shared.length - 1);
    if (back) await table.back(back);
    for (const node of target.path.slice(shared.length)) if (node.mover !== CHANCE) await table.play(node.move);
    await this.go(this.tip);
  }

  // ---- opinions ----

  /** What to show on the board here: an analyst's opinion, or what the agent to move thought. */
  get opinion() {
    const [first] = this.analysts;
    const said = first.on ? this.current.analyses.get(first.agent) : undefined;
    return said ? { agent: first.agent, analysis: said } : this.current.thought;
  }

  /** @param {Node} node @param {string} agent @param {Analysis} analysis */
  heard(node, agent, analysis) {
    node.analyses.set(agent, analysis);
    this.dispatchEvent(new Event("thought"));
  }
}

/** How the game ended, in a sentence. @param {Session} session */
export function resultText({ description, state, current, seats }) {
  const look = state?.look ?? current.look;
  const scores = state?.result?.scores ?? look?.scores ?? [];
  const why = state?.result?.reason || look?.ending || "";
  const [low, high] = description.score_range;
  const best = Math.max(...scores);
  const winners = scores.flatMap((score, seat) => (score === best ? [seat] : []));
  const name = (/** @type {number} */ seat) => capital(seatName(description, seat));
  const mine = state?.you.filter((seat) => seats[seat].kind === "person") ?? [];
  let who = "";
  if (description.seats.length === 1) {
    const bounded = low !== null && high !== null;
    who = bounded ? (best >= high ? "Solved" : best <= low ? "Not solved" : `Score ${best}`) : `Score ${best.toLocaleString("en")}`;
  } else if (winners.length === scores.length) who = "Draw";
  else if (mine.length === 1) who = winners.includes(mine[0]) ? "You win" : "You lose";
  else who = winners.length === 1 ? `${name(winners[0])} wins` : `${winners.map(name).join(" and ")} win`;
  if (!why) return who;
  if (why.startsWith(who.toLowerCase())) return capital(why); // "solved" says it all
  return `${who}: ${why}`;
}
