"""Who gives hints and reviews games: the strongest agent that answers in time."""

from __future__ import annotations

import threading

from meijin.agents.catalogue import build
from meijin.cli.common import shown
from meijin.core.agent import Agent, Analysis, Limit
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.state import State

SEARCH = "mcts(seconds=1)"
CHAMPION = "champion(simulations=400)"
SOLVER = "perfect"
FIRST = 10.0  # seconds a solver may take the first time: it may have to be compiled


def strongest(game: Game) -> Agent:
    """The champion of a game if there is one, otherwise a tree search."""
    return _fitting(CHAMPION, game) or build(SEARCH, game)


def _fitting(name: str, game: Game) -> Agent | None:
    try:
        return build(name, game)
    except MeijinError:
        return None


class Advisor:
    """Asks a solver of the game where there is one and it knows, and otherwise the strongest agent."""

    def __init__(self, game: Game):
        self.solver = _fitting(SOLVER, game)
        self._game, self._agent = game, None if self.solver else strongest(game)
        self._thinking: Agent | None = None
        self._grace = FIRST

    @property
    def agent(self) -> Agent:
        if self._agent is None:
            self._agent = strongest(self._game)
        return self._agent

    def analyse(self, state: State, seconds: float) -> tuple[str, Analysis]:
        """What it thinks of a position, and the name of the agent that says so."""
        if self.solver is not None and (found := self._solved(state, seconds)):
            return self.solver.name, found
        self._thinking = self.agent
        limit = Limit(seconds=seconds)
        return shown(self.agent, limit), self.agent.analyse(state, limit)

    def stop(self) -> None:
        if self._thinking is not None:
            self._thinking.stop()

    def _solved(self, state: State, seconds: float) -> Analysis | None:
        """The solver's answer, if it has one. It is given no limit, so that it refuses what it cannot do at once."""
        assert self.solver is not None
        self._thinking = self.solver
        alarm = threading.Timer(max(seconds, self._grace), self.solver.stop)
        alarm.daemon = True
        alarm.start()
        try:
            found = self.solver.analyse(state)
        except MeijinError:
            return None
        finally:
            alarm.cancel()
            self._grace = 0.0
        return found if found.value is not None else None
