"""EinStein würfelt nicht!: the die says which stone moves; first into the far corner wins."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from meijin.core.boards import square
from meijin.core.catalogue import game
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.pieces import Piece
from meijin.core.rng import below

SIDE, AREA, STONES = 5, 25, 6
CORNER = (0, 1, 2, 5, 6, 10)  # the cells where seat 0 starts, row by row; seat 1's are their images by half a turn
FIXED = (1, 6, 3, 5, 2, 4)  # the stones on them: the inventor's example of a start
NOBODY = -1


@game("einstein", title="EinStein würfelt nicht!")
def einstein(layout: Literal["fixed", "random"] = "fixed") -> Game:
    """Throw a die, move the stone of that number one step; reach the opposite corner or take all stones to win.

    The first seat starts in the corner a5 and moves right, down or diagonally towards e1; the second the other way.
    If the stone of that number is gone, the next higher or the next lower that is left moves. A stone that is already
    on the target, of either colour, is taken. Moves are written from-to, as "c5d4", and throws 1 to 6.

    `layout`: "fixed" starts with 1 6 3 / 5 2 / 4 in rows from the corner a5 and the same, turned by half a turn, around
    e1. "random" lets chance place the stones 1 to 6 of the first seat and then of the second, each on a free
    cell of its corner.
    """
    random = layout == "random"

    # Moves are numbered by cell and then target, so those of one seat from one cell follow each other.
    def targets(seat: int, cell: int) -> list[int]:
        row, column = divmod(cell, SIDE)
        step = 1 - 2 * seat
        near = [(row, column + step), (row + step, column), (row + step, column + step)]
        return sorted(SIDE * r + c for r, c in near if 0 <= r < SIDE and 0 <= c < SIDE)

    pairs = sorted((cell, to) for cell in range(AREA) for seat in (0, 1) for to in targets(seat, cell))
    ends = np.array(pairs, np.int64)  # [move] -> from, to
    ways = np.array([[len(targets(seat, cell)) for cell in range(AREA)] for seat in (0, 1)])  # [seat, cell]
    first = np.zeros((2, AREA), np.int64)  # [seat, cell] -> its first move
    for seat in (0, 1):
        for cell in range(AREA):
            if ways[seat, cell]:
                first[seat, cell] = pairs.index((cell, targets(seat, cell)[0]))
    goals = np.array((AREA - 1, 0))  # [seat]

    # Sets of stones are bits: stone n is bit n - 1.
    everyone = (1 << STONES) - 1
    movable = np.zeros((everyone + 1, STONES, 2), np.int64)  # [stones left, throw] -> the next lower, the next higher
    for left in range(1, everyone + 1):
        here = [n for n in range(STONES) if left >> n & 1]
        for throw in range(STONES):
            lower, higher = [n for n in here if n <= throw], [n for n in here if n >= throw]
            movable[left, throw] = (lower or higher)[-1 if lower else 0], (higher or lower)[0 if higher else -1]

    homes = np.array((CORNER, [AREA - 1 - cell for cell in CORNER]))  # [seat, place] -> cell
    places = 2 * STONES if random else 0  # stones that chance places
    # Outcomes: the six throws, then the cells of both corners in the order of the board, the first seat's before the
    # second's.
    spots = np.array(sorted((*homes[0], *homes[1])))

    state = np.dtype(
        [
            ("board", "i1", (AREA,)),  # 0, or n for stone n of seat 0, 6 + n of seat 1
            ("where", "i1", (2, STONES)),  # [seat, stone] -> its cell; of a taken stone -1
            ("left", "i1", (2,)),  # [seat] -> its stones on the board
            ("placed", "i1"),
            ("throw", "i1"),  # 1..6; 0: the die is still to be thrown
            ("seat", "i1"),
            ("winner", "i1"),
        ],
        align=True,
    )

    def put(s: Any, seat: int, stone: int, cell: int) -> None:
        s.board[cell] = STONES * seat + stone + 1
        s.where[seat, stone] = cell
        s.left[seat] |= 1 << stone

    def start(s: Any) -> None:
        for cell in range(AREA):
            s.board[cell] = 0
        for seat in range(2):
            s.left[seat] = 0
            for i in range(STONES):
                s.where[seat, i] = -1
            if not random:
                for i in range(STONES):
                    put(s, seat, FIXED[i] - 1, homes[seat, i])
        s.placed = 0
        s.throw = 0
        s.seat = 0
        s.winner = NOBODY

    def turn(s: Any) -> int:
        if s.winner != NOBODY:
            return OVER
        return s.seat if s.throw > 0 else CHANCE

    def candidates(s: Any) -> Any:
        """The cells of the stones that may move, in ascending order; twice the same if there is but one."""
        left, throw = s.left[s.seat], s.throw - 1
        a, b = s.where[s.seat, movable[left, throw, 0]], s.where[s.seat, movable[left, throw, 1]]
        return (a, b) if a <= b else (b, a)

    def legal(s: Any, moves: Any) -> int:
        a, b = candidates(s)
        n = ways[s.seat, a]
        for i in range(n):
            moves[i] = first[s.seat, a] + i
        if a != b:
            for i in range(ways[s.seat, b]):
                moves[n] = first[s.seat, b] + i
                n += 1
        return n

    def odds(s: Any, moves: Any, probs: Any) -> int:
        n = 0
        if s.placed < places:
            corner = s.placed // STONES * STONES
            for i in range(corner, corner + STONES):
                if s.board[spots[i]] == 0:
                    moves[n] = STONES + i
                    n += 1
        else:
            for throw in range(STONES):
                moves[n] = throw
                n += 1
        for i in range(n):
            probs[i] = 1.0 / n
        return n

    def sample(s: Any, rng: Any) -> int:
        if s.throw > 0:
            a, b = candidates(s)
            n = ways[s.seat, a]
            k = below(rng, n + ways[s.seat, b] if a != b else n)
            return first[s.seat, a] + k if k < n else first[s.seat, b] + k - n
        if s.placed < places:
            k = below(rng, STONES - s.placed % STONES)  # the k-th free cell
            i = s.placed // STONES * STONES
            while k > 0 or s.board[spots[i]] != 0:
                k -= 1 if s.board[spots[i]] == 0 else 0
                i += 1
            return STONES + i
        return below(rng, STONES)

    def play(s: Any, move: int) -> None:
        if s.throw > 0:
            advance(s, ends[move, 0], ends[move, 1])
        elif s.placed < places:
            put(s, s.placed // STONES, s.placed % STONES, spots[move - STONES])
            s.placed += 1
        else:
            s.throw = move + 1

    def advance(s: Any, cell: int, to: int) -> None:
        seat, stone, taken = s.seat, s.board[cell], s.board[to]
        if taken > 0:
            owner, number = (taken - 1) // STONES, (taken - 1) % STONES
            s.left[owner] &= ~(1 << number)
            s.where[owner, number] = -1
        s.board[cell] = 0
        s.board[to] = stone
        s.where[seat, (stone - 1) % STONES] = to
        if to == goals[seat] or s.left[1 - seat] == 0:
            s.winner = seat
        s.throw = 0
        s.seat = 1 - seat

    def score(s: Any, out: Any) -> None:
        out[0] = 0.0 if s.winner == NOBODY else 1.0 - 2.0 * s.winner
        out[1] = -out[0]

    def cells(s: Any, out: Any) -> None:
        for cell in range(AREA):
            out[cell] = s.board[cell]
        for seat in range(2):  # the trays: the throw, as a stone of who threw it
            out[AREA + seat] = STONES * seat + s.throw if s.throw > 0 and s.seat == seat else 0

    stones = [
        Piece(f"{letter}{n}", owner=seat, fill=fill, label=True)
        for seat, (letter, fill) in enumerate((("X", "#c8342c"), ("O", "#2c5ea6")))
        for n in range(1, STONES + 1)
    ]
    # A stone r rows and c columns from its corner can make 7 - r - c steps without reaching the other one. Those of
    # one seat add up to 34, so no more than 34 + 34 moves do not win, each after a throw.
    longest = places + 2 * (34 + 34 + 1)
    return Game(
        state=state,
        board=square(SIDE, theme="paper").with_trays({0: ("die-x",), 1: ("die-o",)}),
        pieces=(Piece("."), *stones),
        seats=2,
        num_moves=len(pairs),
        num_outcomes=STONES + places,
        branching=STONES,  # throws; free cells of a corner; three moves each of two stones
        longest=longest,
        path=lambda move: pairs[move],
        outcome_path=lambda o: (str(o + 1),) if o < STONES else (int(spots[o - STONES]),),
        # The rules know no difference between right and down, but only an empty board is its own image.
        keeps=("transpose",) if random else (),
        rules=(start, turn, legal, odds, play, sample, score, cells),
    )
