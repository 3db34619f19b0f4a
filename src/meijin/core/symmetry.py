"""The symmetries of a board, found from its geometry.

A symmetry is a permutation of the cells: `p[i]` is the cell that cell `i` goes to.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meijin.core.boards import Board

Permutation = tuple[int, ...]

_BIN = 3  # decimals that tell two corners apart; cells are about 1 wide
_TOLERANCE = 1e-6  # far above rounding errors (1e-13), far below a bin


def board_symmetries(board: Board) -> dict[str, Permutation]:
    """Name -> permutation, "identity" first. Tray cells stay where they are.

    The law: `j in neighbours[i]` exactly when `p[j] in neighbours[p[i]]`.
    """
    if board.kind == "heaps":
        return _heap_swaps(board)
    if board.kind == "cube":  # the net is only a picture: its isometries are not those of the cube
        return {"identity": tuple(range(len(board.cells)))}
    return _isometries(board)


class _Corners:
    """Points of the plane, numbered; a point is found again despite rounding errors."""

    def __init__(self) -> None:
        self.points: list[complex] = []
        self._bins: dict[tuple[float, float], int] = {}

    def find(self, z: complex) -> int | None:
        # A stored point lies between z - tolerance and z + tolerance, so one of these is its bin.
        for dx in (-_TOLERANCE, _TOLERANCE):
            for dy in (-_TOLERANCE, _TOLERANCE):
                found = self._bins.get((round(z.real + dx, _BIN), round(z.imag + dy, _BIN)))
                if found is not None:
                    return found
        return None

    def add(self, z: complex) -> int:
        found = self.find(z)
        if found is None:
            found = self._bins[round(z.real, _BIN), round(z.imag, _BIN)] = len(self.points)
            self.points.append(z)
        return found


def _isometries(board: Board) -> dict[str, Permutation]:
    outlines = [[complex(*point) for point in cell.outline] for cell in board.cells if cell.tray is None]
    trays = tuple(range(len(outlines), len(board.cells)))
    raw = _Corners()
    for outline in outlines:
        for z in outline:
            raw.add(z)
    # Every isometry fixes the mean of the corners; with that as the origin it is z -> u z or u conj(z).
    middle = sum(raw.points) / len(raw.points)
    corners = _Corners()
    shapes = [frozenset(corners.add(z - middle) for z in outline) for outline in outlines]
    cell_of: dict[frozenset[int | None], int] = {shape: i for i, shape in enumerate(shapes)}

    found: dict[Permutation, str] = {}
    for u, mirrored in _candidates(corners.points):
        image = [corners.find(u * (z.conjugate() if mirrored else z)) for z in corners.points]
        moved = [cell_of.get(frozenset(image[k] for k in shape)) for shape in shapes]
        whole = tuple(i for i in moved if i is not None)
        if len(whole) == len(shapes):
            found.setdefault(whole + trays, _name(u, mirrored, board.kind))
    return {name: permutation for permutation, name in found.items()}


def _candidates(points: list[complex]) -> Iterator[tuple[complex, bool]]:
    """The isometries (u, mirrored) that take one farthest point to another: every symmetry is among them."""
    far = max(points, key=abs)
    yield 1 + 0j, False
    if abs(far) < _TOLERANCE:  # all in one place
        return
    turns = [z / far for z in points if abs(abs(z) - abs(far)) < _TOLERANCE]
    yield from ((u, False) for u in sorted(turns, key=_degrees))
    # u conj(z) takes far to z when u = z / conj(far).
    mirrors = [u * far / far.conjugate() for u in turns]
    yield from ((u, True) for u in sorted(mirrors, key=_degrees))


def _degrees(u: complex) -> float:
    return round(math.degrees(cmath.phase(u)), 4) % 360


def _name(u: complex, mirrored: bool, kind: str) -> str:
    """Angles in degrees, clockwise on the screen because y points down; a mirror is named by its axis."""
    angle = _degrees(u)
    if not mirrored:
        return f"rotate{angle:g}" if angle else "identity"
    axis = angle / 2
    names: dict[float, str] = {0: "flip", 90: "mirror", 45: "transpose", 135: "antitranspose"}
    if kind == "rhombus":  # its rows and columns meet at 60 degrees
        names = {30: "transpose", 120: "antitranspose"}
    return names.get(axis, f"mirror{axis:g}")


def _heap_swaps(board: Board) -> dict[str, Permutation]:
    """The exchanges of two heaps of equal size; they generate the whole group, which may be huge."""
    heaps: dict[float, list[int]] = {}  # by x
    for i, cell in enumerate(board.cells):
        if cell.tray is None:
            heaps.setdefault(cell.centre[0], []).append(i)
    identity = tuple(range(len(board.cells)))
    found = {"identity": identity}
    for one, other in combinations(heaps.values(), 2):
        if len(one) == len(other):
            swap = dict(zip(one + other, other + one, strict=True))
            letters = (board.cells[heap[0]].name.rstrip("0123456789") for heap in (one, other))
            found["swap_" + "_".join(letters)] = tuple(swap.get(i, i) for i in identity)
    return found
