"""Minishogi games as USI engines take them: `position startpos moves 5d5c ...`, a line a game.

    # {"game": "minishogi", "agents": ["random", "mcts"], "scores": [-1.0, 1.0], "ending": "rules"}
    position startpos moves 4e3d 2a3b ...
    # notes [{"seconds": 0.1}, ...]

The remarks say the rest, as JSON; lines of other programs have none. A line without `position` is read too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from meijin.arena.formats.common import Draft, Ply, Rules, Source, finish, follow
from meijin.arena.formats.fields import describe, describe_note, read_note, short
from meijin.arena.formats.jsonl import parse
from meijin.arena.record import GameRecord
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import OVER

SUFFIXES = (".usi",)
GAME = "minishogi"
START = "rbsgk/4p/5/P4/KGSBR b - 1"

_POSITION = re.compile(
    r"(?:position\s+)?(?:startpos|sfen\s+(?P<sfen>\S+\s+\S+\s+\S+(?:\s+\d+)?))(?:\s+moves\b(?P<moves>.*))?"
)


def write(records: Iterable[GameRecord], file: TextIO) -> int:
    rules, count = Rules(), 0
    for record in records:
        expect_minishogi(record, "USI")
        names = [move.name for _, move in rules.line(record)]
        file.write(f"# {json.dumps(describe(record), ensure_ascii=False, allow_nan=False)}\n")
        file.write(" ".join(["position startpos", *(["moves"] if names else []), *names]) + "\n")
        if record.notes:
            notes = [describe_note(note) for note in record.notes]
            file.write(f"# notes {json.dumps(notes, ensure_ascii=False, allow_nan=False)}\n")
        file.write("\n")
        count += 1
    return count


def expect_minishogi(record: GameRecord, name: str) -> None:
    if record.task.game.partition("(")[0] != GAME:
        raise BadParameter(f"{name} is for minishogi, not for {record.task.game}; write jsonl, sgf or pgn")


def read(source: Source) -> Iterator[GameRecord]:
    rules, found = Rules(), False
    said: dict[str, Any] | None = None  # of the game that comes
    draft: Draft | None = None  # the game that was read last: its notes may follow
    for number, line in source.lines():
        text = line.strip()
        if not text:
            continue
        if text.startswith("# notes "):
            if draft is None:
                source.fail(number, "notes without a game before them")
            _take_notes(draft, text.removeprefix("# notes "), number, source)
        elif text.startswith("#"):
            if text.startswith("# {"):
                if said is not None:
                    source.fail(number, "headers twice, without a game between them")
                said = parse(text[2:], number, source)
        else:
            if draft is not None:
                yield completed(draft, source, rules)
            draft, said, found = _draft(text, number, said, source), None, True
    if said is not None:
        source.fail(number, "the file ends after headers, before their game")
    if draft is not None:
        yield completed(draft, source, rules)
    if not found:
        source.fail(1, "no game found; one is a line such as 'position startpos moves 4e3d'")


def _draft(text: str, number: int, said: dict[str, Any] | None, source: Source) -> Draft:
    position = _POSITION.fullmatch(text)
    if position is None:
        source.fail(number, f"{short(text)} is not a game, such as 'position startpos moves 4e3d'")
    if position["sfen"] and position["sfen"].split()[:3] != START.split()[:3]:
        source.fail(number, f"sfen {position['sfen']}: only games from the start '{START}' can be read")
    plies = [Ply(word, number) for word in (position["moves"] or "").split()]
    return Draft(number, {} if said is None else said, plies)


def _take_notes(draft: Draft, text: str, number: int, source: Source) -> None:
    notes = parse(f'{{"notes": {text}}}', number, source)["notes"]
    if not isinstance(notes, list) or len(notes) != len(draft.plies):
        source.fail(number, f"{short(notes)} is not a list of {len(draft.plies)} notes, one a move")
    draft.noted = True
    for ply, note in zip(draft.plies, notes, strict=True):
        try:
            ply.note = read_note(note)
        except MeijinError as error:
            source.fail(number, str(error))


def completed(draft: Draft, source: Source, rules: Rules) -> GameRecord:
    """The record; a game without headers gets what the rules say of it."""
    if str(draft.said.get("game", GAME)).partition("(")[0] != GAME:
        source.fail(draft.line, f"{short(draft.said['game'])} in a file for minishogi")
    if "scores" not in draft.said:
        draft.said = {"game": GAME, "agents": ["?", "?"], **draft.said}
        walk = rules.walk(GAME)
        follow(draft.plies, walk, source)
        if walk.turn == OVER:
            draft.said |= {"scores": list(walk.scores), "ending": "rules"}
        else:
            draft.said |= {"scores": list(walk.scores), "ending": "cap", "reason": "no result in the file"}
    return finish(draft, source, rules)
