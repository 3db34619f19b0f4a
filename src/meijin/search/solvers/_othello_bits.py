"""Othello on one 64-bit word per colour: bit 8 * row + column, row 0 at the top; smaller boards use the upper left.

Cells off a smaller board belong to nobody and are not empty, so that no line ever crosses them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ZERO, ONE = np.uint64(0), np.uint64(1)
_WAYS = ((1, 0), (0, 1), (1, 1), (-1, 1))  # (right, down)
_COLUMNS = np.uint64(0x7E7E7E7E7E7E7E7E)  # all but the left and right edges
_FILE, _FILES = np.uint64(0x0101010101010101), np.uint64(0x0102040810204080)
_BYTE, _UP_TO_7, _ROW, _TOP = np.uint64(255), np.uint64(7), np.uint64(56), np.uint64(56)


def _ray(cell: int, right: int, down: int) -> int:
    column, row, found = cell % 8 + right, cell // 8 + down, 0
    while 0 <= column < 8 and 0 <= row < 8:
        found |= 1 << (8 * row + column)
        column, row = column + right, row + down
    return found


def _turned_in_line(at: int, mine: int) -> int:
    """How many a disc at `at` turns in a line of eight where all other cells but `mine` are the other's."""
    right = next((c - at - 1 for c in range(at + 1, 8) if mine >> c & 1), 0)
    left = next((at - c - 1 for c in range(at - 1, -1, -1) if mine >> c & 1), 0)
    return right + left


#: [cell, way] -> the cells that a line from there meets, towards higher and lower bits.
_UP = np.array([[_ray(cell, r, d) for r, d in _WAYS] for cell in range(64)], np.uint64)
_DOWN = np.array([[_ray(cell, -r, -d) for r, d in _WAYS] for cell in range(64)], np.uint64)
_DIAGONAL = _UP[:, 2] | _DOWN[:, 2]
_ANTIDIAGONAL = _UP[:, 3] | _DOWN[:, 3]
_LINE = np.array([[_turned_in_line(at, mine) for mine in range(256)] for at in range(8)], np.uint8)


def _near(cell: int) -> int:
    around = [(cell % 8 + r, cell // 8 + d) for r in (-1, 0, 1) for d in (-1, 0, 1) if r or d]
    return sum(1 << (8 * row + column) for column, row in around if 0 <= column < 8 and 0 <= row < 8)


#: [cell] -> the cells around it
NEAR = np.array([_near(cell) for cell in range(64)], np.uint64)


def _length(word: Any) -> Any:
    """How many bits the number has. LLVM knows this loop and makes one instruction of it."""
    n = np.int64(0)
    while word != ZERO:
        word = word >> ONE
        n += 1
    return n


def flips(mine: Any, theirs: Any, cell: Any) -> Any:
    """What a disc of mine on that empty cell turns."""
    found = ZERO
    for way in range(4):
        # Upwards, a carry runs through their discs (and all bits off the line) and stops at the first other cell.
        line = _UP[cell, way]
        end = ((theirs | ~line) + ONE) & mine & line
        found |= (end - np.uint64(end != ZERO)) & line
        # Downwards, the first other cell is the highest bit; if there is none, bit 0 stands in, and is not mine.
        line = _DOWN[cell, way]
        first = np.uint64(_length((~theirs & line) | ONE) - 1)
        end = (ONE << first) & mine & line
        found |= (ZERO - (end << ONE)) & line
    return found


def last_flips(mine: Any, cell: Any) -> Any:
    """How many discs mine on the board's only empty cell turns: each of its lines is an index of a table."""
    at = cell & _UP_TO_7
    row = (mine >> (cell & _ROW)) & _BYTE
    column = (((mine >> at) & _FILE) * _FILES) >> _TOP
    diagonal = ((mine & _DIAGONAL[cell]) * _FILE) >> _TOP
    antidiagonal = ((mine & _ANTIDIAGONAL[cell]) * _FILE) >> _TOP
    across = np.int64(_LINE[at, row]) + np.int64(_LINE[at, diagonal]) + np.int64(_LINE[at, antidiagonal])
    return across + np.int64(_LINE[cell >> np.uint64(3), column])


def _reach(mine: Any, theirs: Any, step: Any) -> Any:
    """The cells behind lines of theirs that begin beside a disc of mine, along one way in both directions."""
    two = step + step
    up = theirs & (mine << step)
    up |= theirs & (up << step)
    pairs = theirs & (theirs << step)
    up |= pairs & (up << two)
    up |= pairs & (up << two)
    down = theirs & (mine >> step)
    down |= theirs & (down >> step)
    pairs >>= step
    down |= pairs & (down >> two)
    down |= pairs & (down >> two)
    return (up << step) | (down >> step)


def places(mine: Any, theirs: Any, empty: Any) -> Any:
    """The empty cells where a disc of mine turns something."""
    inner = theirs & _COLUMNS  # no line wraps around a side
    found = _reach(mine, inner, ONE) | _reach(mine, theirs, np.uint64(8))
    return (found | _reach(mine, inner, np.uint64(7)) | _reach(mine, inner, np.uint64(9))) & empty


def around(discs: Any) -> Any:
    """The cells beside them, and they themselves."""
    row = discs | ((discs << ONE) & ~_FILE) | ((discs >> ONE) & (~_FILE >> ONE))
    return row | (row << np.uint64(8)) | (row >> np.uint64(8))


# ---- discs that can never be turned ----


def _beyond(right: int, down: int) -> int:
    """The cells whose neighbour at that distance is off the board of eight."""
    return sum(1 << c for c in range(64) if not (0 <= c % 8 + right < 8 and 0 <= c // 8 + down < 8))


_STEPS = np.array([right + 8 * down for right, down in _WAYS], np.uint64)
#: [way, doubling] -> the cells where a line ends within 1, 2, 4 steps towards higher bits, and towards lower ones
_ENDS_UP = np.array([[_beyond(r << k, d << k) for k in range(3)] for r, d in _WAYS], np.uint64)
_ENDS_DOWN = np.array([[_beyond(-r << k, -d << k) for k in range(3)] for r, d in _WAYS], np.uint64)


def _full(filled: Any, way: int) -> Any:
    """The cells whose whole line along that way is filled."""
    up = down = filled
    for k in range(3):
        step = _STEPS[way] << np.uint64(k)
        up &= (up >> step) | _ENDS_UP[way, k]
        down &= (down << step) | _ENDS_DOWN[way, k]
    return up & down


def stable(discs: Any, empty: Any, outside: Any) -> Any:
    """Discs that stay for ever, though not all: each of their lines is full, or ends there, or has such a disc next."""
    row, column = _full(~empty, 0), _full(~empty, 1)
    diagonal, antidiagonal = _full(~empty, 2), _full(~empty, 3)
    safe = outside
    while True:
        found = discs & (row | _held(safe, 0)) & (column | _held(safe, 1))
        found &= (diagonal | _held(safe, 2)) & (antidiagonal | _held(safe, 3))
        found |= safe
        if found == safe:
            return safe & discs
        safe = found


def _held(safe: Any, way: int) -> Any:
    step = _STEPS[way]
    return (safe << step) | (safe >> step) | _ENDS_UP[way, 0] | _ENDS_DOWN[way, 0]
