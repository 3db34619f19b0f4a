"""Stones on a Go board: groups, liberties, captures, ko and superko, kept up to date move by move in a record.

Points are numbered on a board with a border, so that every point has four neighbours: `point[cell]` is the point of
a cell, and the points left, right, above and below it are 1 and `wide` away.

A group is a ring of stones (`next`) with one of them as its head (`head`). At the head stands the number of its
pseudo-liberties: pairs of a stone of the group and an empty point beside it. Hence an empty point is the group's only
liberty exactly if as many of the point's neighbours belong to the group as it has pseudo-liberties.

Superko looks back through the hashes of all positions since the start (`past`, by ply). A stone placed on p can
repeat only a position with such a stone on p, which has been taken off since: most moves need no look (`lost`).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from meijin.core.compile import Function
from meijin.core.rng import below

EMPTY, BLACK, WHITE, BORDER = 0, 1, 2, 3
SUPERKO = ("simple", "positional", "situational")


class Stones(NamedTuple):
    """What the rules of Go are made of. `me` is a colour, BLACK or WHITE, and `p` an empty point."""

    fields: list[Any]  # of the record
    point: Any  # [cell] -> point
    cell: Any  # [point] -> cell; on the border: the number of cells
    wide: int  # from a point to the one below it
    clear: Function  # clear(s): the empty board
    allowed: Function  # allowed(s, p, me): whether the colour may play there
    place: Function  # place(s, p, me): play there
    eye: Function  # eye(s, p, me): whether only a bad move would fill it
    draw: Function  # draw(s, me, rng): a uniform point where the colour may play, or 0 for a pass, one among them
    settle: Function  # settle(s): write the colours that each empty point's region touches to its `next`


@cache
def stones(size: int, superko: str, suicide: bool, longest: int) -> Stones:
    wide = size + 1  # one column of border between the rows is enough
    area, points = size * size, (size + 2) * wide + 1
    steps = (-wide, -1, 1, wide)
    corners = (-wide - 1, 1 - wide, wide - 1, wide + 1)
    point = np.array([(row + 1) * wide + column + 1 for row in range(size) for column in range(size)], np.int16)
    cell = np.full(points, area, np.int16)
    cell[point] = np.arange(area)
    zobrist = np.random.default_rng(19).integers(1, 2**64, (3, points), np.uint64)  # [colour, point]
    history = superko != "simple"
    every = 2 if superko == "situational" else 1  # the same seat is to move every second ply

    # Up to 11 x 11, points and pseudo-liberties (no more than the board has lines from point to point) fit a byte.
    number = "u1" if size <= 11 else "i2"
    fields: list[Any] = [
        ("hash", "u8"),
        *([("past", "u8", (longest + 1,))] if history else []),  # [ply] -> hash
        ("ply", "i2"),
        ("empties", "i2"),
        ("ko", "i2"),  # the point that may not be taken back; 0: none
        ("prisoners", "i2", (2,)),  # [seat] -> stones it has taken
        ("color", "u1", (points,)),
        ("lost", "u1", (points,)),  # the colours (1 + 2: both) taken off this point so far
        ("head", number, (points,)),  # of a stone: its group; else 0
        ("next", number, (points,)),  # of a stone: the next of its group
        ("libs", number, (points,)),  # of a head: pseudo-liberties of the group
        ("empty", number, (area,)),  # the first `empties`: the empty points, in no order
        ("spot", number, (points,)),  # of an empty point: its place in `empty`
    ]

    def clear(s: Any) -> None:
        s.hash = np.uint64(0)
        s.ply = 0
        s.empties = area
        s.ko = 0
        s.prisoners[0] = 0
        s.prisoners[1] = 0
        for p in range(points):
            s.color[p] = BORDER
            s.lost[p] = 0
            s.head[p] = 0
            s.next[p] = 0
            s.libs[p] = 0
            s.spot[p] = 0
        for i in range(area):
            p = point[i]
            s.color[p] = EMPTY
            s.empty[i] = p
            s.spot[p] = i
        forget(s)

    # ---- the past ----

    def forget_hashes(s: Any) -> None:
        for t in range(longest + 1):
            s.past[t] = np.uint64(0)

    def seen_hash(s: Any, key: Any) -> bool:
        """Whether the board of that hash would repeat one; without an early end the loop runs on vectors."""
        found = False
        for t in range((s.ply + 1) % every, s.ply + 1, every):
            if s.past[t] == key:
                found = True
        return found

    def no_past(s: Any) -> None:
        return None

    def never(s: Any, key: Any) -> bool:
        return False

    forget, seen = (forget_hashes, seen_hash) if history else (no_past, never)

    # ---- whether a move is allowed ----

    def last_liberty(s: Any, p: int, q: int) -> bool:
        """Whether the empty point p is the only liberty of the group of the stone q beside it."""
        group = s.head[q]
        edges = 0
        for step in steps:
            if s.head[p + step] == group:
                edges += 1
        return s.libs[group] == edges

    def without(s: Any, p: int, color: int, key: Any) -> Any:
        """The hash when the groups of that colour whose last liberty is p are taken off."""
        for i in range(4):
            q = p + steps[i]
            if s.color[q] == color and last_liberty(s, p, q):
                first = True
                for j in range(i):
                    if s.head[p + steps[j]] == s.head[q]:
                        first = False
                if first:
                    r = q
                    while True:
                        key ^= zobrist[color, r]
                        r = np.int64(s.next[r])
                        if r == q:
                            break
        return key

    def allowed(s: Any, p: int, me: int) -> bool:
        if p == s.ko:
            return False
        stays = False
        for step in steps:
            if s.color[p + step] == EMPTY:
                stays = True
        if not stays:
            friends = 0
            for step in steps:
                color = s.color[p + step]
                if color == me:
                    friends += 1
                # a friend with another liberty, or an enemy without one
                if color != BORDER and (color == me) != last_liberty(s, p, p + step):
                    stays = True
            if not stays:
                if not suicide or friends == 0:
                    return False
                return not seen(s, without(s, p, me, s.hash))
        if not history or s.lost[p] & me == 0:
            return True
        return not seen(s, without(s, p, 3 - me, s.hash ^ zobrist[me, p]))

    def eye(s: Any, p: int, me: int) -> bool:
        for step in steps:
            if s.color[p + step] != me and s.color[p + step] != BORDER:
                return False
        foes = 0
        edge = 0
        for corner in corners:
            if s.color[p + corner] == 3 - me:
                foes += 1
            elif s.color[p + corner] == BORDER:
                edge = 1
        return foes + edge < 2

    def draw(s: Any, me: int, rng: Any) -> int:
        while True:
            k = below(rng, s.empties + 1)
            if k == s.empties:
                return 0
            p = np.int64(s.empty[k])
            if allowed(s, p, me):
                return p

    # ---- playing ----

    def join(s: Any, a: int, b: int) -> int:
        """Make one of two groups; the one with more liberties, most likely the larger, keeps its head."""
        if s.libs[a] < s.libs[b]:
            a, b = b, a
        r = b
        while True:
            s.head[r] = a
            r = np.int64(s.next[r])
            if r == b:
                break
        s.next[a], s.next[b] = s.next[b], s.next[a]
        s.libs[a] += s.libs[b]
        return a

    def remove(s: Any, q: int, color: int) -> int:
        """Take a group off the board; returns its number of stones."""
        n = np.int64(s.empties)
        before = n
        r = q
        while True:
            after = np.int64(s.next[r])
            s.color[r] = EMPTY
            s.head[r] = 0
            s.lost[r] |= color
            s.hash ^= zobrist[color, r]
            s.empty[n] = r
            s.spot[r] = n
            n += 1
            for step in steps:
                if s.color[r + step] == 3 - color:
                    s.libs[s.head[r + step]] += 1
            r = after
            if r == q:
                break
        s.empties = n
        s.prisoners[2 - color] += n - before
        return n - before

    def place(s: Any, p: int, me: int) -> None:
        last = np.int64(s.empties) - 1
        s.empties = last
        s.empty[s.spot[p]] = s.empty[last]
        s.spot[s.empty[last]] = s.spot[p]
        s.color[p] = me
        s.hash ^= zobrist[me, p]
        s.head[p] = p
        s.next[p] = p
        free = 0
        for step in steps:
            if s.color[p + step] == EMPTY:
                free += 1
        s.libs[p] = free
        group = p
        friends = 0
        taken = 0
        for step in steps:
            q = p + step
            color = s.color[q]
            if color == me:
                friends += 1
                other = np.int64(s.head[q])
                s.libs[other] -= 1
                if other != group:
                    group = join(s, group, other)
            elif color == 3 - me:
                other = np.int64(s.head[q])
                s.libs[other] -= 1
                if s.libs[other] == 0:
                    taken += remove(s, q, 3 - me)
        s.ko = 0
        if taken == 1 and friends == 0 and free == 0:
            s.ko = s.empty[last]  # the stone just taken
        if suicide and s.libs[group] == 0:
            remove(s, group, me)

    # ---- counting ----

    def settle(s: Any) -> None:
        for k in range(s.empties):
            p = np.int64(s.empty[k])
            touched = 0
            for step in steps:
                if s.color[p + step] != BORDER:
                    touched |= s.color[p + step]
            s.next[p] = touched
        changed = True
        while changed:  # hand on what neighbours touch
            changed = False
            for k in range(s.empties):
                p = np.int64(s.empty[k])
                touched = s.next[p]
                for step in steps:
                    if s.color[p + step] == EMPTY:
                        touched |= s.next[p + step]
                if touched != s.next[p]:
                    s.next[p] = touched
                    changed = True

    return Stones(fields, point, cell, wide, clear, allowed, place, eye, draw, settle)
