"""Abalone's geometry and its 1452 moves: constant tables for the rules, names and clicks for people.

A set of the 61 cells is a word of 61 bits. Row A = 0 .. I = 8 and diagonal 1..9 give a cell's bit,
(13 * row + diagonal - 1) mod 61: a step in one direction then adds the same number to every bit (E 1, NW 13, NE 14),
so that all marbles take it together when the word is rotated. Steps off the board come back elsewhere and are masked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meijin.core.boards import hexagon
from meijin.core.moves import Path

BOARD = hexagon(5)
CELLS = len(BOARD.cells)  # 61
DIRECTIONS = ("NE", "E", "SE", "SW", "W", "NW")
NE, E, SE, SW, W, NW = range(6)
_STEPS = ((1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1), (1, 0))  # [direction] -> (row, diagonal)
_PLACES = [(ord(cell.name[0]) - ord("a"), int(cell.name[1])) for cell in BOARD.cells]  # [cell] -> (row, diagonal)
_AT = {place: cell for cell, place in enumerate(_PLACES)}

KINDS = 5  # moves in one direction: inline, then lines of two along two axes, then lines of three along them
PER_DIRECTION = 242  # 52 + 52 + 52 + 43 + 43


def step(cell: int, direction: int) -> int | None:
    """The neighbour of a cell in a direction; None off the board."""
    row, diagonal = _PLACES[cell]
    up, right = _STEPS[direction]
    return _AT.get((row + up, diagonal + right))


def _shift(direction: int) -> int:
    up, right = _STEPS[direction]
    return (13 * up + right) % CELLS


def cell_set(cells: list[int]) -> np.uint64:
    return np.uint64(sum(1 << int(BIT[cell]) for cell in cells))


#: [cell] -> its bit
BIT = np.array([(13 * row + diagonal - 1) % CELLS for row, diagonal in _PLACES], np.uint64)
#: [direction] -> how far a word is rotated to the right, in two parts, for each cell to see its neighbour's bit
RIGHT = np.array([_shift(d) for d in range(6)], np.uint64)
LEFT = np.array([CELLS - _shift(d) for d in range(6)], np.uint64)
#: [direction] -> the cells that have a neighbour there
INNER = np.array([cell_set([c for c in range(CELLS) if step(c, d) is not None]) for d in range(6)], np.uint64)
#: [direction, which] -> the two axes, as directions from a line's first marble to its last, of broadside moves
AXES = np.array([[a for a in (NE, E, NW) if a % 3 != d % 3] for d in range(6)], np.int64)
#: [n] -> the cells at least n + 1 steps from the centre, E5
_FAR = [max(abs(row - 4), abs(diagonal - 5), abs(row + 1 - diagonal)) for row, diagonal in _PLACES]
BEYOND = np.array([cell_set([c for c in range(CELLS) if _FAR[c] > n]) for n in range(4)], np.uint64)


class Entry(NamedTuple):
    """A move of the table: marbles from first to last, the last in a higher row, or right in the same one."""

    marbles: tuple[int, ...]  # cells; only the rear one of an inline move
    direction: int
    kind: int  # which of the KINDS

    @property
    def first(self) -> int:
        return self.marbles[0]

    @property
    def last(self) -> int:
        return self.marbles[-1]

    @property
    def possible(self) -> bool:
        """False for a broadside move that leaves the board."""
        return all(step(cell, self.direction) is not None for cell in self.marbles)

    @property
    def name(self) -> str:
        """`A1NE`: the rear marble of an inline move; `A1B1NE`: the first and the last of a broadside one."""
        ends = (self.first,) if self.kind == 0 else (self.first, self.last)
        return "".join(BOARD.cells[cell].name.upper() for cell in ends) + DIRECTIONS[self.direction]

    @property
    def path(self) -> Path | None:
        """Inline: the rear marble and its next cell. Broadside: the end that lags behind, the end that leads, and
        where that one lands; so defined, and not by the order of names, each symmetry takes paths to paths."""
        if not self.possible:
            return None
        if self.kind == 0:
            clicked: tuple[int, ...] = (self.first,)
        else:
            axis = int(AXES[self.direction, (self.kind - 1) % 2])
            forward = (axis - self.direction) % 6 in (1, 5)
            clicked = (self.first, self.last) if forward else (self.last, self.first)
        landing = step(clicked[-1], self.direction)
        assert landing is not None
        return *clicked, landing


def _entries() -> list[Entry]:
    """The table: by direction, by kind, and then by the first marble's bit."""
    in_order = np.argsort(BIT).tolist()
    table: list[Entry] = []
    for direction in range(6):
        for kind in range(KINDS):
            for cell in in_order:
                line: list[int | None] = [cell]
                if kind > 0:
                    axis = int(AXES[direction, (kind - 1) % 2])
                    for _ in range(1 if kind < 3 else 2):
                        line.append(None if line[-1] is None else step(line[-1], axis))
                marbles = tuple(c for c in line if c is not None)
                if len(marbles) == len(line) and (kind > 0 or step(cell, direction) is not None):
                    table.append(Entry(marbles, direction, kind))
    return table


ENTRIES = tuple(_entries())
#: [move] -> the marbles it names
LINE = np.array([cell_set(list(entry.marbles)) for entry in ENTRIES], np.uint64)
#: [direction, kind, bit of the first marble] -> move, or -1
NUMBER = np.full((6, KINDS, CELLS), -1, np.int16)
for _move, _entry in enumerate(ENTRIES):
    NUMBER[_entry.direction, _entry.kind, int(BIT[_entry.first])] = _move

#: Rows from I to A as people draw them: X black (seat 0), O white (seat 1).
LAYOUTS = {
    "standard": "OOOOO OOOOOO ..OOO.. ........ ......... ........ ..XXX.. XXXXXX XXXXX",
    "belgian_daisy": "OO.XX OOOXXX .OO.XX. ........ ......... ........ .XX.OO. XXXOOO XX.OO",
    "german_daisy": "..... OO..XX OOO.XXX .OO..XX. ......... .XX..OO. XXX.OOO XX..OO .....",
}
