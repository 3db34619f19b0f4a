/**
 * The page on which a game is played and looked into.
 *
 * @import {AgentInfo, Engine} from "../engine.js"
 * @import {Choice, Spot} from "./board_area.js"
 * @import {Route} from "../ui/router.js"
 * @import {Session} from "./session.js"
 */

import { CHANCE, OVER } from "../engine.js";
import { Button, Icon, Spinner, Tabs, attempt, html, useEvents, usePromise } from "../ui/kit.js";
import { go } from "../ui/router.js";
import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { BoardArea } from "./board_area.js";
import { Controls, Pace, hint, travel } from "./controls.js";
import { SettingsDialog, ShareDialog, RecordsDialog } from "./dialogs.js";
import { ValueGraph } from "./graph.js";
import { Inside } from "./inside.js";
import { CommentBox, Moves } from "./moves.js";
import { NewGame } from "./new_game.js";
import { adviser } from "./opponents.js";
import { begin, clockOf, openSession, tableAddress } from "./open.js";
import { Review, mistakeAt, mistakes } from "./review.js";
import { Rules } from "./rules.js";
import { ExpectationBar, SeatCard } from "./seats.js";
import { resultText } from "./session.js";
import { SetUp } from "./setup.js";
import { capital } from "./tree.js";

/** @param {{engine: Engine, route: Route}} props */
export function PlayPage({ engine, route }) {
  const key = `${route.path.join("/")}?${route.query}`;
  const opened = usePromise(async () => {
    const session = await openSession(engine, route);
    return session && { session, agents: await engine.agents(session.game) };
  }, [key]);
  if (!opened) return html`<main class="play"><${Spinner}>Setting up the board …<//></main>`;
  if (opened instanceof Error) {
    return html`<main class="notice"><h1>This game cannot be opened</h1><p>${opened.message}</p><a class="button main" href="#/">Choose a game</a></main>`;
  }
  return html`<${Game} key=${key} engine=${engine} session=${opened.session} agents=${opened.agents} />`;
}

/** @param {{engine: Engine, session: Session, agents: AgentInfo[]}} props */
function Game({ engine, session, agents }) {
  useEvents(session, ["change"]);
  const holder = useRef(/** @type {HTMLElement | null} */ (null));
  const [area, setArea] = useState(/** @type {BoardArea | null} */ (null));
  const [offer, setOffer] = useState(/** @type {{choices: Choice[], at: Spot | null}} */ ({ choices: [], at: null }));
  const [tab, setTab] = useState(session.table || session.root.children.length ? "moves" : "inside");
  const [dialog, setDialog] = useState("");
  const [review] = useState(() => new Review(session));
  const { description } = session;

  useLayoutEffect(() => {
    const made = new BoardArea(session, { choose: (choices, at) => setOffer({ choices, at }) });
    holder.current?.prepend(made.view.element);
    const shape = () => holder.current?.style.setProperty("--ratio", made.view.element.style.getPropertyValue("--ratio"));
    made.view.element.addEventListener("rebuilt", shape);
    shape();
    const mine = session.state?.you.filter((seat) => session.seats[seat].kind === "person") ?? [];
    // Where pieces move, each side sits behind its own; stones and discs look the same from everywhere but fall downwards.
    const moving = description.moves.some((move) => (move.path?.length ?? 0) > 1);
    if (mine.length && !mine.includes(0) && description.seats.length === 2 && moving) made.flip();
    setArea(made);
    document.title = `${description.title} · Meijin`;
    return () => session.close();
  }, []);

  const setting = dialog === "setup";
  useKeys(session, area, agents, setting);
  const actions = Object.fromEntries(["fresh", "setup", "share", "records", "settings"].map((name) => [name, () => setDialog(name)]));
  const shown = offer.at ? [] : offer.choices;
  const worded = description.moves.some(({ path }) => typeof path?.[0] === "string");
  return html`<main class="play ${worded ? "worded" : ""}" id="main" tabindex="-1">
    <section class="stage" aria-label=${description.title} data-ply=${session.current.ply} data-turn=${session.current.look?.turn}>
      <div class="board-row">
        <${ExpectationBar} session=${session} />
        <div class="board-holder" ref=${holder}>
          ${offer.at && offer.choices.length > 0 && html`<${Choices} offer=${offer} area=${area} />`}
        </div>
      </div>
      ${!setting && worded && html`<${Words} choices=${shown} area=${area} session=${session} />`}
    </section>
    ${setting && area
      ? html`<${SetUp} engine=${engine} session=${session} area=${area} onClose=${() => setDialog("")} />`
      : html`<aside class="panel" aria-label="Game">
          <div class="title"><h1>${description.title}</h1><${Variant} session=${session} /></div>
          <div class="seats">${description.seats.map((_, seat) => html`<${SeatCard} session=${session} seat=${seat} agents=${agents} />`)}</div>
          <${Status} session=${session} review=${review} agents=${agents} onAgain=${actions.fresh} onTab=${setTab} />
          ${area && html`<${Controls} session=${session} area=${area} agents=${agents} actions=${actions} />`}
          <${Pace} session=${session} />
          <${Tabs} label="Panels" value=${tab} onChange=${setTab} tabs=${[{ id: "moves", label: "Moves" }, ...(session.guest ? [] : [{ id: "inside", label: "Look inside" }]), { id: "rules", label: "Rules" }]} />
          <div class="tab" role="tabpanel" id="panel-${tab}" aria-labelledby="tab-${tab}" tabindex="0">
            ${tab === "moves" && html`<${ValueGraph} session=${session} /><${Moves} session=${session} /><div class="foot"><${MoveInput} session=${session} /><${CommentBox} session=${session} /></div>`}
            ${tab === "inside" && area && html`<${Inside} session=${session} area=${area} agents=${agents} />`}
            ${tab === "rules" && html`<${Rules} description=${description} />`}
          </div>
        </aside>`}
    <${Live} session=${session} />
    ${dialog === "fresh" && html`<${NewGame} engine=${engine} game=${session.game} session=${session} onClose=${() => setDialog("")} />`}
    ${dialog === "share" && html`<${ShareDialog} session=${session} area=${area} onClose=${() => setDialog("")} />`}
    ${dialog === "records" && html`<${RecordsDialog} session=${session} area=${area} onClose=${() => setDialog("")} />`}
    ${dialog === "settings" && html`<${SettingsDialog} onClose=${() => setDialog("")} />`}
  </main>`;
}

/** The parameters that differ from the usual ones. @param {{session: Session}} props */
function Variant({ session }) {
  const inside = /\((.*)\)/s.exec(session.description.id)?.[1];
  return inside ? html`<span class="variant">${inside}</span>` : "";
}

/** What there is to say now: whose turn it is, how it ended, what one is looking at. @param {{session: Session, review: Review, agents: AgentInfo[], onAgain: () => void, onTab: (tab: string) => void}} props */
function Status({ session, review, agents, onAgain, onTab }) {
  const { state, current, table, tip } = session;
  const look = current.look;
  const over = look?.turn === OVER || (session.live && state?.result);
  const found = mistakes(session);
  const at = found.findIndex(({ node }) => node === current);
  const next = found[(at + 1) % Math.max(1, found.length)];
  const start = () => {
    onTab("moves");
    void attempt(() => review.start(adviser(agents), { seconds: 0.4 }));
  };
  const ended = state ? state.result : tip.look?.turn === OVER;
  const reviewing = session.guest ? "" : html`${review.running
      ? html`<${Button} icon="pause" label="Looking at move ${review.done} of ${review.all}" onClick=${() => review.stop()} />`
      : found.length
        ? html`<${Button} icon="next" label="Next mistake (${found.length})" onClick=${() => void session.go(next.node)} />`
        : html`<${Button} icon="chart" label="Find mistakes" onClick=${start} />`}`;
  if (table && !session.live) {
    const mistake = mistakeAt(session, current);
    return html`<div class="status aside ${mistake?.kind ?? ""}"><p role="status">${mistake?.text ?? (session.aside ? "You are trying a variation." : "You are looking back.")}</p>
      <div class="row"><${Button} kind="main" label="Back to the game" onClick=${() => void session.go(tip)} />
      ${state?.host && look?.turn !== OVER && html`<${Button} label="Go on from here" onClick=${() => void attempt(() => session.continueHere())} />`}${ended && reviewing}</div></div>`;
  }
  if (over) {
    return html`<div class="status over"><p class="result" role="status">${resultText(session)}</p>
      <div class="row">${table && !session.guest && html`<${Button} kind="main" label="Rematch" icon="redo" onClick=${() => void attempt(() => rematch(session, onAgain))} /><${Button} label="New game" icon="plus" onClick=${onAgain} />`}${reviewing}</div></div>`;
  }
  const problem = session.trouble || state?.problem;
  if (problem) return html`<div class="status trouble" role="alert"><p><${Icon} name="warning" /> ${problem}</p></div>`;
  if (table) return look?.turn === CHANCE ? html`<div class="status"><p>Chance moves …</p></div>` : "";
  const mistake = mistakeAt(session, current);
  return html`<div class="status ${mistake?.kind ?? ""}">${mistake && html`<p role="status">${mistake.text}</p>`}<div class="row">${session.root.children.length > 0 && reviewing}${!session.guest && html`<${Button} icon="play" label="Play from here" onClick=${onAgain} />`}</div></div>`;
}

/** The same game once more, with the same players; asks if the clocks' settings are not known. @param {Session} session @param {() => void} ask */
async function rematch({ game, position, seats, state, engine, table }, ask) {
  const clock = clockOf(table?.id ?? "");
  if (state?.clocks && !clock) {
    ask();
    return;
  }
  const made = await begin(engine, { game, position, seats: seats.map(({ kind, name, agent, limit }) => ({ kind, name, agent, limit })), clock, speed: state?.speed ?? 0 });
  go(tableAddress(made));
}

/** Words that are moves, such as a pass, as buttons below the board. @param {{choices: Choice[], area: BoardArea | null, session: Session}} props */
function Words({ choices, area, session }) {
  useEvents(session, ["thought"]);
  if (!area) return "";
  const said = session.opinion?.analysis.moves ?? [];
  const best = said[0]?.move;
  const arrows = area.hands.directional();
  return html`<div class="words ${arrows ? "arrows" : choices.length > 5 ? "many" : ""}" role="group" aria-label="Moves without a cell">
    ${choices.map(({ word, label, move }) => html`<button type="button" class="button plain ${move !== null && move === best && session.opinion ? "best" : ""} w-${word}" data-word=${word} onClick=${() => area.hands.pick(word)}>${label}</button>`)}
  </div>`;
}

/** A choice at the cell it belongs to. @param {{offer: {choices: Choice[], at: any}, area: BoardArea | null}} props */
function Choices({ offer, area }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!offer.at.edge) /** @type {HTMLElement | null} */ (ref.current?.querySelector("button"))?.focus({ preventScroll: true });
  }, [offer]);
  const at = offer.at;
  return html`<div class="choices ${at.edge ? (at.y ? "bottom" : "top") : `${at.x > 60 ? "left" : at.x < 40 ? "right" : ""} ${at.y > 70 ? "above" : ""}`}" ref=${ref} role="group" aria-label="Choose" style=${{ left: `${at.x}%`, top: `${at.y}%` }} onKeyDown=${(/** @type {KeyboardEvent} */ e) => e.key === "Escape" && area?.hands.cancel()}>
    ${offer.choices.map(({ word, label }) => html`<button type="button" class="button plain" data-word=${word} onClick=${() => area?.hands.pick(word)}>${capital(label)}</button>`)}
    <button type="button" class="button quiet" onClick=${() => area?.hands.cancel()}>Cancel</button>
  </div>`;
}

/** A move by its name. @param {{session: Session}} props */
function MoveInput({ session }) {
  const [problem, setProblem] = useState("");
  const legal = session.offered;
  const over = session.current.look?.turn === OVER || (session.live && session.state?.result);
  const enter = (/** @type {Event} */ event) => {
    event.preventDefault();
    const input = /** @type {HTMLInputElement} */ (/** @type {HTMLFormElement} */ (event.target).elements[0]);
    const names = session.current.look?.turn === CHANCE ? session.description.outcomes : session.description.moves;
    const move = legal?.find((each) => names[each].name.toLowerCase() === input.value.trim().toLowerCase());
    if (move === undefined) {
      setProblem(legal ? `“${input.value}” is not legal here` : over ? "The game is over" : "It is not your turn");
      return;
    }
    setProblem("");
    input.value = "";
    void attempt(() => session.play(move));
  };
  const example = legal?.length ? session.description.moves[legal[0]]?.name : "";
  return html`<form class="move-input" onSubmit=${enter}>
    <input id="move-input" type="text" aria-label="Type a move" placeholder=${example ? `Type a move: ${example}` : "Type a move"} autocomplete="off" autocapitalize="off" spellcheck=${false} aria-invalid=${problem ? "true" : undefined} onInput=${() => setProblem("")} />
    ${problem && html`<span class="error" role="alert">${problem}</span>`}
  </form>`;
}

/** Says the moves to those who do not see them. @param {{session: Session}} props */
function Live({ session }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    const hear = (/** @type {any} */ event) => setSaid(event.detail);
    session.addEventListener("said", hear);
    return () => session.removeEventListener("said", hear);
  }, []);
  return html`<div class="unseen" role="log" aria-live="polite" id="live">${said}</div>`;
}

/** Keys that work anywhere on the page. @param {Session} session @param {BoardArea | null} area @param {AgentInfo[]} agents @param {boolean} off */
function useKeys(session, area, agents, off) {
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (off || event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog, [role=tablist], [role=menu]")) return;
      const arrow = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" }[event.key];
      if (arrow && area?.hands.directional()) {
        event.preventDefault();
        area.hands.arrow(arrow);
        return;
      }
      const act = {
        ArrowLeft: () => travel(session, "back"),
        ArrowRight: () => travel(session, "forward"),
        Home: () => travel(session, "first"),
        End: () => travel(session, "end"),
        f: () => area?.flip(),
        h: () => session.guest || void attempt(() => hint(session, agents)),
        u: () => void attempt(async () => session.table?.undo()),
        e: () => document.querySelector(/** @type {any} */ ('.controls [title^="Show on the board"]'))?.click(),
        "/": () => document.getElementById("move-input")?.focus(),
      }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [area, off]);
}

