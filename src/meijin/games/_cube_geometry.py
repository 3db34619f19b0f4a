"""Where the stickers of a cube are in space: what turns of a face, pieces and rotations of the cube are made of.

A sticker's place is (x, y, z) in units of half a sticker, x to the right, y up, z to the viewer, with the middle of the
cube as the origin. A face is (outwards, right, down): the vectors out of it, and along the rows and columns of its
stickers in reading order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import numpy as np

FACES = "URFDLB"
STILL = 7  # the corner of the 2x2x2 that never moves: down, left, back

_AXES = np.array(
    (
        ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
        ((1, 0, 0), (0, 0, -1), (0, -1, 0)),
        ((0, 0, 1), (1, 0, 0), (0, -1, 0)),
        ((0, -1, 0), (1, 0, 0), (0, 0, -1)),
        ((-1, 0, 0), (0, 0, 1), (0, -1, 0)),
        ((0, 0, -1), (-1, 0, 0), (0, -1, 0)),
    )
)
Place = tuple[int, ...]


def _place(vector: Any) -> Place:
    return tuple(int(x) for x in vector)


def _places(size: int) -> list[Place]:
    """[cell] -> place."""
    steps = range(1 - size, size, 2)
    return [_place(size * out + x * right + y * down) for out, right, down in _AXES for y in steps for x in steps]


def turns(size: int) -> Any:
    """[face, cycle, place] -> cell: where a clockwise quarter turn of each face takes its stickers, four by four."""
    places = _places(size)
    cell_at = {place: i for i, place in enumerate(places)}
    found = []
    for out, _, _ in _AXES:
        cycles: list[list[int]] = []
        for i, place in enumerate(places):
            if out @ place > size - 2 and not any(i in cycle for cycle in cycles):  # in the layer of the face
                cycle = [i]
                for _ in range(3):  # seen from outside, v x out is v turned clockwise
                    v = np.array(places[cycle[-1]])
                    cycle.append(cell_at[_place(np.cross(v, out) + (out @ v) * out)])
                if cycle[1] != i:  # a centre only turns on its place
                    cycles.append(cycle)
        found.append(cycles)
    return np.array(found, np.uint8)


def _pieces(size: int, stickers: int) -> list[list[int]]:
    """The cells of every piece with that many stickers."""
    found: dict[Place, list[int]] = {}
    for i, place in enumerate(_places(size)):
        found.setdefault(_place(place - _AXES[i // size**2, 0]), []).append(i)
    return [cells for cells in found.values() if len(cells) == stickers]


def corners(size: int) -> Any:
    """[corner, sticker] -> cell: the sticker on the upper or lower face first, and the same sense of turning in all.

    Twists in that sense add up to a multiple of a whole turn, whatever faces are turned. Corner `STILL` is the last.
    """
    found = []
    for cells in _pieces(size, 3):
        order = sorted(cells, key=lambda cell: cell // size**2 not in (0, 3))
        if np.linalg.det(_AXES[[cell // size**2 for cell in order], 0]) < 0:
            order[1], order[2] = order[2], order[1]
        found.append(order)
    places = _places(size)
    return np.array(sorted(found, key=lambda order: -sum(sum(places[cell]) for cell in order)))


def edges(size: int) -> Any:
    """[edge, sticker] -> cell: the sticker on the upper or lower face first, else that on the front or the back.

    The number of edges whose first colour is not on their place's first sticker is even, whatever faces are turned. The
    2x2x2 has none; a placeholder that is never read takes their place.
    """
    rank = (0, 2, 1, 0, 2, 1)  # [face]
    found = [sorted(cells, key=lambda cell: rank[cell // size**2]) for cells in _pieces(size, 2)]
    return np.array(found or [[0, 0]])


def rotations(size: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], bool]]:
    """All ways to turn the whole cube, or to mirror and turn it: where cells go, where faces go, whether mirrored."""
    places = _places(size)
    cell_at = {place: i for i, place in enumerate(places)}
    face_at = {_place(axes[0]): face for face, axes in enumerate(_AXES)}
    for axes, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        matrix = np.zeros((3, 3), int)
        matrix[range(3), axes] = signs
        cells = tuple(cell_at[_place(matrix @ place)] for place in places)
        faces = tuple(face_at[_place(matrix @ out)] for out, _, _ in _AXES)
        yield cells, faces, bool(np.linalg.det(matrix) < 0)
