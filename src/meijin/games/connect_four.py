"""Connect Four: stones fall down columns, four in a line win."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from meijin.core.boards import square
from meijin.core.catalogue import game
from meijin.core.errors import BadParameter
from meijin.core.game import OVER, Game
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below

DRAW = 2


@game("connect_four", title="Connect Four")
def connect_four(
    width: Annotated[int, Range(1, 26)] = 7,
    height: Annotated[int, Range(1, 26)] = 6,
    connect: Annotated[int, Range(2, 26)] = 4,
) -> Game:
    """Drop stones into columns; the first line of four (`connect`) wins. Moves are column numbers from 1."""
    if connect > max(width, height):
        raise BadParameter(f"connect={connect}: no line that long fits on {width} x {height}")

    # One bit a cell, column by column from the bottom, with an empty bit on top so that lines never wrap around.
    tall = height + 1
    words = (width * tall + 63) // 64
    directions = (1, tall - 1, tall, tall + 1)  # up, down-right, right, up-right
    one = np.uint64(1)
    wide = words > 1  # known when compiling, so that small boards index nothing

    state = np.dtype(
        [("stones", "u8", (2, words)), ("filled", "i1", (width,)), ("ply", "i2"), ("winner", "i1")], align=True
    )

    def start(s: Any) -> None:
        for w in range(words):
            s.stones[0, w] = 0
            s.stones[1, w] = 0
        for column in range(width):
            s.filled[column] = 0
        s.ply = 0
        s.winner = -1

    def turn(s: Any) -> int:
        return s.ply & 1 if s.winner < 0 else OVER

    def legal(s: Any, moves: Any) -> int:
        n = 0
        for column in range(width):
            if s.filled[column] < height:
                moves[n] = column
                n += 1
        return n

    def sample(s: Any, rng: Any) -> int:
        column = below(rng, width)
        while s.filled[column] == height:
            column = below(rng, width)
        return column

    def holds(s: Any, seat: int, bit: int) -> bool:
        return (s.stones[seat, bit >> 6 if wide else 0] >> np.uint64(bit & 63)) & one != 0

    def run(s: Any, seat: int, bit: int, step: int) -> int:
        """How many stones of the seat follow on from the bit, one way."""
        n = 0
        bit += step
        while 0 <= bit < width * tall and holds(s, seat, bit):
            n += 1
            bit += step
        return n

    def lined_up_anywhere(s: Any, seat: int, bit: int) -> bool:
        for step in directions:
            line = s.stones[seat, 0]
            for _ in range(connect - 1):
                line &= line >> np.uint64(step)
            if line != 0:
                return True
        return False

    def lined_up_here(s: Any, seat: int, bit: int) -> bool:
        for step in directions:
            if 1 + run(s, seat, bit, step) + run(s, seat, bit, -step) >= connect:
                return True
        return False

    wins = lined_up_here if wide else lined_up_anywhere  # larger boards do not fit in one word

    def play(s: Any, move: int) -> None:
        seat = s.ply & 1
        bit = move * tall + s.filled[move]
        s.stones[seat, bit >> 6 if wide else 0] |= one << np.uint64(bit & 63)
        s.filled[move] += 1
        s.ply += 1
        if wins(s, seat, bit):
            s.winner = seat
        elif s.ply == width * height:
            s.winner = DRAW

    def score(s: Any, out: Any) -> None:
        out[0] = 0.0
        out[1] = 0.0
        if 0 <= s.winner < DRAW:
            out[s.winner] = 1.0
            out[1 - s.winner] = -1.0

    def cells(s: Any, out: Any) -> None:
        for row in range(height):
            for column in range(width):
                bit = column * tall + row
                value = 1 if holds(s, 0, bit) else 2 if holds(s, 1, bit) else 0
                out[(height - 1 - row) * width + column] = value

    return Game(
        state=state,
        board=square(height, width, columns_as="numbers"),
        pieces=(Piece("."), Piece("X", owner=0, fill="#e8b923"), Piece("O", owner=1, fill="#c8342c")),
        seats=2,
        num_moves=width,
        longest=width * height,
        path=lambda move: (frozenset(range(move, width * height, width)),),  # any cell of the column
        move_name=lambda move: str(move + 1),
        keeps=("mirror",),  # stones fall down, so only left and right can be exchanged
        rules=(start, turn, legal, play, score, cells, sample),
    )
