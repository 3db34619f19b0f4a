"""JSON lines: one game per line, with everything known about it. The format to keep and exchange games without loss.

    {"game": "tic_tac_toe", "agents": ["random", "mcts"], "scores": [-1.0, 1.0], "ending": "rules",
     "moves": ["b2", "a1", ...], "notes": [{"seconds": 0.1, "value": [0.2, -0.2]}, ...], ...}

Moves are written by name; numbers are read too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from meijin.arena.formats.common import Draft, Ply, RecordFile, Steppers, finish
from meijin.arena.formats.header import describe, describe_note, to_json
from meijin.arena.record import GameRecord
from meijin.core.config import short

SUFFIXES = (".jsonl", ".ndjson")
MAX_LINE = 32 << 20  # bytes of one game
MAX_PLIES = 1_000_000


def write(records: Iterable[GameRecord], file: TextIO) -> int:
    steppers, count = Steppers(), 0
    for record in records:
        fields = describe(record) | {"moves": [move.name for _, move in steppers.replay(record)[1]]}
        if record.notes:
            fields["notes"] = [describe_note(note) for note in record.notes]
        file.write(to_json(fields) + "\n")
        count += 1
    return count


def read(source: RecordFile) -> Iterator[GameRecord]:
    steppers = Steppers()
    with source.path.open("rb") as file:  # line by line: such a file may be far larger than memory
        for number, raw in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 1):
            if len(raw) > MAX_LINE:
                source.fail(number, f"a line larger than {MAX_LINE >> 20} MiB")
            if raw.strip():
                yield finish(_draft(raw, number, source), source, steppers)


def _draft(raw: bytes, number: int, source: RecordFile) -> Draft:
    fields = source.json(raw, number)
    moves, notes = fields.pop("moves", None), fields.pop("notes", None)
    good = isinstance(moves, list) and len(moves) <= MAX_PLIES
    if not good or not all(isinstance(m, str | int) and not isinstance(m, bool) for m in moves):
        source.fail(number, f"moves: {short(moves)} is not a list of names")
    plies = [Ply(move, number) for move in moves]
    if notes:
        if not isinstance(notes, list) or len(notes) != len(plies):
            source.fail(number, f"notes: {short(notes)} is not a list of {len(plies)}, one per move")
        for ply, note in zip(plies, notes, strict=True):
            ply.note = source.note(note, number)
    return Draft(number, fields, plies, bool(notes))
