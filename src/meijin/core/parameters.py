"""The parameters of games: what the function that makes a game says about its arguments.

    def hexes(size: Annotated[int, Range(3, 19)] = 11, start: Literal["empty", "full"] = "empty") -> Game:

Bounds and choices are checked before the function is called, and shown to whoever fills in a form. A line of the
docstring that begins with the name in backticks and a colon is the parameter's help.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meijin.core.errors import BadParameter, suggest


@dataclass(frozen=True, slots=True)
class Range:
    """Both bounds are allowed."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a game."""

    name: str
    kind: str  # "int", "float", "bool", "str", "tuple"
    default: Any  # None where it has none
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] = ()
    help: str = ""

    def check(self, what: str, value: Any) -> Any:
        """The value, converted where nothing is lost: a whole number may be given for a float."""
        if self.kind == "float" and type(value) is int:
            value = float(value)
        if self.choices:
            if value not in self.choices or type(value) not in {type(choice) for choice in self.choices}:
                known = ", ".join(map(repr, self.choices))
                hint = suggest(str(value), [str(choice) for choice in self.choices])
                raise BadParameter(f"{what}={value!r}: choose one of {known}{hint}")
            return value
        if value is None and self.default is None:
            return value
        if self.kind and type(value).__name__ != self.kind:
            example = f", such as {self.default!r}" if self.default is not None else ""
            raise BadParameter(f"{what}={value!r}: give a value of type {self.kind}{example}")
        if self.low is not None and self.high is not None and not self.low <= value <= self.high:
            noun = "a whole number" if self.kind == "int" else "a number"
            raise BadParameter(f"{what}={value!r}: choose {noun} from {self.low:g} to {self.high:g}")
        return value


def parameters(factory: Callable[..., Any]) -> tuple[Parameter, ...]:
    """What a function declares about its parameters, in order."""
    try:
        hints = typing.get_type_hints(factory, include_extras=True)
    except Exception:  # annotations that name unknown things are not a reason to refuse a game
        hints = {}
    helps = _helps(inspect.getdoc(factory) or "")
    found = []
    for name, parameter in inspect.signature(factory).parameters.items():
        default = None if parameter.default is parameter.empty else parameter.default
        hint: Any = hints.get(name)
        low, high, choices = None, None, ()
        if typing.get_origin(hint) is typing.Annotated:
            for note in hint.__metadata__:
                if isinstance(note, Range):
                    low, high = note.low, note.high
            hint = hint.__origin__
        if typing.get_origin(hint) is typing.Literal:
            choices = typing.get_args(hint)
        kinds = [kind for kind in (int, float, bool, str) if hint is kind or kind in typing.get_args(hint)]
        kind = type(default).__name__ if default is not None else kinds[0].__name__ if kinds and not choices else ""
        found.append(Parameter(name, kind, default, low, high, choices, helps.get(name, "")))
    return tuple(found)


def _helps(doc: str) -> dict[str, str]:
    """Name -> help, from the lines of a docstring that begin with a name in backticks and a colon."""
    found: dict[str, str] = {}
    name = ""
    for line in doc.splitlines():
        if match := re.match(r"`(\w+)`: (.*)", line):
            name = match[1]
            found[name] = match[2].strip()
        elif name and line.strip():
            found[name] += " " + line.strip()
        else:
            name = ""
    return found
