"""Sim solved: two players on up to 6 points, three on up to 5."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from meijin.core.agent import Analysis, Limit
from meijin.core.compile import Function
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.state import State
from meijin.search.solvers._exhaustive import Exhaustive, check_order, root

LARGEST = {2: 6, 3: 5}  # [players] -> points: 3**15 and 4**10 places


def results(game: Game) -> Any:
    return np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=game.seats)))


def placer(game: Game) -> Function:
    """`place(s)`: the links as a number, a digit each, 0 for a free one.

    The colours say everything: who has a triangle is out, and of the others whoever has fewest links, and then the
    first, is to move.
    """
    points, seats = int(game.params["points"]), game.seats
    digits = np.zeros((points, 256), np.int64)  # [point a, byte of a's links] -> weights of those to points after a
    for link, (a, b) in enumerate(itertools.combinations(range(points), 2)):
        for bits in range(256):
            if bits >> b & 1:
                digits[a, bits] += (seats + 1) ** link
    low = np.uint64(255)

    def place(s: Any) -> int:
        i = 0
        for seat in range(seats):
            for a in range(points):
                i += (seat + 1) * digits[a, (s.coloured[seat] >> np.uint64(8 * a)) & low]
        return i

    return place


def solve(game: Game) -> Function:
    return root(game, placer(game), results(game))


class Solver(Exhaustive):
    """Every move's result and how soon it comes."""

    def __init__(self, game: Game):
        if why := self.unfit(game):
            raise BadParameter(f"{game} cannot be solved: {why}")
        super().__init__(game, solve, (game.seats + 1) ** len(game.board.cells), results(game))

    @staticmethod
    def unfit(game: Game) -> str | None:
        if game.name != "sim":
            return "this solver knows Sim only"
        points, most = game.params["points"], LARGEST[game.seats]
        if points > most:
            return f"with {game.seats} players it is solved on up to {most} points, and here there are {points}"
        return None

    def expected_seconds(self, state: State) -> float:
        return float(2e-7 * (self.game.seats + 1) ** state.cells.count(0))

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        check_order(state)
        return super().analyse(state, limit)
