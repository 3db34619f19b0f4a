"""Tic-tac-toe and gomoku: stones on any empty cell, the first line wins."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from meijin.core.bits import count, lowest, nth, without_lowest
from meijin.core.boards import Board, square
from meijin.core.catalogue import game
from meijin.core.errors import BadParameter
from meijin.core.game import OVER, Game
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below

DRAW = 2


@game("tic_tac_toe", title="Tic-tac-toe")
def tic_tac_toe(
    width: Annotated[int, Range(1, 26)] = 3,
    height: Annotated[int, Range(1, 26)] = 3,
    connect: Annotated[int, Range(2, 26)] = 3,
) -> Game:
    """Place stones in turn; a line of three (`connect`) or more wins. Moves are cells, a1 at the bottom left."""
    crosses, noughts = Piece("X", 0, "#c8342c", label=True), Piece("O", 1, "#2c5ea6", label=True)
    return _lines(square(height, width, theme="paper"), connect, (Piece("."), crosses, noughts))


@game("gomoku", title="Gomoku")
def gomoku(size: Annotated[int, Range(2, 26)] = 15, connect: Annotated[int, Range(2, 26)] = 5) -> Game:
    """Freestyle gomoku: place stones in turn; five (`connect`) or more in a line win."""
    black, white = Piece("X", 0, "#1c1c1c"), Piece("O", 1, "#f4f1e8")
    return _lines(square(size, points=True), connect, (Piece("."), black, white))


def _lines(board: Board, connect: int, pieces: tuple[Piece, ...]) -> Game:
    """The m,n,k game on a square board."""
    assert board.grid is not None
    height, width = board.grid
    area = width * height
    if connect > max(width, height):
        raise BadParameter(f"connect={connect}: no line that long fits on {width} x {height}")

    # One bit a cell, row by row, with an empty bit after each row so that lines never wrap around.
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
        """How many stones of the seat follow on from the bit, one way."""
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
        w = bit >> 6 if words > 1 else 0  # a fixed word where there is but one: a quarter faster
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

    return Game(
        state=state,
        board=board,
        pieces=pieces,
        seats=2,
        num_moves=area,
        longest=area,
        rules=(start, turn, legal, play, score, cells, sample),
    )
