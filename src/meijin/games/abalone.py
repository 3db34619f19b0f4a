"""Abalone: push six of the other side's marbles off the board."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import numpy as np

from meijin.core.bits import count, lowest, nth, without_lowest
from meijin.core.catalogue import game
from meijin.core.errors import IllegalMove
from meijin.core.game import OVER, Game
from meijin.core.moves import Move
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below
from meijin.core.state import State
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
    step,
)

BLACK, WHITE = 0, 1  # the seats; black begins
COUNTED = 2  # `winner` of a game that reached its last ply
TO_WIN = 6  # marbles pushed off

# At most this many legal moves in a position. Without opponents there are no fewer, as a push needs more than an empty
# cell does. With 14 marbles, of which P pairs are neighbours (P_e along axis e), a direction along e has at most
# 14 inline moves. At most 14 - P_e marbles are free to step there; joined along the other two axes they form chains,
# for of the two cells that could follow one in a chain, one is in front of the other. So at most
# min(13 - P_e, P - P_e) broadside moves of two, and min(12 - P_e, P - P_e - 1) of three if the other axes have a pair.
# Twice the sum over e is 84 + 2 min(39 - P, 2 P) + 2 min(36 - P, 2 P - 2), at most 182 (at P = 13).
BRANCHING = 182

_ZERO = np.uint64(0)
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
) -> Game:
    """Push six of the other side's marbles off the board. Moves are `A1NE` inline and `A1B1NE` broadside.

    `layout` is standard, belgian_daisy or german_daisy. One to three marbles in a line move one step: inline, named by
    the rear marble, and then more push fewer if nothing stands behind those; or broadside into empty cells, named by
    the first and the last marble. A seat that cannot move loses. After `max_plies` plies, both seats' together, each
    seat scores the marbles it took less those it lost, divided by six.
    """
    drawn = LAYOUTS[layout].replace(" ", "")
    first_black = cell_set([cell for cell in range(CELLS) if drawn[cell] == "X"])
    first_white = cell_set([cell for cell in range(CELLS) if drawn[cell] == "O"])

    state = np.dtype(
        [
            ("marbles", "u8", (2,)),  # [seat]
            ("ply", "i2"),  # black moves when it is even
            ("taken", "i1", (2,)),  # [seat] marbles of the other side pushed off
            ("winner", "i1"),  # -1 while the game goes on
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
        out[BLACK] = np.int64(s.taken[BLACK] - s.taken[WHITE]) / TO_WIN
        if s.winner == BLACK:
            out[BLACK] = 1.0
        elif s.winner == WHITE:
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
            out[cell] = ((black >> BIT[cell]) & np.uint64(1)) + ((white >> BIT[cell]) & np.uint64(1)) * np.uint64(2)

    def planes(s: Any, out: Any) -> None:
        """The mover's marbles, the other's, marbles taken and lost in sixths, and how much of the game is over."""
        seat = s.ply & 1
        own, other = s.marbles[seat], s.marbles[1 - seat]
        for cell in range(CELLS):
            out[0, cell] = (own >> BIT[cell]) & np.uint64(1)
            out[1, cell] = (other >> BIT[cell]) & np.uint64(1)
            out[2, cell] = np.int64(s.taken[seat]) / TO_WIN
            out[3, cell] = np.int64(s.taken[1 - seat]) / TO_WIN
            out[4, cell] = np.int64(s.ply) / max_plies

    return Game(
        state=state,
        board=BOARD,
        pieces=(Piece("."), Piece("X", owner=BLACK, fill="#1c1c1c"), Piece("O", owner=WHITE, fill="#f4f1e8")),
        seats=2,
        num_moves=len(ENTRIES),
        longest=max_plies,
        branching=BRANCHING,
        num_planes=5,
        path=lambda move: ENTRIES[move].path,
        move_name=lambda move: ENTRIES[move].name,
        keeps=tuple(BOARD.symmetries),  # all twelve: the rules know no direction, though most change the start
        rules=(start, turn, legal, play, score, cells, planes, heuristic, sample, noisy),
    )


# ---- Aichholzer's notation: the cells that marbles leave and reach, as in the program Aba-Pro ----


def to_aichholzer(move: int) -> str:
    """`A1B2`: the rear marble of an inline move and its next cell. `C3C5D4`: the ends of a broadside move's line, and
    where the first of them lands."""
    entry = ENTRIES[move]
    landing = step(entry.first, entry.direction)
    if landing is None or not entry.possible:
        raise IllegalMove(f"'{entry.name}' leaves the board, so it has no landing cell to write")
    ends = (entry.first,) if entry.kind == 0 else (entry.first, entry.last)
    return "".join(BOARD.cells[cell].name.upper() for cell in (*ends, landing))


def from_aichholzer(state: State, text: str) -> Move:
    """The legal move that Aichholzer's notation means: `a1-b2` and `A1B2` alike, and a line from either end."""
    words = re.fullmatch(r"([a-i][1-9])[-\s]*([a-i][1-9])[-\s]*([a-i][1-9])?", text.strip().lower())
    if words is None:
        raise IllegalMove(f"'{text}' is not two or three cells, as in 'A1B2' (inline) or 'C3C5D4' (broadside)")
    named = tuple(BOARD.index(cell) for cell in words.groups() if cell is not None)
    for move in state.legal_moves:
        entry = ENTRIES[move]
        ends = (entry.first,) if entry.kind == 0 else (entry.first, entry.last)
        if named[:-1] in (ends, ends[::-1]) and named[-1] == step(named[0], entry.direction):
            return move
    raise IllegalMove(f"'{text}' is not legal here; legal: {', '.join(to_aichholzer(m) for m in state.legal_moves)}")
