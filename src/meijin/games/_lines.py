"""Placing stones until a line wins (the m,n,k game): what tic-tac-toe and gomoku have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from meijin.core.bits import count, lowest, nth, without_lowest
from meijin.core.boards import Board
from meijin.core.errors import BadParameter
from meijin.core.game import OVER, Game
from meijin.core.pieces import Piece
from meijin.core.rng import below

DRAW = 2


def in_a_row(connect: int) -> str:
    """How a won game ended: "four in a row"."""
    words = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
    return f"{words.get(connect, connect)} in a row"


def lines(board: Board, connect: int, pieces: Sequence[Piece], seat_names: Sequence[str]) -> Game:
    """The m,n,k game on a square board."""
    assert board.grid is not None
    height, width = board.grid
    area = width * height
    if connect > max(width, height):
        raise BadParameter(f"connect={connect}: no line that long fits on {width} x {height}")

    # One bit per cell, row by row, with an empty bit after each row so that lines never wrap around.
    wide = width + 1
    words = (height * wide + 63) // 64
    directions = (1, wide - 1, wide, wide + 1)  # right, down-left, down, down-right
    one = np.uint64(1)
    on_board = np.zeros(words, np.uint64)  # [word] -> the bits that are cells
    for cell in range(area):
        bit = cell + cell // width
        on_board[bit >> 6] |= one << np.uint64(bit & 63)

    state = np.dtype([("stones", "u8", (2, words)), ("ply", "i2"), ("winner", "i1")], align=True)

    def start(s: Any) -> None:
        for w in range(words):
            s.stones[0, w] = 0
            s.stones[1, w] = 0
        s.ply = 0
        s.winner = -1

    def turn(s: Any) -> int:
        return s.ply & 1 if s.winner < 0 else OVER

    def empty(s: Any, w: int) -> Any:
        return on_board[w] & ~(s.stones[0, w] | s.stones[1, w])

    def cell_of(bit: int) -> int:
        return bit - bit // wide

    def legal(s: Any, moves: Any) -> int:
        n = 0
        for w in range(words):
            left = empty(s, w)
            while left != 0:
                moves[n] = cell_of(64 * w + lowest(left))
                left = without_lowest(left)
                n += 1
        return n

    def sample(s: Any, rng: Any) -> int:
        n = below(rng, area - s.ply)
        w = 0
        left = empty(s, 0)
        while n >= count(left):
            n -= count(left)
            w += 1
            left = empty(s, w)
        return cell_of(64 * w + nth(left, n))

    def holds(s: Any, seat: int, bit: int) -> bool:
        return (s.stones[seat, bit >> 6] >> np.uint64(bit & 63)) & one != 0

    def run(s: Any, seat: int, bit: int, step: int) -> int:
        """How many stones of the seat follow the bit without a gap, in one direction."""
        n = 0
        bit += step
        while 0 <= bit < height * wide and holds(s, seat, bit):
            n += 1
            bit += step
        return n

    def lined_up_anywhere(s: Any, seat: int, bit: int) -> bool:
        found = np.uint64(0)
        for step in directions:
            line = s.stones[seat, 0]
            for _ in range(connect - 1):
                line &= line >> np.uint64(step)
            found |= line
        return found != 0

    def lined_up_here(s: Any, seat: int, bit: int) -> bool:
        for step in directions:
            if 1 + run(s, seat, bit, step) + run(s, seat, bit, -step) >= connect:
                return True
        return False

    wins = lined_up_anywhere if words == 1 else lined_up_here  # larger boards do not fit in one word

    def play(s: Any, move: int) -> None:
        seat = s.ply & 1
        bit = move + move // width
        w = bit >> 6 if words > 1 else 0  # a constant where there is only one word: a quarter faster
        s.stones[seat, w] |= one << np.uint64(bit & 63)
        s.ply += 1
        if wins(s, seat, bit):
            s.winner = seat
        elif s.ply == area:
            s.winner = DRAW

    def score(s: Any, out: Any) -> None:
        out[0] = 0.0
        out[1] = 0.0
        if 0 <= s.winner < DRAW:
            out[s.winner] = 1.0
            out[1 - s.winner] = -1.0

    def cells(s: Any, out: Any) -> None:
        for cell in range(area):
            bit = cell + cell // width
            out[cell] = 1 if holds(s, 0, bit) else 2 if holds(s, 1, bit) else 0

    def setup(s: Any, values: Any, mover: int) -> int:
        start(s)
        for cell in range(area):
            if values[cell] > 0:
                bit = cell + cell // width
                s.stones[values[cell] - 1, bit >> 6] |= one << np.uint64(bit & 63)
                s.ply += 1
        if s.ply & 1 != mover:
            return 1
        for seat in range(2):
            for bit in range(height * wide):
                if holds(s, seat, bit) and wins(s, seat, bit):
                    if s.winner == 1 - seat:
                        return 2
                    s.winner = seat
        if s.winner < 0 and s.ply == area:
            s.winner = DRAW
        return 0

    def ending(s: Any) -> int:
        return 1 if s.winner == DRAW else 0

    first, second = seat_names
    return Game(
        state=state,
        board=board,
        pieces=pieces,
        seats=2,
        seat_names=seat_names,
        num_moves=area,
        longest=area,
        endings=(in_a_row(connect), "the board is full"),
        refusals=(
            f"with an even number of pieces on the board it is {first}'s turn, with an odd number {second}'s",
            f"both sides have {in_a_row(connect)}",
        ),
        rules=(start, turn, legal, play, score, cells, sample, setup, ending),
    )
