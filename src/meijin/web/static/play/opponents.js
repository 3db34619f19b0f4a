/**
 * Who plays against a person: a few levels that every game has, or any agent by form or by expression.
 *
 * @import {AgentInfo, Parameter} from "../engine.js"
 */

import { Field, html } from "../ui/kit.js";
import { argumentsOf, expression, nameOf } from "../ui/expression.js";
import { useState } from "../vendor/preact.js";

/** @typedef {{name: string, agent: string, about: string}} Level */

/** @type {Level[]} weakest first */
const LEVELS = [
  { name: "Random", agent: "random", about: "any legal move" },
  { name: "Easy", agent: "mcts(simulations=40)", about: "looks 40 times" },
  { name: "Medium", agent: "mcts(simulations=600)", about: "looks 600 times" },
  { name: "Hard", agent: "mcts(seconds=1)", about: "thinks for a second" },
  { name: "Deep", agent: "alphabeta(seconds=2)", about: "alpha-beta, two seconds" },
  { name: "Champion", agent: "champion(simulations=200)", about: "the strongest trained net" },
];

/** Those that can play a game: the champion where there is one, else alpha-beta. @param {AgentInfo[]} agents @returns {Level[]} */
export function levels(agents) {
  const fits = (/** @type {string} */ name) => agents.some((agent) => agent.name === name && agent.unfit === null);
  const own = agents.flatMap(({ level, example, unfit }) => (level && unfit === null ? [{ ...level, agent: example }] : []));
  return [...LEVELS.filter(({ name, agent }) => fits(nameOf(agent)) && (name !== "Deep" || !fits("champion"))), ...own];
}

/** Who a newcomer plays against. @param {AgentInfo[]} agents */
export function opponent(agents) {
  const all = levels(agents);
  return (all.find((level) => level.name === "Medium") ?? all[all.length - 1])?.agent ?? agents.find((agent) => agent.unfit === null)?.example ?? "random";
}

/** Who explains a position. @param {AgentInfo[]} agents */
export function adviser(agents) {
  const fits = (/** @type {string} */ name) => agents.find((agent) => agent.name === name && agent.unfit === null);
  return fits("champion") ? "champion" : fits("mcts") ? "mcts" : agents.find((agent) => agent.unfit === null)?.example ?? "mcts";
}

/** How an agent is called in a few words. @param {string | null | undefined} text */
export function agentTitle(text) {
  return LEVELS.find((level) => level.agent === text)?.name ?? text ?? "";
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
  const [detailed, setDetailed] = useState(!all.some((level) => level.agent === value));
  const name = nameOf(value);
  const info = agents.find((agent) => agent.name === name);
  const given = argumentsOf(value);
  const choose = (/** @type {string} */ chosen) => {
    if (chosen === "…") {
      setDetailed(true);
      return;
    }
    setDetailed(false);
    onChange(chosen);
  };
  return html`<div class="agent-picker">
    <select aria-label=${label} value=${detailed ? "…" : value} onChange=${(/** @type {any} */ e) => choose(e.target.value)}>
      ${all.map((level) => html`<option value=${level.agent} selected=${!detailed && level.agent === value}>${level.name} · ${level.about}</option>`)}
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
