"""Go: surround points and stones; who holds more of the board wins."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np

from meijin.core.boards import square
from meijin.core.catalogue import game
from meijin.core.errors import BadParameter
from meijin.core.game import OVER, Game
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.games._go_board import BLACK, BORDER, EMPTY, WHITE, distances, longest_game, stones
from meijin.games._go_count import dead_stones, final_score, margin

__all__ = ["dead_stones", "final_score", "go", "handicap_cells", "margin"]


@game("go", title="Go")
def go(
    size: Annotated[int, Range(2, 19)] = 9,
    komi: float = 7.5,
    superko: Literal["simple", "positional", "situational"] = "positional",
    scoring: Literal["area", "territory"] = "area",
    suicide: bool = False,
    handicap: Annotated[int, Range(0, 9)] = 0,
) -> Game:
    """Black (seat 0) and white place stones and take those without liberties; two passes in a row end the game.

    `superko`: "simple" forbids only to take a ko straight back; "positional" to make a position of stones that was
    there before; "situational" only if the same seat was to move then (after a pass, too).
    `scoring`: "area" counts stones and surrounded points, "territory" surrounded points and prisoners. Both take every
    stone on the board as alive: play on until the dead ones are taken, or see `dead_stones` and `final_score`.
    `suicide` allows to fill a group's own last liberty, which takes it off; never with a single stone.
    `handicap`: 2 to 9 black stones on the standard points, and white begins. With area scoring white gets a point
    for each of them (as in Chinese rules), with territory scoring none.
    `komi`: white's points for moving second; with a whole number there are draws.
    After 3 * size * size + 20 plies a game is over and counted as it stands (see `longest_game`).
    """
    if not (math.isfinite(komi) and (2 * komi).is_integer() and abs(komi) <= 1000):
        raise BadParameter(f"komi={komi!r}: give a multiple of 0.5 from -1000 to 1000, such as 7.5 or 7.0")
    area = size * size
    skip = area  # the move "pass"
    longest = longest_game(size)
    on = stones(size, superko, suicide, longest)
    point, cell_of, wide = on.point, on.cell, on.wide
    clear, begin, follow, allowed, place = on.clear, on.begin, on.follow, on.allowed, on.place
    draw, draw_sensible, liberties, settle = on.draw, on.draw_sensible, on.liberties, on.settle
    by_area = scoring == "area"
    first = 1 if handicap else 0  # the seat that begins
    twice_komi = int(2 * komi) + (2 * handicap if by_area else 0)  # in half points
    given = np.array([point[cell] for cell in handicap_cells(size, handicap)], np.int16)
    steps = distances(-wide, -1, 1, wide)

    board = square(size, points=True, skip_i=True)

    state = np.dtype(
        [
            *on.fields,
            ("last", "i2", (2,)),  # the latest move and the one before it; -1: none
            ("lead", "i2"),  # when the game is over: black's points less white's, without komi
            ("turn", "i1"),
        ],
        align=True,
    )

    def start(s: Any) -> None:
        clear(s)
        for k in range(handicap):
            place(s, np.uint64(given[k]), BLACK)
        begin(s)
        s.last[0] = -1
        s.last[1] = -1
        s.lead = 0
        s.turn = first

    def turn(s: Any) -> int:
        return s.turn

    def legal(s: Any, moves: Any) -> int:
        n = 0
        for cell in range(area):
            p = np.uint64(point[cell])
            if s.color[p] == EMPTY and allowed(s, p, s.turn + 1):
                moves[n] = cell
                n += 1
        moves[n] = skip
        return n + 1

    def sample(s: Any, rng: Any) -> int:
        return cell_of[draw(s, s.turn + 1, rng)]

    def policy(s: Any, rng: Any) -> int:
        """Any move but one that fills an own eye; a pass when only those are left."""
        return cell_of[draw_sensible(s, s.turn + 1, rng)]

    def play(s: Any, move: int) -> None:
        if move == skip:
            s.ko = 0
        else:
            place(s, np.uint64(point[move]), s.turn + 1)
        follow(s)
        if s.ply == longest or (move == skip and s.last[0] == skip):
            s.turn = OVER
            count(s)
        else:
            s.turn = 1 - s.turn
        s.last[1] = s.last[0]
        s.last[0] = move

    def count(s: Any) -> None:
        settle(s)
        lead = np.int64(0)
        for k in range(s.empties):
            touched = s.next[s.empty[k]]
            if touched == BLACK:
                lead += 1
            elif touched == WHITE:
                lead -= 1
        if by_area:
            for cell in range(area):
                color = s.color[point[cell]]
                if color == BLACK:
                    lead += 1
                elif color == WHITE:
                    lead -= 1
        else:
            lead += np.int64(s.prisoners[0]) - np.int64(s.prisoners[1])
        s.lead = lead

    def score(s: Any, out: Any) -> None:
        lead = np.int64(0)
        if s.turn == OVER:
            lead = 2 * np.int64(s.lead) - twice_komi
        out[0] = 1.0 if lead > 0 else -1.0 if lead < 0 else 0.0
        out[1] = -out[0]

    def heuristic(s: Any, out: Any) -> None:
        """Points whose neighbours are all of one colour are taken as that colour's."""
        lead = np.int64(0) if by_area else np.int64(s.prisoners[0]) - np.int64(s.prisoners[1])
        for cell in range(area):
            p = np.uint64(point[cell])
            touched = s.color[p] if by_area else EMPTY
            if s.color[p] == EMPTY:
                for step in steps:
                    if s.color[p + step] != BORDER:
                        touched |= s.color[p + step]
            if touched == BLACK:
                lead += 1
            elif touched == WHITE:
                lead -= 1
        points = lead - 0.5 * twice_komi
        out[0] = points / (abs(points) + size)
        out[1] = -out[0]

    def cells(s: Any, out: Any) -> None:
        for cell in range(area):
            out[cell] = s.color[point[cell]]

    def owners(s: Any, out: Any) -> None:
        """A stone's point is its colour's, and an empty one that of the colour its region touches alone."""
        for cell in range(area):
            p = np.uint64(point[cell])
            color = s.color[p] if s.color[p] != EMPTY else s.next[p]  # as `count` has settled it
            out[cell] = 0 if color == BLACK else 1 if color == WHITE else -1

    def planes(s: Any, out: Any) -> None:
        """From the mover's view: the stones, mine and theirs (0, 1); mine and theirs with 1, 2 and more liberties
        (2-4, 5-7); the latest move and the one before it (8, 9); empty points where I may not play (10); whether they
        have just passed (11); whether I am black, or white (12, 13); the points given to me, in tens (14)."""
        seat = s.turn if s.turn >= 0 else 0
        passed = 1.0 if s.last[0] == skip else 0.0
        bonus = twice_komi * (seat - 0.5) / 10.0
        for k in range(11):  # plane by plane, as they lie in memory
            for cell in range(area):
                out[k, cell] = 0.0
        for cell in range(area):
            out[11, cell] = passed
        for cell in range(area):
            out[12, cell] = 1.0 - seat
        for cell in range(area):
            out[13, cell] = seat
        for cell in range(area):
            out[14, cell] = bonus
        for cell in range(area):
            p = np.uint64(point[cell])
            color = s.color[p]
            if color == EMPTY:
                if not allowed(s, p, seat + 1):
                    out[10, cell] = 1.0
            else:
                mine = color == seat + 1
                out[0 if mine else 1, cell] = 1.0
                if s.head[p] == p:
                    plane = (1 if mine else 4) + liberties(s, p)
                    q = p
                    while True:
                        out[plane, cell_of[q]] = 1.0
                        q = np.uint64(s.next[q])
                        if q == p:
                            break
        for k in range(2):
            if 0 <= s.last[k] < skip:
                out[8 + k, s.last[k]] = 1.0

    return Game(
        state=state,
        board=board,
        pieces=(Piece("."), Piece("X", owner=0, fill="#1c1c1c"), Piece("O", owner=1, fill="#f4f1e8")),
        seats=2,
        num_moves=area + 1,
        longest=longest,
        num_planes=15,
        path=lambda move: ("pass",) if move == skip else (move,),
        keeps=tuple(board.symmetries),  # named, as the rules keep them even where the handicap stones do not
        rules=(start, turn, legal, play, score, cells, planes, heuristic, sample, policy, owners),
    )


def handicap_cells(size: int, handicap: int) -> tuple[int, ...]:
    """The cells of the handicap stones, in the order of the Go Text Protocol."""
    if handicap == 0:
        return ()
    if handicap == 1 or size not in (9, 13, 19):
        raise BadParameter(
            f"handicap={handicap} on size={size}: give 2 to 9 stones on 9, 13 or 19, or 0 with another komi"
        )
    low, middle = 2 if size == 9 else 3, size // 2
    high = size - 1 - low
    spots = [(low, low), (high, high), (low, high), (high, low), (low, middle), (high, middle)]
    spots += [(middle, low), (middle, high)]  # (column, row from the bottom)
    chosen = spots[: handicap - handicap % 2] if handicap > 4 else spots[:handicap]
    if handicap > 4 and handicap % 2:
        chosen = [*chosen, (middle, middle)]
    return tuple((size - 1 - row) * size + column for column, row in chosen)
