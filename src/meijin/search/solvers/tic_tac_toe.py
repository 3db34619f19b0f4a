"""Tic-tac-toe solved: every position, on boards of up to 16 cells. Also gomoku on such boards."""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.agent import Analysis, Limit
from meijin.core.compile import Function
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.state import State
from meijin.search.solvers._exhaustive import Exhaustive, check_order, root

LARGEST = 16  # cells: 3**16 bytes of table
RESULTS = ((1.0, -1.0), (0.0, 0.0), (-1.0, 1.0))


def placer(game: Game) -> Function:
    """`place(s)`: the stones as a number in base 3, one digit per cell."""
    assert game.board.grid is not None
    height, width = game.board.grid
    wide = width + 1  # the rules keep a bit free after each row
    chunks = (height * wide + 7) // 8
    digits = np.zeros((chunks, 256), np.int64)  # [byte of the word, its bits] -> sum of the digits' weights
    for cell in range(height * width):
        bit = cell + cell // width
        for bits in range(256):
            if bits >> bit % 8 & 1:
                digits[bit // 8, bits] += 3**cell
    low = np.uint64(255)

    def place(s: Any) -> int:
        i = 0
        for c in range(chunks):
            shift = np.uint64(8 * c)
            i += digits[c, (s.stones[0, 0] >> shift) & low] + 2 * digits[c, (s.stones[1, 0] >> shift) & low]
        return i

    return place


def solve(game: Game) -> Function:
    return root(game, placer(game), np.array(RESULTS))


class Solver(Exhaustive):
    """Every move's result and how soon it comes."""

    def __init__(self, game: Game):
        if why := self.unfit(game):
            raise BadParameter(f"{game} cannot be solved: {why}")
        super().__init__(game, solve, 3 ** len(game.board.cells), RESULTS)

    @staticmethod
    def unfit(game: Game) -> str | None:
        if game.name not in ("tic_tac_toe", "gomoku"):
            return "this solver knows tic-tac-toe and gomoku only"
        if (cells := len(game.board.cells)) > LARGEST:
            return f"it is solved on up to {LARGEST} cells, and here there are {cells}"
        return None

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        check_order(state)
        return super().analyse(state, limit)
