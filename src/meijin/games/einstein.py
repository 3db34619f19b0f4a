"""EinStein würfelt nicht!: the die says which stone moves; reaching the far corner wins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from meijin.core.boards import square
from meijin.core.catalogue import game
from meijin.core.game import CHANCE, OVER, Game, Symmetry
from meijin.core.pieces import Piece
from meijin.core.rng import below

SIDE, AREA, STONES = 5, 25, 6
CORNER = (0, 1, 2, 5, 6, 10)  # the cells where seat 0 starts, row by row; seat 1's are their images by half a turn
FIXED = (1, 6, 3, 5, 2, 4)  # the stones on them: the inventor's example of a start
NOBODY = -1


@game("einstein", title="EinStein würfelt nicht!")
def einstein(layout: Literal["fixed", "random"] = "fixed") -> Game:
    """The die says which stone moves; reach the opposite corner to win.

    Goal: move one of your stones to the opposite corner, or capture all stones of the other side.

    Moves: each side has six stones, numbered 1 to 6. Red starts around the corner a5 and moves right, down or
    diagonally towards e1; blue starts around e1 and moves the other way. Red begins. Throw the die and move the stone
    of that number one step. If that stone is gone, move the next higher or the next lower one that is left. A stone on
    the target cell is captured, whatever its colour.

    End: a stone in the opposite corner wins, and so does capturing the last stone of the other side. There are no
    draws.

    Notation: a throw is its number, 1 to 6. A move is the cell it starts from and the cell it ends on, as in c5d4.
    Columns are lettered from the left and rows numbered from the bottom.

    Set-up: each side has at least one stone, each number at most once, and the die of the side to move shows its throw.
    A position before a throw cannot be set up, because the board does not say whose throw is next.

    `layout`: "fixed" starts with the stones 1 6 3 / 5 2 / 4 in rows from the corner a5, and the same turned by half
    around e1. "random" lets chance place the stones: 1 to 6 of red and then of blue, each on a free cell of its corner.
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

    def clear(s: Any) -> None:
        for cell in range(AREA):
            s.board[cell] = 0
        for seat in range(2):
            s.left[seat] = 0
            for i in range(STONES):
                s.where[seat, i] = -1
        s.placed = 0
        s.throw = 0
        s.seat = 0
        s.winner = NOBODY

    def start(s: Any) -> None:
        clear(s)
        if not random:
            for seat in range(2):
                for i in range(STONES):
                    put(s, seat, FIXED[i] - 1, homes[seat, i])

    def turn(s: Any) -> int:
        if s.winner != NOBODY:
            return OVER
        return s.seat if s.throw > 0 else CHANCE

    def candidates(s: Any) -> Any:
        """The cells of the stones that may move, in ascending order; the same one twice if there is only one."""
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
        for seat in range(2):  # the trays: the throw, as a stone of the side that threw
            out[AREA + seat] = STONES * seat + s.throw if s.throw > 0 and s.seat == seat else 0

    def setup(s: Any, values: Any, mover: int) -> int:
        if mover == CHANCE:
            return 1
        clear(s)
        for cell in range(AREA):
            if values[cell] > 0:
                seat, stone = (values[cell] - 1) // STONES, (values[cell] - 1) % STONES
                if s.left[seat] >> stone & 1:
                    return 2
                put(s, seat, stone, cell)
        s.placed = places
        s.seat = mover
        won = np.int64(0)  # bit k: seat k has won
        for seat in range(2):
            corner = s.board[goals[seat]]
            if s.left[1 - seat] == 0 or (corner > 0 and (corner - 1) // STONES == seat):
                won |= 1 << seat
        if won == 3:
            return 3
        if won > 0:
            s.winner = won - 1
        throw = values[AREA + mover]
        s.throw = throw - STONES * mover if throw > 0 else 0
        if values[AREA + 1 - mover] > 0 or (throw == 0 and won == 0):
            return 4
        return 0

    def tally(s: Any, counts: Any) -> None:
        for seat in range(2):
            counts[0, seat] = 0.0
            for stone in range(STONES):
                counts[0, seat] += s.left[seat] >> stone & 1

    def ending(s: Any) -> int:
        return 1 if s.left[1 - s.winner] == 0 else 0

    stones = [
        Piece(f"{letter}{n}", owner=seat, fill=fill, glyph=str(n), shape="die")
        for seat, (letter, fill) in enumerate((("X", "#c8342c"), ("O", "#2c5ea6")))
        for n in range(1, STONES + 1)
    ]

    def exchanged(game: Game) -> Iterator[Symmetry]:
        """The board turned by half with the seats and their dice exchanged, as it is and transposed."""
        turned = (*range(AREA - 1, -1, -1), AREA + 1, AREA)
        values = (0, *range(STONES + 1, 2 * STONES + 1), *range(1, STONES + 1))
        across = game.board.symmetries["transpose"]
        for name, cells in (("rotate180", turned), ("antitranspose", tuple(turned[cell] for cell in across))):
            if found := game.symmetry(name, cells, seats=(1, 0), values=values):
                yield found

    # A stone r rows and c columns from its corner can make 7 - r - c steps without reaching the other one. Those of
    # one seat add up to 34, so no more than 34 + 34 moves do not win, each after a throw.
    longest = places + 2 * (34 + 34 + 1)
    return Game(
        state=state,
        board=square(SIDE, theme="paper").with_trays({0: ("die-x",), 1: ("die-o",)}),
        pieces=(Piece("."), *stones),
        seats=2,
        seat_names=("red", "blue"),
        num_moves=len(pairs),
        num_outcomes=STONES + places,
        branching=STONES,  # throws; free cells of a corner; three moves each of two stones
        longest=longest,
        path=lambda move: pairs[move],
        outcome_path=lambda o: (str(o + 1),) if o < STONES else (int(spots[o - STONES]),),
        keeps=("transpose",),  # the rules do not tell right from down
        more_symmetries=None if random else exchanged,  # chance places the stones of seat 0 first
        alphabets=(*[range(2 * STONES + 1)] * AREA, range(STONES + 1), (0, *range(STONES + 1, 2 * STONES + 1))),
        tallies=("stones",),
        endings=("the corner was reached", "all stones were captured"),
        refusals=(
            "the board does not say whose throw is next; give the throw and the side to move",
            "a stone is on the board twice",
            "both sides have won: both are in their corners, or have no stones",
            "the die of the side to move must show a throw, and the other die none",
        ),
        rules=(start, turn, legal, odds, play, sample, score, cells, setup, tally, ending),
    )
