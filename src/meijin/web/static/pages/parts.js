/**
 * What the pages beside play share: work that goes on, small boards, and a board to walk through positions.
 *
 * @import {Description, Engine, Look, Server} from "../engine.js"
 */

import { Hands } from "../board/hands.js";
import { BoardView } from "../board/view.js";
import { CHANCE } from "../engine.js";
import { Button, html, usePromise } from "../ui/kit.js";
import { theme } from "../ui/settings.js";
import { useEffect, useRef, useState } from "../vendor/preact.js";

/** @typedef {{kind: string, name: string, state: string, message: string, progress: {phase?: string, done?: number, total?: number} | null}} Job */

const PAUSE = 800; // milliseconds between two questions about the same thing

/**
 * An answer of the server that is asked for again whenever the server says that something happened.
 * @param {Server} server @param {string} path @param {any} [message] what to follow
 * @returns {{value: any, error: string, again: () => void}}
 */
export function useLive(server, path, message) {
  const [found, setFound] = useState(/** @type {{path: string, value: any, error: string}} */ ({ path, value: undefined, error: "" }));
  const again = useRef(() => {});
  useEffect(() => {
    let live = true;
    let timer = 0;
    let asking = false;
    let stale = false;
    const ask = async () => {
      timer = 0;
      asking = true;
      try {
        const value = await server.ask(path);
        if (live) setFound({ path, value, error: "" });
      } catch (error) {
        if (live) setFound((before) => ({ path, value: before.path === path ? before.value : undefined, error: error instanceof Error ? error.message : String(error) }));
      }
      asking = false;
      if (stale && live) soon();
    };
    const soon = () => {
      stale = asking;
      if (!timer && !asking) timer = setTimeout(ask, PAUSE);
    };
    again.current = () => void ask();
    void ask();
    const leave = message ? server.follow(message, (reply) => reply.type === "event" && soon()) : () => {};
    return () => {
      live = false;
      clearTimeout(timer);
      leave();
    };
  }, [path, JSON.stringify(message ?? null)]);
  return { value: found.path === path ? found.value : undefined, error: found.error, again: () => again.current() };
}

/** @param {{job: Job | null}} props */
export function JobState({ job }) {
  if (!job || job.state === "finished") return "";
  const { state, message, progress } = job;
  const share = progress?.total ? (progress.done ?? 0) / progress.total : null;
  return html`<div class="job ${state}">
    <span class="state">${state === "running" && progress?.phase ? progress.phase : state}${share !== null && state === "running" ? html` <span class="numbers">${progress?.done}/${progress?.total}</span>` : ""}</span>
    ${state === "running" && html`<progress max="1" value=${share ?? undefined} aria-label="Progress"></progress>`}
    ${message && html`<span class="error">${message}</span>`}
  </div>`;
}

/** A board that shows one position. @param {{description: Description, look: Look, label?: string}} props */
export function MiniBoard({ description, look, label }) {
  const holder = useRef(/** @type {HTMLElement | null} */ (null));
  const view = useRef(/** @type {BoardView | null} */ (null));
  const chosen = theme();
  useEffect(() => {
    view.current = new BoardView(description, { theme: chosen, mini: true });
    holder.current?.replaceChildren(view.current.element);
  }, [description, chosen]);
  useEffect(() => view.current?.show(look.cells, { last: look.last, animate: true }), [description, chosen, look]);
  return html`<div class="mini-board" ref=${holder} aria-label=${label}></div>`;
}

/**
 * A board on which one walks through positions. In words below it: back, and to the start.
 * @param {{engine: Engine, description: Description, game: string, moves: number[], onMoves: (moves: number[]) => void}} props
 */
export function Explorer({ engine, description, game, moves, onMoves }) {
  const holder = useRef(/** @type {HTMLElement | null} */ (null));
  const board = useRef(/** @type {{view: BoardView, hands: Hands} | null} */ (null));
  const latest = useRef({ moves, onMoves });
  latest.current = { moves, onMoves };
  const [words, setWords] = useState(/** @type {{word: string, label: string}[]} */ ([]));
  const look = usePromise(() => engine.look({ game, moves }), [game, moves.join()]);
  const chosen = theme();
  useEffect(() => {
    const view = new BoardView(description, { theme: chosen });
    const hands = new Hands(view, { play: (move) => latest.current.onMoves([...latest.current.moves, move]), choose: (choices) => setWords(choices) });
    board.current = { view, hands };
    holder.current?.replaceChildren(view.element);
  }, [description, chosen]);
  useEffect(() => {
    if (!look || look instanceof Error || !board.current) return;
    const { view, hands } = board.current;
    view.show(look.cells, { last: look.last, animate: true });
    if (look.turn === CHANCE) onMoves([...moves, look.legal[Math.floor(Math.random() * look.legal.length)]]);
    else hands.offer(look.turn >= 0 ? look.legal : null, look.turn);
  }, [look, description, chosen]);
  return html`<div class="explorer">
    <div ref=${holder}></div>
    ${look instanceof Error && html`<p class="error">${look.message}</p>`}
    <div class="row">
      <${Button} kind="icon" icon="first" title="To the start" disabled=${!moves.length} onClick=${() => onMoves([])} />
      <${Button} kind="icon" icon="back" title="One move back" disabled=${!moves.length} onClick=${() => onMoves(moves.slice(0, -1))} />
      ${words.map(({ word, label }) => html`<${Button} label=${label} onClick=${() => board.current?.hands.pick(word)} />`)}
      ${look && !(look instanceof Error) && look.turn === -2 && html`<span class="hollow">${look.ending || "The game is over."}</span>`}
    </div>
  </div>`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** A name for a folder that nothing has yet. @param {string} base @param {string[]} taken */
export function freeName(base, taken) {
  return unlike(base.replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^[^A-Za-z0-9_]+|-+$/g, "") || "new", taken);
}

/** A name, with a number after it where others have it. @param {string} base @param {string[]} taken */
export function unlike(base, taken) {
  let name = base;
  for (let n = 2; taken.includes(name); n++) name = `${base}-${n}`;
  return name;
}
