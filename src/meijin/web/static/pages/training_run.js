/**
 * One training run: its curves, its tuples, its games as they are played, its checkpoints, and how their opinion of a
 * position changed.
 *
 * @import {Description, Engine, Look, Server} from "../engine.js"
 */

import { begin, tableAddress } from "../play/open.js";
import { seatName } from "../play/tree.js";
import { Chart, short } from "../ui/chart.js";
import { Button, Icon, Spinner, attempt, html, usePromise } from "../ui/kit.js";
import { go } from "../ui/router.js";
import { useEffect, useMemo, useState } from "../vendor/preact.js";
import { Explorer, JobState, MiniBoard, duration, useLive } from "./parts.js";
import { points } from "./training.js";

/** @typedef {{number: number, cells: number[], entries: number, mean_weight: number | null}} Tuple */

const FIRST = 12; // tuples that are drawn before all are asked for

/** Curves that belong together, by the names of their columns. @type {[string, RegExp][]} */
const GROUPS = [
  ["Elo", /^elo$/],
  ["Points in evaluations", /^(points|vs|eval|score)_(?!seat)/],
  ["Loss", /^loss_/],
  ["Entropy of the policy", /_entropy$/],
  ["Length of games", /^game_length$/],
  ["Error of the value", /^(value_error|calibration_gap|error)$/],
  ["Score by seat", /^score_seat/],
  ["Simulations per second", /^simulations_per_second$/],
  ["Moves per second", /^moves_per_second$/],
];

/** @param {{engine: Engine, name: string}} props */
export function RunPage({ engine, name }) {
  const server = /** @type {Server} */ (engine.server);
  const path = `runs/${encodeURIComponent(name)}`;
  const { value: run, error, again } = useLive(server, path, { type: "follow", what: "train", name });
  const game = run?.game ?? "";
  const description = usePromise(async () => (game ? engine.describe(game) : undefined), [game]);
  if (error && !run) return html`<main class="notice"><h1>No such run</h1><p>${error}</p><a class="button main" href="#/training">All runs</a></main>`;
  if (!run) return html`<main class="page"><${Spinner} /></main>`;
  const running = ["running", "stopping"].includes(run.job?.state);
  const act = (/** @type {string} */ what, /** @type {any} */ body = {}) => attempt(async () => { await server.ask(`${path}/${what}`, body); again(); });
  const play = (/** @type {string} */ agent) => attempt(async () => {
    const seats = /** @type {any[]} */ ((await engine.describe(game)).seats.map((_, seat) => (seat === 0 ? { kind: "person" } : { kind: "agent", agent })));
    if (seats.length === 1) seats[0] = { kind: "agent", agent };
    go(tableAddress(await begin(engine, { game, seats, speed: seats.length === 1 ? 0.4 : 0 })));
  });
  const ready = description && !(description instanceof Error) ? /** @type {Description} */ (description) : null;
  const change = running ? html`<${Button} icon="pause" label="Stop" onClick=${() => void act("stop")} />` : html`<${Button} icon="play" label="Train 10 more minutes" onClick=${() => void act("resume", { seconds: run.seconds + 600 })} />`;
  return html`<main class="page" id="main" tabindex="-1">
    <a class="up" href="#/training"><${Icon} name="back" />Training</a>
    <div class="page-head"><div><h1>${run.name}</h1><p class="numbers">${run.game} · ${run.method} · iteration ${run.iteration} · ${duration(run.seconds)}</p></div>
      <div class="row">${engine.features.train && change}
        ${run.agent && html`<${Button} kind="main" icon="play" label="Play against it" onClick=${() => void play(run.agent)} />`}</div></div>
    <${JobState} job=${run.job} />
    <div class="charts">${GROUPS.map(([title, pattern]) => {
      const series = Object.keys(run.metrics).filter((column) => pattern.test(column)).map((column) => ({ ...curve(column, ready), points: points(run.metrics, column) })).filter((each) => each.points.length);
      return series.length ? html`<${Chart} key=${title} title=${title} series=${series} />` : "";
    })}</div>
    ${ready && run.tuples && html`<${Tuples} ...${run.tuples} description=${ready} />`}
    ${ready && run.agent && html`<${SelfPlay} server=${server} run=${run.name} description=${ready} /><${Opinions} engine=${engine} run=${run.name} game=${game} description=${ready} kept=${run.checkpoints.length} />`}
    <section><h2>Checkpoints</h2>${run.checkpoints.length ? html`<ul class="checkpoints">${[...run.checkpoints].reverse().map((/** @type {any} */ each) => html`<li><button type="button" class="button plain numbers" title="Play against ${each.name}" onClick=${() => void play(run.agent.replace(`"${run.name}"`, `"${each.name}"`))}>${each.iteration}</button></li>`)}</ul><p class="hollow">Click one to play against it.</p>` : html`<p class="hollow">${run.agent ? "Only the latest is kept; it is the one you play against." : "None yet."}</p>`}</section>
    <details class="settings"><summary>Settings</summary><pre class="mono">${JSON.stringify(run.config, null, 2)}</pre></details>
  </main>`;
}

/** The name of a column's curve, and its colour if it is a seat's. @param {string} column @param {Description | null} description */
function curve(column, description) {
  const seat = /^score_seat_?(\d+)$/.exec(column)?.[1];
  if (seat && description) return ofSeat(description, Number(seat));
  return { name: column.replace(/^loss_loss$/, "all").replace(/^(loss|score)_/, "").replaceAll("_", " ") };
}

/** @param {Description} description @param {number} seat */
const ofSeat = (description, seat) => ({ name: seatName(description, seat), colour: description.seats[seat]?.colour ?? undefined });

/** The tuples of a network on small boards. @param {{description: Description, weights: number, symmetries: number, games: number | null, tuples: Tuple[]}} props */
function Tuples({ description, weights, symmetries, games, tuples }) {
  const [all, setAll] = useState(false);
  const count = (/** @type {number} */ number, /** @type {string} */ what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
  const largest = tuples[0]?.mean_weight ?? 0;
  return html`<section class="tuples"><div><h2>Tuples</h2><p class="hollow">${count(tuples.length, "tuple")} with ${count(weights, "weight")}, seen in ${symmetries === 1 ? "one" : symmetries} of the game's symmetries${games === null ? "" : `, after ${count(games, "game")}`}.${largest ? " The largest weights come first." : ""}</p></div>
    <ul>${(all ? tuples : tuples.slice(0, FIRST)).map((each) => html`<${TupleBoard} key=${each.number} tuple=${each} share=${largest ? (each.mean_weight ?? 0) / largest : 0} description=${description} />`)}</ul>
    ${tuples.length > FIRST && html`<div><${Button} label=${all ? `Show the first ${FIRST}` : `Show all ${tuples.length}`} onClick=${() => setAll(!all)} /></div>`}</section>`;
}

/** @param {{description: Description, tuple: Tuple, share: number}} props  share: of the largest mean weight */
function TupleBoard({ description, tuple: { number, cells, entries, mean_weight: mean }, share }) {
  const look = useMemo(() => /** @type {any} */ ({ cells: description.board.cells.map(() => -1), last: cells }), [description, cells.join()]);
  const names = cells.map((cell) => description.board.cells[cell]?.name).join(" ");
  return html`<li title=${names}><${MiniBoard} description=${description} look=${look} />
    <p class="numbers"><b>Tuple ${number}</b><span class="unseen"> on ${names}</span><span>${entries.toLocaleString("en")} entries</span>${mean !== null && html`<span>mean weight ${mean.toPrecision(3)}</span><i style=${{ width: `${100 * share}%` }}></i>`}</p></li>`;
}

/** Games that the newest net plays against itself now. @param {{server: Server, run: string, description: Description}} props */
function SelfPlay({ server, run, description }) {
  const [on, setOn] = useState(false);
  const [boards, setBoards] = useState(/** @type {{look: Look}[]} */ ([]));
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (!on) return;
    setProblem("");
    return server.follow({ type: "boards", run, count: 4, every: 0.6 }, (reply) => {
      if (reply.type === "boards") setBoards(reply.boards);
      else if (reply.type === "error") setProblem(reply.message);
    });
  }, [on, run]);
  return html`<section><div class="row"><h2>The newest net against itself</h2><${Button} icon=${on ? "pause" : "play"} label=${on ? "Stop" : "Watch"} onClick=${() => setOn(!on)} /></div>
    ${problem && html`<p class="error">${problem}</p>`}
    ${boards.length > 0 && html`<div class="boards">${boards.map(({ look }, i) => html`<${MiniBoard} key=${i} description=${description} look=${look} />`)}</div>`}</section>`;
}

/** How the opinion of a position changed from checkpoint to checkpoint; of the latest alone if no other is kept. @param {{engine: Engine, run: string, game: string, description: Description, kept: number}} props */
function Opinions({ engine, run, game, description, kept }) {
  const server = /** @type {Server} */ (engine.server);
  const [moves, setMoves] = useState(/** @type {number[]} */ ([]));
  const [asked, setAsked] = useState(/** @type {number[] | null} */ (null));
  const [said, setSaid] = useState(/** @type {any[]} */ ([]));
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (!asked) return;
    setSaid([]);
    setProblem("");
    return server.follow({ type: "opinions", run, at: { game, position: null, moves: asked } }, (reply) => {
      if (reply.type === "opinion") setSaid((before) => [...before, reply]);
      else if (reply.type === "error") setProblem(reply.message);
    });
  }, [asked, run]);
  const known = said.filter((each) => each.iteration !== null);
  const values = description.seats.map((_, seat) => ({ ...ofSeat(description, seat), points: known.flatMap((each) => (each.value ? [/** @type {[number, number]} */ ([each.iteration, each.value[seat]])] : [])) }));
  const last = known.at(-1);
  const liked = (last?.moves ?? []).slice(0, 5).filter((/** @type {any} */ info) => info.prior !== null).map((/** @type {any} */ info) => ({
    name: description.moves[info.move]?.name ?? "",
    points: known.flatMap((each) => {
      const found = each.moves.find((/** @type {any} */ other) => other.move === info.move)?.prior;
      return found === null || found === undefined ? [] : [/** @type {[number, number]} */ ([each.iteration, found])];
    }),
  }));
  return html`<section><h2>${kept ? "How its opinion of a position changed" : "Its opinion of a position"}</h2>
    <div class="beside"><${Explorer} engine=${engine} description=${description} game=${game} moves=${moves} onMoves=${setMoves} />
      <div class="stack"><div class="row"><${Button} icon="chart" label=${kept ? "Ask every checkpoint" : "Ask the latest checkpoint"} onClick=${() => setAsked([...moves])} /><span class="hollow">Play to a position first, if you like.</span></div>
        ${problem && html`<p class="error">${problem}</p>`}
        ${!kept && last?.value && html`<p class="legend numbers">${values.map(({ name, colour }, seat) => html`<span><i style=${{ background: colour }}></i>${name} <b>${short(last.value[seat])}</b></span>`)}</p>`}
        ${kept > 0 && known.length > 0 && html`<${Chart} title="Expected score" series=${description.seats.length === 2 ? values.slice(0, 1) : values} />${liked.length > 0 && html`<${Chart} title="Probability of its favourite moves" series=${liked} low=${0} />`}`}
      </div></div></section>`;
}
