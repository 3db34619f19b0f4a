/** The rules of a game, from its own help text. */

import { html } from "../ui/kit.js";

/** @param {{description: import("../engine.js").Description}} props */
export function Rules({ description }) {
  const known = new Set(description.parameters.map((parameter) => parameter.name));
  const parts = description.help.split(/\n\s*\n/).filter((part) => part.trim());
  const lines = parts.flatMap((part) => (/^`\w+`:/m.test(part) ? part.split(/\n(?=`\w+`:)/) : [part]));
  return html`<div class="rules">
    ${lines.map((part, i) => {
      const parameter = /^`(\w+)`:\s*(.*)$/s.exec(part);
      if (parameter && known.has(parameter[1])) return html`<p class="parameter"><code>${parameter[1]}</code> ${prose(parameter[2])}</p>`;
      const head = /^([A-Z][\w -]{1,18}):\s+(.*)$/s.exec(part);
      if (head) return html`<h3>${head[1]}</h3><p>${prose(head[2])}</p>`;
      return html`<p class=${i === 0 ? "lead" : ""}>${prose(part)}</p>`;
    })}
  </div>`;
}

/** Text with `code` in it. @param {string} text */
function prose(text) {
  return text.split(/(`[^`]+`)/).map((part) => (part.startsWith("`") ? html`<code>${part.slice(1, -1)}</code>` : part.replace(/\s+/g, " ")));
}
