"""Drawing a board with its pieces, as text and as SVG."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, SupportsIndex

from meijin.core.errors import BadParameter

if TYPE_CHECKING:
    from meijin.core.boards import Board, Cell, Point


@dataclass(frozen=True, slots=True)
class Piece:
    """How a value of a cell looks. The law: a piece with neither `fill` nor `label` is an empty cell."""

    text: str  # what the text board shows: ".", "X", "2048"
    owner: int | None = None  # the seat it belongs to; None for empty and neutral
    fill: str | None = None  # its colour "#rrggbb"; None: nothing is drawn for it but its text if `label`
    label: bool = False  # the SVG shows the text too

    def __post_init__(self) -> None:
        if not self.text or not self.text.isprintable():
            raise BadParameter(f"piece text {self.text!r} cannot be drawn; give one or more printable characters")
        if self.fill is not None and not re.fullmatch("#[0-9a-fA-F]{6}", self.fill):
            raise BadParameter(f"piece {self.text!r}: fill is {self.fill!r}; give a colour such as '#c8342c'")

    @property
    def empty(self) -> bool:
        return self.fill is None and not self.label


@dataclass(frozen=True, slots=True)
class Theme:
    back: str  # behind everything
    cell: str
    line: str
    ink: str  # coordinates
    other: str | None = None  # every second cell, as on a chessboard
    hole: str | None = None  # a round hole in each cell


THEMES = {
    "paper": Theme(back="#f5f2ea", cell="#fffdf7", line="#b8b1a2", ink="#6d675b"),
    "wood": Theme(back="#e6c48d", cell="#e6c48d", line="#6f5330", ink="#5d4526"),
    "green": Theme(back="#24493a", cell="#3f8a63", line="#2b6a4a", ink="#cfe3d7"),
    "blue": Theme(back="#2c5ea6", cell="#2c5ea6", line="#2c5ea6", ink="#dde9f8", hole="#e4edf8"),
    "bowls": Theme(back="#8a6a4a", cell="#9c7a56", line="#8a6a4a", ink="#f4e6d2", hole="#7d5f40"),
    "chess": Theme(back="#6b5138", cell="#efdfc3", line="#6b5138", ink="#efdfc3", other="#b78e62"),
}
_ACCENT = "#f08c00"
_SCALE = 40  # SVG units a cell; below about 10 some browsers refuse such small fonts


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _contrast(fill: str) -> str:
    """Black or white, whichever reads better on the colour."""
    red, green, blue = _rgb(fill)
    return "#1f1f1f" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def _shown(
    board: Board, values: Iterable[SupportsIndex], pieces: Sequence[Piece], *groups: Iterable[int]
) -> tuple[list[Piece], list[frozenset[int]]]:
    """The piece on each cell, and the groups of cell indices, all checked."""
    numbers = [value.__index__() for value in values]
    if len(numbers) != len(board.cells):
        raise BadParameter(f"{len(numbers)} values for a board of {len(board.cells)} cells; give one a cell")
    for cell, value in zip(board.cells, numbers, strict=True):
        if not 0 <= value < len(pieces):
            raise BadParameter(f"cell {cell.name} has value {value}; pieces are numbered 0 to {len(pieces) - 1}")
    sets = [frozenset(group) for group in groups]
    for i in frozenset().union(*sets):
        if not 0 <= i < len(numbers):
            raise BadParameter(f"cell {i} is not on the board; cells are numbered 0 to {len(numbers) - 1}")
    return [pieces[value] for value in numbers], sets


# Text -----------------------------------------------------------------------------------------------------------


def _width(text: str) -> int:
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
                end = place[1] + _width(text)
            rows.append(row)
        return rows


def _paint(text: str, codes: str, ansi: bool) -> str:
    return f"\x1b[{codes}m{text}\x1b[0m" if ansi and codes else text


def _face(piece: Piece, marked: bool) -> tuple[str, str]:
    """The text of a cell and its ANSI codes: a chip in the piece's colour reads on any terminal."""
    text = "+" if marked and piece.empty else piece.text
    if piece.fill is None:
        return text, "1;32" if marked else "2" if piece.empty else "1"
    back, front = (";".join(str(part) for part in _rgb(c)) for c in (piece.fill, _contrast(piece.fill)))
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
    shown, (lasts, marked) = _shown(board, values, pieces, last, marks)
    widest = max(_width(piece.text) for piece in pieces)

    def entry(i: int) -> str:
        text, codes = _face(shown[i], i in marked)
        left, right, colour = _brackets(shown[i], i in lasts, i in marked) or (" ", " ", "")
        face = _paint(left, colour, ansi) + _paint(text, codes, ansi) + _paint(right, colour, ansi)
        return board.cells[i].name + face + " " * (widest - _width(text))

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
    heads = [_width(label.text) for label in board.labels if not label.row]
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
        line, start = line_of[round(y, 6)], round(x * step) + 1 + (room - _width(text)) // 2
        canvas.put(line, start, text, codes)
        if ends := _brackets(shown[i], i in lasts, i in marked):
            canvas.put(line, start - 1, ends[0], ends[2])
            canvas.put(line, start + _width(text), ends[1], ends[2])
    for label in board.labels:
        spare = room - _width(label.text)
        start = round(label.at[0] * step) + 1 + (spare if label.row else spare // 2)
        canvas.put(line_of[round(label.at[1], 6)], start, label.text, "2")
    return canvas


# SVG ------------------------------------------------------------------------------------------------------------


def extent(board: Board) -> list[Point]:
    """Points whose bounding box holds the whole drawing, but for a margin."""
    boxes = [(label.at, 0.35) for label in board.labels]
    boxes += [(point, 0.5 if len(cell.outline) == 1 else 0) for cell in board.cells for point in cell.outline]
    return [(x + d, y + d) for (x, y), reach in boxes for d in (-reach, reach)]


def _at(value: float) -> str:
    return f"{round(value * _SCALE, 1):g}"


def _path(points: Iterable[Point], close: bool = True) -> str:
    return "M" + "L".join(f"{_at(x)} {_at(y)}" for x, y in points) + ("Z" if close else "")


def _circle(centre: Point, radius: float, style: str) -> str:
    return f'<circle cx="{_at(centre[0])}" cy="{_at(centre[1])}" r="{_at(radius)}" {style}/>'


def _words(text: str, centre: Point, height: float, fill: str, style: str = "") -> str:
    # dy centres the letters on the point; dominant-baseline is not drawn alike everywhere.
    x, y, size = _at(centre[0]), _at(centre[1]), _at(height)
    return f'<text x="{x}" y="{y}" dy=".35em" font-size="{size}" fill="{fill}"{style}>{escape(text)}</text>'


def _inset(cell: Cell, factor: float) -> list[Point]:
    x, y = cell.centre
    return [(x + factor * (px - x), y + factor * (py - y)) for px, py in cell.outline]


def draw_svg(
    board: Board,
    values: Iterable[SupportsIndex],
    pieces: Sequence[Piece],
    last: Iterable[int],
    marks: Iterable[int],
    size: int,
) -> str:
    shown, (lasts, marked) = _shown(board, values, pieces, last, marks)
    theme = THEMES[board.theme]
    xs, ys = zip(*extent(board), strict=True)
    left, top, wide, high = min(xs) - 0.3, min(ys) - 0.3, max(xs) - min(xs) + 0.6, max(ys) - min(ys) + 0.6
    scale = size / max(wide, high)
    letter = min(0.5, max(0.24, 0.045 * max(wide, high)))  # readable on large boards, modest on small ones
    title = f"{board.kind} board, {len(board.cells)} cells"
    if lasts:
        title += "; last move: " + " ".join(board.cells[i].name for i in sorted(lasts))
    box = f'x="{_at(left)}" y="{_at(top)}" width="{_at(wide)}" height="{_at(high)}" rx="{_at(0.2)}"'
    colours = {piece.owner: piece.fill for piece in reversed(pieces) if piece.fill}
    everything = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{wide * scale:.0f}" height="{high * scale:.0f}"'
        f' viewBox="{_at(left)} {_at(top)} {_at(wide)} {_at(high)}" text-anchor="middle"'
        ' font-family="system-ui, Helvetica, Arial, sans-serif" stroke-linecap="round" stroke-linejoin="round">',
        f"<title>{escape(title.capitalize())}</title>",
        f'<rect {box} fill="{theme.back}"/>',
        *_lines(board, theme),
        *(
            f'<path d="{_path(line, close=False)}" fill="none" stroke="{colours.get(seat, theme.line)}"'
            f' stroke-width="{_at(0.2)}"/>'
            for seat, line in board.edges
        ),
        *(_cell(board, i, theme) for i in range(len(board.cells))),
        '<g pointer-events="none">',  # so that a click on a piece reaches its cell
        *(_piece(board, cell, piece, theme) for cell, piece in zip(board.cells, shown, strict=True)),
        *_joints(board, theme),
        *(_mark(board.cells[i], shown[i]) for i in sorted(marked)),
        *(_last(board.cells[i], shown[i]) for i in sorted(lasts)),
        *(_words(label.text, label.at, letter, theme.ink) for label in board.labels),
        *(_tray_name(cell, theme) for cell in board.cells if cell.tray is not None),
        "</g>",
        "</svg>",
    ]
    return "\n".join(part for part in everything if part)


def _lines(board: Board, theme: Theme) -> list[str]:
    """The lines that join cells which are points, and the star points of a Go board."""
    points = {i: cell.centre for i, cell in enumerate(board.cells) if len(cell.outline) == 1}
    pairs = [(a, points[j]) for i, a in points.items() for j in board.neighbours[i] if i < j]
    if not pairs:
        return []
    every = "".join(_path(pair, close=False) for pair in pairs)
    drawn = [f'<path d="{every}" fill="none" stroke="{theme.line}" stroke-width="{_at(0.03)}"/>']
    rows, columns = board.grid or (0, 0)
    if rows == columns and rows in (9, 13, 15, 19):
        edge, middle = 2 if rows == 9 else 3, rows // 2
        spots = [edge, middle, rows - 1 - edge]
        stars = [(x, y) for x in spots for y in spots if rows == 19 or (x == middle) == (y == middle)]
        drawn += [_circle(star, 0.09, f'fill="{theme.line}"') for star in stars]
    return drawn


def _cell(board: Board, i: int, theme: Theme) -> str:
    """The shape of a cell, which also takes the clicks."""
    cell = board.cells[i]
    data = f'data-cell="{i}" data-name="{escape(cell.name)}"'
    if len(cell.outline) == 1:
        return _circle(cell.centre, 0.5, f'fill="{theme.back}" fill-opacity="0" {data}')
    if len(cell.outline) == 2:  # a broad unseen line is easier to click
        line = _path(cell.outline, close=False)
        unseen = f'<path d="{line}" stroke="{theme.back}" stroke-opacity="0" stroke-width="{_at(0.3)}" {data}/>'
        return f'<path d="{line}" stroke="{theme.line}" stroke-width="{_at(0.05)}" pointer-events="none"/>{unseen}'
    second = theme.other and board.grid and sum(divmod(i, board.grid[1])) % 2
    style = f'fill="{theme.other if second else theme.cell}" stroke="{theme.line}" stroke-width="{_at(0.04)}"'
    shape = f'<path d="{_path(cell.outline)}" {style} {data}/>'
    if theme.hole and cell.tray is None:
        shape += _circle(cell.centre, 0.41, f'fill="{theme.hole}" pointer-events="none"')
    return shape


def _piece(board: Board, cell: Cell, piece: Piece, theme: Theme) -> str:
    drawn, ink = "", theme.ink
    if piece.fill is not None:
        ink = _contrast(piece.fill)
        if len(cell.outline) == 2:
            return f'<path d="{_path(cell.outline, close=False)}" stroke="{piece.fill}" stroke-width="{_at(0.14)}"/>'
        if len(cell.outline) > 2 and (piece.label or board.kind == "cube"):  # a tile with round corners
            style = f'fill="{piece.fill}" stroke="{piece.fill}" stroke-width="{_at(0.12)}"'
            drawn = f'<path d="{_path(_inset(cell, 0.78))}" {style}/>'
        else:
            radius = 0.46 if len(cell.outline) == 1 else 0.39
            x, y = cell.centre
            drawn = _circle((x + 0.02, y + 0.04), radius, 'fill="#000000" fill-opacity="0.2"')
            rim = f'stroke="{ink}" stroke-opacity="0.25" stroke-width="{_at(0.03)}"'
            drawn += _circle(cell.centre, radius, f'fill="{piece.fill}" {rim}')
    if piece.label:
        height = min(0.52, 1.2 / _width(piece.text))
        drawn += _words(piece.text, cell.centre, height, ink, ' font-weight="600"')
    return drawn


def _joints(board: Board, theme: Theme) -> list[str]:
    """The points that links join."""
    ends = {point for cell in board.cells if len(cell.outline) == 2 for point in cell.outline}
    return [_circle(point, 0.13, f'fill="{theme.ink}"') for point in sorted(ends)]


def _mark(cell: Cell, piece: Piece) -> str:
    if len(cell.outline) == 2:
        dashes = f'stroke-width="{_at(0.1)}" stroke-dasharray="{_at(0.01)} {_at(0.25)}"'
        return f'<path class="mark" d="{_path(cell.outline, close=False)}" stroke="{_ACCENT}" {dashes}/>'
    rim = f'stroke="#ffffff" stroke-width="{_at(0.04)}"'
    x, y = cell.centre
    aside = 0.3 if piece.label else 0  # do not cover the text
    return _circle((x + aside, y - aside), 0.13, f'class="mark" fill="{_ACCENT}" {rim}')


def _last(cell: Cell, piece: Piece) -> str:
    colour = _ACCENT if piece.fill is None else _contrast(piece.fill)
    style = f'class="last" fill="none" stroke="{colour}" stroke-width="{_at(0.06)}"'
    if len(cell.outline) == 2:
        return f'<path d="{_path(cell.outline, close=False)}" {style}/>'
    if len(cell.outline) == 1 or not piece.label:
        return _circle(cell.centre, 0.2, style)
    return f'<path d="{_path(_inset(cell, 0.8))}" {style}/>'


def _tray_name(cell: Cell, theme: Theme) -> str:
    x, y = cell.outline[0]
    return _words(cell.name, (x + 0.15, y + 0.17), 0.24, theme.line)
