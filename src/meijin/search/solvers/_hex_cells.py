"""Sets of Hex cells as the bits of one uint64, for boards up to 7x7, and the cells that need no search.

A dead cell changes nothing whatever its colour: however the rest is filled, the ring of its six neighbours does not
alternate between the colours twice, so no chain needs the cell. Two cells are captured by a colour if its stone on
either makes the other dead: its reply to an intruder restores everything, so both may be taken for its stones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.bits import without_lowest
from meijin.core.compile import Function

BLACK, WHITE = 0, 1
LARGEST = 7

_NONE, _ONE, _ALL = np.uint64(0), np.uint64(1), ~np.uint64(0)
# (rows down, columns right) of the six neighbours, once around; the opposite of direction d is (d + 3) % 6
_RING = ((0, 1), (1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1))


def grower(size: int) -> Function:
    """`grow(cells)`: the cells next to any of these, and some of themselves."""
    n = np.uint64(size)
    first = _NONE
    for row in range(size):
        first |= _ONE << np.uint64(row * size)
    last = first << np.uint64(size - 1)
    board = (_ONE << np.uint64(size * size)) - _ONE

    def grow(cells: Any) -> Any:
        right, left = cells & ~last, cells & ~first
        wide = (cells << n) | (cells >> n) | (right << _ONE) | (left >> _ONE)
        return (wide | (left << (n - _ONE)) | (right >> (n - _ONE))) & board

    return grow


def flooder(size: int) -> Function:
    """`flood(cells, within)`: all that is joined to the cells through cells of `within`, themselves included."""
    grow = grower(size)

    def flood(cells: Any, within: Any) -> Any:
        cells &= within
        while True:
            wider = cells | (grow(cells) & within)
            if wider == cells:
                return cells
            cells = wider

    return flood


def turner(size: int) -> Function:
    """`turned(cells)`: the set after half a turn of the board."""
    spare = np.uint64(64 - size * size)

    def turned(cells: Any) -> Any:
        cells = ((cells >> _ONE) & np.uint64(0x5555555555555555)) | ((cells & np.uint64(0x5555555555555555)) << _ONE)
        for step, mask in (
            (np.uint64(2), np.uint64(0x3333333333333333)),
            (np.uint64(4), np.uint64(0x0F0F0F0F0F0F0F0F)),
            (np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
            (np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
        ):
            cells = ((cells >> step) & mask) | ((cells & mask) << step)
        return ((cells >> np.uint64(32)) | (cells << np.uint64(32))) >> spare

    return turned


def filler(size: int) -> tuple[Function, Function]:
    """`fill(black, white)`: both with the dead (as black) and captured cells added, and the captured ones alone.

    `answered(black, white, seat)`: the empty cells that one stone of the seat beside them kills, and the places of
    these stones. To play there is to pass and give the other a stone, so the other seat need not try.
    """
    board = (_ONE << np.uint64(size * size)) - _ONE
    inside = np.zeros(6, np.uint64)  # [direction] -> the cells with a neighbour there
    rims = np.zeros((2, 6), np.uint64)  # [seat, direction] -> the cells with that seat's side there
    shifts = np.zeros(6, np.int64)
    for direction, (down, right) in enumerate(_RING):
        shifts[direction] = down * size + right
        for cell in range(size * size):
            row, column = cell // size + down, cell % size + right
            bit = _ONE << np.uint64(cell)
            if 0 <= row < size and 0 <= column < size:
                inside[direction] |= bit
            else:  # beyond an acute corner either colour does: its neighbours in the ring are one of each
                rims[WHITE if 0 <= row < size else BLACK, direction] |= bit

    def beside(cells: Any, direction: int) -> Any:
        """The cells whose neighbour in the direction is one of these."""
        shift = shifts[direction]
        moved = cells >> np.uint64(shift) if shift > 0 else cells << np.uint64(-shift)
        return moved & inside[direction]

    def dead(black: Any, white: Any, taken: int, seat: int) -> Any:
        """The cells, empty or not, that are dead once the seat has the neighbour in direction `taken`, if not -1."""
        # Alternating twice is reaching state 4 of this machine: s_k, the cells for which the ring so far can be
        # coloured to show k changes; one machine for each colour to start with.
        b1, b2, b3, b4 = _NONE, _NONE, _NONE, _NONE  # starts with black
        w1, w2, w3, w4 = _NONE, _NONE, _NONE, _NONE
        for direction in range(6):
            can_black = ~(beside(white, direction) | rims[WHITE, direction])
            can_white = ~(beside(black, direction) | rims[BLACK, direction])
            if direction == taken:
                if seat == BLACK:
                    can_black, can_white = _ALL, _NONE
                else:
                    can_black, can_white = _NONE, _ALL
            b4 |= b3 & can_white
            b3 |= b2 & can_black
            b2 |= b1 & can_white
            b1 |= can_black
            w4 |= w3 & can_black
            w3 |= w2 & can_white
            w2 |= w1 & can_black
            w1 |= can_white
        return board & ~(b4 | w4)

    def ahead(cells: Any, direction: int) -> Any:
        """The neighbours in the direction."""
        shift = shifts[direction]
        cells &= inside[direction]
        return cells << np.uint64(shift) if shift > 0 else cells >> np.uint64(-shift)

    def pair(black: Any, white: Any, seat: int) -> Any:
        """Two empty cells that the seat has captured, or none."""
        empty = board & ~(black | white)
        for direction in range(3):
            one = dead(black, white, direction, seat) & empty & beside(empty, direction)
            if one != _NONE:
                other = dead(black, white, direction + 3, seat) & empty
                one &= beside(other, direction)
                if one != _NONE:
                    one &= ~without_lowest(one)
                    return one | ahead(one, direction)
        return _NONE

    def fill(black: Any, white: Any) -> Any:
        by_black, by_white = _NONE, _NONE
        while True:
            lost = dead(black, white, -1, BLACK) & ~(black | white)
            if lost != _NONE:
                black |= lost  # all at once: stones elsewhere do not bring a dead cell back to life
                continue
            two = pair(black, white, BLACK)
            if two != _NONE:
                black |= two
                by_black |= two
                continue
            two = pair(black, white, WHITE)
            if two == _NONE:
                return black, white, by_black, by_white
            white |= two
            by_white |= two

    def answered(black: Any, white: Any, seat: int) -> Any:
        empty = board & ~(black | white)
        killed, killers = _NONE, _NONE
        for direction in range(6):
            cells = dead(black, white, direction, seat) & empty & beside(empty, direction) & ~killed
            killed |= cells
            killers |= ahead(cells, direction)
        return killed, killers

    return fill, answered
