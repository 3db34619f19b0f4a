"""The player that never errs, in games that can be solved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from meijin.agents.solving import Solving
from meijin.core.agent import Analysis, Limit, MoveInfo
from meijin.core.game import Game
from meijin.core.rng import below, fresh_seed, stream
from meijin.core.state import State
from meijin.search.solvers import unsolved


class Perfect(Solving):
    """Plays a best move, by a solver of the game: the quickest win, the slowest loss. `vary`: any best move."""

    measures = ("seconds",)

    def __init__(self, vary: bool = False, seed: int | None = None):
        self.vary = vary
        self.deterministic = not vary
        self.reseed(fresh_seed() if seed is None else seed)

    def unfit(self, game: Game) -> str | None:
        return unsolved(game)

    def reseed(self, seed: int) -> None:
        self._rng = stream(seed)

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        found = self.solve(state, limit) or _unsolved(state)
        if self.vary:
            best = [info for info in found.moves if _merit(info, state.turn) == _merit(found.moves[0], state.turn)]
            with np.errstate(over="ignore"):
                pick = best[below(self._rng, len(best))]
            found = replace(found, moves=(pick, *(info for info in found.moves if info is not pick)))
        yield found


def _unsolved(state: State) -> Analysis:
    return Analysis(state.turn, tuple(map(MoveInfo, state.legal_moves)), note="stopped before it was solved")


def _merit(info: MoveInfo, seat: int) -> tuple[float | None, int]:
    """Equal for moves that are equally good: in value, and in distance where the solver knows lines to the end."""
    return None if info.value is None else info.value[seat], len(info.pv)
