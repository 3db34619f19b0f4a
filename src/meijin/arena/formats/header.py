"""Everything in a record but its moves, as JSON: the form that all formats share.

Law: `record(typed(Header, describe(r)), r.task.game, r.moves, r.notes) == r`, and likewise for notes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
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
    position: Text = ""
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


#: Fields that a header has in common with a `Task` and with a `GameRecord`.
_OF_TASK = ("event", "number", "round", "game", "agents", "seed", "position")
_OF_RECORD = ("ending", "forfeit", "reason", "began", "headers")
_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Header)} | {"limits": [], "headers": {}}


# ---- writing ----


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def describe(record: GameRecord) -> dict[str, Any]:
    """The header of a record; what has its default value is left out."""
    fields = {name: getattr(record.task, name) for name in _OF_TASK} | {
        name: getattr(record, name) for name in _OF_RECORD
    }
    fields |= {
        "agents": list(record.task.agents),
        "limits": [_plain_limit(limit) for limit in record.task.limits],
        "opening": len(record.task.opening),
        "scores": [number(score) for score in record.scores],
        "seconds": number(record.seconds),
    }
    return {name: fields[name] for name, default in _DEFAULTS.items() if fields[name] != default}


def _plain_limit(limit: Limit) -> dict[str, Any]:
    return {name: number(value) if name == "seconds" else value for name, value in limit_fields(limit).items()}


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
    limits = tuple(map(_limit, header.limits))
    given = {name: getattr(header, name) for name in _OF_TASK} | {"game": game}
    return GameRecord(
        task=Task(**given, opening=line[: header.opening], limits=limits),
        moves=line,
        scores=tuple(map(float, header.scores)),
        notes=tuple(notes),
        seconds=float(header.seconds) + 0.0,  # -0.0 is 0.0
        **{name: getattr(header, name) for name in _OF_RECORD},
    )


def _limit(fields: dict[str, Any]) -> Limit:
    if fields.get("seconds") == "inf":
        return replace(_limit({**fields, "seconds": None}), seconds=math.inf)
    return config.convert(Limit, fields, "limits")


def _depth(value: Any) -> int:
    """How many levels of brackets there are, at most one more than is allowed."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        inner = [x.values() if isinstance(x, dict) else x for x in level if isinstance(x, dict | list)]
        level = [item for items in inner for item in items]
        depth += bool(inner)
    return depth
