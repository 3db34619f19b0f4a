"""From a position to table indices, and from those to what each move is worth; compiled into the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.compile import Function, inlined
from meijin.core.game import OVER, Game
from meijin.core.kernels import copy
from meijin.core.prefetch import prefetch
from meijin.learning.td.room import ALL, ENDS, TD, scale

NEAR = 2**15  # weights of a table that lies in the processor's cache anyway


def make_look(game: Game) -> Function:
    """`look(s, out)`: the cells as tuples see them, with a value of its own for an empty cell that can be filled."""
    if game.supports is None:
        return game.cells
    cells, count, open_ = game.cells, len(game.board.cells), len(game.pieces)
    supports = np.array(game.supports, np.int64)

    @inlined
    def look(s: Any, out: Any) -> None:
        cells(s, out)
        for c in range(count):
            if out[c] == 0 and (supports[c] < 0 or 0 < out[supports[c]] < open_):
                out[c] = open_

    return look


def make_place(game: Game) -> Function:
    count = len(game.board.cells)

    @inlined
    def place(layout: Any, seat: int, values: Any) -> Any:
        """Where the weights of a seat for a position begin."""
        at = layout.networks[seat]
        if layout.stages.shape[0] > 0:
            most = 0
            for c in range(count):
                most = max(most, values[c])
            for k in range(layout.stages.shape[0]):
                if most >= layout.stages[k]:
                    at += layout.stage_size
        return at

    return place


@inlined
def index(layout: Any, view: int, values: Any, out: Any) -> None:
    """The indices of a position."""
    for f in range(out.shape[0]):
        out[f] = layout.first[f]
    for c in range(values.shape[0]):
        v = values[c]
        for e in range(layout.begins[view, c], layout.begins[view, c + 1]):
            out[layout.features[view, e]] += layout.codes[view, e, v]


@inlined
def shift(layout: Any, view: int, cell: int, before: int, after: int, out: Any) -> None:
    """The same after one cell has changed."""
    if layout.dense.shape[1] > 0:
        for f in range(out.shape[0]):
            out[f] += layout.dense[view, cell, after, f] - layout.dense[view, cell, before, f]
    else:
        for e in range(layout.begins[view, cell], layout.begins[view, cell + 1]):
            out[layout.features[view, e]] += layout.codes[view, e, after] - layout.codes[view, e, before]


@inlined
def differ(room: Any) -> int:
    """How many cells differ between `room.base` and `room.next`; `room.changed` lists them.

    Every cell is written and only those that differ are counted: no branch here for the processor to guess wrong.
    """
    n = 0
    for c in range(room.base.shape[0]):
        room.changed[n] = c
        n += 1 if room.base[c] != room.next[c] else 0
    return n


@inlined
def squash(x: float) -> float:
    """tanh as a quotient of polynomials, good to single precision and several times faster."""
    x = min(max(x, -7.9), 7.9)
    y = x * x
    p = -2.76076847742355e-16
    p = p * y + 2.00018790482477e-13
    p = p * y - 8.60467152213735e-11
    p = p * y + 5.12229709037114e-08
    p = p * y + 1.48572235717979e-05
    p = p * y + 6.37261928875436e-04
    p = p * y + 4.89352455891786e-03
    q = 1.19825839466702e-06
    q = q * y + 1.18534705686654e-04
    q = q * y + 2.26843463243900e-03
    q = q * y + 4.89352518554385e-03
    return x * p / q


@inlined
def total(table: Any, indices: Any, at: Any) -> float:
    """The sum of weights; four sums at a time, as each addition would wait for the one before.

    Unsigned indices need no check for negative ones.
    """
    n = indices.shape[0]
    a = b = c = d = 0.0
    for f in range(0, n - 3, 4):
        a += table[np.uint64(at + indices[f]), 0]
        b += table[np.uint64(at + indices[f + 1]), 0]
        c += table[np.uint64(at + indices[f + 2]), 0]
        d += table[np.uint64(at + indices[f + 3]), 0]
    for f in range(n - n % 4, n):
        a += table[np.uint64(at + indices[f]), 0]
    return (a + b) + (c + d)


def make_weigh(game: Game) -> Function:
    play, turn, score, look, place = game.play, game.turn, game.score, make_look(game), make_place(game)
    (middle, half), bounded = scale(game), game.bounded

    @inlined
    def list_changes(layout: Any, room: Any, view: int, start: int, k: int, moves: int) -> None:
        """Which indices change from `room.base` to `room.next`, and to what; `k` is one of so many moves."""
        features = room.now.shape[0]
        changes = differ(room)
        entries = 0
        for i in range(changes):
            c = room.changed[i]
            entries += layout.begins[view, c + 1] - layout.begins[view, c]
        # A list also takes the position's own weights, once for all moves, and more work per entry.
        if 3 * (moves * entries + features) > 2 * moves * features or room.at[k] != start:
            room.count[k] = ALL
            for f in range(features):
                room.tried[k, f] = room.now[f]
            for i in range(changes):
                c = room.changed[i]
                shift(layout, view, c, room.base[c], room.next[c], room.tried[k])
            return
        n = 0
        room.marks[features] += features
        fresh = room.marks[features]
        for i in range(changes):
            c = room.changed[i]
            u, v = room.base[c], room.next[c]
            for e in range(layout.begins[view, c], layout.begins[view, c + 1]):
                f = layout.features[view, e]
                if room.marks[f] < fresh:
                    room.marks[f] = fresh + n
                    room.touched[k, n] = f
                    room.tried[k, n] = room.now[f]
                    n += 1
                room.tried[k, room.marks[f] - fresh] += layout.codes[view, e, v] - layout.codes[view, e, u]
        room.count[k] = n

    @inlined
    def weigh(
        layout: Any,
        table: Any,
        room: Any,
        kind: int,
        squashes: int,
        gamma: float,
        seat: int,
        start: int,
        first: int,
        end: int,
    ) -> None:
        """Fill `room.values` and what belongs to it for some moves of a position, of which all else is there already.

        Values are final scores: in a game without bounds, those so far and what is yet to come. All positions come
        before all values, so that the weights of one move arrive while the next one is played.
        """
        view, features = layout.views[seat], room.now.shape[0]
        if kind != TD:
            so_far = 0.0
            if not bounded:
                score(room.states[0], room.scores)
                so_far = room.scores[seat]
            for k in range(first, end):
                room.at[k], room.so_far[k], room.count[k] = start, so_far, ALL
                for f in range(features):
                    room.tried[k, f] = room.now[f] + layout.blocks[view, f, room.moves[k]]
        else:
            after, far = room.states[1], table.shape[0] > NEAR
            for k in range(first, end):
                copy(room.states[1:2], room.states[0:1])
                play(after, room.moves[k])
                over = turn(after) == OVER
                room.so_far[k] = 0.0
                if over or not bounded:
                    score(after, room.scores)
                    room.so_far[k] = (room.scores[seat] - middle) / half
                if over:
                    room.count[k], room.values[k] = ENDS, room.so_far[k]
                    continue
                look(after, room.next)
                room.at[k] = place(layout, seat, room.next)
                list_changes(layout, room, view, start, k, end - first)
                if far:
                    for i in range(features if room.count[k] == ALL else room.count[k]):
                        prefetch(table, np.uint64(room.at[k] + room.tried[k, i]))
        for k in range(first, end):
            n = room.count[k]
            if n == ENDS:
                continue
            if n == ALL:
                x = total(table, room.tried[k], room.at[k])
            else:
                if room.known[0] == 0.0:
                    room.known[0], room.known[1] = 1.0, 0.0
                    for f in range(features):
                        room.held[f] = table[np.uint64(start + room.now[f]), 0]
                        room.known[1] += room.held[f]
                x = room.known[1]
                for i in range(n):
                    x += table[np.uint64(start + room.tried[k, i]), 0] - room.held[room.touched[k, i]]
            value = gamma * (squash(x) if squashes else x)
            room.values[k] = value if bounded else room.so_far[k] + value

    return weigh


@inlined
def choose(room: Any, k: int, out: Any) -> None:
    """Write which weights belong to the position after a move; the game must go on there."""
    at, n = room.at[k], room.count[k]
    if n == ALL:
        for f in range(out.shape[0]):
            out[f] = at + room.tried[k, f]
    else:
        for f in range(out.shape[0]):
            out[f] = at + room.now[f]
        for i in range(n):
            out[room.touched[k, i]] = at + room.tried[k, i]


@inlined
def replace(past: Any, latest: int, count: int, group: int, gone: Any, begin: int, step: int) -> None:
    """Take the weights of the latest of `count` positions out of the others, as their traces are replaced.

    The features that share a table come one after the other, `group` of them. `begin` and `step` are for a thread that
    does it for some features only.
    """
    for slot in range(count):
        if slot != latest:
            for f in range(begin, past.shape[1], step):
                first, again = f - f % group, False
                for other in range(first, first + group):
                    again |= past[slot, f] == past[latest, other]
                if again:
                    past[slot, f] = gone


@inlined
def follow(room: Any, k: int) -> None:
    """Make the indices of the position after a move those of `room.now`; its cells must become `room.base`."""
    if room.count[k] == ALL:
        for f in range(room.now.shape[0]):
            room.now[f] = room.tried[k, f]
    else:
        for i in range(room.count[k]):
            room.now[room.touched[k, i]] = room.tried[k, i]
