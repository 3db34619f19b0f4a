"""What agents that ask a game's solver share."""

from __future__ import annotations

import threading
from functools import lru_cache

from meijin.core.agent import Agent, Analysis, Limit
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.state import State
from meijin.search.solvers import Solver, solver_for


class Solving(Agent):
    """An agent that may ask the solver of its game."""

    _running: Solver | None = None  # while it works for this agent

    def stop(self) -> None:
        super().stop()
        if (solver := self._running) is not None:
            solver.stop_flag[0] = 1

    def solve(self, state: State, limit: Limit) -> Analysis | None:
        """The solver's answer; None if it was stopped, an error if it has none."""
        solver, free = shared_solver(state.game)
        while not free.acquire(timeout=0.01):  # another agent asks it
            if self.stopping:
                return None
        try:
            self._running = solver
            return None if self.stopping else solver.analyse(state, limit)
        except MeijinError:
            if not self.stopping:
                raise
            return None
        finally:
            self._running = None
            solver.stop_flag[0] = 0
            free.release()


@lru_cache(maxsize=4)
def shared_solver(game: Game) -> tuple[Solver, threading.Lock]:
    """One for all agents: what it has found makes it quicker, from game to game too, and changes no answer."""
    return solver_for(game), threading.Lock()
