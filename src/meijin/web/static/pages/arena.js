/**
 * Tournaments: those there are, a new one, the hall of fame. One tournament and the games played have files of their own.
 *
 * @import {AgentInfo, Engine, GameSummary, Server} from "../engine.js"
 * @import {Route} from "../ui/router.js"
 */

import { AgentPicker, agentTitle, levels, opponent } from "../play/opponents.js";
import { Button, Dialog, Field, Icon, Spinner, attempt, html, usePromise } from "../ui/kit.js";
import { address, go } from "../ui/router.js";
import { useRef, useState } from "../vendor/preact.js";
import { GamesPage } from "./arena_games.js";
import { TournamentPage } from "./arena_tournament.js";
import { JobState, freeName, unlike, useLive } from "./parts.js";

/** @param {{engine: Engine, route: Route}} props */
export default function Arena({ engine, route }) {
  const [, kind, name] = route.path;
  if (kind === "tournament") return html`<${TournamentPage} key=${name} engine=${engine} name=${name} />`;
  if (kind === "games") return html`<${GamesPage} engine=${engine} query=${route.query} />`;
  return html`<${Overview} engine=${engine} />`;
}

/** @param {{engine: Engine}} props */
function Overview({ engine }) {
  const server = /** @type {Server} */ (engine.server);
  const { value: tournaments, error, again } = useLive(server, "tournaments");
  const fame = usePromise(() => server.ask("fame"), []);
  const games = usePromise(() => engine.games(), []);
  const [starting, setStarting] = useState(false);
  const title = (/** @type {string} */ game) => (Array.isArray(games) && games.find((each) => each.name === game)?.title) || game;
  return html`<main class="page" id="main" tabindex="-1">
    <div class="page-head"><div><h1>Arena</h1><p>Let agents play each other and see who is stronger, with honest error bars.</p></div>
      <div class="row"><a class="button plain" href="#/arena/games"><${Icon} name="book" />Games played</a><${Button} kind="main" icon="plus" label="New tournament" onClick=${() => setStarting(true)} /></div></div>
    ${error && html`<p class="error" role="alert">${error}</p>`}
    ${tournaments === undefined && !error ? html`<${Spinner} />` : tournaments?.length === 0 ? html`<div class="blank"><p>No tournament has been played yet.</p><p class="hollow">Choose games and agents; results, ratings and a crosstable appear as the games end.</p></div>` : ""}
    <ul class="plates">${tournaments?.map((/** @type {any} */ each) => html`<li key=${each.name}><a class="plate" href=${address("arena", "tournament", each.name)}>
      <b>${each.name}</b><span>${each.games.map(title).join(", ")}</span><span class="hollow">${each.agents.length} agents · ${each.played} of ${each.total} games</span>
      <progress max=${each.total || 1} value=${each.played} aria-label="Games played"></progress><${JobState} job=${each.job} />
    </a></li>`)}</ul>
    ${Array.isArray(fame) && fame.length > 0 && html`<${Fame} places=${fame} title=${title} />`}
    ${starting && Array.isArray(games) && html`<${NewTournament} engine=${engine} games=${games} taken=${(tournaments ?? []).map((/** @type {any} */ each) => each.name)} onClose=${() => { setStarting(false); again(); }} />`}
  </main>`;
}

/** @param {{places: any[], title: (game: string) => string}} props */
function Fame({ places, title }) {
  const games = [...new Set(places.map((place) => place.game))];
  return html`<section><h2>Hall of fame</h2><div class="plates">${games.map((game) => html`<div class="plate"><b>${title(game)}</b><ol class="fame numbers">${places.filter((place) => place.game === game).slice(0, 5).map((place) => html`<li><span>${place.name}</span><span>${Math.round(place.rating.rating)} <i>± ${Math.round(2 * place.rating.deviation)}</i></span></li>`)}</ol></div>`)}</div></section>`;
}

/** Who can play all of several games. @param {AgentInfo[][]} lists  of the same agents, one for each game @returns {AgentInfo[]} */
function ofAll(lists) {
  return lists[0].map((agent, i) => ({ ...agent, unfit: lists.map((list) => list[i].unfit).find((why) => why !== null) ?? null, levels: lists.every((list) => list[i].levels) }));
}

/** @param {{engine: Engine, games: GameSummary[], taken: string[], onClose: () => void}} props */
function NewTournament({ engine, games, taken, onClose }) {
  const server = /** @type {Server} */ (engine.server);
  const [chosen, setChosen] = useState(["connect_four"].filter((name) => games.some((game) => game.name === name)));
  const [name, setName] = useState("");
  const [rounds, setRounds] = useState(5);
  const [kind, setKind] = useState("round_robin");
  const [openings, setOpenings] = useState("");
  const [named, setEntrants] = useState(/** @type {string[] | null} */ (null));
  const played = chosen.length ? chosen : [games[0].name];
  const agents = usePromise(async () => ofAll(await Promise.all(played.map((game) => engine.agents(game)))), [played.join()]);
  const latest = useRef(/** @type {AgentInfo[]} */ ([]));
  if (Array.isArray(agents)) latest.current = agents;
  const known = latest.current;
  const offered = levels(known);
  const entrants = named ?? (offered.length > 6 ? [0, 3, 6] : [0, 1, 2]).flatMap((i) => offered[i]?.agent ?? []);
  const start = () =>
    attempt(async () => {
      const used = /** @type {string[]} */ ([]);
      const list = entrants.map((expression) => {
        const called = unlike(agentTitle(expression).slice(0, 90), used);
        used.push(called);
        return { name: called, expression };
      });
      const made = name.trim() || freeName(chosen.join("-"), taken);
      await server.ask("tournaments", { name: made, games: chosen, agents: list, kind, rounds, openings });
      onClose();
      go(address("arena", "tournament", made));
    });
  const toggle = (/** @type {string} */ game) => setChosen(chosen.includes(game) ? chosen.filter((each) => each !== game) : [...chosen, game]);
  return html`<${Dialog} title="New tournament" onClose=${onClose} wide>
    <fieldset class="choice"><legend>Games</legend><div class="chips">${games.filter((game) => !game.problem && game.seats > 0).map((game) => html`<button type="button" aria-pressed=${String(chosen.includes(game.name))} onClick=${() => toggle(game.name)}>${game.title}</button>`)}</div></fieldset>
    <fieldset class="choice"><legend>Agents</legend>
      ${agents instanceof Error && html`<p class="error" role="alert">${agents.message}</p>`}
      ${known.length > 0 && entrants.map((agent, i) => html`<div class="entrant" key=${i}><${AgentPicker} agents=${known} value=${agent} label="Agent ${i + 1}" onChange=${(/** @type {string} */ next) => setEntrants(entrants.map((each, k) => (k === i ? next : each)))} /><${Button} kind="icon" icon="close" title="Leave out agent ${i + 1}" disabled=${entrants.length < 3} onClick=${() => setEntrants(entrants.filter((_, k) => k !== i))} /></div>`)}
      <${Button} icon="plus" label="Add an agent" onClick=${() => setEntrants([...entrants, offered.find((level) => !entrants.includes(level.agent))?.agent ?? opponent(known)])} />
    </fieldset>
    <div class="fields">
      <${Field} label="Pairing"><select value=${kind} onChange=${(/** @type {any} */ e) => setKind(e.target.value)}>${[["round_robin", "everybody against everybody"], ["swiss", "Swiss system"], ["gauntlet", "first against the others"], ["sampled", "random pairs"]].map(([value, label]) => html`<option value=${value}>${label}</option>`)}</select><//>
      <${Field} label="Rounds"><input type="number" min="1" max="10000" value=${rounds} onInput=${(/** @type {any} */ e) => setRounds(Number(e.target.value))} /><//>
      <${Field} label="Begin from"><select value=${openings} onChange=${(/** @type {any} */ e) => setOpenings(e.target.value)}><option value="">the start</option><option value="random(plies=2)">2 random moves</option><option value="random(plies=4)">4 random moves</option></select><//>
      <${Field} label="Name"><input type="text" maxlength="60" value=${name} placeholder=${freeName(chosen.join("-"), taken)} onInput=${(/** @type {any} */ e) => setName(e.target.value)} /><//>
    </div>
    <div class="row end"><${Button} kind="main" icon="play" label="Start" disabled=${!chosen.length || entrants.length < 2} onClick=${() => void start()} /></div>
  <//>`;
}
