"""What a record says besides its moves, as JSON: the one form in which every format keeps it.

Law: `record(typed(Header, describe(r)), r.task.game, r.moves, r.notes) == r`, and likewise for notes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from meijin.arena.record import GameRecord, MoveNote, Task, limit_fields
from meijin.core import config
from meijin.core.agent import Limit
from meijin.core.errors import BadParameter

T = TypeVar("T")

MAX_TEXT = 4096  # characters of a name or a reason
MAX_SEATS = 64
MAX_SEED_BITS = 128
MAX_DEPTH = 50  # brackets inside brackets of an analysis

Text = Annotated[str, Meta(max_length=MAX_TEXT, pattern=r"\A[^\x00\ud800-\udfff]*\Z")]
Count = Annotated[int, Meta(ge=0, lt=1 << 62)]
Number = float | Literal["inf", "-inf", "nan"]  # JSON has no infinity and no nan
Numbers = Annotated[tuple[Number, ...], Meta(max_length=MAX_SEATS)]  # [seat]


class Header(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All of a record but its moves and notes. `opening` is the number of its plies."""

    event: Text = ""
    number: Count = 0
    round: Count = 0
    game: Text
    agents: Annotated[tuple[Text, ...], Meta(max_length=MAX_SEATS)]
    seed: int = 0
    limits: Annotated[tuple[dict[str, Any], ...], Meta(max_length=MAX_SEATS)] = ()
    opening: Count = 0
    scores: Numbers
    ending: Literal["rules", "forfeit", "judged", "cap"]
    forfeit: Annotated[int, Meta(ge=0, lt=MAX_SEATS)] | None = None
    reason: Text = ""
    began: Text = ""
    seconds: Number = 0.0
    headers: Annotated[dict[Text, Text], Meta(max_length=1000)] = {}

    def __post_init__(self) -> None:
        if self.seed.bit_length() > MAX_SEED_BITS:
            raise ValueError(f"seed: must fit into {MAX_SEED_BITS} bits")


class Note(msgspec.Struct, forbid_unknown_fields=True):
    """A `MoveNote`."""

    seconds: Number | None = None
    value: Numbers | None = None
    analysis: dict[str, Any] | None = None


_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Header)} | {"limits": [], "headers": {}}


# ---- writing ----


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def describe(record: GameRecord) -> dict[str, Any]:
    """The header of a record; what has its default value is left out."""
    task = record.task
    fields = {
        "event": task.event,
        "number": task.number,
        "round": task.round,
        "game": task.game,
        "agents": list(task.agents),
        "seed": task.seed,
        "limits": [limit_fields(limit) for limit in task.limits],
        "opening": len(task.opening),
        "scores": [number(score) for score in record.scores],
        "ending": record.ending,
        "forfeit": record.forfeit,
        "reason": record.reason,
        "began": record.began,
        "seconds": number(record.seconds),
        "headers": record.headers,
    }
    return {name: value for name, value in fields.items() if value != _DEFAULTS[name]}


def describe_note(note: MoveNote) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if note.seconds is not None:
        said["seconds"] = number(note.seconds)
    if note.value is not None:
        said["value"] = [number(v) for v in note.value]
    if note.analysis is not None:
        said["analysis"] = _finite(note.analysis)
    return said


def number(value: float) -> float | str:
    return value if math.isfinite(value) else str(float(value))


def _finite(value: Any) -> Any:
    """Numbers that JSON does not have become null, however deep inside."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


# ---- reading: everything is checked, nothing is guessed ----


def typed(kind: type[T], fields: Any) -> T:
    """Plain values as a `Header` or `Note`; an error names the field, its value and what is expected."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise BadParameter(config.explain(error, kind, fields)) from None


def read_note(fields: Any) -> MoveNote:
    note = typed(Note, fields)
    if note.analysis is not None and _depth(note.analysis) > MAX_DEPTH:
        raise BadParameter(f"analysis: nested more than {MAX_DEPTH} levels deep")
    value = None if note.value is None else tuple(map(float, note.value))
    return MoveNote(None if note.seconds is None else float(note.seconds), value, note.analysis)


def record(header: Header, game: str, moves: Sequence[int], notes: Sequence[MoveNote]) -> GameRecord:
    line = tuple(moves)
    task = Task(
        game=game,
        agents=header.agents,
        opening=line[: header.opening],
        seed=header.seed,
        limits=tuple(config.convert(Limit, fields, "limits") for fields in header.limits),
        event=header.event,
        number=header.number,
        round=header.round,
    )
    return GameRecord(
        task=task,
        moves=line,
        scores=tuple(map(float, header.scores)),
        ending=header.ending,
        forfeit=header.forfeit,
        reason=header.reason,
        notes=tuple(notes),
        began=header.began,
        seconds=float(header.seconds) + 0.0,  # -0.0 is 0.0
        headers=header.headers,
    )


def _depth(value: Any) -> int:
    """How many levels of brackets there are, at most one more than is allowed."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        inner = [x.values() if isinstance(x, dict) else x for x in level if isinstance(x, dict | list)]
        level = [item for items in inner for item in items]
        depth += bool(inner)
    return depth
