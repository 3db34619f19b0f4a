"""The player that never errs, in games that can be solved."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import lru_cache

import numpy as np

from meijin.agents.catalogue import agents
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.game import Game
from meijin.core.rng import below, fresh_seed, stream
from meijin.core.state import State
from meijin.search.solvers import Solver, solver_for, unsolved


@agents.register("perfect")
class Perfect(Agent):
    """Plays a best move, by a solver of the game: the quickest win, the slowest loss. `vary`: any best move."""

    def __init__(self, vary: bool = False, seed: int | None = None):
        self.vary = vary
        self.deterministic = not vary
        self.seed(fresh_seed() if seed is None else seed)

    def unfit(self, game: Game) -> str | None:
        return unsolved(game)

    def seed(self, seed: int) -> None:
        self._rng = stream(seed)

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        solver, free = _solver(state.game)
        with free:
            found = solver.analyse(state, limit)
        if not self.vary:
            return found
        best = [info for info in found.moves if _merit(info, state.turn) == _merit(found.moves[0], state.turn)]
        with np.errstate(over="ignore"):
            pick = best[below(self._rng, len(best))]
        return replace(found, moves=(pick, *(info for info in found.moves if info is not pick)))


@lru_cache(maxsize=4)
def _solver(game: Game) -> tuple[Solver, threading.Lock]:
    """One for all agents: what it has found makes it quicker, from game to game too, and changes no answer."""
    return solver_for(game), threading.Lock()


def _merit(info: MoveInfo, seat: int) -> tuple[float | None, int]:
    """Equal for moves that are equally good: in value, and in distance where the solver knows lines to the end."""
    return None if info.value is None else info.value[seat], len(info.pv)
