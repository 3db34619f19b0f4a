"""Features of a position that a person thinks up: the inputs of a small network, in place of tuples.

    from meijin import features

    @features("nim_heaps")
    def nim_heaps(game):
        heaps = len(game.params["heaps"])

        def fill(s, seat, out):           # compiled like the rules of a game
            for k in range(heaps):
                out[k] = s.heaps[k] % 2

        return [f"heap {k} is odd" for k in range(heaps)], fill

The function gets the game and returns the names of its features and `fill`, which writes them for a seat that has just
made the position `s`. Put it into the file of the game, or another one that `--load` names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meijin.core.compile import Function
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import parse
from meijin.core.game import Game
from meijin.core.registry import Registry
from meijin.core.rng import stream
from meijin.core.state import State

Factory = Callable[..., tuple[Sequence[str], Function]]

#: Every set of features by name.
feature_sets: Registry[tuple[Sequence[str], Function]] = Registry(
    "set of features", "meijin.features", plural="sets of features"
)

TRIED = 20  # positions that a set of features is tried on


def features(name: str) -> Callable[[Factory], Factory]:
    """Register the decorated function as a set of features."""

    def decorate(factory: Factory) -> Factory:
        return feature_sets.register(name, factory)

    return decorate


@dataclass(frozen=True)
class Features:
    """A set of features for one game."""

    names: tuple[str, ...]
    fill: Function


_made: dict[tuple[Game, Factory, str], Features] = {}


def features_of(game: Game, expression: str) -> Features:
    """The set of features that an expression names, tried on a few positions of the game."""
    call = parse(expression)
    key = game, feature_sets.get(call.name).factory, str(call)
    if key not in _made:
        _made[key] = _checked(game, expression, feature_sets.make(call, game))
    return _made[key]


def _checked(game: Game, name: str, made: Any) -> Features:
    try:
        names, fill = made
        found = Features(tuple(str(each) for each in names), fill)
        arguments = fill.__code__.co_argcount
    except (TypeError, ValueError, AttributeError):
        raise BadParameter(
            f"features '{name}': return the names of the features and the function that fills them"
        ) from None
    if not found.names or len(set(found.names)) < len(found.names):
        raise BadParameter(f"features '{name}': give one or more different names")
    if arguments != 3:
        raise BadParameter(f"features '{name}': the function that fills them takes (s, seat, out)")
    rng = stream(0)
    state = State(game).roll(rng)
    for k in range(TRIED):
        if state.is_over:
            state = State(game).roll(rng)
        out = np.full(len(found.names), np.nan)
        try:
            with np.errstate(over="ignore"):
                fill(state.record, k % game.seats, out)
        except Exception as error:
            raise MeijinError(
                f"features '{name}' fail after {_line(state)}: {type(error).__name__}: {error}"
            ) from error
        if bad := next((each for each, value in zip(found.names, out, strict=True) if not math.isfinite(value)), ""):
            raise BadParameter(f"features '{name}': '{bad}' is not set to a finite number after {_line(state)}")
        state.play(state.legal_moves[k % len(state.legal_moves)]).roll(rng)
    return found


def _line(state: State) -> str:
    return " ".join(str(move) for move in state.history) or "the start"
