"""Othello: enclose lines of the other colour to turn them over; most discs win."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np

from meijin.core.bits import count, lowest, nth, without_lowest
from meijin.core.boards import square
from meijin.core.catalogue import game
from meijin.core.errors import BadParameter
from meijin.core.game import OVER, Game
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below

BLACK, WHITE = 0, 1  # the seats; black begins


@game("othello", title="Othello")
def othello(size: Annotated[int, Range(4, 10)] = 8) -> Game:
    """Enclose the other side's discs to turn them over; most discs win.

    Goal: have more discs of your colour than the other side when nobody can move any more.

    Moves: black begins. Place a disc on an empty cell so that one or more straight lines of the other side's discs,
    across, up or diagonally, lie between it and another of your discs. All discs in those lines turn over and become
    yours. Whoever cannot turn any disc must pass; passing is not allowed otherwise.

    End: when neither side can move, the side with more discs wins. Equal numbers are a draw.

    Notation: a move is the name of its cell. Columns are lettered from the left and rows numbered from the top, so a1
    is the top left corner. "pass" passes.

    Set-up: any four or more discs and either turn. Written as in OBF files: all cells in reading order, X for black, O
    for white and - for empty, then X or O to move.

    `size`: cells along a side, an even number.
    """
    if size % 2:
        raise BadParameter(f"size={size}: the start fills the middle four cells; choose an even number")
    area = size * size
    skip = area  # the move "pass"
    steps = (1, size - 1, size, size + 1, -1, 1 - size, -size, -1 - size)  # from a cell to its eight neighbours

    # ---- sets of cells: pairs of words, bit i for cell i; up to 8 x 8 the second is 0, and compiled away ----

    words = (area + 63) // 64
    zero, one = np.uint64(0), np.uint64(1)

    def cell_set(cells: Iterable[int]) -> tuple[np.uint64, np.uint64]:
        bits = sum(1 << cell for cell in cells)
        return np.uint64(bits & 0xFFFFFFFFFFFFFFFF), np.uint64(bits >> 64)

    def load(field: Any) -> Any:
        return field[0], field[1] if words > 1 else zero

    def store(field: Any, a: Any) -> None:
        field[0] = a[0]
        if words > 1:
            field[1] = a[1]

    def single(cell: int) -> Any:
        bit = one << np.uint64(cell & 63)
        return (bit, zero) if words == 1 or cell < 64 else (zero, bit)

    def both(a: Any, b: Any) -> Any:
        return a[0] & b[0], a[1] & b[1]

    def either(a: Any, b: Any) -> Any:
        return a[0] | b[0], a[1] | b[1]

    def without(a: Any, b: Any) -> Any:
        return a[0] & ~b[0], a[1] & ~b[1]

    def some(a: Any) -> bool:
        return (a[0] | a[1]) != 0

    def number(a: Any) -> int:
        return count(a[0]) + count(a[1])

    def shifted(a: Any, step: int) -> Any:
        """Every cell's neighbour. What leaves the top or bottom is off the board, what leaves a side wraps around."""
        if step > 0:
            k, rest = np.uint64(step), np.uint64(64 - step)
            return a[0] << k, (a[1] << k) | (a[0] >> rest) if words > 1 else zero
        k, rest = np.uint64(-step), np.uint64(64 + step)
        return (a[0] >> k) | (a[1] << rest) if words > 1 else a[0] >> k, a[1] >> k

    board = cell_set(range(area))
    inside = cell_set(cell for cell in range(area) if 0 < cell % size < size - 1)  # not on the left and right edges
    nowhere = cell_set(())
    corners = tuple(  # with the three cells beside each
        (cell_set((at,)), cell_set((at + right, at + down, at + right + down)))
        for at, right, down in (
            (0, 1, size),
            (size - 1, -1, size),
            (area - size, 1, -size),
            (area - 1, -1, -size),
        )
    )
    middle = area // 2 + size // 2  # the lower right one of the four in the middle
    first_black = cell_set((middle - 1, middle - size))
    first_white = cell_set((middle, middle - 1 - size))

    # ---- the rules ----

    state = np.dtype(
        [
            ("discs", "u8", (2, words)),  # [seat]
            ("open", "u8", (words,)),  # where the mover may place; if nowhere, it must pass
            ("turn", "i1"),
        ],
        align=True,
    )

    def chain(a: Any, theirs: Any, step: int) -> Any:
        """The unbroken lines of their discs that begin next to a cell of `a` and run in one direction."""
        if abs(step) != size:
            theirs = both(theirs, inside)  # so no line wraps around a side: one that reaches it encloses nothing
        pairs = both(theirs, shifted(theirs, step))
        line = both(theirs, shifted(a, step))
        line = either(line, both(theirs, shifted(line, step)))
        for _ in range(size // 2 - 2):  # lines are up to 2 long here and grow by 2, up to size - 2
            line = either(line, both(pairs, shifted(line, 2 * step)))
        return line

    def places(mine: Any, theirs: Any) -> Any:
        """Where a disc would enclose some of theirs."""
        found = nowhere
        for step in steps:
            found = either(found, shifted(chain(mine, theirs, step), step))
        return both(without(found, either(mine, theirs)), board)

    def start(s: Any) -> None:
        store(s.discs[BLACK], first_black)
        store(s.discs[WHITE], first_white)
        store(s.open, places(first_black, first_white))
        s.turn = BLACK

    def turn(s: Any) -> int:
        return s.turn

    def legal(s: Any, moves: Any) -> int:
        n = 0
        for w in range(words):
            left = s.open[w]
            while left != 0:
                moves[n] = 64 * w + lowest(left)
                left = without_lowest(left)
                n += 1
        if n == 0:
            moves[0] = skip
            n = 1
        return n

    def sample(s: Any, rng: Any) -> int:
        low, high = load(s.open)
        split, total = count(low), count(low) + count(high)
        if total == 0:
            return skip
        n = below(rng, total)
        return nth(low, n) if words == 1 or n < split else 64 + nth(high, n - split)

    def play(s: Any, move: int) -> None:
        seat = s.turn
        mine, theirs = load(s.discs[seat]), load(s.discs[1 - seat])
        if move != skip:
            disc = single(move)
            turned = nowhere
            for step in steps:
                line = chain(disc, theirs, step)
                if some(both(shifted(line, step), mine)):
                    turned = either(turned, line)
            mine = either(mine, either(disc, turned))
            theirs = without(theirs, turned)
            store(s.discs[seat], mine)
            store(s.discs[1 - seat], theirs)
        reply = places(theirs, mine)
        store(s.open, reply)
        s.turn = 1 - seat
        if not some(reply) and not some(places(mine, theirs)):
            s.turn = OVER

    def score(s: Any, out: Any) -> None:
        lead = 0
        if s.turn == OVER:
            lead = number(load(s.discs[BLACK])) - number(load(s.discs[WHITE]))
        out[BLACK] = 1.0 if lead > 0 else -1.0 if lead < 0 else 0.0
        out[WHITE] = -out[BLACK]

    def heuristic(s: Any, out: Any) -> None:
        """Who has the corners, who gives empty ones away, and who has more moves."""
        black, white = load(s.discs[BLACK]), load(s.discs[WHITE])
        lead = number(places(black, white)) - number(places(white, black))
        for corner, beside in corners:
            if some(both(corner, black)):
                lead += 8
            elif some(both(corner, white)):
                lead -= 8
            else:
                lead -= 2 * (number(both(beside, black)) - number(both(beside, white)))
        out[BLACK] = lead / (abs(lead) + 20.0)
        out[WHITE] = -out[BLACK]

    def cells(s: Any, out: Any) -> None:
        black, white = load(s.discs[BLACK]), load(s.discs[WHITE])
        for cell in range(area):
            disc = single(cell)
            out[cell] = 1 if some(both(black, disc)) else 2 if some(both(white, disc)) else 0

    def owners(s: Any, out: Any) -> None:
        cells(s, out)
        for cell in range(area):
            out[cell] = out[cell] - 1  # black's discs are 1, white's 2

    def setup(s: Any, values: Any, mover: int) -> int:
        black, white = nowhere, nowhere
        for cell in range(area):
            if values[cell] == 1:
                black = either(black, single(cell))
            elif values[cell] == 2:
                white = either(white, single(cell))
        if number(black) + number(white) < 4:
            return 1
        mine, theirs = (black, white) if mover == BLACK else (white, black)
        store(s.discs[BLACK], black)
        store(s.discs[WHITE], white)
        store(s.open, places(mine, theirs))
        s.turn = mover
        if not some(places(black, white)) and not some(places(white, black)):
            s.turn = OVER
        return 0

    def tally(s: Any, counts: Any) -> None:
        for seat in range(2):
            counts[0, seat] = number(load(s.discs[seat]))

    def ending(s: Any) -> int:
        black, white = number(load(s.discs[BLACK])), number(load(s.discs[WHITE]))
        return 0 if black + white == area else 1 if black == 0 or white == 0 else 2

    def write(values: Sequence[int], mover: int) -> str:
        return "".join("-XO"[value] for value in values) + " " + "XO"[mover]

    def read(text: str) -> tuple[list[int], int]:
        """Blanks between cells do not matter, nor does anything after a semicolon."""
        marks = "".join(text.split(";", maxsplit=1)[0].split()).upper().replace(".", "-")
        if len(marks) != area + 1:
            raise BadParameter(
                f"position '{text}' has {len(marks)} marks; give {area} cells of 'X', 'O' or '-', "
                "then 'X' or 'O' to move"
            )
        if (wrong := set(marks) - set("XO-")) or marks[-1] == "-":
            mark = min(wrong) if wrong else marks[-1]
            raise BadParameter(
                f"position '{text}': '{mark}' is neither a cell ('X', 'O' or '-') nor a side to move ('X' or 'O')"
            )
        return ["-XO".index(mark) for mark in marks[:-1]], "XO".index(marks[-1])

    return Game(
        state=state,
        board=square(size, rows_from="top"),
        pieces=(Piece("."), Piece("X", owner=BLACK, fill="#1c1c1c"), Piece("O", owner=WHITE, fill="#f4f1e8")),
        seats=2,
        seat_names=("black", "white"),
        num_moves=area + 1,
        longest=2 * (area - 4),  # a pass never follows a pass
        path=lambda move: ("pass",) if move == skip else (move,),
        words={"pass": "pass"},
        # All eight: the rules know no direction, though four of them exchange the colours of the start.
        keeps=("rotate90", "rotate180", "rotate270", "mirror", "flip", "transpose", "antitranspose"),
        tallies=("discs",),
        endings=("the board is full", "one side has no discs left", "neither side can move"),
        refusals=("there must be at least four discs",),
        write=write,
        read=read,
        rules=(start, turn, legal, play, score, cells, heuristic, sample, owners, setup, tally, ending),
    )
