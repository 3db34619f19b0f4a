"""Boards: cells with geometry, neighbours and names, and the builders of the usual ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal, SupportsIndex

from meijin.core import svg, text_board
from meijin.core.errors import BadParameter, UnknownName, suggest
from meijin.core.pieces import Piece
from meijin.core.symmetry import board_symmetries

Point = tuple[float, float]  # x to the right, y DOWN; neighbouring cells are about 1 apart

_ROW = math.sqrt(3) / 2  # distance of two rows of hexagons
_SIX = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))  # (row, column) steps; a lower row is half a cell right


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a board."""

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


@dataclass(frozen=True, slots=True)
class Cell:
    """A place that holds a value: a point (1 outline point), a link (2) or a polygon (3 or more)."""

    name: str  # "d3"; unique on the board
    outline: tuple[Point, ...]
    tray: int | None = None  # the seat whose pieces in hand it holds; None: on the board

    @property
    def centre(self) -> Point:
        xs, ys = zip(*self.outline, strict=True)
        return sum(xs) / len(xs), sum(ys) / len(ys)


@dataclass(frozen=True, slots=True)
class Label:
    """A coordinate on the rim."""

    text: str
    at: Point
    row: bool = False  # left of a row (right-aligned in text), else above or below a column


@dataclass(frozen=True)
class Board:
    cells: tuple[Cell, ...]  # the cells on the board, then the tray cells
    neighbours: tuple[tuple[int, ...], ...]  # [cell] -> cell indices, ascending; () for a tray cell
    kind: str  # "square", "rhombus", "hexagon", "graph", "heaps", "cube"
    grid: tuple[int, int] | None = None  # (rows, columns) of the matrix that holds the cells
    grid_index: tuple[int, ...] | None = None  # [cell on the board] -> row * columns + column in that matrix
    labels: tuple[Label, ...] = ()
    edges: tuple[tuple[int, tuple[Point, ...]], ...] = ()  # (seat, line): a side drawn in that seat's colour
    theme: str = "paper"  # colours of the SVG, a key of `THEMES`

    def __post_init__(self) -> None:
        if not self.cells:
            raise BadParameter(f"{self.kind} board: no cells; give at least one")
        if len(self._by_name) < len(self.cells):
            names = [cell.name for cell in self.cells]
            twice = next(name for name in names if names.count(name) > 1)
            raise BadParameter(f"{self.kind} board: two cells are named {twice!r}; give each its own name")
        if self.theme not in THEMES:
            raise BadParameter(
                f"{self.kind} board: unknown theme {self.theme!r}{suggest(self.theme, THEMES)}"
                f" (known: {', '.join(THEMES)})"
            )

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return {cell.name: i for i, cell in enumerate(self.cells)}

    def index(self, name: str) -> int:
        """The index of the cell with this name."""
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownName(f"no cell {name!r} on this board{suggest(name, self._by_name)}") from None

    def cube(self, cell: int) -> tuple[int, int, int]:
        """The cube coordinates (q, r, s) of a cell of a hexagon, which add up to 0: q grows to the east, r downwards
        to the south-east, and (0, 0, 0) is the middle."""
        middle, places = self._hexagon()
        if not 0 <= cell < len(places):
            raise BadParameter(f"cell {cell} is not on the board; cells are numbered 0 to {len(places) - 1}")
        row, column = divmod(places[cell], 2 * middle + 1)
        return column - middle, row - middle, 2 * middle - column - row

    def at_cube(self, q: int, r: int, s: int) -> int:
        """The index of the cell with these cube coordinates."""
        middle, places = self._hexagon()
        if q + r + s != 0 or max(abs(q), abs(r), abs(s)) > middle:
            raise BadParameter(
                f"({q}, {r}, {s}) is not on the board; cube coordinates are {-middle} to {middle} and add up to 0"
            )
        return places.index((r + middle) * (2 * middle + 1) + q + middle)

    def _hexagon(self) -> tuple[int, tuple[int, ...]]:
        """The row of the middle, and where each cell is in the matrix."""
        if self.kind != "hexagon" or self.grid is None or self.grid_index is None:
            raise BadParameter(f"a {self.kind} board has no cube coordinates; only a hexagon has them")
        return self.grid[0] // 2, self.grid_index

    @cached_property
    def symmetries(self) -> dict[str, tuple[int, ...]]:
        """Name -> permutation: cell i goes to p[i]. "identity" is the first."""
        return board_symmetries(self)

    def text(
        self,
        values: Iterable[SupportsIndex],
        pieces: Sequence[Piece],
        *,
        last: Iterable[int] = (),
        marks: Iterable[int] = (),
        ansi: bool = False,
    ) -> str:
        """The board as lines of text. `values[i]` is the index in `pieces` of what is on cell i;
        cells in `last` are shown in [], cells in `marks` as + or in ()."""
        return text_board.draw_text(self, values, pieces, last, marks, ansi)

    def svg(
        self,
        values: Iterable[SupportsIndex],
        pieces: Sequence[Piece],
        *,
        last: Iterable[int] = (),
        marks: Iterable[int] = (),
        size: int = 360,
    ) -> str:
        """The board as one SVG element, `size` pixels on its longer side. Each cell's shape carries
        data-cell (its index) and data-name."""
        numbers, _, (lasts, marked) = text_board.checked(self, values, pieces, last, marks)
        return svg.draw(self.describe(), [piece.describe() for piece in pieces], numbers, lasts, marked, size)

    def extent(self) -> list[Point]:
        """Points whose bounding box holds the whole drawing, but for a margin."""
        boxes = [(label.at, 0.35) for label in self.labels]
        boxes += [(point, 0.5 if len(cell.outline) == 1 else 0) for cell in self.cells for point in cell.outline]
        return [(x + d, y + d) for (x, y), reach in boxes for d in (-reach, reach)]

    def describe(self) -> dict[str, Any]:
        """The board as plain data: x to the right, y down, neighbouring cells about 1 apart."""
        xs, ys = zip(*self.extent(), strict=True)
        theme = THEMES[self.theme]
        second = theme.other is not None and self.grid is not None
        points = {i: cell.centre for i, cell in enumerate(self.cells) if len(cell.outline) == 1}
        return {
            "kind": self.kind,
            "grid": self.grid,
            "cells": [
                {
                    "name": cell.name,
                    "outline": cell.outline,  # 1 point: a crossing; 2: a link; 3 or more: a polygon
                    "centre": cell.centre,
                    "tray": cell.tray,  # the seat whose pieces in hand it holds
                    "other": bool(second and self.grid and cell.tray is None and sum(divmod(i, self.grid[1])) % 2),
                }
                for i, cell in enumerate(self.cells)
            ],
            "neighbours": self.neighbours,
            "labels": [asdict(label) for label in self.labels],
            "edges": [{"seat": seat, "line": line} for seat, line in self.edges],
            "lines": [(a, points[j]) for i, a in points.items() for j in self.neighbours[i] if i < j],
            "stars": self._stars() if points else [],
            "theme": asdict(theme),
            "box": (min(xs) - 0.3, min(ys) - 0.3, max(xs) - min(xs) + 0.6, max(ys) - min(ys) + 0.6),
        }

    def _stars(self) -> list[Point]:
        """The star points of a Go board."""
        rows, columns = self.grid or (0, 0)
        if rows != columns or rows not in (9, 13, 15, 19):
            return []
        edge, middle = 2 if rows == 9 else 3, rows // 2
        spots = [edge, middle, rows - 1 - edge]
        return [(x, y) for x in spots for y in spots if rows == 19 or (x == middle) == (y == middle)]

    def with_trays(self, names: Mapping[int, Sequence[str]]) -> Board:
        """This board with a row of tray cells for each seat: seat 0's below on the right, the others' above."""
        xs, ys = zip(*self.extent(), strict=True)
        top, bottom, trays = min(ys), max(ys), []
        for seat, row in sorted(names.items()):
            if seat == 0:
                y, x = bottom + 0.8, max(xs) - len(row) + 0.5
                bottom += 1.2
            else:
                y, x = top - 0.8, min(xs) + 0.5
                top -= 1.2
            trays += [Cell(name, _square_at(x + i, y), seat) for i, name in enumerate(row)]
        return replace(self, cells=self.cells + tuple(trays), neighbours=self.neighbours + ((),) * len(trays))


def square(
    rows: int,
    columns: int | None = None,
    *,
    columns_as: Literal["letters", "numbers"] = "letters",
    rows_from: Literal["bottom", "top"] = "bottom",
    points: bool = False,
    skip_i: bool = False,
    theme: str | None = None,
) -> Board:
    """Squares in rows, named column letter + row number; neighbours share a side.

    `rows_from` says which row is row 1. `columns_as="numbers"` labels the columns 1, 2, ... below the board
    and leaves the rows unlabelled (Connect Four). `points` plays on the crossings of lines (Go); `skip_i`
    leaves out the letter i. `theme` is a key of `THEMES`.
    """
    columns = rows if columns is None else columns
    _check("square board", rows=rows, columns=columns)
    _choose("square board", "columns_as", columns_as, ("letters", "numbers"))
    _choose("square board", "rows_from", rows_from, ("bottom", "top"))
    heads = [letters(c, skip_i=skip_i) for c in range(columns)]
    sides = [str(rows - r if rows_from == "bottom" else r + 1) for r in range(rows)]
    places = [(r, c) for r in range(rows) for c in range(columns)]
    below = rows_from == "bottom" or columns_as == "numbers"
    if columns_as == "numbers":
        row_labels: list[Label] = []
        column_names = [str(c + 1) for c in range(columns)]
    else:
        row_labels = [Label(side, (-1, r), row=True) for r, side in enumerate(sides)]
        column_names = heads
    column_labels = [Label(name, (c, rows if below else -1)) for c, name in enumerate(column_names)]
    return Board(
        cells=tuple(Cell(heads[c] + sides[r], ((c, r),) if points else _square_at(c, r)) for r, c in places),
        neighbours=_lattice(places, ((-1, 0), (0, -1), (0, 1), (1, 0))),
        kind="square",
        grid=(rows, columns),
        grid_index=tuple(range(rows * columns)),
        labels=tuple(row_labels + column_labels),
        theme=theme or ("wood" if points else "blue" if columns_as == "numbers" else "green"),
    )


def rhombus(size: int) -> Board:
    """The board of Hex: a sheared square of hexagons, a1 at the top left, row 1 at the top.

    Seat 0 owns the sides at the top and the bottom, seat 1 those at the left and the right.
    """
    _check("rhombus board", size=size)
    places = [(r, c) for r in range(size) for c in range(size)]
    outlines = [_hexagon_at(c + r / 2, r * _ROW) for r, c in places]
    row_labels = [Label(str(r + 1), (r / 2 - 1, r * _ROW), row=True) for r in range(size)]
    column_labels = [Label(letters(c), (c - 0.5, -_ROW)) for c in range(size)]

    def side(cells: Iterable[int], corners: tuple[int, ...]) -> tuple[Point, ...]:
        return tuple(outlines[i][k] for i in cells for k in corners)

    # Corners of a hexagon: 0 top, then clockwise. The two sides at an obtuse corner share an edge there;
    # it goes to seat 0, hence the cuts.
    edges = (
        (0, side(range(size), (5, 0, 1))),
        (0, side(range(size * (size - 1), size * size), (4, 3, 2))),
        (1, side(range(0, size * size, size), (5, 4, 3))[:-1]),
        (1, side(range(size - 1, size * size, size), (0, 1, 2))[1:]),
    )
    return Board(
        cells=tuple(Cell(f"{letters(c)}{r + 1}", o) for (r, c), o in zip(places, outlines, strict=True)),
        neighbours=_lattice(places, _SIX),
        kind="rhombus",
        grid=(size, size),
        grid_index=tuple(range(size * size)),
        labels=tuple(row_labels + column_labels),
        edges=edges,
        theme="wood",
    )


def hexagon(side: int) -> Board:
    """The board of Abalone (`side` 5): rows a, b, ... from the bottom, diagonals 1, 2, ... from the left."""
    _check("hexagon board", side=side)
    width = 2 * side - 1
    # Row r from the top is letter width-1-r; its cells lie on these diagonals, column = diagonal - 1.
    first = [max(0, side - 1 - r) for r in range(width)]
    last = [min(width, width + side - 1 - r) for r in range(width)]
    places = [(r, c) for r in range(width) for c in range(first[r], last[r])]

    def at(r: int, c: int) -> Point:
        return c + (r - side + 1) / 2, r * _ROW

    rows = [letters(width - 1 - r) for r in range(width)]
    ends = [max(r for r, d in places if d == c) for c in range(width)]  # [diagonal] -> its lowest row
    labels = [Label(rows[r], at(r, first[r] - 1), row=True) for r in range(width)]
    labels += [Label(str(c + 1), at(r + 1, c)) for c, r in enumerate(ends)]
    return Board(
        cells=tuple(Cell(f"{rows[r]}{c + 1}", _hexagon_at(*at(r, c))) for r, c in places),
        neighbours=_lattice(places, _SIX),
        kind="hexagon",
        grid=(width, width),
        grid_index=tuple(r * width + c for r, c in places),
        labels=tuple(labels),
        theme="bowls",
    )


def graph(
    points: Mapping[str, Point] | Sequence[Point],
    links: Iterable[tuple[str, str] | tuple[int, int]],
    *,
    play: Literal["links", "points"] = "links",
) -> Board:
    """Points joined by links. Moves colour the links ("ab" joins a and b), or with `play="points"` the points.

    Points given without names are a, b, ...; links are pairs of names or of positions. Neighbours are links
    with a common point, or points with a link.
    """
    _choose("graph board", "play", play, ("links", "points"))
    named = points if isinstance(points, Mapping) else {letters(i): p for i, p in enumerate(points)}
    names = list(named)
    pairs: list[tuple[str, str]] = []
    for link in links:
        try:
            a, b = (names[end] if isinstance(end, int) else end for end in link)
        except (IndexError, ValueError):
            a = b = ""
        if a == b or a not in named or b not in named or (a, b) in pairs or (b, a) in pairs:
            raise BadParameter(
                f"graph board: link {link!r} is not a new pair of two points; points are {', '.join(names)}"
            )
        pairs.append((a, b))
    middle = [sum(p[k] for p in named.values()) / max(1, len(named)) for k in (0, 1)]
    if play == "points":
        cells = [Cell(name, (at,)) for name, at in named.items()]
        touching = [{b if a == name else a for a, b in pairs if name in (a, b)} for name in names]
        neighbours = [tuple(i for i, name in enumerate(names) if name in near) for near in touching]
    else:
        join = "" if all(len(name) == 1 for name in names) else "-"
        cells = [Cell(a + join + b, (named[a], named[b])) for a, b in pairs]
        neighbours = [tuple(j for j, q in enumerate(pairs) if len({*p, *q}) == 3) for p in pairs]
    labels = []
    for name, (x, y) in named.items():
        dx, dy = x - middle[0], y - middle[1]
        away = 0.5 / (math.hypot(dx, dy) or 1)  # outwards, clear of the links
        if play == "points":
            dx, dy, away = 1, 1, 0.42  # beside the stone, between the lines
        labels.append(Label(name, (x + dx * away, y + dy * away)))
    return Board(tuple(cells), tuple(neighbours), "graph", labels=tuple(labels))


def complete(n: int) -> Board:
    """The complete graph on the corners of a regular polygon, a at the top, clockwise (Sim is `complete(6)`)."""
    _check("complete graph", low=2, high=26, n=n)
    radius = max(2.0, n / 3)
    turns = [math.tau * k / n for k in range(n)]
    points = [(radius * math.sin(turn), -radius * math.cos(turn)) for turn in turns]
    return graph(points, [(i, j) for i in range(n) for j in range(i + 1, n)])


def heaps(sizes: Sequence[int]) -> Board:
    """Heaps of stones side by side: stone a1 is the lowest of heap a. Cells go heap by heap, bottom up."""
    for i, size in enumerate(sizes):
        _check("heaps board", **{f"heap {i + 1}": size})
    places = [(h, i) for h, size in enumerate(sizes) for i in range(size)]
    outlines = [_square_at(h * 1.5, -i) for h, i in places]
    row_labels = [Label(str(i + 1), (-1, -i), row=True) for i in range(max(sizes, default=0))]
    heap_labels = [Label(letters(h), (h * 1.5, 1)) for h in range(len(sizes))]
    return Board(
        cells=tuple(Cell(f"{letters(h)}{i + 1}", o) for (h, i), o in zip(places, outlines, strict=True)),
        neighbours=_lattice(places, ((0, -1), (0, 1))),
        kind="heaps",
        labels=tuple(row_labels + heap_labels),
    )


def cube(size: int) -> Board:
    """The stickers of a cube as an unfolded net, U over L F R B over D.

    Faces in the order U R F D L B, the stickers of a face in reading order: u1, u2, ... Neighbours share an
    edge on the cube itself, also around a corner of the net.
    """
    _check("cube board", low=2, high=20, size=size)
    half = size / 2
    cells: list[Cell] = []
    centres: list[tuple[float, float, float]] = []  # on the cube: x right, y up, z to the viewer
    for face, column, row in (("u", 1, 0), ("r", 2, 1), ("f", 1, 1), ("d", 1, 2), ("l", 0, 1), ("b", 3, 1)):
        for k in range(size * size):
            r, c = divmod(k, size)
            at = _square_at(column * (size + 0.5) + c, row * (size + 0.5) + r)
            cells.append(Cell(f"{face}{k + 1}", at))
            x, y = c + 0.5 - half, half - r - 0.5
            on_cube = {"u": (x, half, -y), "d": (x, -half, y), "f": (x, y, half)}
            on_cube |= {"b": (-x, y, -half), "r": (half, y, -x), "l": (-half, y, x)}
            centres.append(on_cube[face])
    # On one face neighbours are 1 apart, around an edge 0.71; the next distance is 1.22.
    neighbours = tuple(tuple(j for j, q in enumerate(centres) if 0 < math.dist(p, q) < 1.1) for p in centres)
    return Board(tuple(cells), neighbours, "cube")


def letters(i: int, *, skip_i: bool = False) -> str:
    """The name of column i, counted from 0: a, b, ..., z, aa, ab, ..."""
    alphabet = "abcdefghjklmnopqrstuvwxyz" if skip_i else "abcdefghijklmnopqrstuvwxyz"
    name = ""
    i += 1
    while i:
        i, k = divmod(i - 1, len(alphabet))
        name = alphabet[k] + name
    return name


def _lattice(places: Sequence[tuple[int, int]], steps: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    index = {place: i for i, place in enumerate(places)}
    ways = list(steps)
    return tuple(
        tuple(sorted(index[r + dr, c + dc] for dr, dc in ways if (r + dr, c + dc) in index)) for r, c in places
    )


def _square_at(x: float, y: float) -> tuple[Point, ...]:
    return (x - 0.5, y - 0.5), (x + 0.5, y - 0.5), (x + 0.5, y + 0.5), (x - 0.5, y + 0.5)


def _hexagon_at(x: float, y: float) -> tuple[Point, ...]:
    """A hexagon 1 wide, from its top corner clockwise."""
    turns = [math.tau * k / 6 for k in range(6)]
    radius = 1 / math.sqrt(3)
    return tuple((x + radius * math.sin(turn), y - radius * math.cos(turn)) for turn in turns)


def _check(what: str, *, low: int = 1, high: int = 99, **sizes: int) -> None:
    for name, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise BadParameter(f"{what}: {name} is {value!r}; give a whole number from {low} to {high}")


def _choose(what: str, name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise BadParameter(f"{what}: {name} is {value!r}; give one of {', '.join(map(repr, known))}")
