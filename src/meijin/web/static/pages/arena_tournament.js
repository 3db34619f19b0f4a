/**
 * One tournament as it goes: ratings with their intervals, and who beat whom.
 *
 * @import {Engine, Server} from "../engine.js"
 */

import { Button, Icon, Segments, Spinner, attempt, html, toast } from "../ui/kit.js";
import { useState } from "../vendor/preact.js";
import { JobState, useLive } from "./parts.js";

/** @param {{engine: Engine, name: string}} props */
export function TournamentPage({ engine, name }) {
  const server = /** @type {Server} */ (engine.server);
  const path = `tournaments/${encodeURIComponent(name)}`;
  const { value: found, error, again } = useLive(server, path, { type: "follow", what: "tournament", name });
  const [shown, setShown] = useState("");
  if (error && !found) return html`<main class="notice"><h1>No such tournament</h1><p>${error}</p><a class="button main" href="#/arena">All tournaments</a></main>`;
  if (!found) return html`<main class="page"><${Spinner} /></main>`;
  const act = (/** @type {string} */ what, /** @type {any} */ body = {}) => attempt(async () => { await server.ask(`${path}/${what}`, body); again(); });
  const running = ["running", "stopping"].includes(found.job?.state);
  const rounds = Number(found.about.rounds) || 1;
  const table = found.tables.find((/** @type {any} */ each) => each.game === shown) ?? found.tables[0];
  const enter = () => attempt(async () => {
    const changed = await server.ask(`${path}/fame`, {});
    toast(changed.length ? `Entered in the hall of fame: ${changed.join(", ")}.` : "The hall of fame has this tournament already.");
  });
  return html`<main class="page" id="main" tabindex="-1">
    <a class="up" href="#/arena"><${Icon} name="back" />Arena</a>
    <div class="page-head"><div><h1>${found.name}</h1><p>${found.played} of ${found.total} games · ${Object.entries(found.about).filter(([key]) => ["kind", "rounds", "openings"].includes(key)).map(([key, value]) => (key === "rounds" ? `${value} rounds` : value)).join(" · ")}</p></div>
      <div class="row">
        ${running
          ? html`<${Button} icon="pause" label="Stop" onClick=${() => void act("stop")} />`
          : html`${found.played < found.total && html`<${Button} kind="main" icon="play" label="Go on" onClick=${() => void act("resume")} />`}
            <${Button} icon="plus" label="${rounds} more rounds" onClick=${() => void act("resume", { rounds: 2 * rounds })} />
            ${found.played >= found.total && html`<${Button} icon="flag" label="Enter in the hall of fame" onClick=${() => void enter()} />`}`}
        <a class="button plain" href="#/arena/games?event=${encodeURIComponent(found.name)}"><${Icon} name="book" />Games</a>
      </div></div>
    <${JobState} job=${found.job} />
    ${found.tables.length > 1 && html`<${Segments} label="Game" value=${table?.game} onChange=${setShown} options=${found.tables.map((/** @type {any} */ each) => ({ value: each.game, label: each.title }))} />`}
    ${table && html`<${Standings} rows=${table.rows} /><${Crosstable} table=${table} />`}
    ${found.overall.length > 0 && html`<section><h2>All games together</h2><${Standings} rows=${found.overall} /></section>`}
    <section><h2>Agents</h2><dl class="keys">${found.agents.map((/** @type {any} */ agent) => html`<dt>${agent.name}</dt><dd class="mono">${agent.definition}</dd>`)}</dl></section>
  </main>`;
}

/** @param {{rows: any[]}} props */
function Standings({ rows }) {
  const ends = rows.flatMap((row) => [...row.interval, row.elo]).filter((value) => value !== null);
  const [low, high] = [Math.min(-50, ...ends), Math.max(50, ...ends)];
  const x = (/** @type {number} */ value) => `${(100 * (value - low)) / (high - low)}%`;
  return html`<div class="scroll"><table class="standings numbers">
    <thead><tr><th scope="col"></th><th scope="col">Agent</th><th scope="col">Elo</th><th scope="col" class="wide">95 % interval</th><th scope="col">Games</th><th scope="col">Won</th><th scope="col">Drawn</th><th scope="col">Lost</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.name}>
      <td>${row.rank}</td><th scope="row">${row.name}</th><td><b>${signed(row.elo)}</b></td>
      <td class="wide"><div class="interval" role="img" aria-label="from ${signed(row.interval[0])} to ${signed(row.interval[1])}" title="${signed(row.interval[0])} to ${signed(row.interval[1])}"><i class="zero" style=${{ left: x(0) }}></i>${row.interval[0] !== null && row.interval[1] !== null && html`<i class="span" style=${{ left: x(row.interval[0]), right: `calc(100% - ${x(row.interval[1])})` }}></i>`}${row.elo !== null && html`<i class="dot" style=${{ left: x(row.elo) }}></i>`}</div></td>
      <td>${row.games}</td><td>${row.wins}</td><td>${row.draws}</td><td>${row.losses}</td></tr>`)}</tbody>
  </table></div>`;
}

/** Who beat whom: points of the agent of the row against that of the column. @param {{table: any}} props */
function Crosstable({ table }) {
  const names = table.rows.map((/** @type {any} */ row) => row.name);
  const pair = (/** @type {string} */ a, /** @type {string} */ b) => table.pairs.find((/** @type {any} */ each) => each.agent === a && each.other === b);
  return html`<div class="scroll"><table class="crosstable numbers">
    <caption>Points of the row against the column</caption>
    <thead><tr><td></td>${names.map((/** @type {string} */ name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${names.map((/** @type {string} */ a) => html`<tr><th scope="row">${a}</th>${names.map((/** @type {string} */ b) => {
      const found = a === b ? null : pair(a, b);
      if (!found) return html`<td class="none">–</td>`;
      const games = found.wins + found.draws + found.losses;
      const share = games ? (found.wins + found.draws / 2) / games : 0.5;
      const heat = `color-mix(in srgb, ${share >= 0.5 ? "var(--good)" : "var(--bad)"} ${Math.round(60 * Math.abs(share - 0.5))}%, transparent)`;
      return html`<td style=${{ background: heat }} title="${found.wins} won, ${found.draws} drawn, ${found.losses} lost"><b>${found.wins + found.draws / 2}</b><span>/${games}</span></td>`;
    })}</tr>`)}</tbody>
  </table></div>`;
}

/** @param {number | null} value */
const signed = (value) => (value === null ? "–" : `${value > 0 ? "+" : ""}${Math.round(value)}`);
