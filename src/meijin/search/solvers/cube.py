"""The cube solved: the 2x2x2 by a table of all positions, the 3x3x3 by search."""

from __future__ import annotations

from meijin.core.agent import Analysis, Limit
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.state import State
from meijin.search.solvers._cube2 import Cube2Solver
from meijin.search.solvers._cube3 import Cube3Solver


class Solver:
    """Solves the cube within the moves left."""

    def __init__(self, game: Game):
        if why := self.unfit(game):
            raise BadParameter(f"{game} cannot be solved: {why}")
        self._solver = Cube2Solver(game) if game.params["size"] == 2 else Cube3Solver(game)
        self.stop_flag = self._solver.stop_flag

    @staticmethod
    def unfit(game: Game) -> str | None:
        return None if game.name == "cube" else "this solver knows the cube only"

    def expected_seconds(self, state: State) -> float:
        return self._solver.expected_seconds(state)

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        return self._solver.analyse(state, limit)
