"""Drawing a board with its pieces as text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, SupportsIndex

from meijin.core.errors import BadParameter
from meijin.core.pieces import Piece, contrast, rgb

if TYPE_CHECKING:
    from meijin.core.boards import Board


def checked(
    board: Board, values: Iterable[SupportsIndex], pieces: Sequence[Piece], *groups: Iterable[int]
) -> tuple[list[int], list[Piece], list[frozenset[int]]]:
    """The value and the piece on each cell, and the groups of cell indices, all checked."""
    numbers = [value.__index__() for value in values]
    if len(numbers) != len(board.cells):
        raise BadParameter(f"{len(numbers)} values for a board of {len(board.cells)} cells; give one per cell")
    for cell, value in zip(board.cells, numbers, strict=True):
        if not 0 <= value < len(pieces):
            raise BadParameter(f"cell {cell.name} has value {value}; pieces are numbered 0 to {len(pieces) - 1}")
    sets = [frozenset(group) for group in groups]
    for i in frozenset().union(*sets):
        if not 0 <= i < len(numbers):
            raise BadParameter(f"cell {i} is not on the board; cells are numbered 0 to {len(numbers) - 1}")
    return numbers, [pieces[value] for value in numbers], sets


def width(text: str) -> int:
    """Columns of a terminal that the text takes: East Asian wide characters take two."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


class _Canvas:
    """Text at (line, column), in any order and also at negative columns."""

    def __init__(self, left: int) -> None:
        self.left = left  # the first column to show, even when nothing is there
        self.at: dict[tuple[int, int], tuple[str, str]] = {}  # -> (text, ANSI codes)

    def put(self, line: int, column: int, text: str, codes: str = "") -> None:
        # Brackets of neighbouring cells that meet in one place become a bar.
        self.at[line, column] = ("|" if (line, column) in self.at else text, codes)

    def lines(self, ansi: bool) -> list[str]:
        left = min(self.left, *(column for _, column in self.at))
        rows: list[str] = []
        for _, group in groupby(sorted(self.at), key=lambda place: place[0]):
            row, end = "", left
            for place in group:
                text, codes = self.at[place]
                row += " " * (place[1] - end) + _paint(text, codes, ansi)
                end = place[1] + width(text)
            rows.append(row)
        return rows


def _paint(text: str, codes: str, ansi: bool) -> str:
    return f"\x1b[{codes}m{text}\x1b[0m" if ansi and codes else text


def _face(piece: Piece, marked: bool) -> tuple[str, str]:
    """The text of a cell and its ANSI codes: a chip in the piece's colour reads on any terminal."""
    text = "+" if marked and piece.empty else piece.text
    if piece.fill is None:
        return text, "1;32" if marked else "2" if piece.empty else "1"
    back, front = (";".join(str(part) for part in rgb(c)) for c in (piece.fill, contrast(piece.fill)))
    return text, f"48;2;{back};38;2;{front}"


def _brackets(piece: Piece, last: bool, marked: bool) -> tuple[str, str, str] | None:
    """What stands left and right of a cell's text, and its ANSI codes."""
    if last:
        return "[", "]", "1;33"
    return ("(", ")", "1;32") if marked and not piece.empty else None


def draw_text(
    board: Board,
    values: Iterable[SupportsIndex],
    pieces: Sequence[Piece],
    last: Iterable[int],
    marks: Iterable[int],
    ansi: bool,
) -> str:
    _, shown, (lasts, marked) = checked(board, values, pieces, last, marks)
    widest = max(width(piece.text) for piece in pieces)

    def entry(i: int) -> str:
        text, codes = _face(shown[i], i in marked)
        left, right, colour = _brackets(shown[i], i in lasts, i in marked) or (" ", " ", "")
        face = _paint(left, colour, ansi) + _paint(text, codes, ansi) + _paint(right, colour, ansi)
        return board.cells[i].name + face + " " * (widest - width(text))

    def listed(group: Iterable[int]) -> str:
        return " ".join(entry(i) for i in group).rstrip()

    def tray(seat: int) -> str:
        return listed(i for i, cell in enumerate(board.cells) if cell.tray == seat)

    seats = sorted({cell.tray for cell in board.cells if cell.tray is not None})
    on_board = [i for i, cell in enumerate(board.cells) if cell.tray is None]
    if board.kind == "graph":  # no rows and columns: a list, links by their first point, points by height

        def group_of(i: int) -> object:
            outline = board.cells[i].outline
            return outline[0] if len(outline) > 1 else round(outline[0][1], 6)

        lines = [listed(group) for _, group in groupby(on_board, key=group_of)]
    else:
        lines = _matrix(board, on_board, shown, lasts, marked, widest).lines(ansi)
    above = [tray(seat) for seat in reversed(seats) if seat != 0]
    return "\n".join([*above, *lines, *(tray(seat) for seat in seats if seat == 0)])


def _matrix(
    board: Board,
    on_board: list[int],
    shown: list[Piece],
    lasts: frozenset[int],
    marked: frozenset[int],
    widest: int,
) -> _Canvas:
    """Cells at their place: each distinct y is a line, each unit of x is `step` columns."""
    centres = {i: board.cells[i].centre for i in on_board}
    heads = [width(label.text) for label in board.labels if not label.row]
    room = max(widest, *heads, 1)  # columns for the text of a cell, between two that brackets may take
    if widest > 1:
        room += 1  # numbers need more air than letters
    if any(x != round(x) for x, _ in centres.values()):
        room |= 1  # an even step lets rows shift by half a cell
    step = room + 1
    heights = sorted({round(y, 6) for _, y in [*centres.values(), *(label.at for label in board.labels)]})
    line_of = {y: line for line, y in enumerate(heights)}
    canvas = _Canvas(left=round(min(x for x, _ in centres.values()) * step))
    for i, (x, y) in centres.items():
        text, codes = _face(shown[i], i in marked)
        line, start = line_of[round(y, 6)], round(x * step) + 1 + (room - width(text)) // 2
        canvas.put(line, start, text, codes)
        if ends := _brackets(shown[i], i in lasts, i in marked):
            canvas.put(line, start - 1, ends[0], ends[2])
            canvas.put(line, start + width(text), ends[1], ends[2])
    for label in board.labels:
        spare = room - width(label.text)
        start = round(label.at[0] * step) + 1 + (spare if label.row else spare // 2)
        canvas.put(line_of[round(label.at[1], 6)], start, label.text, "2")
    return canvas
