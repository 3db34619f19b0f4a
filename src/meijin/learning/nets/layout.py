"""How a game is laid out on the matrix that a convolutional net sees, and where each of its moves is on it.

Cells with a place on the board's grid form a [rows, columns] matrix; those without one (trays) are a plain vector.
A board without a grid is a matrix of one place that holds every plane of every cell, which makes the same tower of
1x1 convolutions a residual perceptron.

A move belongs to the first cell of its path that lies on the grid, and its kind is the rest of the path as seen from
there: "one forward and left", "from the tray of silvers". A net then writes one plane a kind, whatever the size of
the board. Moves without any cell ("pass") are kinds of their own. Where a path names no single cell (a column to drop
into), the moves are `flat`: numbers without a place.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Path, Step


@dataclass(frozen=True)
class Layout:
    kind: Literal["tower", "mlp"]
    rows: int
    columns: int
    planes: int  # of one place
    source: tuple[int, ...]  # [place] -> the cell there, -1 off the board; empty for "mlp"
    trays: tuple[int, ...]  # the cells without a place
    kinds: tuple[str, ...]  # of moves that belong to a place, sorted; empty when the moves are flat
    words: tuple[str, ...]  # moves that belong to none, in the order of their numbers
    index: tuple[int, ...]  # [move] -> place * kinds + kind, or all of those + word; empty when the moves are flat

    @property
    def places(self) -> int:
        return self.rows * self.columns

    @property
    def holes(self) -> bool:
        """Whether some places are off the board, as around a hexagon."""
        return -1 in self.source

    @property
    def on_board(self) -> int:
        return self.places - self.source.count(-1)

    @property
    def in_order(self) -> bool:
        """Whether the places are the cells in their order, so that planes need no rearranging."""
        return self.source == tuple(range(self.places)) and not self.trays

    def size_free(self) -> tuple[object, ...]:
        """What must be equal on two boards for one net to serve both."""
        return self.kind, self.planes, len(self.trays), self.kinds, self.words


def layout(game: Game, kind: Literal["auto", "tower", "mlp"] = "auto") -> Layout:
    """The layout of a game; `kind` "auto" is a tower where the board has a grid."""
    board, num_planes = game.board, game.num_planes or 0
    cells = len(board.cells)
    if board.grid is None or board.grid_index is None or kind == "mlp":
        if kind == "tower":
            raise BadParameter(f"{game}: its board ({board.kind}) has no grid for a tower; choose the kind 'mlp'")
        return Layout("mlp", 1, 1, num_planes * cells, (), (), (), (), ())
    rows, columns = board.grid
    source = [-1] * (rows * columns)
    for cell, place in enumerate(board.grid_index):
        source[place] = cell
    trays = tuple(range(len(board.grid_index), cells))
    kinds, words, index = _moves(game, columns)
    return Layout("tower", rows, columns, num_planes, tuple(source), trays, kinds, words, index)


def _moves(game: Game, columns: int) -> tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]]:
    grid_index = game.board.grid_index or ()
    places = len(grid_index) and (game.board.grid or (0, 0))[0] * columns
    found = [None if path is None else _origin(path, grid_index, columns) for path in game.paths]
    known = [origin for origin in found if origin is not None]  # a move without a path is never made
    if any(kind is None for _, kind in known):
        return (), (), ()
    words = tuple(str(kind) for place, kind in known if place is None)
    per_cell, rest = divmod(game.num_moves - len(words), len(grid_index))
    numbered = [place for place in grid_index for _ in range(per_cell)] + [None] * len(words)
    if rest == 0 and all(f is None or f[0] == place for f, place in zip(found, numbered, strict=True)):
        # Numbered cell by cell, equally many moves each: the numbering itself gives the kinds.
        found = [
            origin if place is None else (place, f"{m % per_cell:04}")
            for m, (origin, place) in enumerate(zip(found, numbered, strict=True))
        ]
    kinds = tuple(sorted({str(origin[1]) for origin in found if origin is not None and origin[0] is not None}))
    # A plane per kind pays where kinds recur over the board; else most of what the planes hold is no move at all.
    if not kinds or len(kinds) * places > 4 * game.num_moves:
        return (), (), ()
    number = {kind: i for i, kind in enumerate(kinds)}
    first_word = itertools.count(places * len(kinds))

    def place_of(origin: tuple[int | None, str | None] | None) -> int:
        if origin is None:
            return 0
        place, kind = origin
        return next(first_word) if place is None else place * len(kinds) + number[str(kind)]

    return kinds, words, tuple(place_of(origin) for origin in found)


def _origin(path: Path, grid_index: tuple[int, ...], columns: int) -> tuple[int | None, str | None]:
    """The place a path belongs to and its kind: no place for words alone, and no kind where it names no single cell."""
    single = [i for i, step in enumerate(path) if isinstance(step, int) and step < len(grid_index)]
    if not single:
        return None, "".join(map(str, path)) if all(isinstance(step, str) for step in path) else None
    origin = path[single[0]]
    assert isinstance(origin, int)
    place = grid_index[origin]

    def seen(step: Step) -> str:
        if isinstance(step, str):
            return repr(step)
        if isinstance(step, frozenset):
            return "{" + " ".join(sorted(seen(cell) for cell in step)) + "}"
        if step >= len(grid_index):
            return f"tray{step - len(grid_index)}"
        other = grid_index[step]
        return f"{other // columns - place // columns:+d}{other % columns - place % columns:+d}"

    return place, " ".join("*" if i == single[0] else seen(step) for i, step in enumerate(path))
