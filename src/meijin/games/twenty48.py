"""2048: slide all tiles one way, equal tiles merge, and a new tile appears."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from meijin.core.boards import square
from meijin.core.catalogue import game
from meijin.core.game import CHANCE, OVER, Game, Symmetry
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below

DIRECTIONS = ("up", "right", "down", "left")
UP, RIGHT, DOWN, LEFT = range(4)
FOURS = 0.1  # how often a new tile is a 4; the others are 2

LONGEST = 8_000_000  # plies; only on boards of 22 cells and more could a game last longer
COLOURS = (
    *("#eee4da", "#ede0c8", "#f2b179", "#f59563", "#f67c5f", "#f65e3b"),  # 2 to 64
    *("#edcf72", "#edcc61", "#edc850", "#edc53f", "#edc22e", "#3c3a32"),  # 128 to 2048, and all beyond
)

# A word holds the tiles of one row, one byte each, as exponents below 128: no sum of two bytes reaches the next one.
ONES = np.uint64(0x0101010101010101)
LOW = np.uint64(0x7F7F7F7F7F7F7F7F)
HIGH = np.uint64(0x8080808080808080)
BYTE = np.uint64(0xFF)
U1, U7, U8, U56 = np.uint64(1), np.uint64(7), np.uint64(8), np.uint64(56)


@game("2048", title="2048")
def twenty48(
    size: Annotated[int, Range(2, 6)] = 4,
    width: Annotated[int | None, Range(2, 6)] = None,
    height: Annotated[int | None, Range(2, 6)] = None,
) -> Game:
    """Slide all tiles one way; equal tiles merge, and a new one appears.

    Goal: score as much as possible. Every merge scores the value of the tile it makes. Nothing stops at 2048.

    Moves: one player slides all tiles up, right, down or left, as far as they go. Two equal tiles that meet become one
    of twice the value; a tile merges at most once per move, and of three in a line the pair that is foremost in the
    direction merges. A slide that changes nothing is not allowed. After each slide a new tile appears on a random empty
    cell: a 2 nine times out of ten, otherwise a 4. The game starts with two such tiles.

    End: when no slide changes anything. On boards of 22 cells and more also after 8 million moves and new tiles.

    Notation: moves are "up", "right", "down" and "left". A new tile is written as its cell and value, as in b3=2;
    columns are lettered from the left and rows numbered from the bottom.

    Set-up: any tiles that a game could hold. The score is then counted as if every tile had been made of 2s.

    `size`: cells along a side.
    `width`: number of columns, if it differs from `size`.
    `height`: number of rows, if it differs from `size`.
    """
    width = size if width is None else width
    height = size if height is None else height
    side, count = max(width, height), width * height

    # How large a tile can get, and how long a game: order the n tiles on the board by when the last tile that went
    # into each appeared. When that happened to the j-th, the j-1 before it took up a cell or more each, so it lay
    # on at most k = n-j+1 cells, one of them the new 2 or 4. Nothing was added later, so from there every merge on
    # the way up took in at least one more of the k: it became 2 ** (k+1) at most. Hence no exponent is above n+1
    # and the tiles add up to at most 4 + 8 + ... + 2 ** (n+1) = 2 ** (n+2) - 4. Every outcome adds 2 or more, and
    # a game of m outcomes has m-2 slides.
    largest = count + 1
    longest = min(2 ** (count + 2) - 6, LONGEST)
    bound = 2 ** (count + 2)  # of the sum of all tiles

    inner = np.uint64((1 << 8 * (width - 1)) - 1)  # all columns but the last
    absent = ONES & ~np.uint64((1 << 8 * width) - 1)  # a tile in each byte beyond the last column

    listed = np.zeros((16, 5), np.int64)  # [slides as bits] -> the slides, and in the last place how many
    for bits in range(1, 16):
        moves = [move for move in range(4) if bits >> move & 1]
        listed[bits, : len(moves)] = moves
        listed[bits, 4] = len(moves)

    state = np.dtype(
        [
            ("rows", "u8", (side,)),  # [row]: column c is byte c; 0 empty, e for the tile 2 ** e
            ("fours", "i4"),  # how many tiles appeared as a 4
            ("ply", "i4"),
        ],
        align=True,
    )

    def start(s: Any) -> None:
        for r in range(side):
            s.rows[r] = 0
        s.fours = 0
        s.ply = 0

    # ---- bytes side by side: the upper bit of each byte is its flag ----

    def filled(x: Any) -> Any:
        """Flags of the bytes that are not 0."""
        return (x + LOW) & HIGH

    def whole(flags: Any) -> Any:
        """All bits of the flagged bytes."""
        return (flags << U1) - (flags >> U7)

    def number(flags: Any) -> Any:
        """How many bytes are flagged."""
        return np.int64(((flags >> U7) * ONES) >> U56)

    # ---- whose turn, and the moves ----

    def forth(x: Any, y: Any) -> Any:
        """Flags of the tiles y that could move to their neighbours x."""
        return filled(y) & ~(filled(x) & filled(x ^ y))

    def options(s: Any) -> int:
        """The slides that change something, as bits."""
        up = down = left = right = np.uint64(0)
        for r in range(height):
            row = s.rows[r]
            if r > 0:
                above = s.rows[r - 1]
                up |= forth(above, row)
                down |= forth(row, above)
            here, next_ = row & inner, (row >> U8) & inner
            left |= forth(here, next_)
            right |= forth(next_, here)
        return (
            (1 if up != 0 else 0) << UP
            | (1 if right != 0 else 0) << RIGHT
            | (1 if down != 0 else 0) << DOWN
            | (1 if left != 0 else 0) << LEFT
        )

    def turn(s: Any) -> int:
        if s.ply == 0 or s.ply & 1:
            return CHANCE
        return OVER if s.ply >= longest or options(s) == 0 else 0

    def legal(s: Any, moves: Any) -> int:
        bits = options(s)
        n = 0
        for move in range(4):
            if bits >> move & 1:
                moves[n] = move
                n += 1
        return n

    def odds(s: Any, moves: Any, probs: Any) -> int:
        n = 0
        for cell in range(count):
            if tile(s, cell) == 0:
                moves[n] = 2 * cell
                moves[n + 1] = 2 * cell + 1
                n += 2
        for i in range(0, n, 2):
            probs[i] = (1.0 - FOURS) / (n // 2)
            probs[i + 1] = FOURS / (n // 2)
        return n

    def tile(s: Any, cell: int) -> Any:
        return np.int64((s.rows[cell // width] >> np.uint64(8 * (cell % width))) & BYTE)

    # ---- playing ----

    def pull(s: Any, lines: int) -> None:
        """Slide the words towards the first one. All bytes move at once."""
        for i in range(lines - 1):
            x = s.rows[i]
            open_ = HIGH  # nothing has met the tile in x yet
            for j in range(i + 1, lines):
                y = s.rows[j]
                some, busy = filled(y), filled(x)
                take = whole(some & open_ & ~(busy & filled(x ^ y)))  # x is empty, or equal
                s.rows[j] = y & ~take
                x = (x | (y & take)) + (take & whole(busy) & ONES)
                open_ &= ~(some & busy)
            s.rows[i] = x

    def reverse(s: Any, lines: int) -> None:
        for r in range(lines // 2):
            s.rows[r], s.rows[lines - 1 - r] = s.rows[lines - 1 - r], s.rows[r]

    def transpose(s: Any) -> None:
        for r in range(side):
            for c in range(r + 1, side):
                at_r, at_c = np.uint64(8 * c), np.uint64(8 * r)
                change = ((s.rows[r] >> at_r) ^ (s.rows[c] >> at_c)) & BYTE
                s.rows[r] ^= change << at_r
                s.rows[c] ^= change << at_c

    def play(s: Any, move: int) -> None:
        if s.ply == 0 or s.ply & 1:
            cell, four = move >> 1, move & 1
            s.rows[cell // width] |= np.uint64(1 + four) << np.uint64(8 * (cell % width))
            s.fours += four
        else:  # one piece of code slides all ways: threads of a GPU that go different ways wait for each other
            upright = move in (UP, DOWN)
            lines = height if upright else width
            if not upright:
                transpose(s)
            if move in (DOWN, RIGHT):
                reverse(s, lines)
            pull(s, lines)
            if move in (DOWN, RIGHT):
                reverse(s, lines)
            if not upright:
                transpose(s)
        s.ply += 1

    def sample(s: Any, rng: Any) -> int:
        if s.ply == 0 or s.ply & 1:
            empty = 0
            for r in range(height):
                empty += number(HIGH ^ filled(s.rows[r] | absent))
            u = below(rng, 10 * empty)
            k = u // 10  # the k-th empty cell
            row = before = total = 0
            for r in range(height):
                total += number(HIGH ^ filled(s.rows[r] | absent))
                if total <= k:
                    row = r + 1
                    before = total
            flags = HIGH ^ filled(s.rows[row] | absent)
            upto = (flags >> U7) * ONES  # byte c: how many of the columns 0..c are empty
            column = 8 - number((upto + LOW - np.uint64(k - before) * ONES) & HIGH)
            return 2 * (row * width + column) + (1 if u % 10 == 0 else 0)
        bits = options(s)
        return listed[bits, below(rng, listed[bits, 4])]

    def score(s: Any, out: Any) -> None:
        # Made of 2s alone, the tile 2 ** e has cost e-1 rounds of merging, each worth 2 ** e; a 4 that appeared
        # as such was never merged.
        total = -4 * np.int64(s.fours)
        for cell in range(count):
            e = tile(s, cell)
            if e > 1:
                total += (e - 1) << e
        out[0] = total

    def cells(s: Any, out: Any) -> None:
        for cell in range(count):
            out[cell] = tile(s, cell)

    def setup(s: Any, values: Any, mover: int) -> int:
        start(s)
        total, tiles = np.int64(0), 0
        for cell in range(count):
            e = np.uint64(values[cell])
            if e > 0:
                s.rows[cell // width] |= e << np.uint64(8 * (cell % width))
                total += np.int64(U1 << e)
                tiles += 1
        # Below the bound no tile can get larger than `largest`: one that takes in no new tile is at most the total, and
        # for one that does the argument above holds.
        if total >= bound:
            return 1
        if mover == CHANCE:
            s.ply = 0 if tiles == 0 else 1
            return 2 if tiles == count else 0
        s.ply = 2
        return 3 if tiles == 0 else 0

    def tally(s: Any, counts: Any) -> None:
        score(s, counts[0])
        e = np.int64(0)
        for cell in range(count):
            e = max(e, tile(s, cell))
        counts[1, 0] = 1 << e if e > 0 else 0

    def ending(s: Any) -> int:
        return 0 if options(s) == 0 else 1

    edges = (
        frozenset(range(width)),
        frozenset(range(width - 1, count, width)),
        frozenset(range(count - width, count)),
        frozenset(range(0, count, width)),
    )
    board = square(height, width, theme="paper")

    def turned(game: Game) -> Iterator[Symmetry]:
        """The board's symmetries: a slide goes where its edge goes."""
        for name, to in board.symmetries.items():
            moves = [edges.index(frozenset(to[cell] for cell in edge)) for edge in edges]
            if found := game.symmetry(name, to, moves=moves):
                yield found

    return Game(
        state=state,
        board=board,
        pieces=(
            Piece("."),
            *(Piece(_text(e), fill=COLOURS[min(e, 12) - 1], label=True) for e in range(1, largest + 1)),
        ),
        seats=1,
        num_moves=4,
        num_outcomes=2 * count,
        longest=longest,
        score_range=(0.0, float("inf")),
        seat_names=("player",),
        path=lambda move: (DIRECTIONS[move],),
        words={"up": "↑ up", "right": "→ right", "down": "↓ down", "left": "← left"},
        keeps=(),
        more_symmetries=turned,
        outcome_path=lambda outcome: (outcome >> 1, "4" if outcome & 1 else "2"),
        outcome_name=lambda outcome: f"{board.cells[outcome >> 1].name}={'4' if outcome & 1 else '2'}",
        tallies=("score", "largest tile"),
        endings=("no slide is possible", f"the limit of {longest:,} plies"),
        refusals=(
            f"the tiles add up to {bound:,} or more, which no game can reach",
            "a new tile needs an empty cell",
            "there is no tile to slide",
        ),
        rules=(start, turn, legal, odds, play, sample, score, cells, setup, tally, ending),
    )


def _text(e: int) -> str:
    """The number on the tile 2 ** e, short enough to fit: 1M is 2 ** 20."""
    return str(2**e) if e < 20 else f"{2 ** (e % 10)}{'MGT'[e // 10 - 2]}"
