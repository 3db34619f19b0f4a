"""Checks of the options people give to agents and other things: each raises an error that says what to give."""

from __future__ import annotations

import math
from collections.abc import Iterable

from meijin.core.errors import BadParameter, suggest


def number(name: str, value: object, whole: bool = False) -> None:
    """A number, and finite."""
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)) or not math.isfinite(value):
        raise BadParameter(f"{name}={value!r}: must be a {'whole ' if whole else ''}number")


def at_least(name: str, value: object, low: float, whole: bool = False) -> None:
    number(name, value, whole)
    if not value >= low:  # type: ignore[operator]
        raise BadParameter(f"{name}={value!r}: must be at least {_plain(low)}")


def between(name: str, value: object, low: float, high: float) -> None:
    """Both ends are allowed; whole numbers where both ends are."""
    number(name, value, whole=isinstance(low, int) and isinstance(high, int))
    if not low <= value <= high:  # type: ignore[operator]
        raise BadParameter(f"{name}={value!r}: choose from {_plain(low)} to {_plain(high)}")


def _plain(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def among(name: str, value: object, known: Iterable[str]) -> None:
    words = tuple(known)
    if value not in words:
        hint = suggest(str(value), words)
        raise BadParameter(f"{name}={value!r}: choose one of {', '.join(map(repr, words))}{hint}")
