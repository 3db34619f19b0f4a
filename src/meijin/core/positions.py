"""Positions as text, for games that can set them up.

A game may bring a form of its own (SFEN, OBF); by default it is like FEN: the cells of each row from the top, a
number for a run of empty cells, rows apart by "/", trays after ":", then the seat to move (or "chance").
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from meijin.core.contract import CHANCE
from meijin.core.errors import BadParameter
from meijin.core.game import Game


def checked_values(game: Game, cells: Sequence[int]) -> tuple[int, ...]:
    """Values of all cells, each one that its cell can have; an error names the first that is not."""
    values = tuple(int(value) for value in cells)
    if len(values) != len(game.board.cells):
        raise BadParameter(f"{len(values)} cells given; {game} has {len(game.board.cells)}")
    for i, value in enumerate(values):
        allowed = game.alphabets[i] if game.alphabets else range(len(game.pieces))
        if value not in allowed:
            raise BadParameter(
                f"cell {game.board.cells[i].name}: value {value} is not one of {', '.join(map(str, allowed))}"
            )
    return values


def write_position(game: Game, cells: Sequence[int], turn: int) -> str:
    if game.write is not None:
        return game.write(tuple(cells), turn)
    texts = _texts(game)
    parts = []
    for row in _rows(game):
        line, empty = [], 0
        for cell in row:
            if cells[cell] == 0:
                empty += 1
                continue
            if empty:
                line.append(str(empty))
            empty = 0
            text = texts[cells[cell]]
            line.append(text if len(text) == 1 and not text.isdigit() else f"<{text}>")
        if empty:
            line.append(str(empty))
        parts.append("".join(line))
    board, trays = parts[: _board_rows(game)], parts[_board_rows(game) :]
    placed = "/".join(board) + "".join(f":{tray}" for tray in trays)
    return f"{placed} {'chance' if turn == CHANCE else turn}"


def read_position(game: Game, text: str) -> tuple[Sequence[int], int]:
    """Cells and turn of a text; whether there is such a position is for `State.set_up` to say."""
    if game.setup is None:
        raise BadParameter(f"{game} cannot set up positions: it has no rule `setup`; give the moves from the start")
    if game.read is not None:
        return game.read(text)

    def bad(problem: str) -> BadParameter:
        return BadParameter(f"position '{text}': {problem}")

    words = text.split()
    if len(words) != 2:
        raise bad("write the cells and the seat to move, as in 'X2/1O1/3 0'")
    if words[1] != "chance" and not re.fullmatch(r"\d{1,3}", words[1]):
        raise bad(f"'{words[1]}' is not the number of a seat, nor 'chance'")
    rows = _rows(game)
    parts = re.split("[/:]", words[0])
    if len(parts) != len(rows):
        raise bad(f"it has {len(parts)} rows; {game} has {len(rows)}")
    values = {name: value for value, name in reversed(list(enumerate(_texts(game))))}
    cells = [0] * len(game.board.cells)
    for number, (part, row) in enumerate(zip(parts, rows, strict=True), 1):
        filled = 0
        for run, long, short in re.findall(r"(\d+)|<([^<>]*)>|(.)", part):
            if run:
                filled += int(run) if len(run) < 4 else len(row) + 1
                continue
            name = long or short
            if name not in values:
                raise bad(f"row {number}: '{name}' is not a piece; pieces are {' '.join(values)}")
            if filled < len(row):
                cells[row[filled]] = values[name]
            filled += 1
        if filled != len(row):
            raise bad(f"row {number} has {filled} cells, not {len(row)}")
    return cells, CHANCE if words[1] == "chance" else int(words[1])


def _texts(game: Game) -> list[str]:
    """[value] -> how a piece is written; where two pieces share a text, the later one has its number too."""
    seen: dict[str, int] = {}
    texts = []
    for value, piece in enumerate(game.pieces):
        texts.append(piece.text if seen.setdefault(piece.text, value) == value else f"{piece.text}{value}")
    return texts


def _rows(game: Game) -> list[list[int]]:
    """The cells by rows: those of equal height on the board from the top, each seat's tray after them."""
    rows: dict[tuple[int, float], list[int]] = {}
    for i, cell in enumerate(game.board.cells):
        key = (0, round(cell.centre[1], 6)) if cell.tray is None else (1 + cell.tray, 0.0)
        if game.board.kind == "graph":
            key = (0, 0.0) if cell.tray is None else key
        rows.setdefault(key, []).append(i)
    across = game.board.kind != "graph"  # whose links lie in no rows
    return [
        sorted(rows[key], key=lambda i: (game.board.cells[i].centre[0] if across else 0.0, i)) for key in sorted(rows)
    ]


def _board_rows(game: Game) -> int:
    trays = len({cell.tray for cell in game.board.cells if cell.tray is not None})
    return len(_rows(game)) - trays
