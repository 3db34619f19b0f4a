"""Abalone: push six of the other side's marbles off the board."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from meijin.core.bits import count, lowest, nth, without_lowest
from meijin.core.catalogue import game
from meijin.core.game import OVER, Game
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below
from meijin.games._abalone_notation import from_aichholzer, to_aichholzer
from meijin.games._abalone_tables import (
    AXES,
    BEYOND,
    BIT,
    BOARD,
    CELLS,
    ENTRIES,
    INNER,
    KINDS,
    LAYOUTS,
    LEFT,
    LINE,
    NUMBER,
    PER_DIRECTION,
    RIGHT,
    cell_set,
)

__all__ = ["abalone", "from_aichholzer", "to_aichholzer"]

BLACK, WHITE = 0, 1  # the seats; black begins
COUNTED = 2  # `winner` of a game that reached its last ply
MARBLES = 14  # of each side at the start
TO_WIN = 6  # marbles pushed off

# At most this many legal moves in a position. Without opponents there are no fewer, as a push needs more than an empty
# cell does. With 14 marbles, of which P pairs are neighbours (P_e along axis e), a direction along e has at most
# 14 inline moves. At most 14 - P_e marbles are free to step there; joined along the other two axes they form chains,
# for of the two cells that could follow one in a chain, one is in front of the other. So at most
# min(13 - P_e, P - P_e) broadside moves of two, and min(12 - P_e, P - P_e - 1) of three if the other axes have a pair.
# Twice the sum over e is 84 + 2 min(39 - P, 2 P) + 2 min(36 - P, 2 P - 2), at most 182 (at P = 13).
BRANCHING = 182

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_BYTE = np.uint64(255)
_ALL = np.uint64((1 << CELLS) - 1)


# ---- sets of cells ----


def ahead(cells: Any, direction: int) -> Any:
    """The cells whose neighbour in that direction is in the set."""
    return ((cells << LEFT[direction]) | (cells >> RIGHT[direction])) & INNER[direction]


def moved(cells: Any, direction: int) -> Any:
    """The neighbours of the cells in that direction; those off the board are dropped."""
    return ahead(cells, direction + 3 if direction < 3 else direction - 3)


def rears(own: Any, other: Any, free: Any, direction: int) -> Any:
    """The rear marbles of every inline move in that direction."""
    open_ = ahead(free, direction)
    one = ahead(other & (open_ | ~INNER[direction]), direction)  # one marble ahead that can be pushed
    two = ahead(other & one, direction)
    third = own & (open_ | one | two)
    second = own & (open_ | one | ahead(third, direction))
    return own & (open_ | ahead(second, direction))


def firsts(own: Any, other: Any, free: Any, direction: int) -> Any:
    """[kind] -> the first marbles of every move of that kind in one direction."""
    loose = own & ahead(free, direction)
    one, other_one = AXES[direction, 0], AXES[direction, 1]
    two, other_two = loose & ahead(loose, one), loose & ahead(loose, other_one)
    three, other_three = loose & ahead(two, one), loose & ahead(other_two, other_one)
    return rears(own, other, free, direction), two, other_two, three, other_three


def number(own: Any, other: Any, free: Any, direction: int) -> Any:
    """How many moves there are in one direction."""
    a, b, c, d, e = firsts(own, other, free, direction)
    return count(a) + count(b) + count(c) + count(d) + count(e)


def can_move(own: Any, other: Any, free: Any) -> bool:
    for direction in range(6):
        if own & ahead(free, direction) != 0:
            return True
    for direction in range(6):
        if rears(own, other, free, direction) != 0:
            return True
    return False


def noisy(s: Any, move: int) -> bool:
    """Whether a legal move pushes a marble of the other side: what a search should not stop before."""
    direction, seat = move // PER_DIRECTION, s.ply & 1
    if without_lowest(LINE[move]) != 0:
        return False  # broadside
    at = moved(LINE[move], direction)
    while at & s.marbles[seat] != 0:
        at = moved(at, direction)
    return at & s.marbles[1 - seat] != 0


@game("abalone", title="Abalone")
def abalone(
    layout: Literal["standard", "belgian_daisy", "german_daisy"] = "standard",
    max_plies: Annotated[int, Range(1, 10_000)] = 200,
    at_limit: Literal["margin", "majority"] = "margin",
) -> Game:
    """Push six of the other side's marbles off the board.

    Goal: push six marbles of the other side off the board.

    Moves: black begins, each side with 14 marbles. Move one, two or three of your marbles that lie in a line one step
    in any of the six directions. Inline, along their own line, more marbles push fewer: two push one, and three push
    one or two, if the cell behind those is empty or off the board. Broadside, in another direction, all marbles of the
    line must move to empty cells.

    End: whoever has pushed off six marbles wins. A side that cannot move loses. After `max_plies` moves of both sides
    together the game ends; each side then scores the marbles it pushed off less those it lost, divided by six. With
    `at_limit="majority"` the side that pushed off more has won, as in tournaments when the time is up.

    Notation: rows are A to I from the bottom, diagonals 1 to 9 from the left, directions NE, E, SE, SW, W and NW. An
    inline move is its rear marble and the direction, as in A1NE; a broadside move is the first and the last marble of
    the line and the direction, as in A1B1NE.

    Set-up: each side has 8 to 14 marbles; those that are missing were pushed off. `max_plies` starts from 0.

    `layout`: where the marbles are at the start.
    `max_plies`: moves of both sides together after which the game ends.
    `at_limit`: what counts then: the difference in marbles pushed off, or only who pushed off more.
    """
    majority = at_limit == "majority"
    drawn = LAYOUTS[layout].replace(" ", "")
    first_black = cell_set([cell for cell in range(CELLS) if drawn[cell] == "X"])
    first_white = cell_set([cell for cell in range(CELLS) if drawn[cell] == "O"])

    state = np.dtype(
        [
            ("marbles", "u8", (2,)),  # [seat]
            ("ply", "i2"),  # black moves when it is even
            ("taken", "i1", (2,)),  # [seat] marbles of the other side pushed off
            ("winner", "i1"),  # -1 during the game
        ],
        align=True,
    )

    def start(s: Any) -> None:
        s.marbles[BLACK] = first_black
        s.marbles[WHITE] = first_white
        s.ply = 0
        s.taken[BLACK] = 0
        s.taken[WHITE] = 0
        s.winner = -1

    def turn(s: Any) -> int:
        return s.ply & 1 if s.winner < 0 else OVER

    def legal(s: Any, moves: Any) -> int:
        own, other = s.marbles[s.ply & 1], s.marbles[1 - (s.ply & 1)]
        free = _ALL ^ (own | other)
        n = 0
        for direction in range(6):
            masks = firsts(own, other, free, direction)
            for kind in range(KINDS):
                left = masks[kind]
                while left != 0:
                    moves[n] = NUMBER[direction, kind, lowest(left)]
                    left = without_lowest(left)
                    n += 1
        return n

    def sample(s: Any, rng: Any) -> int:
        own, other = s.marbles[s.ply & 1], s.marbles[1 - (s.ply & 1)]
        free = _ALL ^ (own | other)
        total = 0
        packed = _ZERO  # a byte for each direction: how many moves it has, at most 39
        for direction in range(6):
            n = number(own, other, free, direction)
            total += n
            packed |= np.uint64(n) << np.uint64(8 * direction)
        left = below(rng, total)
        direction = 0
        while left >= np.int64(packed & _BYTE):
            left -= np.int64(packed & _BYTE)
            packed >>= np.uint64(8)
            direction += 1
        masks = firsts(own, other, free, direction)
        kind = 0
        while left >= count(masks[kind]):
            left -= count(masks[kind])
            kind += 1
        return int(NUMBER[direction, kind, nth(masks[kind], left)])

    def play(s: Any, move: int) -> None:
        seat = s.ply & 1
        own, other = s.marbles[seat], s.marbles[1 - seat]
        direction = move // PER_DIRECTION
        line = LINE[move]
        at = moved(line, direction)
        if without_lowest(line) != 0:
            own ^= line | at
        else:
            while at & own != 0:
                at = moved(at, direction)
            own ^= line | at  # the rear marble goes to the front: the line looks the same
            if at & other != 0:
                other ^= at
                at = moved(at, direction)
                while at & other != 0:
                    at = moved(at, direction)
                other |= at
                if at == 0:
                    s.taken[seat] += 1
        s.marbles[seat] = own
        s.marbles[1 - seat] = other
        s.ply += 1
        if s.taken[seat] == TO_WIN:
            s.winner = seat
        elif s.ply == max_plies:
            s.winner = COUNTED
        elif not can_move(other, own, _ALL ^ (own | other)):
            s.winner = seat

    def score(s: Any, out: Any) -> None:
        lead = np.int64(s.taken[BLACK] - s.taken[WHITE])
        out[BLACK] = lead / TO_WIN
        if s.winner == BLACK or (majority and s.winner == COUNTED and lead > 0):
            out[BLACK] = 1.0
        elif s.winner == WHITE or (majority and s.winner == COUNTED and lead < 0):
            out[BLACK] = -1.0
        out[WHITE] = -out[BLACK]

    def worth(own: Any, other: Any) -> Any:
        """One side's marbles, whatever their number: near the centre, together, inside the other's lines, safe."""
        value = 0
        for ring in range(4):
            value -= 2 * count(own & BEYOND[ring])
        rim, rims, between = _ZERO, _ZERO, _ZERO
        for direction in range(3):
            value += count(own & ahead(own, direction))
            between |= own & ahead(other, direction) & ahead(other, direction + 3)
        for direction in range(6):
            behind = moved(other & moved(other, direction), direction)  # two of theirs behind each of these cells
            edge = own & ~INNER[direction]
            rim |= edge & behind
            three = moved(other & behind, direction)
            rims |= edge & moved(own & three, direction)
        return value + 2 * count(between) - 6 * count(rim) - 6 * count(rims)

    def heuristic(s: Any, out: Any) -> None:
        """Marbles taken, and what is known to matter: distance from the centre, adjacency, breaks in the other's
        formation, and single and double marbles in danger of being pushed off."""
        black, white = s.marbles[BLACK], s.marbles[WHITE]
        if s.winner >= 0:
            score(s, out)
        else:
            lead = worth(black, white) - worth(white, black) + 30 * np.int64(s.taken[BLACK] - s.taken[WHITE])
            out[BLACK] = lead / (abs(lead) + 100.0)
            out[WHITE] = -out[BLACK]

    def cells(s: Any, out: Any) -> None:
        black, white = s.marbles[BLACK], s.marbles[WHITE]
        for cell in range(CELLS):
            out[cell] = ((black >> BIT[cell]) & _ONE) + ((white >> BIT[cell]) & _ONE) * np.uint64(2)

    def setup(s: Any, values: Any, mover: int) -> int:
        for seat in range(2):
            marbles = _ZERO
            for cell in range(CELLS):
                if values[cell] == seat + 1:
                    marbles |= _ONE << BIT[cell]
            if count(marbles) > MARBLES:
                return 1
            if count(marbles) < MARBLES - TO_WIN:
                return 2
            s.marbles[seat] = marbles
            s.taken[1 - seat] = MARBLES - count(marbles)
        s.ply = mover
        s.winner = -1
        own, other = s.marbles[mover], s.marbles[1 - mover]
        if s.taken[BLACK] == TO_WIN and s.taken[WHITE] == TO_WIN:
            return 3
        if s.ply >= max_plies:
            return 4
        if s.taken[BLACK] == TO_WIN or s.taken[WHITE] == TO_WIN:
            s.winner = BLACK if s.taken[BLACK] == TO_WIN else WHITE
        elif not can_move(own, other, _ALL ^ (own | other)):
            s.winner = 1 - mover
        return 0

    def tally(s: Any, counts: Any) -> None:
        counts[0, BLACK] = s.taken[BLACK]
        counts[0, WHITE] = s.taken[WHITE]

    def ending(s: Any) -> int:
        return 2 if s.winner == COUNTED else 0 if s.taken[s.winner] == TO_WIN else 1

    def planes(s: Any, out: Any) -> None:
        """The mover's marbles, the other's, marbles taken and lost in sixths, and how much of the game is over."""
        seat = s.ply & 1
        own, other = s.marbles[seat], s.marbles[1 - seat]
        for cell in range(CELLS):
            out[0, cell] = (own >> BIT[cell]) & _ONE
            out[1, cell] = (other >> BIT[cell]) & _ONE
            out[2, cell] = np.int64(s.taken[seat]) / TO_WIN
            out[3, cell] = np.int64(s.taken[1 - seat]) / TO_WIN
            out[4, cell] = np.int64(s.ply) / max_plies

    return Game(
        state=state,
        board=BOARD,
        pieces=(Piece("."), Piece("X", owner=BLACK, fill="#1c1c1c"), Piece("O", owner=WHITE, fill="#f4f1e8")),
        seats=2,
        seat_names=("black", "white"),
        num_moves=len(ENTRIES),
        longest=max_plies,
        branching=BRANCHING,
        num_planes=5,
        path=lambda move: ENTRIES[move].path,
        move_name=lambda move: ENTRIES[move].name,
        words={"": "move along the line"},  # after two marbles: an inline move, or the beginning of a broadside one
        keeps=tuple(BOARD.symmetries),  # all twelve: the rules know no direction, though most change the start
        beginnings=("layout", "max_plies", "at_limit"),
        tallies=("pushed off",),
        endings=("six marbles pushed off", "no move left", f"the limit of {max_plies} moves"),
        refusals=(
            f"a side has more than {MARBLES} marbles",
            f"a side has fewer than {MARBLES - TO_WIN} marbles: it had lost before",
            "both sides have pushed off six marbles",
            f"with max_plies={max_plies} only black moves",
        ),
        rules=(
            *(start, turn, legal, play, score, cells, planes, heuristic, sample, noisy),
            *(setup, tally, ending),
        ),
    )
