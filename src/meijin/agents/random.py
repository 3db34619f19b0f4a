"""The player that picks any legal move."""

from __future__ import annotations

import numpy as np

from meijin.agents.catalogue import agents
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.rng import below, fresh_seed, stream
from meijin.core.state import State


@agents.register("random")
class Random(Agent):
    """Plays any legal move, all equally likely."""

    def __init__(self, seed: int | None = None):
        self.seed(fresh_seed() if seed is None else seed)

    def seed(self, seed: int) -> None:
        self._rng = stream(seed)

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        moves = list(state.legal_moves)
        with np.errstate(over="ignore"):
            pick = moves.pop(below(self._rng, len(moves)))
        prior = 1.0 / (len(moves) + 1)
        return Analysis(state.turn, tuple(MoveInfo(move, prior=prior) for move in (pick, *moves)))
