/**
 * Look inside: what an agent thinks of the position shown, move by move, and where two agents disagree.
 *
 * @import {AgentInfo, Analysis, MoveInfo} from "../engine.js"
 * @import {BoardArea} from "./board_area.js"
 * @import {Session} from "./session.js"
 * @import {Analyst} from "./analyst.js"
 */

import { compact, hue, opinions, percent, scoreText } from "../board/overlay.js";
import { Button, Segments, html, useEvents } from "../ui/kit.js";
import { settings } from "../ui/settings.js";
import { useState } from "../vendor/preact.js";
import { AnalystPicker, adviser } from "./opponents.js";
import { LineTree } from "./line_tree.js";
import { Sight } from "./sight.js";

const ROWS = 12;

/** @param {{session: Session, area: BoardArea, agents: AgentInfo[]}} props */
export function Inside({ session, area, agents }) {
  useEvents(session, ["thought"]);
  const [first, second] = session.analysts;
  const [agent, setAgent] = useState(first.agent || settings.get("adviser", "") || adviser(agents));
  const [other, setOther] = useState(second.agent || "mcts(simulations=100)");
  const [comparing, setComparing] = useState(second.on);
  const said = session.opinion;
  const rival = comparing ? session.current.analyses.get(second.agent) : undefined;
  const over = (session.current.look?.turn ?? -2) < 0;
  const toggle = () => {
    if (first.on) {
      first.stop();
      second.stop();
      return;
    }
    settings.set("overlay", true);
    first.start(agent, { seconds: 20 });
    if (comparing) second.start(other, { seconds: 5 });
  };
  const change = (/** @type {string} */ next) => {
    setAgent(next);
    settings.set("adviser", next);
    if (first.on) first.start(next);
  };
  return html`<div class="inside">
    <div class="ask">
      <${AnalystPicker} agents=${agents} value=${agent} onChange=${change} label="Agent that looks at the position" />
      <${Button} id="analyse" kind=${first.on ? "plain" : "main"} icon=${first.on ? "pause" : "eye"} label=${first.on ? "Stop" : "Analyse"} onClick=${toggle} disabled=${over && !first.on} />
    </div>
    ${first.on &&
    html`<label class="compare"><input type="checkbox" checked=${comparing} onChange=${(/** @type {any} */ e) => {
        setComparing(e.target.checked);
        if (e.target.checked) second.start(other, { seconds: 5 });
        else second.stop();
      }} /> Compare with another agent</label>`}
    ${first.on && comparing && html`<${AnalystPicker} agents=${agents} value=${other} label="Agent to compare with" onChange=${(/** @type {string} */ next) => { setOther(next); second.start(next, { seconds: 5 }); }} />`}
    ${said ? html`<${Report} session=${session} area=${area} analysis=${said.analysis} agent=${said.agent} rival=${rival} rivalName=${second.agent} analyst=${first} />` : html`<p class="hollow">${over ? "There is nothing to think about here." : first.on ? "Thinking …" : "Let an agent look at this position: it shows how good every move is, on the board and below."}</p>`}
  </div>`;
}

/** @param {{session: Session, area: BoardArea, analysis: Analysis, agent: string, rival?: Analysis, rivalName: string, analyst: Analyst}} props */
function Report({ session, area, analysis, agent, rival, rivalName, analyst }) {
  const { description } = session;
  const [measure, setMeasure] = useState(area.measure);
  const found = opinions(description, analysis, "value");
  const has = (/** @type {"visits" | "prior" | "value"} */ key) => analysis.moves.some((info) => info[key] !== null);
  const measures = [{ value: "value", label: "Value" }, { value: "visits", label: "Visits" }, { value: "prior", label: "Prior" }].filter(({ value }) => has(/** @type {any} */ (value)));
  const all = analysis.moves.reduce((sum, info) => sum + (info.visits ?? 0), 0);
  const speed = analysis.seconds > 0.05 ? (analysis.simulations || analysis.nodes) / analysis.seconds : 0;
  const facts = [
    analysis.simulations ? `${compact(analysis.simulations)} simulations` : analysis.nodes ? `${compact(analysis.nodes)} positions` : "",
    analysis.depth ? `depth ${analysis.depth}` : "",
    speed ? `${compact(Math.round(speed))}/s` : "",
  ].filter(Boolean);
  const pick = (/** @type {any} */ value) => {
    setMeasure(value);
    settings.set("measure", value);
  };
  return html`<div class="report">
    <div class="summary">
      ${analysis.value && html`<div class="expects">${analysis.value.map((_, seat, values) => html`<span><i class="chip" style=${{ background: description.seats[seat].colour ?? "var(--faint)" }}></i>${scoreText(description, values, seat, analysis.proven)}</span>`)}</div>`}
      <div class="facts numbers"><span class="mono">${agent}</span> ${facts.join(" · ")}${analyst.busy ? html`<i class="pulse"></i>` : ""}</div>
      ${analysis.note && html`<div class="facts">${analysis.note}</div>`}
      ${analysis.random && html`<div class="facts">its move is a random one</div>`}
    </div>
    ${measures.length > 1 && html`<${Segments} small options=${measures} value=${measures.some(({ value }) => value === measure) ? measure : measures[0].value} onChange=${pick} label="What to show on the board" />`}
    ${rival && html`<${Disagreement} session=${session} a=${analysis} b=${rival} names=${[agent, rivalName]} />`}
    <table class="lines numbers">
      <thead><tr><th scope="col">Move</th>${has("value") && html`<th scope="col">Value</th>`}${rival && html`<th scope="col" title=${rivalName}>Other</th>`}${has("visits") ? html`<th scope="col">Visits</th>` : has("prior") && html`<th scope="col">Prior</th>`}<th scope="col" class="line">Line</th></tr></thead>
      <tbody>
        ${analysis.moves.slice(0, ROWS).map((info) => html`<${Row} key=${info.move} session=${session} area=${area} info=${info} turn=${analysis.turn} share=${all ? (info.visits ?? 0) / all : (info.prior ?? 0)} opinion=${found.get(info.move)} rival=${rival} has=${has} />`)}
      </tbody>
    </table>
    ${analysis.moves.length > ROWS && html`<p class="more">and ${analysis.moves.length - ROWS} more moves</p>`}
    ${!description.chance && html`<${LineTree} session=${session} area=${area} analysis=${analysis} />`}
    <${Sight} session=${session} analysis=${analysis} />
  </div>`;
}

/** @param {{session: Session, area: BoardArea, info: MoveInfo, turn: number, share: number, opinion: any, rival?: Analysis, has: (key: any) => boolean}} props */
function Row({ session, area, info, turn, share, opinion, rival, has }) {
  const { description } = session;
  const name = (/** @type {number} */ move) => description.moves[move]?.name ?? "";
  const other = rival?.moves.find((each) => each.move === info.move);
  const value = info.value?.[turn];
  const line = info.pv.length ? info.pv : [info.move];
  const show = () => void area.showLine(line);
  const hide = () => void area.showLine(null);
  return html`<tr onMouseEnter=${show} onMouseLeave=${hide}>
    <td><button type="button" class="pick" onFocus=${show} onBlur=${hide} onClick=${() => { hide(); if (session.offered?.includes(info.move)) void session.play(info.move); }}><i style=${{ background: hue(opinion?.loss ?? null, opinion?.best) }}></i>${name(info.move)}</button></td>
    ${has("value") && html`<td>${info.value && value !== null ? scoreText(description, info.value, turn, info.proven) : "–"}${info.proven ? html`<span class="proven" title="proven">✓</span>` : ""}</td>`}
    ${rival && html`<td>${other?.value ? scoreText(description, other.value, turn, other.proven) : other?.visits ? compact(other.visits) : "–"}</td>`}
    ${has("visits") ? html`<td class="share"><i style=${{ width: `${Math.round(100 * (opinion?.share ?? share))}%` }}></i><span>${percent(share)}</span></td>` : has("prior") && html`<td class="share"><i style=${{ width: `${Math.round(100 * (opinion?.share ?? share))}%` }}></i><span>${percent(share)}</span></td>`}
    <td class="line">${line.slice(1, 9).map(name).join(" ")}</td>
  </tr>`;
}

/** Where two agents want different things. @param {{session: Session, a: Analysis, b: Analysis, names: string[]}} props */
function Disagreement({ session, a, b, names }) {
  const { description } = session;
  const name = (/** @type {number} */ move) => description.moves[move]?.name ?? "";
  const value = (/** @type {Analysis} */ analysis, /** @type {number} */ move) => analysis.moves.find((info) => info.move === move)?.value?.[a.turn];
  const [best, rival] = [a.moves[0].move, b.moves[0].move];
  if (best === rival) return html`<p class="verdict agree">Both want <b>${name(best)}</b>.</p>`;
  const cost = value(a, best) !== undefined && value(a, rival) !== undefined ? /** @type {number} */ (value(a, best)) - /** @type {number} */ (value(a, rival)) : null;
  const [low, high] = description.score_range;
  const text = cost !== null && low !== null && high !== null ? ` The first thinks that costs ${Math.max(0, Math.round((100 * cost) / (high - low)))} %.` : "";
  return html`<p class="verdict"><span class="mono">${names[0]}</span> wants <b>${name(best)}</b>, <span class="mono">${names[1]}</span> wants <b>${name(rival)}</b>.${text}</p>`;
}
