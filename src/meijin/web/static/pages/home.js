/**
 * The first page: every game with a small live board. A click, and one plays.
 *
 * @import {Description, Engine, GameSummary, Look, TableSummary} from "../engine.js"
 */

import { BoardView, still } from "../board/view.js";
import { CHANCE } from "../engine.js";
import { LEVELS, agentTitle, remember, usualLevel } from "../play/opponents.js";
import { Button, Field, Icon, Spinner, html, useEvents, usePromise } from "../ui/kit.js";
import { address } from "../ui/router.js";
import { settings, theme } from "../ui/settings.js";
import { useEffect, useRef, useState } from "../vendor/preact.js";
import { NewGame } from "../play/new_game.js";
import { capital } from "../play/tree.js";

/** @type {Promise<Record<string, number[]>> | null} */
let samples = null;

/** @param {{engine: Engine}} props */
export function Home({ engine }) {
  useEvents(settings, ["change"]);
  const games = usePromise(() => engine.games(), []);
  const guest = engine.features.access === "guest";
  const tables = usePromise(async () => (guest ? [] : engine.tables.list().catch(() => [])), []);
  const [choosing, setChoosing] = useState("");
  const open = tables instanceof Error || !tables ? [] : tables.filter((table) => !table.result && table.plies).slice(0, 3);
  if (guest) {
    return html`<main class="notice" id="main" tabindex="-1"><h1>You are a guest here</h1><p>Open the link to a table that somebody gave you. To begin games of your own, open the link that the server printed when it was started: it holds a token.</p></main>`;
  }
  return html`<main class="home" id="main" tabindex="-1">
    <div class="hero">
      <h1>Pick a game and play.</h1>
      <p>Any game here, against any agent. You see what it thinks while it thinks.</p>
      ${Array.isArray(games) && games.some((game) => game.levels) && html`<${Field} label="Your opponent">
        <select value=${usualLevel().agent} onChange=${(/** @type {any} */ e) => remember(e.target.value)}>
          ${LEVELS.map((level) => html`<option value=${level.agent} selected=${level === usualLevel()}>${level.name} · ${level.about}</option>`)}
        </select>
      <//>`}
    </div>
    ${open.length > 0 && html`<section aria-labelledby="open"><h2 id="open">Go on playing</h2><div class="resume">${open.map((table) => html`<${Resume} table=${table} />`)}</div></section>`}
    ${games === undefined ? html`<${Spinner}>Looking for games …<//>` : games instanceof Error ? html`<p class="error" role="alert">${games.message}</p>` : html`<ul class="gallery">${games.map((game) => html`<${Card} key=${game.name} engine=${engine} game=${game} onOptions=${() => setChoosing(game.name)} />`)}</ul>`}
    ${choosing && html`<${NewGame} engine=${engine} game=${choosing} onClose=${() => setChoosing("")} />`}
  </main>`;
}

/** @param {{table: TableSummary}} props */
function Resume({ table }) {
  const agents = table.seats.flatMap((seat) => (seat.kind === "agent" ? [agentTitle(seat.agent)] : []));
  const people = table.seats.length - agents.length;
  const who = !people ? agents.join(" against ") : agents.length ? `against ${agents.join(", ")}` : people > 1 ? "between people" : "alone";
  return html`<a href=${address("table", table.id)}><span class="words"><b>${capital(table.title)}</b><span>${who} · ${table.plies} moves</span></span><${Icon} name="next" /></a>`;
}

/** @param {{engine: Engine, game: GameSummary, onOptions: () => void}} props */
function Card({ engine, game, onOptions }) {
  const [fewest, most] = game.seat_range ?? [game.seats, game.seats];
  const seats = most === 1 ? "solitaire" : `${fewest < most ? `${fewest} to ` : ""}${most} players`;
  if (game.problem) return html`<li class="card broken"><div class="words"><h2>${game.title}</h2><p class="error">${game.problem}</p></div></li>`;
  return html`<li class="card">
    <a class="whole" href=${address("play", game.name)} aria-label="Play ${game.title}"><${Preview} engine=${engine} name=${game.name} /></a>
    <div class="words">
      <h2><a href=${address("play", game.name)} tabindex="-1" aria-hidden="true">${capital(game.title)}</a></h2>
      <p>${game.summary}</p>
      <div class="foot"><span class="tags">${seats}${game.chance ? " · chance" : ""}</span><${Button} kind="quiet" icon="settings" label="Options" onClick=${onOptions}><span class="unseen">for ${game.title}</span><//></div>
    </div>
  </li>`;
}

/** A small board with a position out of a game; it plays while the pointer is on it. @param {{engine: Engine, name: string}} props */
function Preview({ engine, name }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  const chosen = theme();
  useEffect(() => {
    const holder = /** @type {HTMLElement} */ (ref.current);
    const player = new SamplePlayer(engine, name, holder);
    const seen = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      seen.disconnect();
      void player.load();
    }, { rootMargin: "200px" });
    seen.observe(holder);
    const card = holder.closest("li");
    const [begin, end] = [() => void player.play(), () => player.stop()];
    card?.addEventListener("pointerenter", begin);
    card?.addEventListener("pointerleave", end);
    return () => {
      seen.disconnect();
      player.stop();
      card?.removeEventListener("pointerenter", begin);
      card?.removeEventListener("pointerleave", end);
      holder.replaceChildren();
    };
  }, [name, chosen]);
  return html`<div class="preview" ref=${ref}></div>`;
}

class SamplePlayer {
  /** @param {Engine} engine @param {string} name @param {HTMLElement} holder */
  constructor(engine, name, holder) {
    this.engine = engine;
    this.name = name;
    this.holder = holder;
    this.timer = 0;
    /** @type {number[]} */
    this.moves = [];
    /** @type {Look[] | null} */
    this.looks = null;
  }

  async load() {
    try {
      samples ??= this.engine.samples?.() ?? fetch("samples.json").then((response) => (response.ok ? response.json() : {}), () => ({}));
      const [description, lines] = await Promise.all([this.engine.describe(this.name), samples]);
      this.description = description;
      this.moves = lines[this.name] ?? [];
      const look = await this.engine.look({ game: this.name, moves: this.moves }).catch(() => this.engine.look({ game: this.name, moves: [] }));
      this.view = new BoardView(description, { theme: theme(), mini: true });
      this.view.show(look.cells, { last: look.last });
      this.holder.replaceChildren(this.view.element);
    } catch {
      this.holder.replaceChildren(); // the card stays without a picture
    }
  }

  async play() {
    if (!this.view || !this.moves.length || still()) return;
    this.looks ??= await this.engine.looks({ game: this.name, moves: this.moves }).catch(() => null);
    if (!this.looks || this.timer) return;
    const all = this.looks;
    const { moves, outcomes } = /** @type {Description} */ (this.description);
    let at = 0;
    const step = () => {
      const look = all[at];
      const path = at ? (all[at - 1].turn === CHANCE ? outcomes : moves)[this.moves[at - 1]]?.path : null;
      this.view?.show(look.cells, { last: look.last, path, animate: at > 0 });
      at = (at + 1) % all.length;
      this.timer = setTimeout(step, at === 0 ? 1800 : look.turn === CHANCE ? 220 : 520);
    };
    step();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = 0;
    const last = this.looks?.at(-1);
    if (last) this.view?.show(last.cells, { last: last.last });
  }
}
