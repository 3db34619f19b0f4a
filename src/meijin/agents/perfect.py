"""The player that never errs, in games that can be solved."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.rng import below, fresh_seed, stream
from meijin.core.state import State
from meijin.search.solvers import Solver, solver_for, unsolved


class Perfect(Agent):
    """Plays a best move, by a solver of the game: the quickest win, the slowest loss. `vary`: any best move."""

    measures = ("seconds",)
    _running: Solver | None = None  # while it works for this agent

    def __init__(self, vary: bool = False, seed: int | None = None):
        self.vary = vary
        self.deterministic = not vary
        self.reseed(fresh_seed() if seed is None else seed)

    def unfit(self, game: Game) -> str | None:
        return unsolved(game)

    def reseed(self, seed: int) -> None:
        self._rng = stream(seed)

    def stop(self) -> None:
        super().stop()
        if (solver := self._running) is not None:
            solver.stop_flag[0] = 1

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        found = self._solve(state, limit)
        if self.vary:
            best = [info for info in found.moves if _merit(info, state.turn) == _merit(found.moves[0], state.turn)]
            with np.errstate(over="ignore"):
                pick = best[below(self._rng, len(best))]
            found = replace(found, moves=(pick, *(info for info in found.moves if info is not pick)))
        yield found

    def _solve(self, state: State, limit: Limit) -> Analysis:
        solver, free = _solver(state.game)
        while not free.acquire(timeout=0.01):  # another agent asks it
            if self.stopping:
                return _unsolved(state)
        try:
            self._running = solver
            if self.stopping:
                return _unsolved(state)
            return solver.analyse(state, limit)
        except MeijinError:
            if not self.stopping:
                raise
            return _unsolved(state)
        finally:
            self._running = None
            solver.stop_flag[0] = 0
            free.release()


def _unsolved(state: State) -> Analysis:
    return Analysis(state.turn, tuple(map(MoveInfo, state.legal_moves)), note="stopped before it was solved")


@lru_cache(maxsize=4)
def _solver(game: Game) -> tuple[Solver, threading.Lock]:
    """One for all agents: what it has found makes it quicker, from game to game too, and changes no answer."""
    return solver_for(game), threading.Lock()


def _merit(info: MoveInfo, seat: int) -> tuple[float | None, int]:
    """Equal for moves that are equally good: in value, and in distance where the solver knows lines to the end."""
    return None if info.value is None else info.value[seat], len(info.pv)
