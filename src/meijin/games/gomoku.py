"""Gomoku: five in a row on a Go board."""

from __future__ import annotations

from typing import Annotated

from meijin.core.boards import square
from meijin.core.catalogue import game
from meijin.core.game import Game
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.games._lines import lines


@game("gomoku", title="Gomoku")
def gomoku(size: Annotated[int, Range(2, 26)] = 15, connect: Annotated[int, Range(2, 26)] = 5) -> Game:
    """Place stones on the crossings in turn; five in a row win.

    Goal: be the first to get five (`connect`) or more stones of your colour in a row: across, up or diagonally.

    Moves: black begins. The players take turns; each places one stone on an empty crossing. These are the freestyle
    rules: no move is forbidden, and six in a row win too.

    End: a row wins. If the board is full and nobody has one, the game is a draw.

    Notation: a move is the name of its crossing. Columns are lettered from the left (i is not left out) and rows
    numbered from the bottom.

    Set-up: the number of stones on the board says whose turn it is; black need not have as many as white.

    `size`: crossings along a side.
    `connect`: stones in a row that win. Such a row must fit on the board.
    """
    pieces = Piece("."), Piece("X", 0, "#1c1c1c"), Piece("O", 1, "#f4f1e8")
    return lines(square(size, points=True), connect, pieces, ("black", "white"))
