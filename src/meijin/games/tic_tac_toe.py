"""Tic-tac-toe: three in a row on 3 x 3."""

from __future__ import annotations

from typing import Annotated

from meijin.core.boards import square
from meijin.core.catalogue import game
from meijin.core.game import Game
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.games._lines import lines


@game("tic_tac_toe", title="Tic-tac-toe")
def tic_tac_toe(
    width: Annotated[int, Range(1, 26)] = 3,
    height: Annotated[int, Range(1, 26)] = 3,
    connect: Annotated[int, Range(2, 26)] = 3,
) -> Game:
    """Mark empty cells in turn; three in a row win.

    Goal: be the first to get three (`connect`) or more of your marks in a row: across, up or diagonally.

    Moves: X begins. The players take turns; each marks one empty cell.

    End: a row wins. If the board is full and nobody has one, the game is a draw.

    Notation: a move is the name of its cell. Columns are lettered from the left and rows numbered from the bottom, so
    a1 is the bottom left corner.

    Set-up: the number of marks on the board says whose turn it is; X need not have as many as O.

    `width`: number of columns.
    `height`: number of rows.
    `connect`: marks in a row that win. Such a row must fit on the board.
    """
    pieces = Piece("."), Piece("X", 0, "#c8342c", label=True), Piece("O", 1, "#2c5ea6", label=True)
    return lines(square(height, width, theme="paper"), connect, pieces, ("X", "O"))
