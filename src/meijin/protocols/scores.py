"""Values in the game's scores, and the centipawns and winning chances that protocols speak of."""

from __future__ import annotations

import math

from meijin.core.agent import Analysis
from meijin.core.game import Game

MOST = 30000  # centipawns; a proven win

_SCALE, _BEND = 290.680623072, 1.548090806  # as Leela Chess Zero converts


def balance(game: Game, value: tuple[float, ...], seat: int) -> float:
    """The value for a seat, from -1 (the lowest score) to 1."""
    low, high = game.score_range
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = min(value), max(value)
        if low == high:
            return 0.0
    return max(-1.0, min(1.0, 2 * (value[seat] - low) / (high - low) - 1))


def centipawns(balance: float) -> int:
    return max(-MOST, min(MOST, round(_SCALE * math.tan(_BEND * balance))))


def from_centipawns(score: float) -> float:
    """The inverse of `centipawns`, but for rounding."""
    return max(-1.0, min(1.0, math.atan(score / _SCALE) / _BEND))


def valued(game: Game, balance: float, seat: int) -> tuple[float, ...]:
    """The scores of two seats that a balance of one of them means."""
    low, high = game.score_range
    mine = low + (balance + 1) / 2 * (high - low)
    return (mine, low + high - mine) if seat == 0 else (low + high - mine, mine)


def standing(game: Game, analysis: Analysis) -> float | None:
    """The mover's balance; None if the agent gives no values."""
    return None if analysis.value is None else balance(game, analysis.value, analysis.turn)
