"""Connect Four: discs fall down columns, four in a row win."""

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
from meijin.games._lines import DRAW, in_a_row


@game("connect_four", title="Connect Four")
def connect_four(
    width: Annotated[int, Range(1, 26)] = 7,
    height: Annotated[int, Range(1, 26)] = 6,
    connect: Annotated[int, Range(2, 26)] = 4,
) -> Game:
    """Drop discs into columns; four in a row win.

    Goal: be the first to get four (`connect`) discs of your colour in a row: across, up or diagonally.

    Moves: yellow begins. The players take turns; each drops one disc into a column that is not full. The disc falls to
    the lowest free cell of that column.

    End: a row wins. If the board is full and nobody has one, the game is a draw.

    Notation: a move is the number of its column, counted from the left: 1, 2, 3, ...

    Set-up: discs must rest on the bottom or on other discs. Their number says whose turn it is; yellow need not have as
    many as red.

    `width`: number of columns.
    `height`: number of rows.
    `connect`: discs in a row that win. Such a row must fit on the board.
    """
    if connect > max(width, height):
        raise BadParameter(f"connect={connect}: no line that long fits on {width} x {height}")

    # One bit per cell, column by column from the bottom, with an empty bit on top so that lines never wrap around.
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
        """How many stones of the seat follow the bit without a gap, in one direction."""
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
        bit = move * tall + int(s.filled[move])
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
        for column in range(width):
            first, second = s.stones[0, 0], s.stones[1, 0]  # of a board that fits in one word
            for row in range(height):
                bit = column * tall + row
                if wide:
                    first, second = s.stones[0, bit >> 6], s.stones[1, bit >> 6]
                shift = np.uint64(bit & 63)
                value = np.int32((first >> shift) & one) + 2 * np.int32((second >> shift) & one)
                out[(height - 1 - row) * width + column] = value

    def setup(s: Any, values: Any, mover: int) -> int:
        start(s)
        for column in range(width):
            for row in range(height):
                value = values[(height - 1 - row) * width + column]
                if value > 0:
                    if s.filled[column] != row:
                        return 1
                    bit = column * tall + row
                    s.stones[value - 1, bit >> 6 if wide else 0] |= one << np.uint64(bit & 63)
                    s.filled[column] += 1
                    s.ply += 1
        if s.ply & 1 != mover:
            return 2
        for seat in range(2):
            for bit in range(width * tall):
                if holds(s, seat, bit) and wins(s, seat, bit):
                    if s.winner == 1 - seat:
                        return 3
                    s.winner = seat
        if s.winner < 0 and s.ply == width * height:
            s.winner = DRAW
        return 0

    def ending(s: Any) -> int:
        return 1 if s.winner == DRAW else 0

    return Game(
        state=state,
        board=square(height, width, columns_as="numbers"),
        pieces=(Piece("."), Piece("X", owner=0, fill="#e8b923"), Piece("O", owner=1, fill="#c8342c")),
        seats=2,
        seat_names=("yellow", "red"),
        num_moves=width,
        longest=width * height,
        path=lambda move: (frozenset(range(move, width * height, width)),),  # any cell of the column
        move_name=lambda move: str(move + 1),
        supports=[*range(width, width * height), *[-1] * width],  # the cell below
        keeps=("mirror",),  # stones fall down, so only left and right can be exchanged
        endings=(in_a_row(connect), "the board is full"),
        refusals=(
            "a disc hangs in the air",
            "with an even number of discs on the board it is yellow's turn, with an odd number red's",
            f"both sides have {in_a_row(connect)}",
        ),
        rules=(start, turn, legal, play, score, cells, sample, setup, ending),
    )
