"""Positions to begin with."""

from __future__ import annotations

import numpy as np

from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.rng import Stream, below
from meijin.core.state import State

TRIES = 1000  # random openings tried before giving up


def opening(game: Game, plies: int, rng: Stream) -> State:
    """A position after that many random plies that is not over."""
    for _ in range(TRIES):
        state = State(game)
        for _ in range(plies):
            if state.roll(rng).is_over:
                break
            with np.errstate(over="ignore"):
                state.play(state.legal_moves[below(rng, len(state.legal_moves))])
        if not state.roll(rng).is_over:
            return state
    raise MeijinError(f"{game}: random play of {plies} plies always ends the game; use a shorter opening")
