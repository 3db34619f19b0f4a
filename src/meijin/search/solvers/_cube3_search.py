"""The search for a solution of the 3x3x3: phase 1 of a given length, then phase 2 of at most another.

With no moves for phase 2 it is a step of an optimal solver: no solution of that length is overlooked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meijin.core.compile import Function
from meijin.core.game import Game
from meijin.search.solvers._cube3_tables import AXES, FLIPS, MIDDLE, MIDDLE_ORDERS, NO_TURN, SLICES

NODES, STOPPED = 0, 1  # slots of `info`
PLIES = 64  # more turns than any search makes


class Work(NamedTuple):
    """All that a search writes."""

    seen: Any  # [ply, axis, coordinate]: twist, flip and slice as seen from each axis
    orders: Any  # [ply, coordinate]: of corners, edges and the middle layer in phase 2
    turns: Any  # [ply]: the turns that lead from there
    left: Any  # [ply]: moves left for the phase
    pieces: Any  # [2, place]: corners, then edges
    info: Any
    stop: Any  # [1]: set by a timer


def work() -> Work:
    return Work(
        np.zeros((PLIES, AXES, 3), np.int64),
        np.zeros((PLIES, 3), np.int64),
        np.zeros(PLIES, np.int64),
        np.zeros(PLIES, np.int64),
        np.zeros((2, 20), np.int64),
        np.zeros(2, np.int64),
        np.zeros(1, np.int64),
    )


def rank(pieces: Any, begin: int, end: int) -> int:
    """The number of a permutation in lexicographic order."""
    number = 0
    for i in range(begin, end):
        number *= end - i
        for j in range(i + 1, end):
            number += pieces[j] < pieces[i]
    return number


def arranged(k: Any, w: Any, corners: Any, edges: Any, plies: int) -> None:
    """Put the orders after the turns so far into `w.orders[plies]`."""
    for i in range(8):
        w.pieces[0, i] = corners[i]
    for i in range(12):
        w.pieces[0, 8 + i] = edges[i]
    for ply in range(plies):
        now, after = w.pieces[ply & 1], w.pieces[1 - ply & 1]
        for i in range(8):
            after[i] = now[k.corners[w.turns[ply], i]]
        for i in range(12):
            after[8 + i] = now[8 + k.edges[w.turns[ply], i]]
    found = w.pieces[plies & 1]
    w.orders[plies, 0] = rank(found, 0, 8)
    w.orders[plies, 1] = rank(found, 8, 8 + MIDDLE)
    w.orders[plies, 2] = rank(found, 8 + MIDDLE, 20)


def counted(w: Any) -> bool:
    """Count a node; whether the search has to end."""
    w.info[NODES] += 1
    if w.info[NODES] & 1023 == 0 and w.stop[0] != 0:
        w.info[STOPPED] = 1
    return bool(w.info[STOPPED] != 0)


def finish(k: Any, w: Any, first: int, moves: int) -> int:
    """Phase 2 in at most so many moves, from `w.orders[first]`: the turns of both phases; -1: there is no way."""
    ply = first
    w.left[ply] = moves
    solved = w.orders[ply, 0] + w.orders[ply, 1] + w.orders[ply, 2] == 0
    at = 0  # the next turn to try
    if (
        k.corner_far[w.orders[ply, 0] * MIDDLE_ORDERS + w.orders[ply, 2]] > moves
        or k.edge_far[w.orders[ply, 1] * MIDDLE_ORDERS + w.orders[ply, 2]] > moves
    ):
        return -1
    while not solved:
        if at == k.phase_2.shape[0]:
            ply -= 1
            if ply < first:
                return -1
            at = w.turns[ply] + 1
            continue
        turn = k.phase_2[at]
        last = NO_TURN
        if ply > first:
            last = k.phase_2[w.turns[ply - 1]]
        elif ply > 0:
            last = w.turns[ply - 1]
        left = w.left[ply] - k.costs[turn]
        if left >= 0 and k.follows[last, turn]:
            corners, edges = k.corner_order[w.orders[ply, 0], at], k.edge_order[w.orders[ply, 1], at]
            middle = k.middle_order[w.orders[ply, 2], at]
            if (
                k.corner_far[corners * MIDDLE_ORDERS + middle] <= left
                and k.edge_far[edges * MIDDLE_ORDERS + middle] <= left
            ):
                if counted(w):
                    return -1
                w.turns[ply] = at
                ply += 1
                w.orders[ply, 0], w.orders[ply, 1], w.orders[ply, 2] = corners, edges, middle
                w.left[ply] = left
                solved = corners + edges + middle == 0
                at = 0
                continue
        at += 1
    for i in range(first, ply):
        w.turns[i] = k.phase_2[w.turns[i]]
    return ply


def within(k: Any, w: Any, ply: int, axis: int, turn: int, moves: int) -> bool:
    """Whether phase 2 may be that near after a turn, as seen from one side; puts the coordinates into `w.seen`."""
    as_seen = k.views[axis, turn]
    twist, middle = k.twist[w.seen[ply, axis, 0], as_seen], k.slice[w.seen[ply, axis, 2], as_seen]
    if k.twist_far[twist * SLICES + middle] > moves:
        return False
    flip = k.flip[w.seen[ply, axis, 1], as_seen]
    w.seen[ply + 1, axis, 0], w.seen[ply + 1, axis, 1], w.seen[ply + 1, axis, 2] = twist, flip, middle
    return bool(k.flip_far[flip * SLICES + middle] <= moves and k.turned_far[twist * FLIPS + flip] <= moves)


def searcher(game: Game) -> Function:
    """`search(k, w, corners, edges, axes, moves, more)`: how many of `w.turns` solve the cube; -1: none found.

    Phase 1 takes exactly `moves`, phase 2 at most `more`. `axes` lower bounds are looked at: 1, or all 3 if there is no
    phase 2. `w.seen[0]` has the position's coordinates, `corners` and `edges` its permutations.
    """

    def search(k: Any, w: Any, corners: Any, edges: Any, axes: int, moves: int, more: int) -> int:
        ply, turn = 0, 0
        w.left[0] = moves
        while ply >= 0:
            if w.left[ply] == 0:
                arranged(k, w, corners, edges, ply)
                found = finish(k, w, ply, more)
                if found >= 0 or w.info[STOPPED] != 0:
                    return found
                turn = 18
            if turn == 18:
                ply -= 1
                turn = w.turns[ply] + 1 if ply >= 0 else 0
                continue
            left = w.left[ply] - k.costs[turn]
            near = left >= 0 and k.follows[w.turns[ply - 1] if ply > 0 else NO_TURN, turn]
            axis = 0
            while near and axis < axes:
                near = within(k, w, ply, axis, turn, left)
                axis += 1
            if near:
                if counted(w):
                    return -1
                w.turns[ply] = turn
                ply += 1
                w.left[ply] = left
                turn = 0
            else:
                turn += 1
        return -1

    return search
