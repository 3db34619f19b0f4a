"""The search of the Othello endgame: null windows on the final disc difference.

Every function answers one question of a position: is the difference, from the mover's view, above `alpha`? The answer
is a bound: a value above `alpha` is at least reached, one up to `alpha` at most. Empty cells at the end belong to the
winner. Differences are even, so an odd `alpha` leaves no value in between.

Four regimes by the number of empty cells: up to 4 the cells are named variables, up to 7 only the parity of regions
orders the moves, then come a table and the number of replies ("fastest first"), and high up a shallow search.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.bits import count, lowest, without_lowest
from meijin.core.compile import Function
from meijin.core.game import Game
from meijin.core.records import Record
from meijin.search.solvers._othello_bits import NEAR, ONE, ZERO, around, flips, last_flips, places, stable
from meijin.search.solvers._othello_order import DISC, LOST, cells, guesser

NONE = -1000  # no value: there is no move, or no time
PASS = 64
SHALLOW = 7  # up to this many empty cells: no table and no mobility
ETC = 12  # from this many on: look all replies up before searching any
GUESSED = 12  # from this many on: a shallow search orders the moves,
DEEPEST = 5  # and goes a ply deeper for every two more, up to this
#: [empty cells] -> look at stable discs from this `alpha` on
STABLE_FROM = np.array([min(2 * n, 64) for n in range(65)], np.int64)

#: All that one search writes besides its table. One record: kernels hand it on as a single pointer.
WORK = np.dtype(
    (
        Record,
        np.dtype(
            [
                ("nodes", "i8"),
                ("stop", "i8"),  # set by a clock
                ("turned", "u8", (64, 64)),  # [empty cells, move]
                ("ranks", "i8", (64, 64)),
                ("cells", "i8", (64, 64)),
            ],
            align=True,
        ),
    )
)

#: A position in the table: the true value lies in low..high.
SLOT = np.dtype(
    (
        Record,
        np.dtype(
            [("mine", "u8"), ("theirs", "u8"), ("low", "i1"), ("high", "i1"), ("empty", "i1"), ("best", "i1", (2,))],
            align=True,
        ),
    )
)


def board_mask(size: int) -> int:
    return sum(1 << (8 * row + column) for row in range(size) for column in range(size))


def finisher(size: int) -> tuple[Function, Function]:
    """`final(mine, theirs)` and `finish(w, mine, theirs, alpha, empty, odd)` for 4 empty cells."""
    area = size * size
    half = size // 2
    region = np.array([2 * (c // 8 // half) + c % 8 // half for c in range(64)], np.int64)  # [cell] -> quadrant

    def final(mine: Any, theirs: Any) -> Any:
        lead = count(mine) - count(theirs)
        if lead == 0:
            return 0
        return area - 2 * count(theirs) if lead > 0 else 2 * count(mine) - area

    def last1(w: Any, mine: Any, theirs: Any, a: Any) -> Any:
        w.nodes += 1
        discs = count(mine)
        turned = last_flips(mine, a)
        if turned > 0:
            return 2 * (discs + turned + 1) - area
        turned = last_flips(theirs, a)
        if turned > 0:
            return 2 * (discs - turned) - area
        return 2 * discs - area + (2 if 2 * discs >= area else 0)

    def try2(w: Any, mine: Any, theirs: Any, alpha: Any, a: Any, b: Any) -> Any:
        w.nodes += 1
        best = NONE
        if NEAR[a] & theirs != ZERO:
            turned = flips(mine, theirs, a)
            if turned != ZERO:
                best = -last1(w, theirs ^ turned, mine | turned | (ONE << a), b)
                if best > alpha:
                    return best
        if NEAR[b] & theirs != ZERO:
            turned = flips(mine, theirs, b)
            if turned != ZERO:
                best = max(best, -last1(w, theirs ^ turned, mine | turned | (ONE << b), a))
        return best

    def last2(w: Any, mine: Any, theirs: Any, alpha: Any, a: Any, b: Any) -> Any:
        best = try2(w, mine, theirs, alpha, a, b)
        if best == NONE:
            best = -try2(w, theirs, mine, -alpha - 1, a, b)
            if best == -NONE:
                best = final(mine, theirs)
        return best

    def try3(w: Any, mine: Any, theirs: Any, alpha: Any, a: Any, b: Any, c: Any) -> Any:
        w.nodes += 1
        best = NONE
        for _ in range(3):
            if NEAR[a] & theirs != ZERO:
                turned = flips(mine, theirs, a)
                if turned != ZERO:
                    best = max(best, -last2(w, theirs ^ turned, mine | turned | (ONE << a), -alpha - 1, b, c))
                    if best > alpha:
                        return best
            a, b, c = b, c, a
        return best

    def last3(w: Any, mine: Any, theirs: Any, alpha: Any, a: Any, b: Any, c: Any) -> Any:
        if region[a] == region[b]:  # the one alone in its quadrant first
            a, c = c, a
        elif region[a] == region[c]:
            a, b = b, a
        best = try3(w, mine, theirs, alpha, a, b, c)
        if best == NONE:
            best = -try3(w, theirs, mine, -alpha - 1, a, b, c)
            if best == -NONE:
                best = final(mine, theirs)
        return best

    def try4(w: Any, mine: Any, theirs: Any, alpha: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        w.nodes += 1
        best = NONE
        for _ in range(4):
            if NEAR[a] & theirs != ZERO:
                turned = flips(mine, theirs, a)
                if turned != ZERO:
                    best = max(best, -last3(w, theirs ^ turned, mine | turned | (ONE << a), -alpha - 1, b, c, d))
                    if best > alpha:
                        return best
            a, b, c, d = b, c, d, a
        return best

    def finish(w: Any, mine: Any, theirs: Any, alpha: Any, empty: Any, odd: Any) -> Any:
        first, rest = empty & odd, empty & ~odd
        if first == ZERO:
            first, rest = rest, ZERO
        a = lowest(first)
        first = without_lowest(first)
        if first == ZERO:
            first, rest = rest, ZERO
        b = lowest(first)
        first = without_lowest(first)
        if first == ZERO:
            first = rest
        c = lowest(first)
        d = lowest(without_lowest(first))
        a, b, c, d = np.uint64(a), np.uint64(b), np.uint64(c), np.uint64(d)
        best = try4(w, mine, theirs, alpha, a, b, c, d)
        if best == NONE:
            best = -try4(w, theirs, mine, -alpha - 1, a, b, c, d)
            if best == -NONE:
                best = final(mine, theirs)
        return best

    return final, finish


def regions(size: int) -> Function:
    """`odd_regions(empty)`: the quadrants with an odd number of empty cells. Who moves there first moves there last."""
    half = size // 2
    quarter = board_mask(half)
    quarters = tuple(np.uint64(quarter << shift) for shift in (0, half, 8 * half, 9 * half))

    def odd_regions(empty: Any) -> Any:
        found = ZERO
        for part in quarters:
            if count(empty & part) & 1:
                found |= part
        return found

    return odd_regions


def shallow_searcher(size: int) -> Function:
    """`shallow(w, mine, theirs, alpha, n)` for a few empty cells, more than 4."""
    final, finish = finisher(size)
    board, odd_regions = np.uint64(board_mask(size)), regions(size)

    def shallow(w: Any, mine: Any, theirs: Any, alpha: Any, n: Any) -> Any:
        empty = board & ~(mine | theirs)
        w.nodes += 1
        moves = places(mine, theirs, empty)
        if moves == ZERO:
            if places(theirs, mine, empty) == ZERO:
                return final(mine, theirs)
            return -shallow(w, theirs, mine, -alpha - 1, n)
        odd = odd_regions(empty)
        best = NONE
        part = moves & odd
        for _ in range(2):
            while part != ZERO:
                cell = np.uint64(lowest(part))
                part = without_lowest(part)
                turned = flips(mine, theirs, cell)
                disc = ONE << cell
                if n == 5:
                    rest = empty ^ disc
                    value = -finish(w, theirs ^ turned, mine | turned | disc, -alpha - 1, rest, odd_regions(rest))
                else:
                    value = -shallow(w, theirs ^ turned, mine | turned | disc, -alpha - 1, n - 1)
                if value > best:
                    best = value
                    if best > alpha:
                        return best
            part = moves & ~odd
        return best

    shallow.recursive = True  # type: ignore[attr-defined]
    return shallow


def searcher(size: int) -> Function:
    """`search(w, table, mine, theirs, alpha, n)` for any number of empty cells."""
    board = np.uint64(board_mask(size))
    area = size * size
    final = finisher(size)[0]
    shallow, guess = shallow_searcher(size), guesser(size, board)
    corner, odd_regions = cells(size, (0, 0)), regions(size)

    def find(table: Any, mine: Any, theirs: Any) -> Any:
        """The slot that holds this position, or else the one to give up for it."""
        key = mine * np.uint64(0x9E3779B97F4A7C15) ^ theirs * np.uint64(0xC2B2AE3D27D4EB4F)
        key ^= key >> np.uint64(29)
        key *= np.uint64(0xBF58476D1CE4E5B9)
        key = (key >> np.uint64(32)) & np.uint64(table.shape[0] - 2)
        first, second = table[key], table[key | ONE]
        if first.mine == mine and first.theirs == theirs:
            return key
        if second.mine == mine and second.theirs == theirs:
            return key | ONE
        return key if first.empty <= second.empty else key | ONE  # the smaller tree is found again sooner

    def search(w: Any, table: Any, mine: Any, theirs: Any, alpha: Any, n: Any) -> Any:
        if n <= SHALLOW:
            return shallow(w, mine, theirs, alpha, n)
        w.nodes += 1
        if w.stop != 0:
            return 0
        empty = board & ~(mine | theirs)
        if alpha >= STABLE_FROM[n]:
            most = area - 2 * count(stable(theirs, empty, ~board))
            if most <= alpha:
                return most
        moves = places(mine, theirs, empty)
        if moves == ZERO:
            if places(theirs, mine, empty) == ZERO:
                return final(mine, theirs)
            return -search(w, table, theirs, mine, -alpha - 1, n)

        best1 = best2 = np.int64(-1)
        slot = table[find(table, mine, theirs)]
        if slot.mine == mine and slot.theirs == theirs:
            if slot.low > alpha:
                return np.int64(slot.low)
            if slot.high <= alpha:
                return np.int64(slot.high)
            best1, best2 = np.int64(slot.best[0]), np.int64(slot.best[1])

        odd = odd_regions(empty)
        turned, ranks, listed = w.turned[n], w.ranks[n], w.cells[n]
        k = 0
        depth = min((n - GUESSED) // 2, DEEPEST)
        while moves != ZERO:
            cell = np.uint64(lowest(moves))
            moves = without_lowest(moves)
            flipped = flips(mine, theirs, cell)
            if flipped == theirs:
                return area
            my, their = theirs ^ flipped, mine | flipped | (ONE << cell)
            if n >= ETC:
                other = table[find(table, my, their)]
                if other.mine == my and other.theirs == their and -other.high > alpha:
                    return -np.int64(other.high)
            rest = empty ^ (ONE << cell)
            if np.int64(cell) == best1:
                rank = 1 << 30
            elif np.int64(cell) == best2:
                rank = 1 << 29
            else:
                replies = places(my, their, rest)
                rank = -32 * (count(replies) + count(replies & corner)) - 4 * count(around(their) & rest)
                if odd & (ONE << cell) != ZERO:
                    rank += 16
                if depth >= 0:
                    rank -= 4 * guess(my, their, depth, np.int64(LOST), np.int64(-LOST))
            turned[k], ranks[k], listed[k] = flipped, rank, np.int64(cell)
            k += 1

        best, best_cell = NONE, -1
        for i in range(k):
            top = i
            for j in range(i + 1, k):
                if ranks[j] > ranks[top]:
                    top = j
            flipped, cell = turned[top], listed[top]
            turned[top], ranks[top], listed[top] = turned[i], ranks[i], listed[i]
            value = -search(w, table, theirs ^ flipped, mine | flipped | (ONE << np.uint64(cell)), -alpha - 1, n - 1)
            if w.stop != 0:
                return 0
            if value > best:
                best, best_cell = value, cell
                if best > alpha:
                    break

        slot = table[find(table, mine, theirs)]  # where it belongs now: the search below wrote to the table
        if slot.mine != mine or slot.theirs != theirs:
            slot.mine, slot.theirs, slot.empty = mine, theirs, n
            slot.low, slot.high = -area, area
            slot.best[0] = slot.best[1] = -1
        if best > alpha:
            slot.low = max(best, np.int64(slot.low))
        else:
            slot.high = min(best, np.int64(slot.high))
        if best_cell != slot.best[0]:
            slot.best[1] = slot.best[0]
            slot.best[0] = best_cell
        return best

    search.recursive = True  # type: ignore[attr-defined]
    return search


def endgame(game: Game) -> Function:
    """`solve(works, table, mine, theirs, low, high, guess, line)`: the exact difference, kept within `low` and `high`.

    Null windows close in on it, from `guess` on (NONE: make one); NONE comes back if the clock stopped them. `line`
    gets the cells of best play from there to the end, or as far as it is long, PASS for a pass.
    """
    assert game.board.grid is not None
    size = game.board.grid[0]
    board = np.uint64(board_mask(size))
    search, guess_at = searcher(size), guesser(size, board)

    def exact(w: Any, table: Any, mine: Any, theirs: Any, low: Any, high: Any, guess: Any) -> Any:
        n = count(board & ~(mine | theirs))
        if guess == NONE:  # half of what it looks like: a start too far out costs more than one too near 0
            guess = 2 * (guess_at(mine, theirs, np.int64(DEEPEST), np.int64(LOST), np.int64(-LOST)) // (4 * DISC))
        while low < high:
            alpha = min(max(guess, low + 2), high) - 1
            found = search(w, table, mine, theirs, alpha, n)
            if w.stop != 0:
                return NONE
            if found > alpha:
                low = min(found, high)
                guess = found + 2
            else:
                high = max(found, low)
                guess = found
        return low

    def follow(w: Any, table: Any, mine: Any, theirs: Any, value: Any, line: Any) -> Any:
        """Best play: at each step the first move that keeps the value. The table knows most of them."""
        for k in range(line.shape[0]):
            empty = board & ~(mine | theirs)
            moves = places(mine, theirs, empty)
            if moves == ZERO:
                if places(theirs, mine, empty) == ZERO:
                    return
                line[k] = PASS
            n = count(empty)
            while moves != ZERO:
                cell = np.uint64(lowest(moves))
                moves = without_lowest(moves)
                turned = flips(mine, theirs, cell)
                my, their = theirs ^ turned, mine | turned | (ONE << cell)
                if search(w, table, my, their, 1 - value, n - 1) <= 1 - value:
                    if w.stop != 0:
                        return
                    line[k] = np.int64(cell)
                    theirs, mine = my, their
                    break
            mine, theirs, value = theirs, mine, -value

    def solve(works: Any, table: Any, mine: Any, theirs: Any, low: Any, high: Any, guess: Any, line: Any) -> Any:
        w = works[0]
        value = exact(w, table, mine, theirs, low, high, guess)
        if w.stop == 0:
            follow(w, table, mine, theirs, value, line)
        return value

    return solve
