"""Positions as text, for games that can set them up.

A game may bring a form of its own, such as SFEN. The default is the cells and then the seat to move, or "chance":

    1OX/3/2X 1              like FEN: rows from the top, a number for a run of empty cells
    X1,X6,.,./...:X4:. 0    where pieces need more than one character: commas, empty cells too; trays after ":"
    X=ad,bc/O=ef 0          on a graph: the cells of each piece by name, "-" if there are none

On a cube the rows are its faces, of heaps each heap is a row from the bottom up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import index

import numpy as np

from meijin.core.contract import CHANCE
from meijin.core.errors import BadParameter, suggest
from meijin.core.game import Game

_MARKS = r"[\s,/:=\[\]]"  # what a piece must not be written with

Fail = Callable[[str], BadParameter]


def checked_values(game: Game, cells: Sequence[int]) -> tuple[int, ...]:
    """Values of all cells, each one that its cell can have; an error names the first that is not."""
    try:
        values = tuple(index(value) for value in cells)
    except TypeError:
        raise BadParameter(f"cells must be whole numbers, indices into the pieces of {game}, not {cells!r}") from None
    if len(values) != len(game.board.cells):
        raise BadParameter(f"{len(values)} cells given; {game} has {len(game.board.cells)}")
    for i, value in enumerate(values):
        allowed = game.alphabets[i] if game.alphabets else range(len(game.pieces))
        if value not in allowed:
            known = ", ".join(f"{v} ({game.pieces[v].text})" for v in allowed)
            raise BadParameter(f"cell {game.board.cells[i].name} cannot have value {value}; it can have {known}")
    return values


def checked_turn(game: Game, turn: int) -> int:
    """A seat, or CHANCE where the game has chance."""
    if isinstance(turn, int | np.integer) and (0 <= turn < game.seats or (turn == CHANCE and game.chance)):
        return int(turn)
    chance = f", or {CHANCE} for chance" if game.chance else ""
    raise BadParameter(f"turn={turn!r}: {game} has seats 0 to {game.seats - 1}{chance}")


def write_position(game: Game, cells: Sequence[int], turn: int) -> str:
    """The position as text; `turn` is a seat or CHANCE."""
    if game.write is not None:
        return game.write(tuple(cells), turn)
    placed = _write_graph(game, cells) if game.board.kind == "graph" else _write_rows(game, cells)
    return f"{placed} {'chance' if turn == CHANCE else turn}"


def read_position(game: Game, text: str) -> tuple[Sequence[int], int]:
    """Cells and turn of a text; whether there is such a position is for `State.set_up` to say."""
    if game.setup is None:
        raise BadParameter(f"{game} cannot set up positions: it has no rule `setup`; give the moves from the start")
    if game.read is not None:
        return game.read(text)

    def fail(problem: str) -> BadParameter:
        return BadParameter(f"position '{text}': {problem}")

    words = text.split()
    if len(words) != 2:
        start = write_position(game, [cell[0] for cell in game.alphabets or [(0,)] * len(game.board.cells)], 0)
        raise fail(f"write the cells and the seat to move, as in '{start}'")
    placed, mover = words
    if mover != "chance" and not re.fullmatch(r"\d{1,3}", mover, re.ASCII):
        raise fail(f"'{mover}' is neither the number of a seat nor 'chance'")
    read = _read_graph if game.board.kind == "graph" else _read_rows
    return read(game, placed, fail), CHANCE if mover == "chance" else int(mover)


def _texts(game: Game) -> list[str]:
    """[value] -> how a piece is written: its text, or "#" and its value where that would be ambiguous."""
    texts: list[str] = []
    for value, piece in enumerate(game.pieces):
        clear = piece.text not in texts and not re.search(_MARKS, piece.text)
        texts.append(piece.text if clear else f"#{value}")
    return texts


def _value(game: Game, text: str, fail: Fail) -> int:
    texts = _texts(game)
    if text not in texts:
        hint = suggest(text, texts) or f"; pieces are {' '.join(texts)}"
        raise fail(f"'{text}' is not a piece{hint}")
    return texts.index(text)


# ---- rows ----


def _rows(game: Game) -> tuple[list[list[int]], list[list[int]]]:
    """The cells on the board by rows, and the trays: by height on the board, from the left, from the top."""
    board: dict[float, list[int]] = {}
    trays: dict[float, list[int]] = {}
    on_board = sum(cell.tray is None for cell in game.board.cells)
    for i, cell in enumerate(game.board.cells):
        x, y = cell.centre
        if cell.tray is not None:
            trays.setdefault(cell.tray, []).append(i)
        elif game.board.kind == "cube":
            board.setdefault(i * 6 // on_board, []).append(i)
        else:
            board.setdefault(round(x if game.board.kind == "heaps" else y, 6), []).append(i)
    if game.board.kind not in ("cube", "heaps"):
        board = {y: sorted(row, key=lambda i: game.board.cells[i].centre[0]) for y, row in board.items()}
    return [board[y] for y in sorted(board)], [trays[seat] for seat in sorted(trays)]


def _short(game: Game) -> bool:
    """Whether every piece is one character, so that a number can stand for empty cells."""
    return all(len(text) == 1 and not text.isdigit() for text in _texts(game))


def _write_rows(game: Game, cells: Sequence[int]) -> str:
    texts = _texts(game)

    def line(row: Sequence[int]) -> str:
        if not _short(game):
            return ",".join(texts[cells[i]] for i in row)
        marks = "".join(texts[cells[i]] if cells[i] else "0" for i in row)
        return re.sub("0+", lambda run: str(len(run[0])), marks)

    board, trays = _rows(game)
    return "/".join(map(line, board)) + "".join(f":{line(tray)}" for tray in trays)


def _read_rows(game: Game, placed: str, fail: Fail) -> list[int]:
    board, trays = _rows(game)
    first, *others = placed.split(":")
    lines = [*first.split("/"), *others]
    if len(lines) != len(board) + len(trays) or len(others) != len(trays):
        beside = f" and {len(trays)} trays after ':'" if trays else ""
        raise fail(f"it has {len(lines)} rows; {game} has {len(board)}{beside}")
    cells = [0] * len(game.board.cells)
    for number, (line, row) in enumerate(zip(lines, [*board, *trays], strict=True), 1):
        values: list[int] = []
        for item in re.findall(r"[0-9]+|[^0-9]", line) if _short(game) else line.split(","):
            if _short(game) and item[0] in "0123456789":
                values += [0] * (int(item) if len(item) < 4 else len(row) + 1)
            else:
                values.append(_value(game, item, fail))
        if len(values) != len(row):
            raise fail(f"row {number}, '{line}', has {len(values)} cells, not {len(row)}")
        for cell, value in zip(row, values, strict=True):
            cells[cell] = value
    return cells


# ---- graphs ----


def _write_graph(game: Game, cells: Sequence[int]) -> str:
    named = [
        f"{text}={','.join(game.board.cells[i].name for i in range(len(cells)) if cells[i] == value)}"
        for value, text in enumerate(_texts(game))
        if value and value in cells
    ]
    return "/".join(named) or "-"


def _read_graph(game: Game, placed: str, fail: Fail) -> list[int]:
    cells = [0] * len(game.board.cells)
    names = {cell.name: i for i, cell in enumerate(game.board.cells)}
    for part in placed.split("/") if placed != "-" else ():
        text, equals, listed = part.partition("=")
        if not equals:
            raise fail(f"'{part}' is not a piece and its cells, as in '{_texts(game)[1]}={','.join(list(names)[:2])}'")
        for name in listed.split(","):
            if name not in names:
                raise fail(f"'{name}' is not a cell{suggest(name, names)}")
            if cells[names[name]]:
                raise fail(f"cell {name} is given twice")
            cells[names[name]] = _value(game, text, fail)
    return cells
