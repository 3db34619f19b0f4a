"""What a record says besides moves and notes, as plain JSON: the one form in which every format keeps it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from meijin.arena.record import ENDINGS, GameRecord, MoveNote
from meijin.core.agent import Limit
from meijin.core.errors import BadParameter, MeijinError, suggest

MOST_TEXT = 4096  # characters of a name or a reason
MOST_SEATS = 64
MOST_BITS = 128  # of a seed
MOST_DEPTH = 50  # brackets inside brackets of an analysis

_DEFAULTS: dict[str, Any] = {
    "event": "",
    "number": 0,
    "round": 0,
    "seed": 0,
    "limits": [],
    "opening": 0,
    "forfeit": None,
    "reason": "",
    "began": "",
    "seconds": 0.0,
    "headers": {},
}


def describe(record: GameRecord) -> dict[str, Any]:
    """All but moves and notes; what is as it is by default is left out."""
    task = record.task
    limits = [
        {k: v for k, v in (("seconds", x.seconds), ("simulations", x.simulations), ("depth", x.depth)) if v is not None}
        for x in task.limits
    ]
    fields = {
        "event": task.event,
        "number": task.number,
        "round": task.round,
        "game": task.game,
        "agents": list(task.agents),
        "seed": task.seed,
        "limits": limits,
        "opening": len(task.opening),
        "scores": [number(score) for score in record.scores],
        "ending": record.ending,
        "forfeit": record.forfeit,
        "reason": record.reason,
        "began": record.began,
        "seconds": number(record.seconds),
        "headers": record.headers,
    }
    return {name: value for name, value in fields.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}


def describe_note(note: MoveNote) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if note.seconds is not None:
        said["seconds"] = number(note.seconds)
    if note.value is not None:
        said["value"] = [number(v) for v in note.value]
    if note.analysis is not None:
        said["analysis"] = finite(note.analysis)
    return said


def number(value: float) -> float | str:
    """JSON has no infinity and no nan; "inf" says it."""
    return value if math.isfinite(value) else str(float(value))


def finite(value: Any) -> Any:
    """Numbers that JSON does not have, deep inside, become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


# ---- reading: everything is checked, nothing is guessed ----


def checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The same fields, typed; an error names the field and its value."""
    for name in fields:
        if name not in _READERS:
            raise BadParameter(f"unknown field '{name}'{suggest(name, _READERS)}")
    return {name: _named(name, _READERS[name], value) for name, value in fields.items()}


def read_note(said: Any) -> MoveNote:
    if not isinstance(said, dict) or not set(said) <= {"seconds", "value", "analysis"}:
        raise BadParameter(f"a note is an object with seconds, value, analysis, not {short(said)}")
    analysis = said.get("analysis")
    if analysis is not None and (not isinstance(analysis, dict) or _depth(analysis) > MOST_DEPTH):
        raise BadParameter(f"analysis: {short(analysis)} is not an object of at most {MOST_DEPTH} levels")
    return MoveNote(
        _named("seconds", _maybe(_number), said.get("seconds")),
        _named("value", _maybe(_list(_number)), said.get("value")),
        analysis,
    )


def short(value: Any) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested deeply, or a number of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _depth(value: Any) -> int:
    """How many levels of brackets there are, at most one more than are allowed."""
    level, depth = [value], 0
    while level and depth <= MOST_DEPTH:
        inner = [x.values() if isinstance(x, dict) else x for x in level if isinstance(x, dict | list)]
        level = [item for items in inner for item in items]
        depth += bool(inner)
    return depth


Reader = Callable[[Any], Any]

_HALF = re.compile("[\ud800-\udfff]")  # half a character, which no file can hold


def _named(name: str, reader: Reader, value: Any) -> Any:
    try:
        return reader(value)
    except MeijinError as error:
        raise BadParameter(f"{name}: {error}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MOST_TEXT or "\0" in value or _HALF.search(value):
        raise BadParameter(f"{short(value)} is not a text of up to {MOST_TEXT} characters")
    return value


def _whole(low: int, high: int) -> Reader:
    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise BadParameter(f"{short(value)} is not a whole number from {low} to {high}")
        return value

    return read


def _number(value: Any) -> float:
    if value in ("inf", "-inf", "nan"):
        return float(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > 1e300:
        raise BadParameter(f"{short(value)} is not a number")
    return float(value)


def _maybe(reader: Reader) -> Reader:
    return lambda value: None if value is None else reader(value)


def _list(reader: Reader) -> Reader:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) > MOST_SEATS:
            raise BadParameter(f"{short(value)} is not a list of up to {MOST_SEATS}, one a seat")
        return tuple(reader(item) for item in value)

    return read


def _ending(value: Any) -> str:
    if value not in ENDINGS:
        raise BadParameter(f"{short(value)} is none of {', '.join(ENDINGS)}")
    return str(value)


def _limit(value: Any) -> Limit:
    if not isinstance(value, dict) or not set(value) <= {"seconds", "simulations", "depth"}:
        raise BadParameter(f"{short(value)} is not a limit, such as {{'seconds': 1}}")
    count = _maybe(_whole(1, 1 << 62))
    return Limit(_maybe(_number)(value.get("seconds")), count(value.get("simulations")), count(value.get("depth")))


def _headers(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > 1000:
        raise BadParameter(f"{short(value)} is not an object of texts")
    return {_text(key): _text(text) for key, text in value.items()}


_COUNT = _whole(0, (1 << 62) - 1)
_READERS: dict[str, Reader] = {
    "event": _text,
    "number": _COUNT,
    "round": _COUNT,
    "game": _text,
    "agents": _list(_text),
    "seed": _whole(-(1 << MOST_BITS), 1 << MOST_BITS),
    "limits": _list(_limit),
    "opening": _COUNT,
    "scores": _list(_number),
    "ending": _ending,
    "forfeit": _maybe(_whole(0, MOST_SEATS)),
    "reason": _text,
    "began": _text,
    "seconds": _number,
    "headers": _headers,
}
