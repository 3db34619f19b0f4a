"""Virtual connections in Hex, grown from the sides of the board.

A seat's cell or group is safely joined to a side if it gets there even when the other seat moves first, and weakly if
it must move first itself. The carrier of a connection is the set of empty cells it needs: whatever happens elsewhere,
the connection stands. Anshelevich's rules make larger ones of smaller ones:

- and: a safe connection to a stone and a safe link on from it with another carrier are a safe connection; over an
  empty cell they are a weak one, which begins with a stone on that cell.
- or: weak connections that share no cell are together a safe one.

Links on are neighbours and bridges (two common empty neighbours). Full H-search joins any two points; growing from the
sides alone is some fifty times cheaper, and on small boards everything is near a side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meijin.core.bits import count, lowest, without_lowest
from meijin.search.solvers._hex_cells import flood, grow

SAFE_KEPT, WEAK_KEPT = 6, 12  # carriers kept of a connection; the smallest are
QUEUE = 4096
NEAR, FAR, ACROSS = 0, 1, 2  # from the near side, from the far one, and from side to side (in place of cell 0)

_NONE, _ONE = np.uint64(0), np.uint64(1)


class Links(NamedTuple):
    """Memory for `connect`."""

    free: Any  # [cell or NEAR/FAR side at the end] -> empty cells next to the cell, its group, or the side
    next: Any  # [cell] -> cells and groups next to it, a group by its lowest cell
    bridged: Any  # [cell] -> cells and groups with two common free cells
    safe: Any  # [from, cell, i]: carriers
    num_safe: Any  # [from, cell]
    weak: Any  # [from, cell, i]
    num_weak: Any  # [from, cell]
    queue: Any  # [i]: carriers of safe connections to go on from
    queued: Any  # [i]: their cells
    counts: Any  # [1]: how many are queued


def links(size: int) -> Links:
    area = size * size
    return Links(
        np.zeros(area + 2, np.uint64),
        np.zeros(area, np.uint64),
        np.zeros(area, np.uint64),
        np.zeros((3, area, SAFE_KEPT), np.uint64),
        np.zeros((3, area), np.int64),
        np.zeros((3, area, WEAK_KEPT), np.uint64),
        np.zeros((3, area), np.int64),
        np.zeros(QUEUE, np.uint64),
        np.zeros(QUEUE, np.int64),
        np.zeros(1, np.int64),
    )


def keep(carriers: Any, n: int, limit: int, new: Any) -> int:
    """Add a carrier to the n given ones unless it has one of them inside; returns how many there are now, -1 if not.

    Those that have the new one inside go; if there is no room, the largest does.
    """
    for i in range(n):
        if carriers[i] & ~new == _NONE:
            return -1
    left = 0
    for i in range(n):
        if new & ~carriers[i] != _NONE:
            carriers[left] = carriers[i]
            left += 1
    if left == limit:
        worst = 0
        for i in range(1, left):
            if count(carriers[i]) > count(carriers[worst]):
                worst = i
        if count(carriers[worst]) <= count(new):
            return -1
        carriers[worst] = new
        return left
    carriers[left] = new
    return left + 1


def add(k: Any, origin: int, cell: int, carrier: Any, safe: bool) -> None:
    if safe:
        add_safe(k, origin, cell, carrier)
    else:
        add_weak(k, origin, cell, carrier)


def add_safe(k: Any, origin: int, cell: int, carrier: Any) -> None:
    n = keep(k.safe[origin, cell], k.num_safe[origin, cell], SAFE_KEPT, carrier)
    if n >= 0:
        k.num_safe[origin, cell] = n
        if origin != ACROSS and k.counts[0] < QUEUE:
            k.queue[k.counts[0]] = carrier
            k.queued[k.counts[0]] = cell
            k.counts[0] += 1


def add_weak(k: Any, origin: int, cell: int, carrier: Any) -> None:
    """Add a weak connection and the safe ones that it makes with others."""
    for i in range(k.num_safe[origin, cell]):
        if k.safe[origin, cell, i] & ~carrier == _NONE:
            return
    n = keep(k.weak[origin, cell], k.num_weak[origin, cell], WEAK_KEPT, carrier)
    if n < 0:
        return
    k.num_weak[origin, cell] = n
    weak = k.weak[origin, cell]
    for a in range(n):
        two = carrier & weak[a]
        if two == _NONE:
            add_safe(k, origin, cell, carrier | weak[a])
        elif two != carrier:
            for b in range(a):
                three = two & weak[b]
                if three == _NONE:
                    add_safe(k, origin, cell, carrier | weak[a] | weak[b])
                elif three != two:
                    for c in range(b):
                        if three & weak[c] == _NONE:
                            add_safe(k, origin, cell, carrier | weak[a] | weak[b] | weak[c])


def lay_out(h: Any, k: Any, stones: Any, empty: Any) -> Any:
    """Find what is next to what, and bridged; returns the empty cells and the lowest cell of every group of stones."""
    left = empty
    while left != _NONE:
        cell = lowest(left)
        left = without_lowest(left)
        k.free[cell] = h.near[cell] & empty
        k.next[cell] = k.free[cell]
    nodes = empty
    while stones != _NONE:
        cell = lowest(stones)
        bit = _ONE << np.uint64(cell)
        group = flood(h, bit, stones)
        stones &= ~group
        nodes |= bit
        k.free[cell] = grow(h, group) & empty
        k.next[cell] = k.free[cell]
        left = k.free[cell]
        while left != _NONE:
            k.next[lowest(left)] |= bit
            left = without_lowest(left)
    left = nodes
    while left != _NONE:
        cell = lowest(left)
        left = without_lowest(left)
        found = _NONE
        rest = nodes & ~(k.next[cell] | (_ONE << np.uint64(cell)))
        while rest != _NONE:
            to = lowest(rest)
            common = k.free[cell] & k.free[to]
            if without_lowest(common) != _NONE:
                found |= rest & ~without_lowest(rest)
            rest = without_lowest(rest)
        k.bridged[cell] = found
    return nodes


def extend(k: Any, origin: int, own: Any, cell: int, carrier: Any) -> None:
    """The and-rule: from the side over the cell to its neighbours and over its bridges."""
    stone = own >> np.uint64(cell) & _ONE != _NONE
    if not stone:
        carrier |= _ONE << np.uint64(cell)
    left = k.next[cell] & ~carrier
    while left != _NONE:
        add(k, origin, lowest(left), carrier, stone)
        left = without_lowest(left)
    left = k.bridged[cell] & ~carrier
    while left != _NONE:
        to = lowest(left)
        left = without_lowest(left)
        one = k.free[cell] & k.free[to] & ~carrier
        while one != _NONE:
            first = one & ~without_lowest(one)
            one = without_lowest(one)
            two = one
            while two != _NONE:
                both = carrier | first | (two & ~without_lowest(two))
                two = without_lowest(two)
                add(k, origin, to, both, stone)


def connect(h: Any, k: Any, own: Any, other: Any, seat: int) -> bool:
    """Find the seat's connections; returns whether its stones join the sides already.

    What joins the sides is in `k.safe[ACROSS, 0]` and `k.weak[ACROSS, 0]`.
    """
    area, sides = h.size * h.size, h.sides[seat]
    k.num_safe[:, :] = 0
    k.num_weak[:, :] = 0
    head = flood(h, sides[NEAR], own)
    tail = flood(h, sides[FAR], own)
    if head & (sides[FAR] | tail) != _NONE:
        return True
    empty = h.board & ~(own | other)
    k.free[area + NEAR] = (sides[NEAR] | grow(h, head)) & empty
    k.free[area + FAR] = (sides[FAR] | grow(h, tail)) & empty
    nodes = lay_out(h, k, own & ~(head | tail), empty)
    for origin in range(2):
        k.counts[0] = 0
        side = k.free[area + origin]
        left = nodes
        while left != _NONE:
            cell = lowest(left)
            bit = _ONE << np.uint64(cell)
            left = without_lowest(left)
            if side & bit != _NONE:
                add_safe(k, origin, cell, _NONE)
                continue
            one = k.free[cell] & side
            while one != _NONE:
                first = one & ~without_lowest(one)
                one = without_lowest(one)
                two = one
                while two != _NONE:
                    add_safe(k, origin, cell, first | (two & ~without_lowest(two)))
                    two = without_lowest(two)
        done = 0
        while done < k.counts[0]:
            extend(k, origin, own, k.queued[done], k.queue[done])
            done += 1

    left = nodes
    while left != _NONE:
        cell = lowest(left)
        bit = _ONE << np.uint64(cell)
        left = without_lowest(left)
        for i in range(k.num_safe[NEAR, cell]):
            for j in range(k.num_safe[FAR, cell]):
                one, two = k.safe[NEAR, cell, i], k.safe[FAR, cell, j]
                if one & two == _NONE:
                    add(k, ACROSS, 0, one | two | (bit & ~own), own & bit != _NONE)
    return False
