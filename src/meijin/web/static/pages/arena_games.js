/**
 * The games that were played in tournaments: a list with filters, and a tree of openings with how often each was played
 * and how it went.
 *
 * @import {Engine, Server} from "../engine.js"
 */

import { packMoves } from "../play/share.js";
import { Button, Field, Icon, Spinner, attempt, html, usePromise } from "../ui/kit.js";
import { address, go } from "../ui/router.js";
import { capital, seatName } from "../play/tree.js";
import { useState } from "../vendor/preact.js";
import { Explorer } from "./parts.js";

const PAGE = 50;

/** @param {{engine: Engine, query: URLSearchParams}} props */
export function GamesPage({ engine, query }) {
  const server = /** @type {Server} */ (engine.server);
  const [filters, setFilters] = useState(/** @type {Record<string, string>} */ (Object.fromEntries([...query].filter(([key]) => ["event", "game", "agent"].includes(key)))));
  const [skip, setSkip] = useState(0);
  const clean = Object.fromEntries(Object.entries(filters).filter(([, value]) => value));
  const key = JSON.stringify(clean);
  const found = usePromise(() => server.ask("played", { filters: clean, skip }), [key, skip]);
  const set = (/** @type {string} */ name, /** @type {string} */ value) => {
    setSkip(0);
    setFilters({ ...filters, [name]: value });
  };
  const open = (/** @type {number} */ id) => attempt(async () => {
    const game = await server.ask(`played/${id}`);
    go(`${address("game", game.game)}?${new URLSearchParams({ m: packMoves(await engine.describe(game.game), game.moves) })}`);
  });
  const games = found && !(found instanceof Error) ? found : null;
  const kinds = [...new Set((games?.games ?? []).map((/** @type {any} */ game) => game.game))];
  const single = filters.game && !filters.game.includes("*") ? filters.game : kinds.length === 1 ? String(kinds[0]) : "";
  return html`<main class="page" id="main" tabindex="-1">
    <a class="up" href="#/arena"><${Icon} name="back" />Arena</a>
    <div class="page-head"><div><h1>Games played</h1><p>${games ? `${games.count} games fit` : "…"}</p></div></div>
    <div class="fields filters">
      <${Field} label="Tournament"><select value=${filters.event ?? ""} onChange=${(/** @type {any} */ e) => set("event", e.target.value)}><option value="">all</option>${(games?.events ?? []).map((/** @type {any} */ event) => html`<option value=${event.name} selected=${event.name === filters.event}>${event.name}</option>`)}</select><//>
      <${Field} label="Game"><input type="text" value=${filters.game ?? ""} placeholder="any" onChange=${(/** @type {any} */ e) => set("game", e.target.value.trim())} /><//>
      <${Field} label="Agent (* for any text)"><input type="text" value=${filters.agent ?? ""} placeholder="any" onChange=${(/** @type {any} */ e) => set("agent", e.target.value.trim())} /><//>
    </div>
    ${single && html`<${Openings} key=${single} engine=${engine} game=${single} filters=${clean} />`}
    ${found instanceof Error ? html`<p class="error">${found.message}</p>` : !games ? html`<${Spinner} />` : html`<div class="scroll"><table class="standings numbers">
      <thead><tr><th scope="col">Game</th><th scope="col">Agents</th><th scope="col">Result</th><th scope="col">Plies</th><th scope="col">Tournament</th><th scope="col"></th></tr></thead>
      <tbody>${games.games.map((/** @type {any} */ game) => html`<tr key=${game.id}><td>${game.game}</td><td>${game.agents.map((/** @type {string} */ agent, /** @type {number} */ seat) => html`<div class=${game.scores[seat] === Math.max(...game.scores) && Math.min(...game.scores) < game.scores[seat] ? "winner" : ""}>${brief(agent)}</div>`)}</td><td>${game.scores.map((/** @type {number} */ score) => html`<div>${score}</div>`)}</td><td>${game.plies}</td><td>${game.event}</td><td><${Button} icon="eye" label="Look" onClick=${() => void open(game.id)} /></td></tr>`)}</tbody>
    </table></div>
    <div class="row"><${Button} icon="back" label="Newer" disabled=${!skip} onClick=${() => setSkip(Math.max(0, skip - PAGE))} /><${Button} icon="forward" label="Older" disabled=${skip + games.games.length >= games.count} onClick=${() => setSkip(skip + games.games.length)} /></div>`}
  </main>`;
}

/** @param {string} agent */
const brief = (agent) => agent.replace(/, memory_mb=[\d.]+/, "");

/** @param {{engine: Engine, game: string, filters: Record<string, string>}} props */
function Openings({ engine, game, filters }) {
  const server = /** @type {Server} */ (engine.server);
  const [moves, setMoves] = useState(/** @type {number[]} */ ([]));
  const description = usePromise(() => engine.describe(game), [game]);
  const branches = usePromise(() => server.ask("openings", { game, moves, filters }), [game, moves.join(), JSON.stringify(filters)]);
  const look = usePromise(() => engine.look({ game, moves }), [game, moves.join()]);
  if (!description || description instanceof Error) return "";
  const turn = look && !(look instanceof Error) ? look.turn : 0;
  const names = turn === -1 ? description.outcomes : description.moves;
  const seat = Math.max(0, turn);
  return html`<section class="openings"><h2>Openings of ${description.title}</h2>
    <div class="beside">
      <${Explorer} engine=${engine} description=${description} game=${game} moves=${moves} onMoves=${setMoves} />
      <div>${branches instanceof Error ? html`<p class="error">${branches.message}</p>` : !branches ? html`<${Spinner} />` : !branches.length ? html`<p class="hollow">No game goes on from here.</p>` : html`<table class="standings numbers"><thead><tr><th scope="col">Move</th><th scope="col">Games</th><th scope="col" class="wide">${capital(seatName(description, seat))}: won, drawn, lost</th></tr></thead>
        <tbody>${branches.map((/** @type {any} */ branch) => {
          const draws = branch.draws[seat] ?? 0;
          const wins = branch.wins[seat] ?? 0;
          return html`<tr><td><button type="button" class="pick" onClick=${() => setMoves([...moves, branch.move])}>${names[branch.move]?.name}</button></td><td>${branch.games}</td><td class="wide"><div class="wdl" role="img" aria-label="${wins} won, ${draws} drawn, ${branch.games - wins - draws} lost"><i class="w" style=${{ flexGrow: wins }}></i><i class="d" style=${{ flexGrow: draws }}></i><i class="l" style=${{ flexGrow: branch.games - wins - draws }}></i></div></td></tr>`;
        })}</tbody></table>`}</div>
    </div></section>`;
}
