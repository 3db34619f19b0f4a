"""Minishogi games as USI engines take them: `position startpos moves 5d5c ...`, one line per game.

    # {"game": "minishogi", "agents": ["random", "mcts"], "scores": [-1.0, 1.0], "ending": "rules"}
    position startpos moves 4e3d 2a3b ...
    # notes [{"seconds": 0.1}, ...]

The comment lines hold the rest as JSON. Lines of other programs have none; those without `position` are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from meijin.arena.formats.common import Draft, Ply, RecordFile, Steppers, finish, follow
from meijin.arena.formats.header import describe, describe_note, to_json
from meijin.arena.record import GameRecord
from meijin.core.config import short
from meijin.core.errors import BadParameter
from meijin.core.game import OVER

SUFFIXES = (".usi",)
GAME = "minishogi"
START = "rbsgk/4p/5/P4/KGSBR b - 1"

_POSITION = re.compile(
    r"(?:position\s+)?(?:startpos|sfen\s+(?P<sfen>\S+\s+\S+\s+\S+(?:\s+\d+)?))(?:\s+moves\b(?P<moves>.*))?"
)


def write(records: Iterable[GameRecord], file: TextIO) -> int:
    steppers, count = Steppers(), 0
    for record in records:
        expect_minishogi(record, "USI")
        stepper, line = steppers.replay(record)
        names = [move.name for _, move in line]
        file.write(f"# {to_json(describe(record))}\n")
        begin = f"sfen {record.task.begin(stepper.game).position}" if record.task.position else "startpos"
        file.write(" ".join([f"position {begin}", *(["moves"] if names else []), *names]) + "\n")
        if record.notes:
            file.write(f"# notes {to_json([describe_note(note) for note in record.notes])}\n")
        file.write("\n")
        count += 1
    return count


def expect_minishogi(record: GameRecord, name: str) -> None:
    if record.task.game.partition("(")[0] != GAME:
        raise BadParameter(f"{name} is for minishogi, not for {record.task.game}; write jsonl, sgf or pgn")


def expect_start(record: GameRecord, name: str) -> None:
    if record.task.position:
        raise BadParameter(
            f"{name} files hold games from the start, and this one began with '{record.task.position}'; write usi, "
            "jsonl, sgf or pgn"
        )


def read(source: RecordFile) -> Iterator[GameRecord]:
    steppers = Steppers()
    fields: dict[str, Any] | None = None  # the header of the next game
    draft: Draft | None = None  # the latest game: its notes may follow
    number = 1
    for number, line in source.lines():
        text = line.strip()
        if text.startswith("# notes "):
            if draft is None:
                source.fail(number, "notes without a game before them")
            _take_notes(draft, text.removeprefix("# notes "), number, source)
        elif text.startswith("# {"):
            if fields is not None:
                source.fail(number, "two headers without a game between them")
            fields = source.json(text[2:], number)
        elif text and not text.startswith("#"):
            if draft is not None:
                yield completed(draft, source, steppers)
            draft, fields = _draft(text, number, fields or {}, source), None
    if fields is not None:
        source.fail(number, "the file ends after a header, before its game")
    if draft is None:
        source.fail(1, "no game found; a game is a line such as 'position startpos moves 4e3d'")
    yield completed(draft, source, steppers)


def _draft(text: str, number: int, fields: dict[str, Any], source: RecordFile) -> Draft:
    position = _POSITION.fullmatch(text)
    if position is None:
        source.fail(number, f"{short(text)} is not a game, such as 'position startpos moves 4e3d'")
    if position["sfen"] and position["sfen"].split()[:3] != START.split()[:3]:
        fields = {"position": position["sfen"], **fields}
    return Draft(number, fields, [Ply(word, number) for word in (position["moves"] or "").split()])


def _take_notes(draft: Draft, text: str, number: int, source: RecordFile) -> None:
    notes = source.json(f'{{"notes": {text}}}', number).get("notes")
    if not isinstance(notes, list) or len(notes) != len(draft.plies):
        source.fail(number, f"{short(notes)} is not a list of {len(draft.plies)} notes, one per move")
    draft.noted = bool(notes)
    for ply, note in zip(draft.plies, notes, strict=True):
        ply.note = source.note(note, number)


def completed(draft: Draft, source: RecordFile, steppers: Steppers) -> GameRecord:
    """The record; a game without a header gets the result that the rules give it."""
    if str(draft.fields.get("game", GAME)).partition("(")[0] != GAME:
        source.fail(draft.line, f"{short(draft.fields['game'])} in a file of minishogi games")
    if "scores" not in draft.fields:
        with source.at(draft.line):
            stepper = steppers.start(GAME, str(draft.fields.get("position", "")))
        follow(draft.plies, stepper, source)
        ended = {"ending": "rules"} if stepper.turn == OVER else {"ending": "cap", "reason": "no result in the file"}
        result = {"scores": list(stepper.scores), **ended}
        draft.fields = {"game": GAME, "agents": ["?", "?"], **draft.fields, **result}
    return finish(draft, source, steppers)


def completed_from_start(draft: Draft, source: RecordFile, steppers: Steppers, name: str) -> GameRecord:
    """The record, in formats in which games begin at the start."""
    record = completed(draft, source, steppers)
    with source.at(draft.line):
        expect_start(record, name)
    return record
