"""Tables of minishogi: how men move, what lies between two cells, and the numbers of moves.

Cells are numbered in reading order from 5a, the top left corner as the first player (seat 0) sees the board. A set
of cells is a word with bit i for cell i.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZE = 5
AREA = SIZE * SIZE
PLANES = 69  # moves from or to a cell: 8 directions x 4 distances, the same promoting, and drops of 5 kinds
PROMOTING, DROPPING = 32, 64  # the first of these planes
NUM_MOVES = PLANES * AREA

# Kinds of men. Those that promote come first, those that can be held in hand are 1 to 5.
PAWN, SILVER, BISHOP, ROOK, GOLD, KING = range(1, 7)
PROMOTED = 6  # a promoted man is its kind + 6, up to the rook
KINDS = ("", "P", "S", "B", "R", "G", "K", "+P", "+S", "+B", "+R")

#: Directions as (row, column) steps, clockwise from straight up.
STEPS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
COMPASS = ("n", "ne", "e", "se", "s", "sw", "w", "nw")
_STRAIGHT, _DIAGONAL = (0, 2, 4, 6), (1, 3, 5, 7)
_GOLD, _SILVER = (7, 0, 1, 2, 6, 4), (7, 0, 1, 3, 5)
_ONE_STEP = {
    PAWN: (0,),
    SILVER: _SILVER,
    GOLD: _GOLD,
    KING: range(8),
    PAWN + PROMOTED: _GOLD,
    SILVER + PROMOTED: _GOLD,
    BISHOP + PROMOTED: range(8),
    ROOK + PROMOTED: range(8),
}


def _walk(cell: int, direction: int) -> Iterator[int]:
    """The cells in one direction, up to the edge."""
    row, column = divmod(cell, SIZE)
    down, right = STEPS[direction]
    for k in range(1, SIZE):
        r, c = row + k * down, column + k * right
        if 0 <= r < SIZE and 0 <= c < SIZE:
            yield r * SIZE + c


def _bits(cells: Any) -> int:
    return sum(1 << cell for cell in cells)


def _steps() -> NDArray[np.uint32]:
    table = np.zeros((2, len(KINDS), AREA), np.uint32)
    for kind, directions in _ONE_STEP.items():
        for cell in range(AREA):
            for seat in (0, 1):  # the second player looks the other way
                ahead = [list(_walk(cell, (d + 4 * seat) % 8))[:1] for d in directions]
                table[seat, kind, cell] = _bits(c for found in ahead for c in found)
    return table


def _between() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    between, line = np.zeros((2, AREA, AREA), np.uint32)
    for cell in range(AREA):
        for d in range(8):
            ahead = list(_walk(cell, d))
            whole = _bits([*ahead, cell, *_walk(cell, (d + 4) % 8)])
            for k, other in enumerate(ahead):
                between[cell, other], line[cell, other] = _bits(ahead[:k]), whole
    return between, line


def _slides(directions: tuple[int, ...], bits: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Where a man slides among others, as a perfect hash of the men that can be in its way ("magic" numbers).

    The reach of a man on cell c is `reach[c, (((men & mask[c]) * magic[c]) >> SHIFT) & (2**bits - 1)]`.
    """
    rays, mask = np.zeros((2, AREA), np.uint32)
    magic, reach = np.zeros(AREA, np.uint64), np.zeros((AREA, 1 << bits), np.uint32)
    rng = np.random.default_rng(5)
    for cell in range(AREA):
        ways = [list(_walk(cell, d)) for d in directions]
        rays[cell] = _bits(c for way in ways for c in way)
        inner = [c for way in ways for c in way[:-1]]  # a man on the edge stops nobody earlier
        mask[cell] = _bits(inner)
        blocks = [_bits(c for i, c in enumerate(inner) if n >> i & 1) for n in range(1 << len(inner))]
        ends = [_bits(c for way in ways for c in _until(way, block)) for block in blocks]
        words, results = np.array(blocks, np.uint64), np.array(ends, np.uint32)
        while True:  # below 2**36, so that a product with 25 bits never overflows
            guess = np.bitwise_and.reduce(rng.integers(0, 1 << 36, size=2, dtype=np.uint64))
            at = (words * guess >> np.uint64(SHIFT)) & np.uint64((1 << bits) - 1)
            reach[cell, at] = results
            if np.array_equal(reach[cell, at], results):
                break
        magic[cell] = guess
    return rays, mask, magic, reach


def _until(way: list[int], block: int) -> Iterator[int]:
    for cell in way:
        yield cell
        if block >> cell & 1:
            return


def _numbers() -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    target, plane = np.full((AREA, PROMOTING), -1, np.int16), np.full((AREA, AREA), -1, np.int16)
    for cell in range(AREA):
        for d in range(8):
            for k, other in enumerate(_walk(cell, d)):
                target[cell, 4 * d + k], plane[cell, other] = other, 4 * d + k
    return target, plane


def _rotated() -> NDArray[np.int16]:
    found = np.arange(NUM_MOVES, dtype=np.int16).reshape(AREA, PLANES)
    planes = np.arange(PLANES)
    planes[:DROPPING] = planes[:DROPPING] // 32 * 32 + (planes[:DROPPING] + 16) % 32
    return np.ascontiguousarray(found[::-1, planes].reshape(-1))


SHIFT = 24
STEP = _steps()  # [seat, kind, cell] -> where a man goes in one step
BETWEEN, LINE = _between()  # [cell, cell] -> the cells between the two; the whole line through both, ends included
DIAGONALS, DIAGONAL_MASK, DIAGONAL_MAGIC, DIAGONAL_REACH = _slides(_DIAGONAL, 4)
STRAIGHTS, STRAIGHT_MASK, STRAIGHT_MAGIC, STRAIGHT_REACH = _slides(_STRAIGHT, 6)
TARGET, PLANE = _numbers()  # [cell, plane] -> where it leads, -1: off the board; [cell, cell] -> plane
LAST_RANK = np.array([0b11111, 0b11111 << 20], np.uint32)  # [seat]
ROTATED = _rotated()  # [move] -> the same move on the board turned by half

_random = np.random.default_rng(2024)
MAN_KEYS = _random.integers(0, 1 << 64, (AREA, 2 * len(KINDS) - 1), np.uint64)  # [cell, value of the cell]
MAN_KEYS[:, 0] = 0
HAND_KEYS = _random.integers(0, 1 << 64, (2, GOLD, 3), np.uint64)  # [seat, kind - 1, how many]
HAND_KEYS[:, :, 0] = 0
TURN_KEY = np.uint64(_random.integers(0, 1 << 64, dtype=np.uint64))
