/**
 * The page that a person who invents games keeps open: the file is loaded again when it is saved, its laws are checked,
 * and how it plays stands beside its board.
 *
 * @import {Engine, Server} from "../engine.js"
 */

import { Button, Icon, Spinner, attempt, html, usePromise } from "../ui/kit.js";
import { address } from "../ui/router.js";
import { capital, seatName } from "../play/tree.js";
import { useState } from "../vendor/preact.js";
import { Explorer, JobState, useLive } from "./parts.js";

/** @param {{engine: Engine}} props */
export default function Designer({ engine }) {
  const server = /** @type {Server} */ (engine.server);
  const { value: found, error, again } = useLive(server, "designer", { type: "follow", what: "designer" });
  if (!found) return html`<main class="page">${error ? html`<p class="error">${error}</p>` : html`<${Spinner} />`}</main>`;
  const check = (/** @type {string} */ game) => attempt(async () => { await server.ask("designer/check", { game }); again(); });
  return html`<main class="page" id="main" tabindex="-1">
    <div class="page-head"><div><h1>Designer</h1><p>Save your file, and everything here follows.</p></div></div>
    ${found.files.length === 0 && html`<div class="blank"><p>No file is watched.</p><p class="hollow">Start the server with <code>meijin serve --load mygame.py</code>.</p></div>`}
    ${found.files.map((/** @type {any} */ file) => html`<section key=${file.file}>
      <h2 class="file"><${Icon} name=${file.problem ? "warning" : "check"} />${file.file}</h2>
      ${file.problem && html`<pre class="problem" role="alert">${file.problem}</pre>`}
      ${!file.problem && !file.games.length && html`<p class="hollow">This file has no game.</p>`}
      ${file.games.map((/** @type {string} */ game) => html`<${Design} key=${`${game}/${found.version}`} engine=${engine} game=${game} found=${found.checks.find((/** @type {any} */ each) => each.game === game)} onCheck=${() => void check(game)} />`)}
    </section>`)}
  </main>`;
}

/** @param {{engine: Engine, game: string, found: any, onCheck: () => void}} props */
function Design({ engine, game, found, onCheck }) {
  const [moves, setMoves] = useState(/** @type {number[]} */ ([]));
  const description = usePromise(() => engine.describe(game), [game]);
  const running = ["running", "stopping"].includes(found?.state);
  return html`<div class="beside">
    <div class="stack">
      ${description instanceof Error ? html`<pre class="problem" role="alert">${description.message}</pre>` : description ? html`<${Explorer} engine=${engine} description=${description} game=${game} moves=${moves} onMoves=${setMoves} />` : html`<${Spinner} />`}
      <div class="row"><a class="button main" href=${address("play", game)}><${Icon} name="play" />Play ${game}</a><${Button} icon="redo" label="Check again" disabled=${running} onClick=${onCheck} /></div>
    </div>
    <div class="stack">
      ${running && html`<${JobState} job=${found} />`}
      ${found?.state === "failed" && html`<pre class="problem" role="alert">${found.message}</pre>`}
      ${found?.report && html`<${Play} report=${found.report} search=${found.search} description=${description instanceof Error ? null : description} /><${Laws} report=${found.report} />`}
      ${!found && html`<p class="hollow">Not checked yet.</p>`}
    </div>
  </div>`;
}

/** How it plays: at random, and by search. @param {{report: any, search: any, description: any}} props */
function Play({ report, search, description }) {
  const { statistics: s } = report;
  const percent = (/** @type {number | null | undefined} */ share) => (share === null || share === undefined ? "–" : `${Math.round(100 * share)} %`);
  const first = description ? capital(seatName(description, 0)) : "The first seat";
  const facts = /** @type {[string, string, string][]} */ ([
    ["Length", s.length.mean.toFixed(1), `moves; ${s.length.low} to ${s.length.high}`],
    ["Choices", s.branching.mean.toFixed(1), `a move; ${s.branching.low} to ${s.branching.high}`],
    ...(s.seats.length > 1 ? [["First seat", percent(s.first_seat), `wins at random, ± ${Math.round(100 * s.first_seat_margin)} %`], ["Draws", percent(s.draws), "at random"]] : [["Score", s.seats[0].score.mean.toFixed(2), "at random"]]),
    ...(search?.wins ? [["Decisive", percent(search.decisive), `of ${search.games} games between searches`], [first, percent(search.wins[0]), "wins between equal searches"], ["Skill", percent(search.stronger_wins), "wins of four times the search"]] : []),
    ...(search?.means ? Object.entries(search.means).map(([agent, mean]) => [agent, mean === null ? "–" : Number(mean).toFixed(2), "mean score"]) : []),
  ]);
  return html`<div><dl class="figures">${facts.map(([name, value, more]) => html`<div><dt>${name}</dt><dd class="numbers"><b>${value}</b><span>${more}</span></dd></div>`)}</dl>
    ${!search && html`<p class="hollow">Searches are playing each other …</p>`}
    ${report.warnings.map((/** @type {string} */ warning) => html`<p class="warning"><${Icon} name="warning" />${warning}</p>`)}</div>`;
}

/** @param {{report: any}} props */
function Laws({ report }) {
  const tried = (/** @type {any} */ law) => law.count > 0;
  const name = (/** @type {any} */ law) => capital(law.name.replace(/\b[cg]pu\b/g, (/** @type {string} */ word) => word.toUpperCase()));
  const note = (/** @type {any} */ law) => (tried(law) ? law.note || `${law.count} ${law.unit}` : /=False$/.test(law.note) ? "not tried here" : law.note.replace(/^left out: |`/g, "") || "nothing to try");
  return html`<details class="laws" open><summary>${report.laws.filter(tried).length} laws hold, ${report.laws.filter((/** @type {any} */ law) => !tried(law)).length} do not apply</summary>
    <ul>${report.laws.map((/** @type {any} */ law) => html`<li title=${law.says} class=${tried(law) ? "" : "idle"}><${Icon} name=${tried(law) ? "check" : "minus"} /><span>${name(law)} <i>${note(law)}</i></span></li>`)}</ul></details>`;
}
