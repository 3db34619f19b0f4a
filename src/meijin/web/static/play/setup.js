/**
 * Setting up a position: a palette of pieces, clicks on the board, and the rules' answer while one edits.
 *
 * @import {Engine} from "../engine.js"
 * @import {BoardArea} from "./board_area.js"
 * @import {Session} from "./session.js"
 */

import { Button, Segments, attempt, html } from "../ui/kit.js";
import { address, go } from "../ui/router.js";
import { useEffect, useState } from "../vendor/preact.js";
import { NewGame } from "./new_game.js";
import { capital, seatName } from "./tree.js";

/** @param {{engine: Engine, session: Session, area: BoardArea, onClose: () => void}} props */
export function SetUp({ engine, session, area, onClose }) {
  const { description } = session;
  const { view, hands } = area;
  const first = description.pieces.findIndex((_, value) => !view.pieces.empty(value));
  const [piece, setPiece] = useState(Math.max(0, first));
  const [cells, setCells] = useState([...(session.current.look?.cells ?? [])]);
  const [turn, setTurn] = useState(Math.max(0, session.current.look?.turn ?? 0));
  const [verdict, setVerdict] = useState(/** @type {{position?: string, problem?: string}} */ ({}));
  const [starting, setStarting] = useState(false);

  useEffect(() => {
    hands.offer(null, 0);
    hands.editing = true;
    hands.handlers.edit = (cell, event) => {
      const clears = "button" in event && event.button === 2;
      setCells((before) => before.map((value, i) => (i === cell ? next(i, value, clears) : value)));
    };
    hands.refresh();
  }, [piece]);
  useEffect(
    () => () => {
      hands.editing = false;
      area.offered = undefined;
      void session.go(session.current).then(() => {
        view.show(session.current.look?.cells ?? [], { last: session.current.look?.last ?? [] });
        session.dispatchEvent(new Event("change"));
      });
    },
    [],
  );
  useEffect(() => {
    view.show(cells, { last: [] });
    view.layers.overlay.innerHTML = "";
    let live = true;
    const timer = setTimeout(() => {
      engine.setup(session.game, cells, turn).then(
        ({ position }) => live && setVerdict({ position }),
        (error) => live && setVerdict({ problem: error.message }),
      );
    }, 120);
    return () => {
      live = false;
      clearTimeout(timer);
    };
  }, [cells, turn]);

  /** The value after a click: the chosen piece, nothing if it is there already; the next of a cell's own where it cannot stand. @param {number} cell @param {number} value @param {boolean} clears */
  function next(cell, value, clears) {
    const allowed = description.alphabets?.[cell] ?? description.pieces.map((_, i) => i);
    const none = allowed.find((each) => view.pieces.empty(each));
    if (clears) return none ?? value;
    if (allowed.includes(piece)) return value === piece && none !== undefined ? none : piece;
    return allowed[(allowed.indexOf(value) + 1) % allowed.length];
  }

  const on = (/** @type {number} */ value) => description.board.cells.some((cell, i) => cell.tray === null && (description.alphabets?.[i]?.includes(value) ?? true));
  const palette = description.pieces.flatMap((_, value) => (!view.pieces.empty(value) && on(value) ? [value] : []));
  const seats = [...description.seats.keys()].map((value) => ({ value, label: capital(seatName(description, value)) }));
  return html`<aside class="panel setup" aria-label="Set up a position">
    <div class="title"><h1>Set up a position</h1></div>
    <p class="hollow">Choose a piece and click cells. A second click, or the right button, clears a cell.</p>
    <div class="palette" role="group" aria-label="Pieces">
      ${palette.map((value) => html`<button type="button" aria-pressed=${String(value === piece)} aria-label=${view.pieceName(value)} title=${view.pieceName(value)} onClick=${() => setPiece(value)} dangerouslySetInnerHTML=${{ __html: view.icon(value) }}></button>`)}
    </div>
    <div class="row">
      <${Button} label="Clear" icon="trash" onClick=${() => setCells(cells.map((value, i) => (description.alphabets?.[i] ?? [0]).find((each) => view.pieces.empty(each)) ?? value))} />
      <${Button} label="Start position" icon="undo" onClick=${() => void attempt(async () => setCells([...(await engine.look({ game: session.game, moves: [] })).cells]))} />
    </div>
    ${seats.length > 1 && html`<div><h3>To move</h3><${Segments} label="To move" options=${seats} value=${turn} onChange=${setTurn} /></div>`}
    ${verdict.problem ? html`<p class="error" role="alert">${capital(verdict.problem)}</p>` : html`<p class="good" role="status">${verdict.position ? "This position can be played." : "…"}</p>`}
    ${verdict.position && html`<p class="mono position">${verdict.position}</p>`}
    <div class="row end">
      <${Button} label="Cancel" onClick=${onClose} />
      <${Button} label="Look at it" icon="eye" disabled=${!verdict.position} onClick=${() => { onClose(); go(`${address("game", session.game)}?${new URLSearchParams({ p: verdict.position ?? "", m: "" })}`); }} />
      <${Button} kind="main" label="Play" icon="play" disabled=${!verdict.position} onClick=${() => setStarting(true)} />
    </div>
    ${starting && html`<${NewGame} engine=${engine} game=${session.game} session=${session} position=${verdict.position} onClose=${() => setStarting(false)} />`}
  </aside>`;
}
