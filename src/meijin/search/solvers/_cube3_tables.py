"""The 3x3x3 as numbers: what turns do to them, and lower bounds on how far each is from the solved cube.

Kociemba's coordinates. A turn is `3 * face + quarters - 1`, a position the permutation and orientation of 8 corners and
12 edges. The middle layer lies between U and D; its edges are the last four. Phase 1 brings the cube to the positions
that U, D and half turns of the other faces can solve: no corner twisted, no edge flipped, the middle layer's edges in
it. Phase 2 solves those. Both metrics use the same 18 turns; they differ in what a half turn costs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from meijin.core.catalogue import make
from meijin.core.compile import Function
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.games._cube_geometry import corners, edges, rotations, turns

CORNERS = corners(3)  # [corner, sticker] -> cell
EDGES = np.array(sorted(edges(3).tolist(), key=lambda cells: cells[0] // 9 not in (0, 3)))  # [edge, sticker] -> cell
MIDDLE = 8  # the first edge of the middle layer
TWISTS, FLIPS, SLICES = 3**7, 2**11, math.comb(12, 4)
ORDERS, MIDDLE_ORDERS = math.factorial(8), math.factorial(4)
PHASE_2 = np.array([t for t in range(18) if t // 3 in (0, 3) or t % 3 == 1])  # the turns of phase 2
AXES = 3  # the layers between U and D, R and L, F and B can all play the middle layer
NO_TURN = 18  # what comes before the first
UNREACHED = "no turning of a solved cube gives these stickers: it cannot be solved"
FAR = np.uint8(255)  # not reached


class Cubies(NamedTuple):
    """A position: what is in each place, and how it is turned there."""

    corners: Any  # [place] -> corner
    twists: Any  # [place] -> 0 to 2
    edges: Any  # [place] -> edge
    flips: Any  # [place] -> 0 or 1

    def turned(self, turn: Cubies) -> Cubies:
        """After a turn, which is itself the position that it makes of the solved cube."""
        return Cubies(
            self.corners[turn.corners],
            (self.twists[turn.corners] + turn.twists) % 3,
            self.edges[turn.edges],
            (self.flips[turn.edges] + turn.flips) % 2,
        )


def cubies(stickers: Any) -> Cubies:
    """The position that the stickers show."""
    colours = [int(colour) - 1 for colour in stickers]
    places = []
    for cells in (CORNERS, EDGES):
        size = cells.shape[1]
        home = {  # colours in a place -> the piece, and how it is turned
            tuple(int(cell) // 9 for cell in np.roll(piece, turned)): (number, turned)
            for number, piece in enumerate(cells)
            for turned in range(size)
        }
        found = [home.get(tuple(colours[cell] for cell in place), (0, 1)) for place in cells]
        pieces, turned = np.array(found).T
        if len(set(pieces)) < len(cells) or turned.sum() % size:
            raise MeijinError(UNREACHED)
        places += [pieces, turned]
    if _odd(places[0]) != _odd(places[2]):
        raise MeijinError(UNREACHED)
    return Cubies(*places)


def _odd(order: Any) -> bool:
    return sum(a > b for a, b in combinations(order.tolist(), 2)) % 2 == 1


@functools.cache
def quarter_turns() -> tuple[Cubies, ...]:
    """[turn] -> what it makes of the solved cube."""
    found = []
    for cycles in turns(3):
        stickers = np.arange(54) // 9 + 1
        stickers[np.roll(cycles, -1, axis=1)] = stickers[cycles]  # one place further
        once = cubies(stickers)
        twice = once.turned(once)
        found += [once, twice, twice.turned(once)]
    return tuple(found)


@functools.cache
def views() -> tuple[tuple[Any, tuple[int, ...]], ...]:
    """[axis] -> a rotation of the cube that puts that axis' layer in the middle: where cells go, and where faces go."""
    wanted = ((0, 1, 2, 3, 4, 5), (1, 2, 0, 4, 5, 3), (2, 0, 1, 5, 3, 4))
    found = {faces: np.array(cells) for cells, faces, mirrored in rotations(3) if not mirrored}
    return tuple((found[faces], faces) for faces in wanted)


def seen_from(stickers: Any, axis: int) -> Any:
    """The stickers of the rotated cube, with the colours of the faces renamed as they go."""
    cells, faces = views()[axis]
    rotated = np.zeros(54, np.int64)
    rotated[cells] = 1 + np.array(faces)[np.asarray(stickers, np.int64) - 1]
    return rotated


# ---- coordinates ----


def rank(orders: Any) -> Any:
    """The numbers of permutations, one in each row, in lexicographic order."""
    length = orders.shape[1]
    later = [(orders[:, i + 1 :] < orders[:, i : i + 1]).sum(1) * math.factorial(length - 1 - i) for i in range(length)]
    return sum(later)


def digits(count: int, base: int, places: int) -> Any:
    """[number, place] -> digit; the last place makes their sum a multiple of the base."""
    found = np.arange(count)[:, None] // base ** np.arange(places - 1) % base
    return np.concatenate((found, -found.sum(1, keepdims=True) % base), axis=1)


@functools.cache
def _slices() -> tuple[Any, Any]:
    """[slice, place] -> whether an edge of the middle layer is there, and the way back from those as bits."""
    held = np.zeros((SLICES, 12), bool)
    for i, places in enumerate(combinations(range(11, -1, -1), 4)):  # the solved one is the first
        held[i, list(places)] = True
    index = np.zeros(1 << 12, np.int64)
    index[held @ (1 << np.arange(12))] = np.arange(SLICES)
    return held, index


def coordinates(position: Cubies) -> tuple[int, int, int]:
    """Twist, flip and slice: all 0 where phase 2 begins."""
    held = position.edges >= MIDDLE
    return (
        int(position.twists[:-1] @ 3 ** np.arange(7)),
        int(position.flips[:-1] @ 2 ** np.arange(11)),
        int(_slices()[1][held @ (1 << np.arange(12))]),
    )


class Tables(NamedTuple):
    """All that a search reads."""

    costs: Any  # [turn] -> moves of the game
    follows: Any  # [turn or NO_TURN, turn] -> whether it is of use: not the same face again, opposite ones in one order
    views: Any  # [axis, turn] -> the turn as seen from that axis
    corners: Any  # [turn, place] -> where the corner comes from
    edges: Any  # [turn, place]
    twist: Any  # [twist, turn] -> twist
    flip: Any  # [flip, turn] -> flip
    slice: Any  # [slice, turn] -> slice
    twist_far: Any  # [twist * SLICES + slice] -> moves to phase 2, at least
    flip_far: Any  # [flip * SLICES + slice]
    turned_far: Any  # [twist * FLIPS + flip]
    phase_2: Any  # [turn of phase 2] -> turn
    corner_order: Any  # [order, turn of phase 2] -> order
    edge_order: Any
    middle_order: Any
    corner_far: Any  # [order * MIDDLE_ORDERS + middle order] -> moves to the solved cube, at least
    edge_far: Any


def filler(game: Game) -> Function:
    """`fill(a, b, costs, far)`: the distance of each pair of coordinates from (0, 0), by turns that change both."""

    def fill(a: Any, b: Any, costs: Any, far: Any) -> None:
        width = b.shape[0]
        far[0] = 0
        level = furthest = 0
        while level <= furthest:
            for i in range(a.shape[0]):
                for j in range(width):
                    if far[i * width + j] == level:
                        for t in range(costs.shape[0]):
                            to, moves = a[i, t] * width + b[j, t], level + costs[t]
                            if moves < far[to]:
                                far[to] = moves
                                furthest = max(furthest, moves)
            level += 1

    return fill


def _columns(found: Iterable[Any]) -> Any:
    return np.stack(list(found), 1).astype(np.int32)


@functools.cache
def tables(metric: str) -> Tables:
    """The tables of a metric; they take about a second."""
    fill, turn = make("cube", size=3, metric=metric).kernel(filler), quarter_turns()
    costs = np.array([2 if metric == "quarter" and t % 3 == 1 else 1 for t in range(18)])
    twists, flips, (held, index) = digits(TWISTS, 3, 8), digits(FLIPS, 2, 12), _slices()
    twist = _columns(((twists[:, t.corners] + t.twists) % 3)[:, :-1] @ 3 ** np.arange(7) for t in turn)
    flip = _columns(((flips[:, t.edges] + t.flips) % 2)[:, :-1] @ 2 ** np.arange(11) for t in turn)
    slices = _columns(index[held[:, t.edges] @ (1 << np.arange(12))] for t in turn)

    eight, four = (np.array(list(permutations(range(n))), np.int8) for n in (8, 4))
    corner_order = _columns(rank(eight[:, turn[t].corners]) for t in PHASE_2)
    edge_order = _columns(rank(eight[:, turn[t].edges[:MIDDLE]]) for t in PHASE_2)
    middle_order = _columns(rank(four[:, turn[t].edges[MIDDLE:] - MIDDLE]) for t in PHASE_2)

    def far(a: Any, b: Any, costs: Any) -> Any:
        found = np.full(len(a) * len(b), FAR)
        fill(a, b, costs, found)
        return found

    return Tables(
        costs,
        np.array(
            [[last // 3 not in (t // 3, t // 3 + 3) for t in range(18)] for last in range(NO_TURN)] + [[True] * 18]
        ),
        np.array([[3 * faces[t // 3] + t % 3 for t in range(18)] for _, faces in views()]),
        np.stack([t.corners for t in turn]),
        np.stack([t.edges for t in turn]),
        twist,
        flip,
        slices,
        far(twist, slices, costs),
        far(flip, slices, costs),
        far(twist, flip, costs),
        PHASE_2,
        corner_order,
        edge_order,
        middle_order,
        far(corner_order, middle_order, costs[PHASE_2]),
        far(edge_order, middle_order, costs[PHASE_2]),
    )
