"""The search behind the perfect Connect Four player: negamax with null windows on one-word bitboards.

After Pascal Pons' tutorial "Solving Connect 4" (moves that do not lose at once, ranked by the threats they make), with
more that is decided without searching: wins in three plies, and positions that the second player holds by pairing
cells (Allis' claimeven and baseinverse).

A position is `mine`, the mover's stones, and `mask`, all stones, in the layout of the game's record: bit
`column * (height + 1) + row`. The score of a win is 1 with the winner's last stone and one more for every stone he has
left; of a loss it is the winner's negated, of a draw 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meijin.core.bits import count
from meijin.core.compile import Function
from meijin.core.game import Game

#: The table is one array, so that a recursive call passes one: two counters, then buckets of two entries.
NODES, STOP, HEAD = 0, 1, 8
#: Fewer entries could not tell all positions apart: an entry keeps 42 bits of the hash, its place tells the other 22.
MIN_ENTRIES = 1 << 23

_ONE = np.uint64(1)
_HALF = np.uint64(32)
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, so multiplying by it loses nothing

# An entry, from its lowest bit: upper bound 7, lower bound 7, work 6 (binary digits of the nodes spent), hash 42.
_BOUND, _WORK = np.uint64(127), np.uint64(63)
_LOWER_AT, _WORK_AT = np.uint64(7), np.uint64(14)
_TAG = np.uint64((1 << 64) - (1 << 22))
_ZERO = 64  # what a bound of 0 is stored as

# A move in a sorted word of up to eight: its rank above the number of its column in `columns`.
_ITEM, _ITEM_BITS, _COLUMN, _COLUMN_BITS, _MAX_RANK = np.uint64(255), np.uint64(8), np.uint64(15), np.uint64(4), 15

_MIRROR_PLIES = 18  # later, mirrored positions hardly meet and mirroring costs time
_PROBE_PLIES = 30  # later, looking all children up costs more than it saves
_TABLE_PLIES = 38  # later, searching is faster than looking up


def empty_table(megabytes: float) -> Any:
    """A table with the largest power of two of entries that fits, at least MIN_ENTRIES."""
    entries = MIN_ENTRIES
    while entries * 2 * 8 <= megabytes * (1 << 20):
        entries *= 2
    return np.zeros(HEAD + entries, np.uint64)


def bottom_row(width: int, height: int) -> int:
    return sum(1 << (column * (height + 1)) for column in range(width))


class Shapes(NamedTuple):
    """Functions on the bitboards of one size."""

    winning: Function  # (mine, mask) -> the empty cells that would complete a line of four of mine
    lines: Function  # (cells) -> one bit for each line of four among the cells


def shapes(width: int, height: int) -> Shapes:
    board = np.uint64(bottom_row(width, height) * ((1 << height) - 1))
    up, up2, up3 = np.uint64(1), np.uint64(2), np.uint64(3)
    right, right2, right3 = (np.uint64(n * (height + 1)) for n in (1, 2, 3))
    fall, fall2, fall3 = (np.uint64(n * height) for n in (1, 2, 3))
    rise, rise2, rise3 = (np.uint64(n * (height + 2)) for n in (1, 2, 3))

    def across(mine: Any, step: Any, step2: Any, step3: Any) -> Any:
        pair = (mine << step) & (mine << step2)
        found = pair & ((mine << step3) | (mine >> step))
        pair = (mine >> step) & (mine >> step2)
        return found | (pair & ((mine << step) | (mine >> step3)))

    def winning(mine: Any, mask: Any) -> Any:
        found = (mine << up) & (mine << up2) & (mine << up3)
        found |= across(mine, right, right2, right3)
        found |= across(mine, fall, fall2, fall3)
        found |= across(mine, rise, rise2, rise3)
        return found & (board ^ mask)

    def lines(cells: Any) -> Any:
        pairs = cells & (cells >> up)
        found = pairs & (pairs >> up2)
        pairs = cells & (cells >> right)
        found |= pairs & (pairs >> right2)
        pairs = cells & (cells >> fall)
        found |= pairs & (pairs >> fall2)
        pairs = cells & (cells >> rise)
        return found | (pairs & (pairs >> rise2))

    return Shapes(winning, lines)


def pairing(width: int, height: int) -> Function:
    """`held(mine, mask, ply, alpha)`: a bound on the score that needs no search.

    On a board of even height the second player can answer every stone in its own column, as long as no column is
    left with an odd number of cells at the first player's turn; he then gets every cell of the even rows (claimeven).
    Of two columns left with an odd number he takes the one that the first player does not (baseinverse), so the first
    player gets one of their lowest cells. If the first player has no line among all he can get so, he cannot win; if
    moreover the second player has one among what he gets in any case, he wins, if only with the last stone.

    Returned is +1 where the mover is sure to score more than `alpha`, -1 where he cannot, and 0 where this does not
    tell.
    """
    lines = shapes(width, height).lines
    bottom = bottom_row(width, height)
    board = np.uint64(bottom * ((1 << height) - 1))
    base = np.uint64(bottom)
    odd_rows = np.uint64(bottom * sum(1 << row for row in range(0, height, 2)))
    even_rows = np.uint64(bottom * sum(1 << row for row in range(1, height, 2)))
    applies = height % 2 == 0

    def held(mine: Any, mask: Any, ply: int, alpha: int) -> int:
        first_moves = ply & 1 == 0
        if not applies or (alpha < -1 if first_moves else alpha > 0):
            return 0
        empty = board ^ mask
        first = mine if first_moves else mine ^ mask
        reach = first | (empty & odd_rows)
        if lines(reach) != 0:
            return 0
        loose = (mask + base) & even_rows  # the lowest cells of the columns left with an odd number
        one = loose & (~loose + _ONE)
        two = (loose ^ one) & (~(loose ^ one) + _ONE)
        three = loose ^ one ^ two
        if first_moves:
            if three != 0 or (loose != 0 and (lines(reach | one) != 0 or lines(reach | two) != 0)):
                return 0
        elif two != 0:  # he plays in one of three columns at once and pairs the other two
            if three & (three - _ONE) != 0:
                return 0
            bad_one, bad_two, bad_three = lines(reach | one) != 0, lines(reach | two) != 0, lines(reach | three) != 0
            if (bad_one and (bad_two or bad_three)) or (bad_two and bad_three):
                return 0
        side = -1 if first_moves else 1
        if alpha >= 0 if first_moves else alpha < 0:
            return side
        sure = empty & even_rows
        if loose & (loose - _ONE) != 0:
            sure &= ~loose
        return side if lines((mask ^ first) | sure) != 0 else 0

    return held


def searcher(width: int, height: int) -> Function:
    """`search(table, mine, mask, threats, ply, alpha)`: whether the mover scores more than `alpha`.

    The value returned is a bound on the score: a lower one if above `alpha`, else an upper one. The mover cannot win
    at once; `threats` are the cells where the other would. With STOP set the value means nothing.
    """
    winning, held = shapes(width, height).winning, pairing(width, height)
    cells, tall = width * height, np.uint64(height + 1)
    bottom = np.uint64(bottom_row(width, height))
    board = bottom * np.uint64((1 << height) - 1)
    one_column = np.uint64((1 << (height + 1)) - 1)
    from_rim = sorted(range(width), key=lambda c: (-abs(2 * c - width + 1), c))  # of equal rank the last comes first
    columns = np.array([((1 << height) - 1) << (c * (height + 1)) for c in from_rim], np.uint64)

    def hashed(mine: Any, mask: Any, ply: int) -> Any:
        key = mine + mask + bottom
        if ply < _MIRROR_PLIES:
            image, rest = np.uint64(0), key
            for _ in range(width):
                image = (image << tall) | (rest & one_column)
                rest >>= tall
            key = min(key, image)
        return key * _MIX

    def place(table: Any, h: Any) -> Any:
        return np.int64(((h ^ (h >> _HALF)) << _ONE) & np.uint64(table.shape[0] - HEAD - 2)) + HEAD

    def entry_of(table: Any, h: Any) -> Any:
        """The entry of a hash, 0 if there is none."""
        i = place(table, h)
        if (table[i] ^ h) & _TAG == 0:
            return table[i]
        if (table[i + 1] ^ h) & _TAG == 0:
            return table[i + 1]
        return np.uint64(0)

    def keep(table: Any, h: Any, low: int, high: int, nodes: Any) -> None:
        """Store bounds: in the first slot if they took more work than what is there, else in the second."""
        work = np.uint64(0)
        while nodes > 0:
            nodes >>= _ONE
            work += _ONE
        bounds = (np.uint64(low + _ZERO) << _LOWER_AT) | np.uint64(high + _ZERO)
        entry = (h & _TAG) | (work << _WORK_AT) | bounds
        i = place(table, h)
        old = table[i]
        if (old ^ h) & _TAG == 0:
            table[i] = entry
        elif work >= (old >> _WORK_AT) & _WORK:
            table[i + 1] = old
            table[i] = entry
        else:
            table[i + 1] = entry

    def search(table: Any, mine: Any, mask: Any, threats: Any, ply: Any, alpha: Any) -> Any:
        table[NODES] += _ONE
        before = table[NODES]
        sign = np.int64(1)
        while True:  # as long as there is only one move that does not lose at once
            his = mine ^ mask
            possible = (mask + bottom) & board
            forced = possible & threats
            if forced != 0:
                possible = forced
            possible &= ~(threats >> _ONE)  # never below a cell where he wins
            if possible == 0 or forced & (forced - _ONE) != 0:
                return -sign * ((cells - ply) // 2)
            if ply >= cells - 2:
                return np.int64(0)
            low, high = -((cells - 2 - ply) // 2), (cells - 1 - ply) // 2
            if low > alpha:
                return sign * low
            if high <= alpha:
                return sign * high
            if possible & (possible - _ONE) != 0:
                break
            mask |= possible
            threats = winning(mine | possible, mask)
            mine, ply, alpha, sign = his, ply + 1, -alpha - 1, -sign

        side = held(mine, mask, ply, alpha)
        if side > 0:
            return sign * max(alpha + 1, 0)
        if side < 0:
            return sign * min(alpha, 0)

        h = np.uint64(0)
        if ply < _TABLE_PLIES:
            h = hashed(mine, mask, ply)
            known = entry_of(table, h)
            if known != 0:
                low = max(low, np.int64((known >> _LOWER_AT) & _BOUND) - _ZERO)
                high = min(high, np.int64(known & _BOUND) - _ZERO)
                if low > alpha:
                    return sign * low
                if high <= alpha:
                    return sign * high

        moves, n = np.uint64(0), 0
        for c in range(width):
            move = possible & columns[c]
            if move == 0:
                continue
            after = mask | move
            wins = winning(mine | move, after)
            replies = (after + bottom) & board
            direct = wins & replies
            if direct != 0:
                replies = direct
            if direct & (direct - _ONE) != 0 or replies & ~(wins >> _ONE) == 0:  # no reply stops all of them
                return sign * ((cells - 1 - ply) // 2)
            item = (np.uint64(min(count(wins), _MAX_RANK)) << _COLUMN_BITS) | np.uint64(c)
            at = np.uint64(0)
            while (moves >> at) & _ITEM > item:
                at += _ITEM_BITS
            ahead = moves & ((_ONE << at) - _ONE)
            moves = ahead | (item << at) | ((moves ^ ahead) << _ITEM_BITS)
            n += 1
        high = min(high, (cells - 3 - ply) // 2)
        if high <= alpha:
            return sign * high

        if ply < _PROBE_PLIES:  # a child known to be good enough saves searching those ranked before it
            rest = moves
            for _ in range(n):
                known = entry_of(table, hashed(his, mask | (possible & columns[np.int64(rest & _COLUMN)]), ply + 1))
                if known != 0 and _ZERO - np.int64(known & _BOUND) > alpha:
                    return sign * (_ZERO - np.int64(known & _BOUND))
                rest >>= _ITEM_BITS

        best = -((cells - 2 - ply) // 2)
        for _ in range(n):
            move = possible & columns[np.int64(moves & _COLUMN)]
            moves >>= _ITEM_BITS
            value = -search(table, his, mask | move, winning(mine | move, mask | move), ply + 1, -alpha - 1)
            if table[STOP] != 0:
                return np.int64(0)
            best = max(best, value)
            if best > alpha:
                break
        best = min(best, high)
        if ply < _TABLE_PLIES:
            if best > alpha:
                keep(table, h, best, high, table[NODES] - before)
            else:
                keep(table, h, low, best, table[NODES] - before)
        return sign * best

    search.recursive = True  # type: ignore[attr-defined]
    return search


def solve(game: Game) -> Function:
    """`solve(table, mine, mask, ply, least, most)`: the score of a position where a seat is to move, exact between
    `least` and `most`; a score beyond comes as that bound. Means nothing on STOP."""
    width, height = game.params["width"], game.params["height"]
    winning, search = shapes(width, height).winning, searcher(width, height)
    cells = width * height
    bottom = np.uint64(bottom_row(width, height))

    def kernel(table: Any, mine: Any, mask: Any, ply: Any, least: Any, most: Any) -> Any:
        if winning(mine, mask) & (mask + bottom) != 0:
            return min(most, (cells + 1 - ply) // 2)
        threats = winning(mine ^ mask, mask)
        low, high = max(least, -((cells - ply) // 2)), min(most, (cells - 1 - ply) // 2)
        step = 1
        while low < high and table[STOP] == 0:
            # First the sign, then outwards in doubling steps: quick wins are rare, and proofs near each other share.
            guess = np.int64(0)
            if low >= 0:
                guess = np.int64(low + step)
                step *= 2
            elif high <= 0:
                guess = np.int64(high - 1 - step)
                step *= 2
            guess = max(np.int64(low), min(np.int64(high - 1), guess))
            value = search(table, mine, mask, threats, np.int64(ply), guess)
            if value > guess:
                low = min(most, value)
            else:
                high = max(least, value)
        return low

    return kernel
