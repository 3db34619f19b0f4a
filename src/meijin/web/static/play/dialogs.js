/**
 * Share, import and export, settings.
 *
 * @import {BoardArea} from "./board_area.js"
 */

import { download, pngBlob, svgText } from "../board/export.js";
import { Button, Dialog, Segments, attempt, html, toast, usePromise } from "../ui/kit.js";
import { go } from "../ui/router.js";
import { settings, theme } from "../ui/settings.js";
import { useState } from "../vendor/preact.js";
import { gameAddress, tableAddress } from "./open.js";
import { Session } from "./session.js";
import { capital, moveName, seatName } from "./tree.js";

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without HTTPS browsers have only the old way.
    const area = Object.assign(document.createElement("textarea"), { value: text });
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) {
      toast("Copying is not allowed here; select the text and copy it by hand.", "error");
      return;
    }
  }
  toast("Copied.");
}

/** @param {{label: string, help: string, url: string}} props */
function LinkRow({ label, help, url }) {
  return html`<div class="link-row"><div><b>${label}</b><span class="help">${help}</span></div>
    <div class="copy"><input type="text" readonly value=${url} aria-label=${label} onFocus=${(/** @type {any} */ e) => e.target.select()} /><${Button} icon="link" label="Copy" onClick=${() => void copy(url)} /></div></div>`;
}

/** @param {{session: Session, area: BoardArea | null, onClose: () => void}} props */
export function ShareDialog({ session, onClose }) {
  const { state, description, engine } = session;
  const packed = usePromise(() => gameAddress(session), []);
  const base = location.href.split("#")[0];
  const keys = state?.keys;
  const own = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  return html`<${Dialog} title="Share" onClose=${onClose}>
    ${own && html`<p class="help">This server answers this computer only. For links that others can open, start it with <code>meijin serve --host 0.0.0.0</code>.</p>`}
    ${typeof packed === "string" && html`<${LinkRow} label="The game so far" help="The link itself holds the moves, variations and comments. Nothing is stored anywhere." url=${base + packed} />`}
    ${keys && engine.features.links &&
    html`<h3>At this table</h3>
      ${state?.seats.map((seat, k) => (seat.kind === "person" ? html`<${LinkRow} label="Play as ${seatName(description, k)}" help="Whoever has this link may play for ${seatName(description, k)}." url=${base + tableAddress(session, keys.seats[k])} />` : ""))}
      <${LinkRow} label="Watch" help="Whoever has this link sees the game as it is played." url=${base + tableAddress(session, keys.watch)} />`}
  <//>`;
}

/** @param {{session: Session, area: BoardArea | null, onClose: () => void}} props */
export function RecordsDialog({ session, area, onClose }) {
  const { engine, description } = session;
  const [text, setText] = useState("");
  const formats = engine.features.records ?? [];
  const name = description.name;
  const end = session.current.main.at(-1) ?? session.current;
  const comments = Object.fromEntries(end.path.filter((node) => node.comment).map((node) => [String(node.ply), node.comment]));
  const write = (/** @type {string} */ format) =>
    attempt(async () => download(await engine.record({ ...session.place(end), names: session.seats.map((seat) => seat.name || seat.agent || "person"), comments }, format), `${name}.${format}`));
  const moves = end.path.slice(1).map((node) => moveName(description, node)).join(" ");
  const read = (/** @type {string} */ content) =>
    attempt(async () => {
      const [found] = await engine.read(content, session.game);
      if (!found) throw new Error("There is no game in this text.");
      const nodes = found.moves.map((move, i) => ({ parent: i - 1, move, comment: found.comments?.[String(i + 1)] ?? "" }));
      const made = await Session.study(engine, { game: found.game, position: found.position, notes: { comment: found.comments?.["0"] ?? "", nodes }, ply: nodes.length });
      onClose();
      go(await gameAddress(made));
    });
  return html`<${Dialog} title="Import or export" onClose=${onClose}>
    <h3>Picture of this position</h3>
    <div class="row">
      <${Button} icon="picture" label="PNG" onClick=${() => area && void attempt(async () => download(await pngBlob(area.view), `${name}.png`))} />
      <${Button} icon="picture" label="SVG" onClick=${() => area && download(svgText(area.view), `${name}.svg`)} />
      ${engine.picture && engine.features.pictures?.includes("gif") && html`<${Button} icon="play" label="Game as GIF" onClick=${() => void attempt(async () => download(await /** @type {any} */ (engine).picture(session.place(end), "gif"), `${name}.gif`))} />`}
    </div>
    <h3>Game record</h3>
    <div class="row">
      ${formats.map((format) => html`<${Button} icon="download" label=${format.toUpperCase()} onClick=${() => void write(format)} />`)}
      <${Button} icon="link" label="Copy moves" onClick=${() => void copy(moves)} />
    </div>
    ${formats.length > 0 &&
    html`<h3>Open a record</h3>
      <textarea rows="5" class="mono" aria-label="Record" placeholder="Paste a record (${formats.join(", ")}) …" value=${text} onInput=${(/** @type {any} */ e) => setText(e.target.value)}></textarea>
      <div class="row">
        <${Button} kind="main" icon="upload" label="Open" disabled=${!text.trim()} onClick=${() => void read(text)} />
        <label class="button plain file"><input type="file" class="unseen" onChange=${async (/** @type {any} */ e) => e.target.files[0] && void read(await e.target.files[0].text())} /><span>Choose a file</span></label>
      </div>`}
  <//>`;
}

/** @param {{onClose: () => void}} props */
export function SettingsDialog({ onClose }) {
  const [, again] = useState(0);
  const set = (/** @type {string} */ name, /** @type {any} */ value) => {
    settings.set(name, value);
    again((n) => n + 1);
  };
  const check = (/** @type {string} */ name, /** @type {string} */ label) => html`<label class="field check"><input type="checkbox" checked=${settings.get(name, true)} onChange=${(/** @type {any} */ e) => set(name, e.target.checked)} /><span class="name">${label}</span></label>`;
  return html`<${Dialog} title="Settings" onClose=${onClose}>
    <h3>Theme</h3>
    <${Segments} label="Theme" value=${theme()} onChange=${(/** @type {string} */ value) => set("theme", value)} options=${["light", "dark", "wood"].map((value) => ({ value, label: capital(value), icon: { light: "sun", dark: "moon", wood: "wood" }[value] }))} />
    <h3>Board</h3>
    ${check("labels", "Coordinates")} ${check("targets", "Mark where one can move")} ${check("overlay", "Show on the board what agents think")}
    <h3>Keys</h3>
    <dl class="keys">
      <dt>← → Home End</dt><dd>through the moves</dd>
      <dt>Arrows, Enter</dt><dd>on the board: move the cursor, click</dd>
      <dt>U H E F</dt><dd>take back, hint, thoughts, flip</dd>
      <dt>/</dt><dd>type a move</dd>
    </dl>
  <//>`;
}

