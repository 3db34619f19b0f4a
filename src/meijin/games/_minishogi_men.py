"""How the men of minishogi attack and move: the parts of its rules that only look at a position.

A set of cells is a word with bit i for cell i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.bits import lowest, without_lowest
from meijin.games._minishogi_tables import (
    BETWEEN,
    BISHOP,
    DIAGONAL_MAGIC,
    DIAGONAL_MASK,
    DIAGONAL_REACH,
    DIAGONALS,
    GOLD,
    KING,
    LAST_RANK,
    LINE,
    PAWN,
    PROMOTED,
    ROOK,
    SHIFT,
    SILVER,
    SIZE,
    STEP,
    STRAIGHT_MAGIC,
    STRAIGHT_MASK,
    STRAIGHT_REACH,
    STRAIGHTS,
)

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_SHIFT, _FOUR_BITS, _SIX_BITS = np.uint64(SHIFT), np.uint64(15), np.uint64(63)
_ROW, _FILE = np.uint64(31), np.uint64(sum(1 << (SIZE * row) for row in range(SIZE)))
_5, _10, _15, _20 = np.uint64(5), np.uint64(10), np.uint64(15), np.uint64(20)


# ---- who attacks what ----


def bit(cell: Any) -> Any:
    return _ONE << np.uint64(cell)


def occupied(s: Any) -> Any:
    return np.uint64(s.men[0, 0]) | np.uint64(s.men[1, 0])


def king_of(s: Any, seat: int) -> Any:
    return lowest(np.uint64(s.men[seat, KING]))


def steppers(s: Any, seat: int, cell: int) -> Any:
    """The other seat's men that reach the cell in one step: where the seat's own such men would step from it."""
    men = s.men[1 - seat]
    golds = men[GOLD] | men[PAWN + PROMOTED] | men[SILVER + PROMOTED]
    kings = men[KING] | men[BISHOP + PROMOTED] | men[ROOK + PROMOTED]
    return np.uint64(
        (STEP[seat, PAWN, cell] & men[PAWN])
        | (STEP[seat, SILVER, cell] & men[SILVER])
        | (STEP[seat, GOLD, cell] & golds)
        | (STEP[seat, KING, cell] & kings)
    )


def sliders(s: Any, seat: int, cell: int) -> Any:
    """The other seat's men that would slide to the cell on an empty board."""
    men = s.men[1 - seat]
    return np.uint64(
        (DIAGONALS[cell] & (men[BISHOP] | men[BISHOP + PROMOTED]))
        | (STRAIGHTS[cell] & (men[ROOK] | men[ROOK + PROMOTED]))
    )


def attackers(s: Any, seat: int, cell: int, men: Any) -> Any:
    """The other seat's men that reach the cell when the cells in `men` are occupied."""
    found, far = steppers(s, seat, cell), sliders(s, seat, cell)
    while far != _ZERO:
        other = lowest(far)
        if np.uint64(BETWEEN[cell, other]) & men == _ZERO:
            found |= bit(other)
        far = without_lowest(far)
    return found


def pins(s: Any, seat: int, men: Any) -> Any:
    """The seat's men that alone stand between their king and a man that would slide to it."""
    king, own = king_of(s, seat), np.uint64(s.men[seat, 0])
    found, far = _ZERO, sliders(s, seat, king)
    while far != _ZERO:
        shield = np.uint64(BETWEEN[king, lowest(far)]) & men
        if without_lowest(shield) == _ZERO:
            found |= shield & own
        far = without_lowest(far)
    return found


def safe(s: Any, seat: int, cell: int, men: Any) -> bool:
    """Whether the seat's king may step to the cell; what is behind the king is not shielded by it."""
    return attackers(s, seat, cell, men & ~np.uint64(s.men[seat, KING])) == _ZERO


def flights(s: Any, seat: int, men: Any) -> Any:
    """Where the seat's king may go when the cells in `men` are occupied."""
    steps = np.uint64(STEP[seat, KING, king_of(s, seat)]) & ~np.uint64(s.men[seat, 0])
    found = _ZERO
    while steps != _ZERO:
        cell = lowest(steps)
        if safe(s, seat, cell, men):
            found |= bit(cell)
        steps = without_lowest(steps)
    return found


# ---- where the mover's men may go ----


def reach(s: Any, cell: int) -> Any:
    """Where the man on the cell may go; for the king also cells that are attacked."""
    seat = s.seat
    kind = s.board[cell] - 10 * seat
    men, found = occupied(s), np.uint64(STEP[seat, kind, cell])
    if kind == BISHOP or kind == BISHOP + PROMOTED:
        found |= np.uint64(
            DIAGONAL_REACH[cell, (((men & DIAGONAL_MASK[cell]) * DIAGONAL_MAGIC[cell]) >> _SHIFT) & _FOUR_BITS]
        )
    elif kind == ROOK or kind == ROOK + PROMOTED:
        found |= np.uint64(
            STRAIGHT_REACH[cell, (((men & STRAIGHT_MASK[cell]) * STRAIGHT_MAGIC[cell]) >> _SHIFT) & _SIX_BITS]
        )
    found &= ~np.uint64(s.men[seat, 0])
    if kind != KING:
        found &= np.uint64(s.goal)
        if np.uint64(s.pinned) & bit(cell) != _ZERO:
            found &= np.uint64(LINE[king_of(s, seat), cell])
    return found


def split(s: Any, cell: int) -> tuple[Any, Any]:
    """Where the man on the cell may go as it is, and where it may go and promote."""
    found, promoting = reach(s, cell), _ZERO
    kind, zone = s.board[cell] - 10 * s.seat, np.uint64(LAST_RANK[s.seat])
    if kind <= ROOK:
        promoting = found if bit(cell) & zone != _ZERO else found & zone
    if kind == PAWN:  # on the last rank it could never move again
        found &= ~zone
    return found, promoting


def drops(s: Any, kind: int) -> Any:
    """Where such a man may be dropped; for a pawn also where that is mate."""
    if s.hands[s.seat, kind - 1] == 0:
        return _ZERO
    found = np.uint64(s.goal) & ~occupied(s)
    if kind == PAWN:
        pawns = np.uint64(s.men[s.seat, PAWN])
        files = (pawns | (pawns >> _5) | (pawns >> _10) | (pawns >> _15) | (pawns >> _20)) & _ROW
        found &= ~np.uint64(LAST_RANK[s.seat]) & ~(files * _FILE)  # one pawn to a file
    return found


def mates(s: Any, cell: int) -> bool:
    """Whether a pawn that the mover drops on the cell is mate."""
    seat, them = s.seat, 1 - s.seat
    king = king_of(s, them)
    if np.uint64(STEP[seat, PAWN, cell]) & bit(king) == _ZERO:
        return False
    men = occupied(s) | bit(cell)
    if flights(s, them, men) != _ZERO:
        return False
    # Nothing fits between pawn and king, so only a man that takes the pawn, and may leave its place, can help.
    takers = attackers(s, seat, cell, men) & ~bit(king)
    stuck = pins(s, them, men) & ~np.uint64(LINE[king, cell])
    return takers & ~stuck == _ZERO


def can_move(s: Any) -> bool:
    """Whether the mover has a legal move."""
    others = np.uint64(s.men[s.seat, 0] ^ s.men[s.seat, KING])
    while others != _ZERO:
        if reach(s, lowest(others)) != _ZERO:
            return True
        others = without_lowest(others)
    if flights(s, s.seat, occupied(s)) != _ZERO:
        return True
    for kind in range(PAWN + 1, GOLD + 1):
        if drops(s, kind) != _ZERO:
            return True
    pawns = drops(s, PAWN)
    while pawns != _ZERO:
        if not mates(s, lowest(pawns)):
            return True
        pawns = without_lowest(pawns)
    return False
