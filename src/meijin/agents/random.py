"""The player that picks any legal move."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.rng import below, fresh_seed, stream
from meijin.core.state import State


class Random(Agent):
    """Plays any legal move, all equally likely."""

    def __init__(self, seed: int | None = None):
        self.reseed(fresh_seed() if seed is None else seed)

    def reseed(self, seed: int) -> None:
        self._rng = stream(seed)

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        moves = list(state.legal_moves)
        with np.errstate(over="ignore"):
            pick = moves.pop(below(self._rng, len(moves)))
        prior = 1.0 / (len(moves) + 1)
        yield Analysis(state.turn, tuple(MoveInfo(move, prior=prior) for move in (pick, *moves)))
