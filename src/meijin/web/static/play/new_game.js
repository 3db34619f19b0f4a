/**
 * A new game: its parameters, who sits where, clocks.
 *
 * @import {AgentInfo, Description, Engine, SeatInfo} from "../engine.js"
 * @import {Session} from "./session.js"
 */

import { Button, Dialog, Field, Segments, attempt, html, usePromise } from "../ui/kit.js";
import { expression, nameOf } from "../ui/expression.js";
import { go } from "../ui/router.js";
import { useRef, useState } from "../vendor/preact.js";
import { AgentPicker, ParameterField, opponent, remember } from "./opponents.js";
import { begin, tableAddress } from "./open.js";
import { capital, seatName } from "./tree.js";

/**
 * With a session, the same players sit down again and a position other than the start can be kept.
 * @param {{engine: Engine, game: string, session?: Session, position?: string | null, onClose: () => void}} props
 */
export function NewGame({ engine, game, session, position = null, onClose }) {
  const [values, setValues] = useState(/** @type {Record<string, any> | null} */ (null));
  const first = usePromise(() => engine.describe(game), [game]);
  const description = first instanceof Error || !first ? null : first;
  const chosen = description ? expression(nameOf(game), values ?? Object.fromEntries(description.parameters.map((p) => [p.name, p.value ?? p.default])), description.parameters) : game;
  const shown = usePromise(() => engine.describe(chosen), [chosen]);
  const agents = usePromise(() => engine.agents(chosen), [chosen]);
  const latest = useRef(/** @type {{description: Description, agents: AgentInfo[]} | null} */ (null));
  if (shown && agents && !(shown instanceof Error) && !(agents instanceof Error)) latest.current = { description: shown, agents };
  if (first instanceof Error) return html`<${Dialog} title="New game" onClose=${onClose}><p class="error">${first.message}</p><//>`;
  if (!description) return "";
  const problem = shown instanceof Error ? shown.message : agents instanceof Error ? agents.message : "";
  return html`<${Dialog} title=${description.title} onClose=${onClose} wide>
    ${description.parameters.length > 0 &&
    html`<div class="fields">
      ${description.parameters.map((parameter) => html`<${ParameterField} parameter=${parameter} value=${values ? values[parameter.name] : parameter.value} onChange=${(/** @type {any} */ value) => setValues({ ...Object.fromEntries(description.parameters.map((p) => [p.name, p.value ?? p.default])), ...values, [parameter.name]: value })} />`)}
    </div>`}
    ${problem && html`<p class="error" role="alert">${problem}</p>`}
    ${latest.current && html`<${Seats} key=${latest.current.description.seats.length} engine=${engine} game=${chosen} description=${latest.current.description} agents=${latest.current.agents} session=${session} position=${values ? null : position} ready=${!problem} onClose=${onClose} />`}
  <//>`;
}

/** @param {{engine: Engine, game: string, description: Description, agents: AgentInfo[], session?: Session, position: string | null, ready: boolean, onClose: () => void}} props */
function Seats({ engine, game, description, agents, session, position, ready, onClose }) {
  const usual = opponent(agents);
  const [seats, setSeats] = useState(() => /** @type {SeatInfo[]} */ (
    description.seats.map((_, seat) => {
      const before = session?.table && session.description.seats.length === description.seats.length ? session.seats[seat] : null;
      return before ? { kind: before.kind, agent: before.agent, name: before.name } : { kind: seat === 0 ? "person" : "agent" };
    })
  ));
  const [clock, setClock] = useState(/** @type {{seconds: number, increment: number} | null} */ (null));
  const here = position === null && session && !session.table && session.current.ply ? session.current : null;
  const [kept, setKept] = useState(here !== null || position !== null);
  const set = (/** @type {number} */ seat, /** @type {Partial<SeatInfo>} */ change) => setSeats(seats.map((each, k) => (k === seat ? { ...each, ...change } : each)));
  const start = () =>
    attempt(async () => {
      const sitting = seats.map(({ kind, agent, name }) => /** @type {SeatInfo} */ (kind === "person" ? { kind, name: name ?? "" } : { kind, agent: agent ?? usual }));
      sitting.forEach((seat) => remember(seat.agent));
      const from = kept && here && session ? { position: session.position, moves: here.line } : kept ? { position } : {};
      const watching = sitting.every((seat) => seat.kind === "agent");
      const made = await begin(engine, { game, ...from, seats: sitting, clock, speed: watching ? 0.5 : 0 });
      onClose();
      go(tableAddress(made));
    });
  return html`<div class="seat-forms">
      ${seats.map(
        (seat, k) => html`<fieldset class="seat-form">
          <legend><i class="chip" style=${{ background: description.seats[k].colour ?? "var(--faint)" }}></i>${capital(seatName(description, k))}</legend>
          <${Segments} small label=${seatName(description, k)} value=${seat.kind} onChange=${(/** @type {any} */ kind) => set(k, { kind })} options=${[{ value: "person", label: "Person", icon: "person" }, { value: "agent", label: "Agent", icon: "agent" }]} />
          ${seat.kind === "agent" && html`<${AgentPicker} agents=${agents} value=${seat.agent ?? usual} label="Agent for ${seatName(description, k)}" onChange=${(/** @type {string} */ agent) => set(k, { agent })} />`}
        </fieldset>`,
      )}
      ${seats.length === 2 && html`<${Button} icon="flip" label="Swap seats" onClick=${() => setSeats([...seats].reverse())} />`}
    </div>
    <div class="fields">
      <${Field} label="Clock"><select value=${clock ? `${clock.seconds}+${clock.increment}` : ""} onChange=${(/** @type {any} */ e) => {
        const [seconds, increment] = e.target.value.split("+").map(Number);
        setClock(e.target.value ? { seconds, increment } : null);
      }}>
        <option value="">none</option><option value="60+1">1 minute + 1 s a move</option><option value="300+3">5 minutes + 3 s</option><option value="900+10">15 minutes + 10 s</option>
      </select><//>
      ${(here || position) && html`<label class="field check"><input type="checkbox" checked=${kept} onChange=${(/** @type {any} */ e) => setKept(e.target.checked)} /><span class="name">Begin from the position shown</span></label>`}
    </div>
    <div class="row end"><${Button} kind="main" icon="play" label="Play" id="begin" disabled=${!ready} onClick=${() => void start()} /></div>`;
}
