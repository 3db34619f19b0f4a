"""JSON lines: a game a line, all that is known of it. The format to keep and to exchange games in without loss.

    {"game": "tic_tac_toe", "agents": ["random", "mcts"], "scores": [-1.0, 1.0], "ending": "rules",
     "moves": ["b2", "a1", ...], "notes": [{"seconds": 0.1, "value": [0.2, -0.2]}, ...], ...}

Moves are written by name; numbers are read too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, TextIO

from meijin.arena.formats.common import Draft, Ply, Rules, Source, finish
from meijin.arena.formats.fields import describe, describe_note, read_note, short
from meijin.arena.record import GameRecord
from meijin.core.errors import MeijinError

SUFFIXES = (".jsonl", ".ndjson")
MOST_LINE = 32 << 20  # bytes of one game
MOST_PLIES = 1_000_000


def write(records: Iterable[GameRecord], file: TextIO) -> int:
    rules, count = Rules(), 0
    for record in records:
        said = describe(record)
        said["moves"] = [move.name for _, move in rules.line(record)]
        if record.notes:
            said["notes"] = [describe_note(note) for note in record.notes]
        file.write(json.dumps(said, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")
        count += 1
    return count


def read(source: Source) -> Iterator[GameRecord]:
    rules = Rules()
    with source.path.open("rb") as file:  # line by line: such a file may be far larger than memory
        for number, raw in enumerate(iter(lambda: file.readline(MOST_LINE + 1), b""), 1):
            if len(raw) > MOST_LINE:
                source.fail(number, f"a line of more than {MOST_LINE >> 20} MiB")
            if raw.strip():
                yield finish(_draft(raw, number, source), source, rules)


def _draft(raw: bytes, number: int, source: Source) -> Draft:
    said = parse(raw, number, source)
    moves, notes = said.pop("moves", None), said.pop("notes", None)
    good = isinstance(moves, list) and len(moves) <= MOST_PLIES
    if not good or not all(isinstance(m, str | int) and not isinstance(m, bool) for m in moves):
        source.fail(number, f"moves: {short(moves)} is not a list of names")
    plies = [Ply(move, number) for move in moves]
    if notes is not None:
        if not isinstance(notes, list) or len(notes) != len(plies):
            source.fail(number, f"notes: {short(notes)} is not a list of {len(plies)}, one a move")
        for ply, note in zip(plies, notes, strict=True):
            try:
                ply.note = read_note(note)
            except MeijinError as error:
                source.fail(number, f"notes: {error}")
    return Draft(number, said, plies, bool(notes))


def parse(raw: str | bytes, number: int, source: Source) -> dict[str, Any]:
    """One JSON object; anything else is an error with its line."""

    def no(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        said = json.loads(raw, parse_constant=no)
    except RecursionError:
        source.fail(number, "its brackets are nested too deeply")
    except json.JSONDecodeError as error:  # its own "line 1" would be mistaken for a line of the file
        source.fail(number, f"not JSON: {error.msg} (character {error.pos + 1})")
    except (ValueError, UnicodeError) as error:
        source.fail(number, f"not JSON: {error}")
    if not isinstance(said, dict):
        source.fail(number, f'{short(said)} is not an object, as in {{"game": ...}}')
    return said
