"""Scores as nets and trees see them: values about in [-1, 1].

Scores with bounds are scaled linearly. Scores without an upper bound (2048) go through a logarithm; searches then
compare the moves of a tree by the lowest and highest value seen in it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meijin.core import kernels
from meijin.core.compile import Function
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.rng import streams
from meijin.core.state import State

LARGE = 1e6  # the score that an unbounded game's values call 1
LEAST_SPREAD = 5e-3  # of its values, when they are measured by that


def unscalable(game: Game) -> str | None:
    """Why a game's scores cannot be scaled; None when they can."""
    low, high = game.score_range
    if math.isfinite(low) and (math.isfinite(high) or high > 0):
        return None
    return f"its scores range over {game.score_range}; a lower bound is needed"


def make_scale(game: Game) -> Function:
    """`scaled(score)`: a score as a value in [-1, 1]; plain, for kernels."""
    if why := unscalable(game):
        raise BadParameter(f"{game}: {why}")
    low, high = game.score_range
    if game.bounded:
        width = high - low

        def linear(score: Any) -> Any:
            return 2.0 * (score - low) / width - 1.0

        return linear

    most = math.log1p(LARGE)

    def logarithmic(score: Any) -> Any:
        return math.log1p(score - low) / most

    return logarithmic


def make_settle(game: Game) -> Function:
    """`settle(scores, values, draw)`: final scores as values; where no seat has won, `draw` is added."""
    seats, scaled = game.seats, make_scale(game)

    def settle(scores: Any, values: Any, draw: float) -> None:
        even = True
        for k in range(seats):
            values[k] = scaled(scores[k])
            even = even and abs(values[k]) < 1e-6
        if even:
            for k in range(seats):
                values[k] += draw

    return settle


def evened(values: Any) -> Any:
    """Values of which one side's gain is the other's loss, without what a draw is worth to both."""
    return values - np.mean(values)


def unscaled(game: Game, value: float) -> float:
    """The score of a value: the inverse of `make_scale`."""
    low, high = game.score_range
    if game.bounded:
        return low + (value + 1.0) / 2.0 * (high - low)
    return low + math.expm1(value * math.log1p(LARGE))


def by_chance(game: Game, games: int = 64, plies: int = 20_000) -> tuple[float, float]:
    """Mean and spread of the values of random play."""
    states, scaled = game.states(games), make_scale(game)
    game.kernel(kernels.random_walks)(states, min(game.longest, plies), streams(5, games), *kernels.buffers(game))
    values = [scaled(score) for state in states for score in State(game, state).scores]
    return float(np.mean(values)), max(float(np.std(values)), LEAST_SPREAD)
