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
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.rng import below

EMPTY, BLACK, WHITE, BORDER = 0, 1, 2, 3
SUPERKO = ("simple", "positional", "situational")


class Stones(NamedTuple):
    """What the rules of Go are made of. `me` is a colour, BLACK or WHITE, and `p` an empty point."""

    fields: list[Any]  # of the record
    point: Any  # [cell] -> point
    cell: Any  # [point] -> cell; on the border: the number of cells
    wide: int  # from a point to the one below it
    clear: Function  # clear(s): the empty board; `begin` follows
    begin: Function  # begin(s): make this position the first that superko knows
    follow: Function  # follow(s): after each move and pass, one ply later
    allowed: Function  # allowed(s, p, me): whether the colour may play there
    place: Function  # place(s, p, me): play there
    draw: Function  # draw(s, me, rng): a uniform point where the colour may play, or 0, a pass, as likely as any
    draw_sensible: Function  # draw_sensible(s, me, rng): a point where it may play that is not its eye; 0 if none
    liberties: Function  # liberties(s, q): of the group of a stone: 1, 2, or 3 for all above
    settle: Function  # settle(s): write the colours that each empty point's region touches to its `next`


def longest_game(size: int) -> int:
    """Plies after which a game is over and counted as it stands, to end the cycles that simple ko allows.

    Random play on 9 x 9 gets there once in some 70 games; players who want to end a game never do.
    """
    return 3 * size * size + 20


def stones_of(game: Game) -> Stones:
    """What a game of Go was made with."""
    if game.name != "go":
        raise BadParameter(f"{game} is not Go; give a state of go(...)")
    size = game.params["size"]
    return stones(size, game.params["superko"], game.params["suicide"], longest_game(size))


def distances(*steps: int) -> tuple[np.uint64, ...]:
    """Steps from point to point as words, negative ones wrapped around: all points are words (np.uint64), because
    compiled code need not ask whether an index is negative then, and a move takes a tenth less time."""
    return tuple(np.uint64(step % 2**64) for step in steps)


@cache
def stones(size: int, superko: str, suicide: bool, longest: int) -> Stones:
    wide = size + 1  # one column of border between the rows is enough
    area, points = size * size, (size + 2) * wide + 1
    steps = distances(-wide, -1, 1, wide)
    corners = distances(-wide - 1, 1 - wide, wide - 1, wide + 1)
    point = np.array([(row + 1) * wide + column + 1 for row in range(size) for column in range(size)], np.int16)
    cell = np.full(points, area, np.int16)
    cell[point] = np.arange(area)
    zobrist = np.random.default_rng(19).integers(1, 2**64, (2, points), np.uint64)  # [colour - 1, point]
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

    # ---- the past ----

    def key_of(color: int, p: Any) -> Any:
        """A stone's part of the hash. A GPU's constant memory gets a copy of a table for each function that names it,
        hence a function of its own."""
        return zobrist[color - BLACK, p]

    def begin_hashes(s: Any) -> None:
        for t in range(longest + 1):
            s.past[t] = np.uint64(0)
        s.past[0] = s.hash
        s.ply = 0

    def follow_hashes(s: Any) -> None:
        s.ply += 1
        s.past[s.ply] = s.hash

    def seen_hash(s: Any, key: Any) -> bool:
        """Whether the board of that hash would repeat one; without an early end the loop runs on vectors."""
        found = False
        for t in range((s.ply + 1) % every, s.ply + 1, every):
            if s.past[t] == key:
                found = True
        return found

    def begin_plainly(s: Any) -> None:
        s.ply = 0

    def follow_plainly(s: Any) -> None:
        s.ply += 1

    def never(s: Any, key: Any) -> bool:
        return False

    begin = begin_hashes if history else begin_plainly
    follow = follow_hashes if history else follow_plainly
    seen = seen_hash if history else never

    # ---- whether a move is allowed ----

    def last_liberty(s: Any, p: Any, q: Any) -> bool:
        """Whether the empty point p is the only liberty of the group of the stone q beside it."""
        group = s.head[q]
        edges = 0
        for step in steps:
            if s.head[p + step] == group:
                edges += 1
        return s.libs[group] == edges

    def without(s: Any, p: Any, color: int, key: Any) -> Any:
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
                        key ^= key_of(color, r)
                        r = np.uint64(s.next[r])
                        if r == q:
                            break
        return key

    def allowed(s: Any, p: Any, me: int) -> bool:
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
        return not seen(s, without(s, p, 3 - me, s.hash ^ key_of(me, p)))

    # ---- random moves ----

    def draw(s: Any, me: int, rng: Any) -> Any:
        while True:
            k = below(rng, s.empties + 1)
            if k == s.empties:
                return np.uint64(0)
            p = np.uint64(s.empty[k])
            if allowed(s, p, me):
                return p

    def eye(s: Any, p: Any, me: int) -> bool:
        """Whether the point lies among the colour's stones and so few corners are the enemy's that they connect."""
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

    def draw_sensible(s: Any, me: int, rng: Any) -> Any:
        """Nearly uniform: the first that will do, from a random place in the list on."""
        n = np.int64(s.empties)
        k = below(rng, n) if n > 0 else 0
        for _ in range(n):
            p = np.uint64(s.empty[k])
            if not eye(s, p, me) and allowed(s, p, me):
                return p
            k = k + 1 if k + 1 < n else 0
        return np.uint64(0)

    # ---- playing ----

    def join(s: Any, a: Any, b: Any) -> Any:
        """Make one of two groups; the one with more liberties, most likely the larger, keeps its head."""
        if s.libs[a] < s.libs[b]:
            a, b = b, a
        r = b
        while True:
            s.head[r] = a
            r = np.uint64(s.next[r])
            if r == b:
                break
        s.next[a], s.next[b] = s.next[b], s.next[a]
        s.libs[a] += s.libs[b]
        return a

    def remove(s: Any, q: Any, color: int) -> Any:
        """Take a group off the board; returns its number of stones."""
        n = np.int64(s.empties)
        before = n
        r = q
        while True:
            after = np.uint64(s.next[r])
            s.color[r] = EMPTY
            s.head[r] = 0
            s.lost[r] |= color
            s.hash ^= key_of(color, r)
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

    def place(s: Any, p: Any, me: int) -> None:
        last = np.int64(s.empties) - 1
        s.empties = last
        s.empty[s.spot[p]] = s.empty[last]
        s.spot[s.empty[last]] = s.spot[p]
        s.color[p] = me
        s.hash ^= key_of(me, p)
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
                other = np.uint64(s.head[q])
                s.libs[other] -= 1
                if other != group:
                    group = join(s, group, other)
            elif color == 3 - me:
                other = np.uint64(s.head[q])
                s.libs[other] -= 1
                if s.libs[other] == 0:
                    taken += remove(s, q, 3 - me)
        s.ko = 0
        if taken == 1 and friends == 0 and free == 0:
            s.ko = s.empty[last]  # the stone just taken
        if suicide and s.libs[group] == 0:
            remove(s, group, me)

    # ---- counting ----

    def liberties(s: Any, q: Any) -> int:
        one = np.uint64(0)
        two = np.uint64(0)
        r = q
        while True:
            for step in steps:
                p = r + step
                if s.color[p] == EMPTY and p != one and p != two:
                    if one == 0:
                        one = p
                    elif two == 0:
                        two = p
                    else:
                        return 3
            r = np.uint64(s.next[r])
            if r == q:
                break
        return 2 if two > 0 else 1

    def settle(s: Any) -> None:
        for k in range(s.empties):
            p = np.uint64(s.empty[k])
            touched = 0
            for step in steps:
                if s.color[p + step] != BORDER:
                    touched |= s.color[p + step]
            s.next[p] = touched
        n = np.int64(s.empties)
        forth, changed = False, True
        while changed:  # hand on what neighbours touch, to and fro through the list
            forth, changed = not forth, False
            for k in range(n):
                p = np.uint64(s.empty[k if forth else n - 1 - k])
                touched = s.next[p]
                if touched != BLACK | WHITE:
                    for step in steps:
                        if s.color[p + step] == EMPTY:
                            touched |= s.next[p + step]
                    if touched != s.next[p]:
                        s.next[p] = touched
                        changed = True

    return Stones(
        fields, point, cell, wide, clear, begin, follow, allowed, place, draw, draw_sensible, liberties, settle
    )
