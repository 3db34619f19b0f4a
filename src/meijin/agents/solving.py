"""What agents that ask a game's solver share."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace
from functools import lru_cache

from meijin.core.agent import Agent, Analysis, Limit
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.state import State
from meijin.search.solvers import Solver, solver_for, unsolved

BUDGET = 0.5  # seconds that a solver may take where a search has no time limit; else half of that limit


class Solving(Agent):
    """An agent that may ask the solver of its game."""

    _running: Solver | None = None  # while it works for this agent

    def stop(self) -> None:
        super().stop()
        if (solver := self._running) is not None:
            solver.stop_flag[0] = 1

    def solved_in_time(
        self, state: State, limit: Limit, seconds: float = BUDGET, share: float = 0.5
    ) -> tuple[Analysis | None, Limit]:
        """The solver's answer if it expects to have one in time, and does; and what is left of the limit.

        In time is within that share of the limit's seconds, or within `seconds` where the limit is not a time.
        """
        if unsolved(state.game) is not None:
            return None, limit
        timed = limit.seconds is not None and not math.isinf(limit.seconds)
        budget = share * limit.seconds if timed and limit.seconds is not None else seconds
        if shared_solver(state.game)[0].expected_seconds(state) > budget:
            return None, limit
        began = time.perf_counter()
        try:
            found = self.solve(state, Limit(seconds=budget))
        except MeijinError:  # it took longer, or the position cannot come up in play
            found = None
        if limit.seconds is not None:
            limit = replace(limit, seconds=max(0.001, limit.seconds - (time.perf_counter() - began)))
        return (found if found is not None and found.proven else None), limit

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
