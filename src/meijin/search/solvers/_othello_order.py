"""What orders the moves of the Othello endgame: a guess at the outcome, and a shallow search with it.

A guess decides only what is searched first; values never depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.bits import count, lowest, without_lowest
from meijin.core.compile import Function
from meijin.search.solvers._othello_bits import ONE, ZERO, around, flips, places

DISC = 8  # the unit of a guess: so much a disc
LOST = -1_000_000


def cells(size: int, *names: tuple[int, int]) -> np.uint64:
    """The cells at those (column, row) and their images under the board's symmetries."""
    last, found = size - 1, set()
    for a, b in names:
        for column, row in ((a, b), (b, a)):
            found |= {(c, r) for c in (column, last - column) for r in (row, last - row)}
    return np.uint64(sum(1 << (8 * r + c) for c, r in found))


def guesser(size: int, board: Any) -> Function:
    """`guess(mine, theirs, depth, alpha, beta)`: alpha-beta of that depth over an estimate of the difference.

    The weights of the estimate come, rounded, from a least-squares fit to solved positions with 10 and 14 empty cells.
    """
    corner, beside, diagonal = cells(size, (0, 0)), cells(size, (0, 1)), cells(size, (1, 1))

    def side(mine: Any, theirs: Any, empty: Any) -> Any:
        moves = places(mine, theirs, empty)
        danger = around(corner & empty)  # beside a corner that can still be lost
        value = 15 * count(moves) + 30 * count(moves & corner)
        value += 60 * count(mine & corner) + 20 * count(mine & beside & ~danger)
        value -= 5 * count(mine & beside & danger) + 14 * count(mine & diagonal & danger)
        return value - 9 * count(mine & around(empty))

    def guess(mine: Any, theirs: Any, depth: Any, alpha: Any, beta: Any) -> Any:
        empty = board & ~(mine | theirs)
        if depth == 0:
            return side(mine, theirs, empty) - side(theirs, mine, empty)
        moves = places(mine, theirs, empty)
        if moves == ZERO:
            if places(theirs, mine, empty) == ZERO:
                return DISC * (count(mine) - count(theirs))
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
    return guess
