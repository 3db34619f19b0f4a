/**
 * Who plays against a person: the champion's levels, or searches where a game has none, or any agent by form or by expression.
 *
 * @import {AgentInfo, Parameter} from "../engine.js"
 */

import { Field, html } from "../ui/kit.js";
import { argumentsOf, expression, nameOf } from "../ui/expression.js";
import { settings } from "../ui/settings.js";
import { useState } from "../vendor/preact.js";

/** @typedef {{name: string, agent: string, about: string}} Level */

/** @type {Level[]} those of a champion, weakest first */
export const LEVELS = ["beginner", "easy", "easy", "medium", "medium", "medium", "hard", "hard", "hard", "full strength"].map((about, i, all) => ({
  name: `Level ${i + 1}`,
  agent: i + 1 < all.length ? `champion(level=${i + 1})` : "champion",
  about,
}));
const NEWCOMER = LEVELS[2];

/** @type {Level[]} of games whose champion has no levels, weakest first */
const SEARCHES = [
  { name: "Random", agent: "random", about: "any legal move" },
  { name: "Easy", agent: "mcts(simulations=40)", about: "looks 40 times" },
  { name: "Medium", agent: "mcts(simulations=600)", about: "looks 600 times" },
  { name: "Hard", agent: "mcts(seconds=1)", about: "thinks for a second" },
  { name: "Deep", agent: "alphabeta(seconds=2)", about: "alpha-beta, two seconds" },
  { name: "Champion", agent: "champion(simulations=200)", about: "the strongest trained net" },
];

/** How hard a game is to be: of the champion where it has levels, else of searches. @param {AgentInfo[]} agents @returns {Level[]} */
export function levels(agents) {
  const fits = (/** @type {string} */ name) => agents.some((agent) => agent.name === name && agent.unfit === null);
  const own = agents.flatMap(({ level, example, unfit }) => (level && unfit === null ? [{ ...level, agent: example }] : []));
  if (agents.some((agent) => agent.levels && agent.unfit === null)) return [...LEVELS, ...own];
  return [...SEARCHES.filter(({ name, agent }) => fits(nameOf(agent)) && (name !== "Deep" || !fits("champion"))), ...own];
}

/** The level that somebody chose last. */
export const usualLevel = () => LEVELS[settings.get("level", 0) - 1] ?? NEWCOMER;

/** Play at that level from now on, if it is one. @param {string | null | undefined} agent */
export function remember(agent) {
  const level = LEVELS.findIndex(({ name }) => name === agentTitle(agent)) + 1;
  if (level) settings.set("level", level);
}

/** Who a person plays against who has not said. @param {AgentInfo[]} agents */
export function opponent(agents) {
  const all = levels(agents);
  const usual = all.find((level) => level === usualLevel()) ?? all.find((level) => level.name === "Medium") ?? all.at(-1);
  return usual?.agent ?? agents.find((agent) => agent.unfit === null)?.example ?? "random";
}

/** Who explains a position. @param {AgentInfo[]} agents */
export function adviser(agents) {
  const fits = (/** @type {string} */ name) => agents.find((agent) => agent.name === name && agent.unfit === null);
  return fits("champion") ? "champion" : fits("mcts") ? "mcts" : agents.find((agent) => agent.unfit === null)?.example ?? "mcts";
}

/** How an agent is called in a few words. @param {string | null | undefined} text */
export function agentTitle(text) {
  const agent = text === "champion(level=10)" ? "champion" : text;
  return [...LEVELS, ...SEARCHES].find((level) => level.agent === agent)?.name ?? text ?? "";
}

/** One field of a form for a parameter. Its help is shown on hover. @param {{parameter: Parameter, value: any, onChange: (value: any) => void}} props */
export function ParameterField({ parameter, value, onChange }) {
  const { name, kind, choices, low, high, help } = parameter;
  const label = name.replaceAll("_", " ");
  const shown = value ?? parameter.default;
  if (kind === "bool") {
    return html`<label class="field check" title=${help}><input type="checkbox" name=${name} checked=${!!shown} onChange=${(/** @type {any} */ e) => onChange(e.target.checked)} /><span class="name">${label}</span></label>`;
  }
  if (choices?.length) {
    return html`<${Field} label=${label} title=${help}><select name=${name} value=${String(shown)} onChange=${(/** @type {any} */ e) => onChange(choices.find((choice) => String(choice) === e.target.value))}>
      ${choices.map((choice) => html`<option value=${String(choice)} selected=${choice === shown}>${String(choice).replaceAll("_", " ")}</option>`)}
    </select><//>`;
  }
  if (kind === "int" || kind === "float") {
    const bounds = low !== null && low !== undefined && high !== null && high !== undefined ? ` (${low} to ${high})` : "";
    return html`<${Field} label=${label + bounds} title=${help}>
      <input type="number" name=${name} min=${low} max=${high} step=${kind === "int" ? 1 : "any"} value=${shown ?? ""} placeholder=${shown === null ? "default" : ""}
        onInput=${(/** @type {any} */ e) => onChange(e.target.value === "" ? null : Number(e.target.value))} />
    <//>`;
  }
  const text = Array.isArray(shown) ? shown.join(", ") : (shown ?? "");
  const read = (/** @type {string} */ typed) => (kind === "tuple" ? typed.split(/[\s,]+/).filter(Boolean).map(Number) : typed);
  return html`<${Field} label=${label} title=${help}><input type="text" name=${name} value=${text} onChange=${(/** @type {any} */ e) => onChange(read(e.target.value))} spellcheck=${false} /><//>`;
}

/**
 * A form for an agent: a level, or an agent with its parameters, or an expression.
 * @param {{agents: AgentInfo[], value: string, onChange: (agent: string) => void, label: string}} props
 */
export function AgentPicker({ agents, value, onChange, label }) {
  const all = levels(agents);
  const level = all.find((each) => each.agent === value || each.name === agentTitle(value));
  const [asked, setAsked] = useState(!level);
  const detailed = asked || !level;
  const name = nameOf(value);
  const info = agents.find((agent) => agent.name === name);
  const given = argumentsOf(value);
  const choose = (/** @type {string} */ chosen) => {
    setAsked(chosen === "…");
    if (chosen !== "…") onChange(chosen);
  };
  return html`<div class="agent-picker">
    <select aria-label=${label} value=${detailed ? "…" : level.agent} onChange=${(/** @type {any} */ e) => choose(e.target.value)}>
      ${all.map((each) => html`<option value=${each.agent} selected=${!detailed && each === level}>${each.name} · ${each.about}</option>`)}
      <option value="…" selected=${detailed}>Another agent …</option>
    </select>
    ${detailed &&
    html`<div class="agent-form">
      <${Field} label="Agent" help=${info?.unfit ?? info?.summary ?? ""}>
        <select value=${name} onChange=${(/** @type {any} */ e) => onChange(agents.find((agent) => agent.name === e.target.value)?.example ?? e.target.value)}>
          ${agents.filter((agent) => agent.name !== "human").map((agent) => html`<option value=${agent.name} selected=${agent.name === name} disabled=${agent.unfit !== null}>${agent.name}${agent.unfit ? " (does not fit)" : ""}</option>`)}
        </select>
      <//>
      <div class="fields">
        ${(info?.parameters ?? []).filter((parameter) => parameter.kind !== "agent").slice(0, 8).map((parameter) => html`<${ParameterField} key=${name + parameter.name} parameter=${parameter} value=${given[parameter.name]} onChange=${(/** @type {any} */ v) => onChange(expression(name, { ...given, [parameter.name]: v }, info?.parameters ?? []))} />`)}
      </div>
      <${Field} label="Expression"><input type="text" class="mono" value=${value} onChange=${(/** @type {any} */ e) => onChange(e.target.value.trim())} spellcheck=${false} /><//>
    </div>`}
  </div>`;
}

/**
 * The agent that looks at positions: one of those that fit, or any expression.
 * @param {{agents: AgentInfo[], value: string, onChange: (agent: string) => void, label: string}} props
 */
export function AnalystPicker({ agents, value, onChange, label }) {
  const fit = agents.filter((agent) => agent.unfit === null && !["human", "random"].includes(agent.name) && !agent.parameters.some((parameter) => parameter.needed));
  const known = fit.some((agent) => agent.name === value);
  const [open, setOpen] = useState(!known);
  return html`<div class="agent-picker">
    <select aria-label=${label} value=${open ? "…" : value} onChange=${(/** @type {any} */ e) => {
      setOpen(e.target.value === "…");
      if (e.target.value !== "…") onChange(e.target.value);
    }}>
      ${fit.map((agent) => html`<option value=${agent.name} selected=${!open && agent.name === value}>${agent.name}</option>`)}
      <option value="…" selected=${open}>Expression …</option>
    </select>
    ${open && html`<input type="text" class="mono" aria-label="${label}: expression" value=${value} onChange=${(/** @type {any} */ e) => onChange(e.target.value.trim())} spellcheck=${false} />`}
  </div>`;
}
