/**
 * Training runs: those there are side by side, and a new one. One run has a file of its own.
 *
 * @import {Engine, GameSummary, Server} from "../engine.js"
 * @import {Route} from "../ui/router.js"
 */

import { Chart, colourOf } from "../ui/chart.js";
import { Button, Dialog, Field, Segments, Spinner, attempt, html, usePromise } from "../ui/kit.js";
import { address, go } from "../ui/router.js";
import { useState } from "../vendor/preact.js";
import { JobState, duration, freeName, useLive } from "./parts.js";
import { RunPage } from "./training_run.js";

/** @param {{engine: Engine, route: Route}} props */
export default function Training({ engine, route }) {
  const [, name] = route.path;
  return name ? html`<${RunPage} key=${name} engine=${engine} name=${name} />` : html`<${Runs} engine=${engine} />`;
}

/** @param {{engine: Engine}} props */
function Runs({ engine }) {
  const server = /** @type {Server} */ (engine.server);
  const { value: runs, error, again } = useLive(server, "runs");
  const [compared, setCompared] = useState(/** @type {string[]} */ ([]));
  const [starting, setStarting] = useState(false);
  const games = usePromise(() => engine.games(), []);
  const toggle = (/** @type {string} */ name) => setCompared(compared.includes(name) ? compared.filter((each) => each !== name) : [...compared, name]);
  return html`<main class="page" id="main" tabindex="-1">
    <div class="page-head"><div><h1>Training</h1><p>Nets and tables that learn a game by playing it against themselves.</p></div>
      ${engine.features.train && html`<div class="row"><${Button} kind="main" icon="plus" label="New run" onClick=${() => setStarting(true)} /></div>`}</div>
    ${error && html`<p class="error" role="alert">${error}</p>`}
    ${runs === undefined && !error ? html`<${Spinner} />` : runs?.length === 0 ? html`<div class="blank"><p>Nothing has been trained here yet.</p>${engine.features.train && html`<p class="hollow">A tiny run on Tic-tac-toe or Connect Four shows something within a minute.</p>`}</div>` : ""}
    ${compared.length > 1 && html`<${Comparison} server=${server} names=${compared} />`}
    <ul class="plates">${runs?.map((/** @type {any} */ run) => html`<li key=${run.name} class="plate">
      <a href=${address("training", run.name)}><b>${run.name}</b></a><span>${run.game} · ${run.method}</span>
      <span class="hollow numbers">iteration ${run.iteration} · ${duration(run.seconds)}${run.last.elo !== undefined ? ` · Elo ${Math.round(run.last.elo)}` : ""}</span>
      <${JobState} job=${run.job} />
      <label class="compare"><input type="checkbox" checked=${compared.includes(run.name)} onChange=${() => toggle(run.name)} /> Compare<span class="unseen"> ${run.name}</span></label>
    </li>`)}</ul>
    ${starting && Array.isArray(games) && html`<${NewRun} engine=${engine} games=${games} taken=${(runs ?? []).map((/** @type {any} */ run) => run.name)} onClose=${() => { setStarting(false); again(); }} />`}
  </main>`;
}

/** @param {{server: Server, names: string[]}} props */
function Comparison({ server, names }) {
  const [metric, setMetric] = useState("elo");
  const [over, setOver] = useState("seconds");
  const runs = usePromise(() => Promise.all(names.map((name) => server.ask(`runs/${encodeURIComponent(name)}`))), [names.join()]);
  if (!runs || runs instanceof Error) return html`<${Spinner} />`;
  const metrics = [...new Set(runs.flatMap((run) => Object.keys(run.metrics)))].filter((each) => !["iteration", "seconds"].includes(each));
  const series = runs.map((run, i) => ({ name: run.name, colour: colourOf(i), points: points(run.metrics, metric, over) }));
  return html`<section class="plate"><div class="row"><${Field} label="What"><select value=${metric} onChange=${(/** @type {any} */ e) => setMetric(e.target.value)}>${metrics.map((each) => html`<option value=${each} selected=${each === metric}>${each.replaceAll("_", " ")}</option>`)}</select><//>
    <${Segments} small label="Over" value=${over} onChange=${setOver} options=${[{ value: "seconds", label: "Time" }, { value: "iteration", label: "Iteration" }]} /></div>
    <${Chart} title=${metric.replaceAll("_", " ")} series=${series} height=${240} x=${over} /></section>`;
}

/** One column over another, where both are known. @param {Record<string, (number | null)[]>} metrics @param {string} name @param {string} [over] @returns {[number, number][]} */
export function points(metrics, name, over = "iteration") {
  return (metrics[name] ?? []).flatMap((value, i) => {
    const x = metrics[over]?.[i];
    return value === null || x === null || x === undefined ? [] : [/** @type {[number, number]} */ ([x, value])];
  });
}

/** @param {{engine: Engine, games: GameSummary[], taken: string[], onClose: () => void}} props */
function NewRun({ engine, games, taken, onClose }) {
  const server = /** @type {Server} */ (engine.server);
  const [game, setGame] = useState("connect_four");
  const [name, setName] = useState("");
  const [method, setMethod] = useState(engine.features.nets ? "zero" : "td");
  const [preset, setPreset] = useState("tiny");
  const [minutes, setMinutes] = useState(5);
  const [evaluate, setEvaluate] = useState(true);
  const [busy, setBusy] = useState(false);
  const tables = ["td", "sarsa", "q"].includes(method);
  const usual = freeName(`${game}-${method === "zero" ? preset : method}`, taken);
  const start = () =>
    attempt(async () => {
      const made = name.trim() || usual;
      await server.ask("runs", { name: made, game, method, preset: method === "zero" ? preset : null, seconds: 60 * minutes, changes: tables ? { "length.keep": 5 } : {}, evaluate: evaluate ? ["vs(mcts(simulations=100), games=20)"] : [] });
      // its folder is written a moment later
      while (!(await server.ask("runs")).some((/** @type {any} */ run) => run.name === made)) {
        const { job } = await server.ask(`runs/${encodeURIComponent(made)}/events`);
        if (job.state !== "running") throw new Error(job.message || "The run ended before it began.");
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      onClose();
      go(address("training", made));
    });
  const text = (/** @type {(value: string) => void} */ set) => (/** @type {any} */ e) => set(e.target.value);
  return html`<${Dialog} title="New run" onClose=${onClose}>
    <${Field} label="Game" help="A game, or an expression such as hex(size=5)."><input type="text" list="run-games" value=${game} onChange=${text((value) => setGame(value.trim()))} spellcheck=${false} /><datalist id="run-games">${games.map((each) => html`<option value=${each.name}>${each.title}</option>`)}</datalist><//>
    <div class="fields">
      <${Field} label="Method"><select value=${method} onChange=${text(setMethod)}>${engine.features.nets && html`<option value="zero">zero: by itself, with search</option><option value="classic">classic: from games of a search</option>`}<option value="td">td: tables, in seconds</option><option value="sarsa">sarsa: tables of moves</option><option value="q">q: tables of moves</option></select><//>
      ${method === "zero" && html`<${Field} label="Size"><select value=${preset} onChange=${text(setPreset)}><option value="tiny">tiny: minutes</option><option value="quick">quick: an hour</option><option value="strong">strong: days</option></select><//>`}
      <${Field} label="Minutes"><input type="number" min="1" max="100000" value=${minutes} onInput=${(/** @type {any} */ e) => setMinutes(Number(e.target.value))} /><//>
      <${Field} label="Name"><input type="text" maxlength="60" value=${name} placeholder=${usual} onInput=${text(setName)} /><//>
    </div>
    <label class="field check"><input type="checkbox" checked=${evaluate} onChange=${(/** @type {any} */ e) => setEvaluate(e.target.checked)} /><span class="name">Play against MCTS now and then to see how strong it is</span></label>
    <div class="row end"><${Button} kind="main" icon="play" label=${busy ? "Starting …" : "Start"} disabled=${busy || !(minutes > 0)} onClick=${async () => { setBusy(true); await start(); setBusy(false); }} /></div>
  <//>`;
}
