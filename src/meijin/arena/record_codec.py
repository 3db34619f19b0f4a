"""Records as rows of a store.

A move takes seven bits per byte, low bits first; the high bit is set on all bytes but its last. So two games begin with
the same moves if and only if their blobs begin with the same bytes, and most moves take one byte.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from meijin.arena.record import ENDINGS, GameRecord, MoveNote, limit_fields
from meijin.core.agent import Limit
from meijin.core.errors import BadParameter

INDEXED = 16  # bytes of the moves that the index of openings holds
MAX_MOVE_BYTES = 5  # enough for 32 bits
MAX_UNPACKED = 64 << 20  # bytes that compressed notes may grow to


def check(record: GameRecord) -> None:
    """Raise for a record that cannot be that of a game."""
    if problem := _problem(record, len(record.task.agents)):
        task = record.task
        of = f" of '{task.event}'" if task.event else ""
        raise BadParameter(f"game {task.number}{of} ({task.game}): {problem}")


def _problem(record: GameRecord, seats: int) -> str:
    task, moves = record.task, record.moves
    if seats < 1:
        return "it has no agents"
    if len(record.scores) != seats:
        return f"it has {len(record.scores)} scores for {seats} seats"
    if any(map(math.isnan, record.scores)):
        return f"its scores {record.scores} are not numbers"
    if record.ending not in ENDINGS:
        return f"its ending '{record.ending}' is not one of {', '.join(ENDINGS)}"
    if record.forfeit is not None and not 0 <= record.forfeit < seats:
        return f"it has no seat {record.forfeit} to forfeit"
    if moves[: len(task.opening)] != task.opening:
        return "its moves do not begin with its opening"
    if moves and not 0 <= min(moves) <= max(moves) < 1 << 32:
        return "its moves do not fit into 32 bits"
    if record.notes and len(record.notes) != record.plies:
        return f"it has {len(record.notes)} notes for {record.plies} plies"
    if task.limits and len(task.limits) != seats:
        return f"it has {len(task.limits)} limits for {seats} seats"
    if not all(-(1 << 63) <= n < 1 << 63 for n in (task.number, task.round)):
        return "its number does not fit into 64 bits"
    return ""


def results(scores: Sequence[float]) -> tuple[int | None, ...]:
    """[seat] -> 1 for the highest score alone, 0 where it is shared, -1 below it; None in a game for one."""
    if len(scores) < 2:
        return (None,) * len(scores)
    best = max(scores)
    shared = sum(score == best for score in scores) > 1
    return tuple(-1 if score < best else 0 if shared else 1 for score in scores)


class EncodedRecord:
    """A record as it is written: small, checked, and ready before the file is touched."""

    __slots__ = ("analyses", "columns", "notes", "results", "scores", "task")

    def __init__(self, record: GameRecord) -> None:
        check(record)
        if record.task.position:
            began = f"one began with '{record.task.position}'"
            raise BadParameter(f"a database holds games from the start, and {began}; keep it in a .jsonl file")
        self.task, self.scores, self.results = record.task, record.scores, results(record.scores)
        limits = [limit_fields(limit) for limit in record.task.limits]
        self.columns = (
            json.dumps(limits) if limits else None,
            len(record.task.opening),
            encode_moves(record.moves),
            record.plies,
            record.ending,
            record.forfeit,
            record.reason,
            record.began,
            record.seconds,
            json.dumps(record.headers) if record.headers else None,
        )
        self.notes = encode_notes(record.notes)
        self.analyses = [(ply, _compress(n.analysis)) for ply, n in enumerate(record.notes) if n.analysis is not None]


def decode_limits(text: str | None) -> tuple[Limit, ...]:
    """The limits of a row; older files have lists of seconds, simulations and depth."""
    found = json.loads(text) if text else []
    return tuple(Limit(*limit) if isinstance(limit, list) else msgspec.convert(limit, Limit) for limit in found)


# ---- moves ----


def encode_moves(line: Iterable[int]) -> bytes:
    line = [int(move) for move in line]
    if all(move < 128 for move in line):
        return bytes(line)
    packed = bytearray()
    for move in line:
        while move >= 128:
            packed.append(move & 127 | 128)
            move >>= 7
        packed.append(move)
    return bytes(packed)


def decode_moves(packed: bytes) -> tuple[int, ...]:
    line, move, shift = [], 0, 0
    for byte in packed:
        move |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            line.append(move)
            move = shift = 0
    if shift:
        raise ValueError("the moves end in the middle of a move")
    return tuple(line)


def move_at(blob: str, at: int) -> str:
    """SQL for the bytes of the move that begins at byte `at` (counted from 1) of a blob."""
    cases = [
        f"WHEN substr({blob}, {at + n - 1}, 1) < x'80' THEN substr({blob}, {at}, {n})" for n in range(1, MAX_MOVE_BYTES)
    ]
    return f"CASE {' '.join(cases)} ELSE substr({blob}, {at}, {MAX_MOVE_BYTES}) END"


def encode_seed(number: int) -> int | str:
    """SQLite's integers have 64 bits; larger ones are kept as text."""
    return number if -(1 << 63) <= number < 1 << 63 else str(number)


# ---- notes ----


_Notes = tuple[list[float | None], list[tuple[float, ...] | None]]  # times, values


def encode_notes(given: Sequence[MoveNote]) -> bytes | None:
    """Times and values of all plies; None without notes. Analyses, which few games have, are kept apart.

    The first byte is 1 plus the number of values per ply. Then follow the time and the values of each ply as doubles;
    nan is what was not noted. Notes that do not fit into this (nan as a value, varying numbers of values) are JSON,
    after the byte 0.
    """
    if not given:
        return None
    seats = max(len(note.value) if note.value is not None else 0 for note in given)
    blank = (math.nan,) * seats
    numbers: list[float] = []
    for note in given:
        values = blank if note.value is None else note.value
        numbers += [math.nan if note.seconds is None else note.seconds, *values]
    said = sum((note.seconds is not None) + len(note.value or ()) for note in given)
    plain = len(numbers) == len(given) * (1 + seats) and sum(map(math.isnan, numbers)) == len(numbers) - said
    if plain and seats < 255:
        return bytes([1 + seats]) + zlib.compress(struct.pack(f"<{len(numbers)}d", *numbers), 1)
    return b"\0" + _compress([[note.seconds for note in given], [note.value for note in given]])


def decode_notes(packed: bytes | None, analyses: Iterable[tuple[int, bytes]]) -> tuple[MoveNote, ...]:
    if packed is None:
        return ()
    by_ply = {ply: msgspec.convert(json.loads(_expand(blob)), dict[str, Any]) for ply, blob in analyses}
    if packed[:1] == b"\0":
        seconds, values = msgspec.convert(json.loads(_expand(packed[1:])), _Notes)
        return tuple(MoveNote(*note, by_ply.get(ply)) for ply, note in enumerate(zip(seconds, values, strict=True)))
    width, raw = packed[0], _expand(packed[1:])
    found = []
    for ply, (time, *value) in enumerate(struct.iter_unpack(f"<{width}d", raw)):
        noted = value and not math.isnan(value[0])
        found.append(MoveNote(None if math.isnan(time) else time, tuple(value) if noted else None, by_ply.get(ply)))
    return tuple(found)


def _compress(value: Any) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)


def _expand(packed: bytes) -> bytes:
    machine = zlib.decompressobj()
    text = machine.decompress(packed, MAX_UNPACKED)
    if not machine.eof:
        raise ValueError("notes that are cut off or too large")
    return text
