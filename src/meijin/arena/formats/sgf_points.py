"""Moves in SGF: two letters from the top left corner for stones on a grid, else the name of the move."""

from __future__ import annotations

import re

from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.moves import Move

#: Games whose moves are points of two letters, column and row from the top left; "" is a pass.
LETTERED = ("go", "othello", "gomoku")

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters(game: Game, cell: int) -> str:
    assert game.board.grid is not None and game.board.grid_index is not None
    row, column = divmod(game.board.grid_index[cell], game.board.grid[1])
    return _ALPHABET[column] + _ALPHABET[row]


def cell_point(game: Game, cell: int) -> str:
    """A cell as SGF writes it."""
    return letters(game, cell) if game.name in LETTERED else game.board.cells[cell].name


def point_of(game: Game, move: Move) -> str:
    """A move as SGF writes it."""
    if game.name == "hex" and move.name == "swap":
        return "swap-pieces"
    if game.name not in LETTERED:
        return move.name
    return "" if move.name == "pass" else letters(game, int(move))


def move_of(game: Game, point: str) -> int | str:
    """The move of an SGF value: a number or a name, which the rules have not checked yet."""
    if game.name == "hex":
        word = point.strip().lower()
        return "swap" if word in ("swap", "swap-pieces") else word
    if game.name not in LETTERED:
        return point
    assert game.board.grid is not None
    rows, columns = game.board.grid
    if point == "" or (point == "tt" and max(rows, columns) <= 19):
        return "pass"
    if re.fullmatch(r"[A-Za-z]{2}", point):
        column, row = _ALPHABET.index(point[0]), _ALPHABET.index(point[1])
        if row >= rows or column >= columns:
            raise MeijinError(f"it is outside the board of {columns} x {rows}")
        return row * columns + column
    if game.name != "go" and re.fullmatch(r"[A-Za-z]\d{1,2}", point):
        return point.lower()  # the usual notation of these games
    raise MeijinError("expected a point of two letters, column and row from the top left")
