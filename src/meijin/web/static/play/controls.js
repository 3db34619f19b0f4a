/**
 * The buttons of a game: through the moves, back, hints, speed, and everything else in a menu.
 *
 * @import {AgentInfo} from "../engine.js"
 * @import {BoardArea} from "./board_area.js"
 * @import {Session} from "./session.js"
 */

import { CHANCE } from "../engine.js";
import { Button, Menu, attempt, html, toast } from "../ui/kit.js";
import { settings } from "../ui/settings.js";
import { useEffect, useState } from "../vendor/preact.js";
import { adviser } from "./opponents.js";

/** Go to the neighbouring position. @param {Session} session @param {"first" | "back" | "forward" | "end"} where */
export function travel(session, where) {
  const { root, current } = session;
  const to = { first: root, back: current.parent, forward: current.children[0], end: current.main.filter((node) => !node.undone).at(-1) }[where];
  if (to && to !== current) void attempt(() => session.go(to));
}

/** Show the moves one after the other, from the start, until somebody looks at something else. @param {Session} session */
export async function replay(session) {
  await session.go(session.root);
  for (let next = session.root.children[0]; next && !next.undone && !session.life.signal.aborted; next = next.children[0]) {
    const from = /** @type {import("./tree.js").Node} */ (next.parent);
    await new Promise((resolve) => setTimeout(resolve, next.mover === CHANCE ? 250 : 750));
    if (session.current !== from) return;
    await session.go(next);
  }
}

/** Show the best move for a while. @param {Session} session @param {AgentInfo[]} agents */
export async function hint(session, agents) {
  const node = session.current;
  const agent = adviser(agents);
  settings.set("overlay", true);
  for await (const analysis of session.engine.analyse(session.place(node), { agent, limit: { seconds: 1 }, every: 0.3 })) {
    node.thought = { agent, analysis };
    session.dispatchEvent(new Event("thought"));
    if (analysis.final && session.current === node) toast(`Hint: ${session.description.moves[analysis.moves[0].move]?.name}`);
  }
}

/** @param {{session: Session, area: BoardArea, agents: AgentInfo[], actions: Record<string, () => void>}} props */
export function Controls({ session, area, agents, actions }) {
  const { current, state, table } = session;
  const overlay = settings.get("overlay", true);
  const [, again] = useState(0);
  const [asking, setAsking] = useState(false);
  const [resigning, setResigning] = useState(false);
  useEffect(() => {
    if (!resigning) return;
    const timer = setTimeout(() => setResigning(false), 4000);
    return () => clearTimeout(timer);
  }, [resigning]);
  const mine = state?.you.filter((seat) => state.seats[seat].kind === "person") ?? [];
  const seat = mine.includes(state?.look.turn ?? -1) ? /** @type {number} */ (state?.look.turn) : mine[0];
  const ask = async () => {
    setAsking(true);
    await attempt(() => hint(session, agents));
    setAsking(false);
  };
  const resign = () => {
    if (resigning) void attempt(async () => table?.resign(seat));
    setResigning(!resigning);
  };
  const over = (current.look?.turn ?? -2) < 0;
  return html`<div class="controls" role="toolbar" aria-label="Game">
    <div class="group">
      <${Button} kind="icon" icon="first" title="To the start (Home)" disabled=${!current.parent} onClick=${() => travel(session, "first")} />
      <${Button} kind="icon" icon="back" title="One move back (←)" disabled=${!current.parent} onClick=${() => travel(session, "back")} />
      <${Button} kind="icon" icon="forward" title="One move forward (→)" disabled=${!current.children.length} onClick=${() => travel(session, "forward")} />
      <${Button} kind="icon" icon="end" title="To the end (End)" disabled=${!current.children.length} onClick=${() => travel(session, "end")} />
    </div>
    <div class="group">
      ${table && html`<${Button} kind="icon" icon="undo" title="Take back (U)" disabled=${!state?.moves.length || (!state.host && !state.you.length)} onClick=${() => void attempt(() => table.undo())} />`}
      ${table && html`<${Button} kind="icon" icon="redo" title="Play again what was taken back" disabled=${!state?.redo.length} onClick=${() => void attempt(() => table.redo())} />`}
      ${!session.guest && html`<${Button} kind="icon" icon="hint" title="Hint (H)" disabled=${over || asking} onClick=${ask} />`}
      <${Button} kind="icon" icon="eye" title="Show on the board what the agent thinks (E)" pressed=${overlay} onClick=${() => { settings.set("overlay", !overlay); again((n) => n + 1); }} />
      <${Button} kind="icon" icon="flip" title="Flip the board (F)" onClick=${() => area.flip()} />
    </div>
    <${Menu} title="More" up items=${[
      !session.guest && { label: "New game", icon: "plus", run: actions.fresh },
      table && state && !state.result && seat !== undefined && { label: resigning ? "Really resign?" : "Resign", icon: "flag", run: resign, danger: true },
      !session.guest && { label: "Set up a position", icon: "edit", run: actions.setup, disabled: !session.description.setup },
      { label: "Replay from the start", icon: "play", run: () => void attempt(() => replay(session)), disabled: !session.root.children.length },
      { label: "Share", icon: "share", run: actions.share },
      !session.guest && { label: "Import or export", icon: "download", run: actions.records },
      null,
      { label: "Settings", icon: "settings", run: actions.settings },
    ]} />
    ${resigning && html`<div class="confirm" role="alertdialog" aria-label="Resign?"><span>Give up this game?</span><${Button} kind="main" label="Resign" onClick=${resign} /><${Button} label="Play on" onClick=${() => setResigning(false)} /></div>`}
  </div>`;
}

/** For games between agents: run, pause, step and speed. @param {{session: Session}} props */
export function Pace({ session }) {
  const { state, table } = session;
  if (!table || !state || state.result || !state.host || state.seats.some((seat) => seat.kind === "person")) return "";
  const label = state.speed === 0 ? "as fast as they can" : `${state.speed} s a move`;
  return html`<div class="pace">
    <${Button} kind="icon" icon=${state.running ? "pause" : "play"} title=${state.running ? "Pause" : "Go on"} onClick=${() => void attempt(() => table.run({ running: !state.running }))} />
    <${Button} kind="icon" icon="step" title="One move" disabled=${state.running} onClick=${() => void attempt(() => table.run({ step: true }))} />
    <label>Speed <input type="range" min="0" max="3" step="0.25" value=${3 - state.speed} aria-valuetext=${label} onChange=${(/** @type {any} */ e) => void attempt(() => table.run({ speed: 3 - Number(e.target.value) }))} /></label>
    <span class="facts">${label}</span>
  </div>`;
}
