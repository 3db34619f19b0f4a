"""How many stones a seat still needs in Hex, if the other seat only ever answers at bridges.

A bridge is two cells with two common neighbours, both empty: whichever of these the other takes, the other one joins
them. So the distance counts the stones of a shortest path that steps to neighbours and over bridges alike, at the
sides of the board too. The distance 0 is a chain of stones, bridges and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.compile import Function

_NONE, _ONE = np.uint64(0), np.uint64(1)
# (rows down, columns right) of the six neighbours, once around: between two that follow each other lies a bridge
_RING = ((0, 1), (1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1))
# [seat, end]: the first of the two directions that lead inwards from that side; the second is the next around
_INWARDS = np.array([[1, 4], [5, 2]])


def distance_of(size: int) -> Function:
    """`distance(s, seat)`; uses and clears `s.spread`, so that a rule needs no memory of its own.

    The set of cells reached grows in place, a word at a time. No step leads further than 64 cells on, so a word
    depends on its two neighbours only, and one that has just been written is remembered as it was.
    """
    area = size * size
    words = (area + 63) // 64
    board = np.zeros(words, np.uint64)
    sides = np.zeros((2, 2, words), np.uint64)  # [seat, side]
    enter = np.zeros((6, words), np.uint64)  # [direction] -> the cells that a step in the direction can end on
    steps = np.array([down * size + right for down, right in _RING])
    for cell in range(area):
        row, column = divmod(cell, size)
        bit = _ONE << np.uint64(cell % 64)
        board[cell // 64] |= bit
        for seat, line in enumerate((row, column)):
            for end in range(2):
                if line == end * (size - 1):
                    sides[seat, end, cell // 64] |= bit
        for direction, (down, right) in enumerate(_RING):
            if 0 <= row - down < size and 0 <= column - right < size:
                enter[direction, cell // 64] |= bit

    def empty(s: Any, w: int) -> Any:
        return board[w] & ~(s.stones[0, w] | s.stones[1, w]) if 0 <= w < words else _NONE

    def step(before: Any, here: Any, after: Any, w: int, direction: int) -> Any:
        """Word w of a set after a step, from the set's words w - 1, w and w + 1."""
        if w < 0 or w >= words:
            return _NONE
        by = steps[direction]
        if by > 0:
            moved = here << np.uint64(by) | before >> np.uint64(64 - by)
        else:
            moved = here >> np.uint64(-by) | after << np.uint64(64 + by)
        return moved & enter[direction, w]

    def ready(s: Any, seat: int, end: int, w: int) -> Any:
        """Word w of the cells that are on the side or have a bridge to it."""
        direction = _INWARDS[seat, end]
        low = empty(s, w - 1) & sides[seat, end, w - 1] if w > 0 else _NONE
        here = empty(s, w) & sides[seat, end, w]
        high = empty(s, w + 1) & sides[seat, end, w + 1] if w + 1 < words else _NONE
        one, two = step(low, here, high, w, direction), step(low, here, high, w, (direction + 1) % 6)
        return sides[seat, end, w] | (one & two)

    def around(s: Any, low: Any, here: Any, high: Any, w: int) -> Any:
        """Word w of the cells next to a set of cells, or over a bridge from it."""
        found = _NONE
        if low | here | high == _NONE:
            return found
        for first in range(6):
            second = (first + 1) % 6
            found |= step(low, here, high, w, first)
            one, two = _NONE, _NONE  # over the empty cells in the first direction, in the second
            for over in range(2):
                out, back = (first, second) if over == 0 else (second, first)
                a = step(_NONE, low, here, w - 1, out) & empty(s, w - 1)
                b = step(low, here, high, w, out) & empty(s, w)
                c = step(here, high, _NONE, w + 1, out) & empty(s, w + 1)
                if over == 0:
                    one = step(a, b, c, w, back)
                else:
                    two = step(a, b, c, w, back)
            found |= one & two
        return found

    def spread(s: Any, seat: int, onto_stones: bool) -> bool:
        """Reach on to the seat's stones, or to empty cells; whether there were any."""
        low, more = _NONE, False
        for w in range(words):
            here = s.spread[w]
            high = s.spread[w + 1] if w + 1 < words else _NONE
            onto = s.stones[seat, w] if onto_stones else empty(s, w)
            onto &= ~here
            if onto != _NONE:
                onto &= around(s, low, here, high, w) | ready(s, seat, 0, w)
                s.spread[w] = here | onto
                more = more or onto != _NONE
            low = here
        return more

    def distance(s: Any, seat: int) -> int:
        needed = 0
        while needed <= area:
            while spread(s, seat, True):
                pass
            there = _NONE
            for w in range(words):
                there |= s.spread[w] & ready(s, seat, 1, w)
            if there != _NONE or not spread(s, seat, False):
                break
            needed += 1
        for w in range(words):
            s.spread[w] = _NONE
        return needed if there != _NONE else area

    return distance
