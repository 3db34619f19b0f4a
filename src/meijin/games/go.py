"""Go: surround points and capture stones; whoever holds more of the board wins."""

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
    """Surround points and capture stones; whoever holds more of the board wins.

    Goal: have more points than the other side at the end: by area scoring your stones and the empty points that only
    they surround, by territory scoring the surrounded points and the stones you captured.

    Moves: black begins. The players take turns; each places one stone on an empty crossing, or passes. Stones of one
    colour that are connected along the lines form a group; the empty points next to it are its liberties. After a move,
    groups of the other side without liberties are captured and taken off. A stone whose own group would then have none
    may not be placed (`suicide` says otherwise). Nor may a move bring back an earlier position (`superko` says which).

    End: two passes in a row end the game. All stones on the board count as alive, so play on until dead ones are
    captured. A game is also counted as it stands after 3 * `size` * `size` + 20 moves, because simple ko allows endless
    cycles.

    Notation: a move is the name of its crossing. Columns are lettered from the left, without i, and rows numbered from
    the bottom. "pass" passes.

    Set-up: every group must have a liberty. No earlier position, ko or prisoner is known, and nobody has just passed.

    `size`: crossings along a side.
    `komi`: points that white gets for moving second, a multiple of 0.5; with a whole number there can be draws.
    `superko`: "simple" only forbids retaking a ko at once; "positional" forbids any earlier position of the stones;
    "situational" forbids it only if the same side was to move then.
    `scoring`: "area" counts stones and surrounded points, "territory" surrounded points and prisoners.
    `suicide`: whether a move may leave its own group without liberties, which takes the group off. Never with a single
    stone.
    `handicap`: black begins with 2 to 9 stones on the standard points, and white moves first. By area scoring white
    gets one point for each of them.
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
        """Points whose neighbours are all of one colour count as that colour's."""
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

    def setup(s: Any, values: Any, mover: int) -> int:
        # Whatever the order, no stone of a position without dead stones is captured on the way to it.
        clear(s)
        for cell in range(area):
            if values[cell] > 0:
                place(s, np.uint64(point[cell]), values[cell])
        if s.prisoners[0] + s.prisoners[1] > 0:
            return 1
        for cell in range(area):
            p = point[cell]
            if s.color[p] != EMPTY and s.libs[s.head[p]] == 0:
                return 1
        begin(s)
        s.ko = 0
        s.last[0] = -1
        s.last[1] = -1
        s.lead = 0
        s.turn = mover
        return 0

    def enclosed(s: Any, p: Any) -> Any:
        """The colour of all stones around an empty point; EMPTY if another empty point is beside it."""
        found = EMPTY
        for step in steps:
            if s.color[p + step] == EMPTY:
                return EMPTY
            if s.color[p + step] != BORDER:
                found |= s.color[p + step]
        return found

    def tally(s: Any, counts: Any) -> None:
        """The points are exact when the game is over; before that, of the empty points only single ones count."""
        for seat in range(2):
            counts[0, seat] = s.prisoners[seat]
            counts[1, seat] = (0.0 if by_area else s.prisoners[seat]) + 0.5 * twice_komi * seat
        for cell in range(area):
            p = np.uint64(point[cell])
            owner = s.color[p] if by_area else EMPTY
            if s.color[p] == EMPTY:
                owner = s.next[p] if s.turn == OVER else enclosed(s, p)
            if owner in (BLACK, WHITE):
                counts[1, owner - BLACK] += 1.0

    def ending(s: Any) -> int:
        return 0 if s.last[0] == skip and s.last[1] == skip else 1

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
        seat_names=("black", "white"),
        num_moves=area + 1,
        longest=longest,
        num_planes=15,
        path=lambda move: ("pass",) if move == skip else (move,),
        words={"pass": "pass"},
        beginnings=("komi", "handicap"),  # nets see what they are worth
        keeps=tuple(board.symmetries),  # named, because the rules keep them even where the handicap stones do not
        tallies=("captured", "points"),
        endings=("two passes", f"the limit of {longest} moves"),
        refusals=("a group has no liberties",),
        rules=(
            *(start, turn, legal, play, score, cells, planes, heuristic, sample, policy, owners),
            *(setup, tally, ending),
        ),
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
