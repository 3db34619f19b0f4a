/**
 * Who sits where: names, clocks, counts, who is to move and what is expected for each seat.
 *
 * @import {AgentInfo, Look} from "../engine.js"
 * @import {Session} from "./session.js"
 */

import { scoreText, shares } from "../board/overlay.js";
import { Button, Dialog, Field, Icon, Segments, attempt, html, useEvents } from "../ui/kit.js";
import { useEffect, useState } from "../vendor/preact.js";
import { AgentPicker, agentTitle, opponent, remember } from "./opponents.js";
import { capital, seatName } from "./tree.js";

/** @param {{session: Session, seat: number, agents: AgentInfo[]}} props */
export function SeatCard({ session, seat, agents }) {
  const { description, state, current } = session;
  const [changing, setChanging] = useState(false);
  const info = session.seats[seat];
  const look = current.look;
  const turn = look?.turn === seat && !(session.live && state?.result);
  const thinking = session.live && state?.thinking === seat;
  const person = info.kind === "person";
  const mine = person && (state ? state.you.includes(seat) : true);
  const alone = session.seats.filter((each, k) => each.kind === "person" && (!state || state.you.includes(k))).length === 1;
  const side = capital(seatName(description, seat));
  const name = info.name || (!person ? agentTitle(info.agent) : mine && alone && state ? "You" : side);
  const now = !turn ? "" : !session.live || !state ? "to move" : person ? (mine ? "your turn" : "to move") : state.running ? "thinking …" : "paused";
  const card = html`<span class="chip" style=${{ background: description.seats[seat].colour ?? "var(--faint)" }}></span>
    <span class="who">
      <span class="name">${name}${!person ? html` <${Icon} name="agent" />` : ""}${state?.host ? html`<${Icon} name="down" />` : ""}</span>
      <span class="side">${side === name ? "" : side}${now ? html`${side === name ? "" : " · "}<b class="now">${now}</b>` : ""}</span>
    </span>
    <${Tallies} look=${look} seat=${seat} />
    ${state?.clocks && html`<${Clock} session=${session} seat=${seat} />`}`;
  const classes = `seat ${turn ? "turn" : ""} ${thinking ? "thinking" : ""} ${mine && turn && session.offered ? "yours" : ""}`;
  if (!state?.host) return html`<div class=${classes}>${card}</div>`;
  return html`<button type="button" class=${classes} title="${person ? "Let an agent play here" : `${info.agent}. Change it, or take over`}" aria-haspopup="dialog" onClick=${() => setChanging(true)}>${card}</button>
    ${changing && html`<${SeatDialog} session=${session} seat=${seat} agents=${agents} onClose=${() => setChanging(false)} />`}`;
}

/** Who sits here from now on. @param {{session: Session, seat: number, agents: AgentInfo[], onClose: () => void}} props */
function SeatDialog({ session, seat, agents, onClose }) {
  const { description, table } = session;
  const before = session.seats[seat];
  const [kind, setKind] = useState(before.kind);
  const [name, setName] = useState(before.name ?? "");
  const [agent, setAgent] = useState(before.agent ?? opponent(agents));
  const change = () =>
    attempt(async () => {
      await table?.seat(seat, kind === "person" ? { kind, name: name.trim() } : { kind, agent });
      if (kind === "agent") remember(agent);
      if (kind === "agent" && !session.state?.running) await table?.run({ running: true });
      onClose();
    });
  return html`<${Dialog} title="Who plays ${seatName(description, seat)}?" onClose=${onClose}>
    <${Segments} label="Who plays" value=${kind} onChange=${setKind} options=${[{ value: "person", label: "Person", icon: "person" }, { value: "agent", label: "Agent", icon: "agent" }]} />
    ${kind === "person"
      ? html`<${Field} label="Name"><input type="text" maxlength="40" value=${name} placeholder="You" onInput=${(/** @type {any} */ e) => setName(e.target.value)} /><//>`
      : html`<${AgentPicker} agents=${agents} value=${agent} label="Agent" onChange=${setAgent} />`}
    <div class="row end"><${Button} kind="main" label=${before.kind === "agent" && kind === "person" ? "Take over" : "Change"} onClick=${() => void change()} /></div>
  <//>`;
}

/** @param {{look: Look | null, seat: number}} props */
function Tallies({ look, seat }) {
  const entries = Object.entries(look?.tallies ?? {});
  if (!entries.length) return "";
  return html`<span class="tallies numbers">${entries.map(([name, values]) => html`<span title=${name}><b>${number(values[seat])}</b> <i>${name}</i></span>`)}</span>`;
}

/** @param {number | null} value */
const number = (value) => (value === null || value === undefined ? "–" : Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(1));

/** @param {{session: Session, seat: number}} props */
function Clock({ session, seat }) {
  const [, again] = useState(0);
  const clocks = session.state?.clocks;
  const runs = clocks?.active === seat && !session.state?.result;
  useEffect(() => {
    if (!runs) return;
    const timer = setInterval(() => again((n) => n + 1), 200);
    return () => clearInterval(timer);
  }, [runs]);
  if (!clocks) return "";
  const spent = runs ? (performance.now() - session.received) / 1000 : 0;
  const left = Math.max(0, clocks.left[seat] - spent);
  const minutes = Math.floor(left / 60);
  const seconds = left < 20 ? (left % 60).toFixed(1).padStart(4, "0") : String(Math.floor(left % 60)).padStart(2, "0");
  return html`<span class="clock numbers ${runs ? "runs" : ""} ${left < 20 ? "low" : ""}">${minutes}:${seconds}</span>`;
}

/** What is expected, as parts of a bar beside the board. @param {{session: Session}} props */
export function ExpectationBar({ session }) {
  useEvents(session, ["thought"]);
  const { description, current, state } = session;
  const [low, high] = description.score_range;
  if (description.seats.length < 2 || low === null || high === null) return "";
  const over = current.look?.turn === -2 || (session.live && state?.result);
  const value = over ? (session.live ? state?.result?.scores : null) ?? current.look?.scores : session.opinion?.analysis.value ?? nearest(session);
  const parts = value ? shares(description, value) : description.seats.map(() => 1);
  const text = value ? value.map((_, seat) => `${seatName(description, seat)} ${scoreText(description, value, seat)}`).join(", ") : "not known yet";
  return html`<div class="expectation ${value ? "" : "unknown"}" role="img" aria-label="Expected result: ${text}" title=${text}>
    ${[...description.seats.keys()].reverse().map((seat) => html`<i style=${{ flexGrow: 1000 * Math.max(0.02, parts[seat]), background: description.seats[seat].colour }}></i>`)}
  </div>`;
}

/** The latest value known on the way to the position shown. @param {Session} session */
function nearest({ current }) {
  for (const node of [...current.path].reverse()) if (node.value) return node.value;
  return null;
}
