"""What orders the moves of the Othello endgame: a guess at the outcome, and a shallow search with it.

A guess decides only what is searched first; values never depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.bits import count, lowest, without_lowest
from meijin.core.compile import Function
from meijin.search.solvers._othello_bits import ONE, ZERO, around, flips, places, stable

LOST = -1_000_000
W=(15,30,60,-5,-14,20,-9,0)


def cells(size: int, *names: tuple[int, int]) -> np.uint64:
    """The cells at those (column, row) and their images under the board's symmetries."""
    last, found = size - 1, set()
    for a, b in names:
        for column, row in ((a, b), (b, a)):
            found |= {(c, r) for c in (column, last - column) for r in (row, last - row)}
    return np.uint64(sum(1 << (8 * r + c) for c, r in found))


def guesser(size: int, board: Any) -> tuple[Function, Function]:
    """`estimate(mine, theirs)`, about 8 a disc, and `guess(mine, theirs, depth, alpha, beta)` over it."""
    area = size * size
    corner, beside, diagonal = cells(size, (0, 0)), cells(size, (0, 1)), cells(size, (1, 1))

    def side(mine: Any, theirs: Any, empty: Any) -> Any:
        moves = places(mine, theirs, empty)
        near = around(corner & empty) & ~corner
        value = W[0] * count(moves) + W[1] * count(moves & corner) + W[2] * count(mine & corner)
        value += W[3] * count(mine & beside & near) + W[4] * count(mine & diagonal & near)
        value += W[5] * count(mine & beside & ~near)
        if W[6]:
            value += W[6] * count(mine & around(empty))
        if W[7]:
            value += W[7] * count(stable(mine, empty, ~board))
        return value

    def estimate(mine: Any, theirs: Any) -> Any:
        empty = board & ~(mine | theirs)
        return side(mine, theirs, empty) - side(theirs, mine, empty)

    def guess(mine: Any, theirs: Any, depth: Any, alpha: Any, beta: Any) -> Any:
        if depth == 0:
            return estimate(mine, theirs)
        empty = board & ~(mine | theirs)
        moves = places(mine, theirs, empty)
        if moves == ZERO:
            if places(theirs, mine, empty) == ZERO:
                return 8 * (count(mine) - count(theirs))
            return -guess(theirs, mine, depth, -beta, -alpha)
        best = LOST
        for part in (moves & corner, moves & ~corner):
            while part != ZERO:
                cell = np.uint64(lowest(part))
                part = without_lowest(part)
                turned = flips(mine, theirs, cell)
                value = -guess(theirs ^ turned, mine | turned | (ONE << cell), depth - 1, -beta, -max(alpha, best))
                if value > best:
                    best = value
                    if best >= beta:
                        return best
        return best

    guess.recursive = True  # type: ignore[attr-defined]
    return estimate, guess
