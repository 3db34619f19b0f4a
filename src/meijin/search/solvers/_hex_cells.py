"""Sets of Hex cells as the bits of one uint64, for boards up to 7x7, and the cells that need no search.

A dead cell changes nothing whatever its colour: however the rest is filled, the ring of its six neighbours does not
alternate between the colours twice, so no chain needs the cell. Two cells are captured by a colour if its stone on
either makes the other dead: its reply to an intruder restores everything, so both may be taken for its stones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meijin.core.bits import without_lowest

BLACK, WHITE = 0, 1
LARGEST = 7

_NONE, _ONE, _ALL = np.uint64(0), np.uint64(1), ~np.uint64(0)
# (rows down, columns right) of the six neighbours, once around; the opposite of direction d is (d + 3) % 6
_RING = ((0, 1), (1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1))


class Shape(NamedTuple):
    """A board of one size: tables, so that the same compiled code serves all sizes."""

    size: int
    board: Any  # every cell
    first: Any  # the cells of the first column
    last: Any
    near: Any  # [cell] -> its neighbours
    sides: Any  # [seat, near or far]
    inside: Any  # [direction] -> the cells with a neighbour there
    rims: Any  # [seat, direction] -> the cells with that seat's side there
    shifts: Any  # [direction] -> how much further on the neighbour's bit is


def shape(size: int) -> Shape:
    area = size * size
    first, last = _NONE, _NONE
    near, sides = np.zeros(area, np.uint64), np.zeros((2, 2), np.uint64)
    inside, rims = np.zeros(6, np.uint64), np.zeros((2, 6), np.uint64)
    for cell in range(area):
        row, column = divmod(cell, size)
        bit = _ONE << np.uint64(cell)
        for seat, line in ((BLACK, row), (WHITE, column)):
            for end in range(2):
                if line == end * (size - 1):
                    sides[seat, end] |= bit
        for direction, (down, right) in enumerate(_RING):
            r, c = row + down, column + right
            if 0 <= r < size and 0 <= c < size:
                inside[direction] |= bit
                near[cell] |= _ONE << np.uint64(r * size + c)
            else:  # beyond an acute corner either colour does: its neighbours in the ring are one of each
                rims[WHITE if 0 <= r < size else BLACK, direction] |= bit
    first, last = sides[WHITE]
    board = (_ONE << np.uint64(area)) - _ONE
    shifts = np.array([down * size + right for down, right in _RING])
    return Shape(size, board, first, last, near, sides, inside, rims, shifts)


def grow(h: Any, cells: Any) -> Any:
    """The cells next to any of these, and some of themselves."""
    n = np.uint64(h.size)
    right, left = cells & ~h.last, cells & ~h.first
    wide = (cells << n) | (cells >> n) | (right << _ONE) | (left >> _ONE)
    return (wide | (left << (n - _ONE)) | (right >> (n - _ONE))) & h.board


def flood(h: Any, cells: Any, within: Any) -> Any:
    """All that is joined to the cells through cells of `within`, those of themselves that are in it included."""
    cells &= within
    while True:
        wider = cells | (grow(h, cells) & within)
        if wider == cells:
            return cells
        cells = wider


def turned(h: Any, cells: Any) -> Any:
    """The set after half a turn of the board: its bits in reverse order."""
    cells = ((cells >> _ONE) & np.uint64(0x5555555555555555)) | ((cells & np.uint64(0x5555555555555555)) << _ONE)
    for step, mask in (
        (np.uint64(2), np.uint64(0x3333333333333333)),
        (np.uint64(4), np.uint64(0x0F0F0F0F0F0F0F0F)),
        (np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
        (np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
    ):
        cells = ((cells >> step) & mask) | ((cells & mask) << step)
    return ((cells >> np.uint64(32)) | (cells << np.uint64(32))) >> np.uint64(64 - h.size * h.size)


def beside(h: Any, cells: Any, direction: int) -> Any:
    """The cells whose neighbour in the direction is one of these."""
    shift = h.shifts[direction]
    moved = cells >> np.uint64(shift) if shift > 0 else cells << np.uint64(-shift)
    return moved & h.inside[direction]


def dead(h: Any, black: Any, white: Any, taken: int, seat: int) -> Any:
    """The cells, empty or not, that are dead once the seat has the neighbour in direction `taken`, if not -1."""
    # All cells at once, around their rings. b_k: where the ring so far can be coloured to alternate k times,
    # beginning with black; w_k: with white.
    b1, b2, b3, b4 = _NONE, _NONE, _NONE, _NONE
    w1, w2, w3, w4 = _NONE, _NONE, _NONE, _NONE
    for direction in range(6):
        can_black = ~(beside(h, white, direction) | h.rims[WHITE, direction])
        can_white = ~(beside(h, black, direction) | h.rims[BLACK, direction])
        if direction == taken:
            can_black, can_white = (_ALL, _NONE) if seat == BLACK else (_NONE, _ALL)
        b4 |= b3 & can_white
        b3 |= b2 & can_black
        b2 |= b1 & can_white
        b1 |= can_black
        w4 |= w3 & can_black
        w3 |= w2 & can_white
        w2 |= w1 & can_black
        w1 |= can_white
    return h.board & ~(b4 | w4)


def captured(h: Any, black: Any, white: Any, seat: int) -> Any:
    """Two empty cells that the seat has captured, or none."""
    empty = h.board & ~(black | white)
    for direction in range(3):
        one = dead(h, black, white, direction, seat) & empty
        other = dead(h, black, white, direction + 3, seat) & empty
        one &= beside(h, other, direction)
        if one != _NONE:
            one &= ~without_lowest(one)
            shift = h.shifts[direction]
            return one | (one << np.uint64(shift) if shift > 0 else one >> np.uint64(-shift))
    return _NONE


def fill(h: Any, black: Any, white: Any) -> Any:
    """Both colours with the dead (as black) and captured cells added, and the cells that each captured."""
    by_black, by_white = _NONE, _NONE
    while True:
        black |= dead(h, black, white, -1, BLACK) & ~white  # stones elsewhere never bring a dead cell back to life
        more = False
        for seat in range(2):
            two = captured(h, black, white, seat)
            if two != _NONE:
                more = True
                if seat == BLACK:
                    black |= two
                    by_black |= two
                else:
                    white |= two
                    by_white |= two
        if not more:
            return black, white, by_black, by_white
