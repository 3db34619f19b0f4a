"""Game records in the arena's formats: written from a line of moves, read from what a person pastes or drops."""

from __future__ import annotations

import io
import itertools
import re
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.core.errors import BadParameter, MeijinError
from meijin.web.server.work.rules import game_of, numbers

if TYPE_CHECKING:
    from meijin.arena.record import GameRecord
    from meijin.web.server.work.worker import Ask

MOST_GAMES = 200  # of one text


def write_record(ask: Ask) -> str:
    """A game as text: of a table, or of any line of moves."""
    from meijin.arena import formats

    file = io.StringIO()
    formats.write_to([_record(ask.args)], file, ask.args["format"])
    return file.getvalue()


def _record(args: dict[str, Any]) -> GameRecord:
    from meijin.arena.judges import forfeited
    from meijin.arena.record import GameRecord, MoveNote, Task

    game, moves = game_of(args["game"]), tuple(args["moves"])
    agents = tuple(args["agents"]) or tuple(game.seat_name(seat) for seat in range(game.seats))
    if len(agents) != game.seats:
        raise BadParameter(f"{len(agents)} names for the {game.seats} seats of {game}")
    task = Task(str(game), agents, position=args["position"] or "")
    state = task.begin(game).play_line(moves)
    lost = args["lost"]  # the seat that resigned or ran out of time
    ending, reason, scores = "cap", "unfinished", state.scores
    if state.is_over:
        ending, reason = "rules", ""
    elif lost is not None:
        ending, reason, scores = "forfeit", args["reason"], forfeited(game, lost)
    notes = tuple(
        MoveNote(seconds, None if value is None or None in value else tuple(value))
        for seconds, value in itertools.zip_longest(args["seconds"], args["values"])
    )
    began = datetime.fromtimestamp(args["began"], UTC).isoformat(timespec="seconds") if args["began"] else ""
    return GameRecord(
        task,
        moves,
        scores,
        ending,
        lost if ending == "forfeit" else None,
        reason,
        notes=notes if len(notes) == len(moves) and any(note != MoveNote() for note in notes) else (),
        began=began,
    )


def read_records(ask: Ask) -> dict[str, Any]:
    """The games of a text; an error names the line."""
    from meijin.arena import formats

    text, name = ask.args["text"], ask.args["format"]
    name = name or guess(text)
    if name not in formats.READABLE:
        raise BadParameter(f"unknown format '{name}'; known: {', '.join(formats.READABLE)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"record.{name}"
        path.write_text(text, encoding="utf-8", newline="")
        try:
            found = list(itertools.islice(formats.read(path, name), MOST_GAMES + 1))
        except MeijinError as error:
            raise BadParameter(str(error).replace(str(path), "the record")) from None
    if not found:
        raise BadParameter("there is no game in this text")
    return {
        "format": name,
        "games": [game_of_record(record) for record in found[:MOST_GAMES]],
        "more": len(found) > MOST_GAMES,
    }


def guess(text: str) -> str:
    """The format that a text looks like."""
    head = text.lstrip("\ufeff \t\r\n")[:4000]
    if head.startswith("{"):
        return "jsonl"
    if re.match(r"(?:\d+\s+)?\(;\s*GM\[Othello\]", head):
        return "ggf"
    if head.startswith("("):
        return "sgf"
    if head.startswith("["):
        return "pgn"
    if "手合割" in head or "手数" in head or head.startswith("#"):
        return "kif"
    if re.match(r"V\d|'|N[+-]|P[1-9I]|[+-]\d{4}[A-Z]", head):
        return "csa"
    return "usi"


def game_of_record(record: GameRecord) -> dict[str, Any]:
    """A record as a page reads it."""
    task = record.task
    return {
        "game": task.game,
        "position": task.position or None,
        "moves": list(record.moves),
        "agents": list(task.agents),
        "scores": numbers(record.scores),
        "ending": record.ending,
        "lost": record.forfeit,
        "reason": record.reason,
        "event": task.event,
        "began": record.began,
        "values": [None if note.value is None else numbers(note.value) for note in record.notes],
        "headers": record.headers,
    }


def calls() -> dict[str, Callable[[Ask], Any]]:
    return {fn.__name__: fn for fn in (write_record, read_records)}
