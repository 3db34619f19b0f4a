"""Breakthrough: the first piece on the far row wins."""

from __future__ import annotations

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

WHITE, BLACK = 0, 1  # the seats; white begins, at the bottom
LEFT, AHEAD, RIGHT = 0, 1, 2  # where a piece goes, as seen on the drawing


@game("breakthrough", title="Breakthrough")
def breakthrough(rows: Annotated[int, Range(2, 32)] = 8, columns: Annotated[int, Range(2, 32)] = 8) -> Game:
    """Race your pieces forward; the first to reach the far row wins.

    Goal: get one piece to the far row, or capture all pieces of the other side.

    Moves: white begins, at the bottom. Each side starts with its two nearest rows full of pieces (one row on boards of
    fewer than six rows). Move one piece one step forward, straight or diagonally, to an empty cell. A diagonal step may
    instead capture a piece of the other side; a straight step may not.

    End: a piece on the far row wins, and so does capturing the last piece. There are no draws, and there is always a
    legal move.

    Notation: a move is the cell it starts from and the cell it ends on, as in a2a3. Columns are lettered from the left
    and rows numbered from the bottom.

    Set-up: up to as many pieces per side as at the start, anywhere, and either turn.

    `rows`: number of rows. A board has at most 64 cells.
    `columns`: number of columns.
    """
    if rows * columns > 64:
        raise BadParameter(f"rows={rows}, columns={columns}: a board has at most 64 cells; choose fewer")
    area = rows * columns
    depth = 2 if rows >= 6 else 1  # rows of pieces at the start

    # ---- moves: by where they begin, then by where they end; both seats' together ----

    board = square(rows, columns, theme="chess")
    steps = [
        (seat, way, cell, to)
        for cell in range(area)  # row by row from the top
        for seat, ahead in ((WHITE, -1), (BLACK, 1))
        for way in (LEFT, AHEAD, RIGHT)
        if 0 <= (to := cell + ahead * columns + way - AHEAD) < area and 0 <= cell % columns + way - AHEAD < columns
    ]
    move_of = np.zeros((2, 3, area), np.int16)  # [seat, way, cell]
    ends = np.zeros((len(steps), 2), np.uint8)  # [move] -> from, to
    for move, (seat, way, cell, to) in enumerate(steps):
        move_of[seat, way, cell] = move
        ends[move] = cell, to

    # ---- sets of cells: bit i for cell i ----

    def cell_set(cells: Any) -> np.uint64:
        return np.uint64(sum(1 << cell for cell in cells))

    one = np.uint64(1)
    whole = cell_set(range(area))
    row_sets = np.array([cell_set(range(r * columns, (r + 1) * columns)) for r in range(rows)], np.uint64)
    goals = row_sets[[0, -1]]  # [seat]
    white_home, black_home = cell_set(range(area - depth * columns, area)), cell_set(range(depth * columns))
    not_leftmost = cell_set(cell for cell in range(area) if cell % columns > 0)
    not_rightmost = cell_set(cell for cell in range(area) if cell % columns < columns - 1)
    less, straight, more = np.uint64(columns - 1), np.uint64(columns), np.uint64(columns + 1)

    state = np.dtype([("pieces", "u8", (2,)), ("turn", "i1"), ("winner", "i1")], align=True)

    def start(s: Any) -> None:
        s.pieces[WHITE] = white_home
        s.pieces[BLACK] = black_home
        s.turn = WHITE
        s.winner = -1

    def turn(s: Any) -> int:
        return s.turn if s.winner < 0 else OVER

    def movers(s: Any) -> Any:
        """The mover's pieces that can go left, ahead and right. There is always one: nothing of its own stands
        diagonally ahead of the foremost piece."""
        mine, theirs = s.pieces[s.turn], s.pieces[1 - s.turn]
        free, vacant = whole & ~mine, whole & ~(mine | theirs)
        if s.turn == WHITE:  # a step ahead lowers a cell's number
            left, ahead, right = free << more, vacant << straight, free << less
        else:
            left, ahead, right = free >> less, vacant >> straight, free >> more
        return mine & left & not_leftmost, mine & ahead, mine & right & not_rightmost

    def legal(s: Any, moves: Any) -> int:
        left, ahead, right = movers(s)
        pieces = left | ahead | right
        n = 0
        while pieces != 0:
            cell = lowest(pieces)
            bit = one << np.uint64(cell)
            if left & bit != 0:
                moves[n] = move_of[s.turn, LEFT, cell]
                n += 1
            if ahead & bit != 0:
                moves[n] = move_of[s.turn, AHEAD, cell]
                n += 1
            if right & bit != 0:
                moves[n] = move_of[s.turn, RIGHT, cell]
                n += 1
            pieces = without_lowest(pieces)
        return n

    def sample(s: Any, rng: Any) -> int:
        left, ahead, right = movers(s)
        lefts, aheads = count(left), count(ahead)
        n = below(rng, lefts + aheads + count(right))
        way, pieces = LEFT, left
        if n >= lefts + aheads:
            way, pieces, n = RIGHT, right, n - lefts - aheads
        elif n >= lefts:
            way, pieces, n = AHEAD, ahead, n - lefts
        return move_of[s.turn, way, nth(pieces, n)]

    def play(s: Any, move: int) -> None:
        seat = s.turn
        to = one << np.uint64(ends[move, 1])
        s.pieces[seat] ^= to | one << np.uint64(ends[move, 0])
        s.pieces[1 - seat] &= ~to
        if to & goals[seat] != 0 or s.pieces[1 - seat] == 0:
            s.winner = seat
        s.turn = 1 - seat

    def score(s: Any, out: Any) -> None:
        out[WHITE] = 0.0 if s.winner < 0 else 1.0 if s.winner == WHITE else -1.0
        out[BLACK] = -out[WHITE]

    def heuristic(s: Any, out: Any) -> None:
        """Who has more pieces, and whose are further ahead."""
        lead = 0
        for row in range(rows):
            lead += (rows + (rows - 1 - row)) * count(s.pieces[WHITE] & row_sets[row])
            lead -= (rows + row) * count(s.pieces[BLACK] & row_sets[row])
        out[WHITE] = lead / (abs(lead) + 4.0 * rows)
        out[BLACK] = -out[WHITE]

    def cells(s: Any, out: Any) -> None:
        for cell in range(area):
            bit = one << np.uint64(cell)
            out[cell] = 1 if s.pieces[WHITE] & bit != 0 else 2 if s.pieces[BLACK] & bit != 0 else 0

    def setup(s: Any, values: Any, mover: int) -> int:
        start(s)
        s.turn = mover
        for seat in range(2):
            pieces = np.uint64(0)
            for cell in range(area):
                if values[cell] == seat + 1:
                    pieces |= one << np.uint64(cell)
            if count(pieces) > depth * columns:
                return 1
            s.pieces[seat] = pieces
        white_won = s.pieces[WHITE] & goals[WHITE] != 0 or s.pieces[BLACK] == 0
        black_won = s.pieces[BLACK] & goals[BLACK] != 0 or s.pieces[WHITE] == 0
        if white_won and black_won:
            return 2
        if white_won or black_won:
            s.winner = WHITE if white_won else BLACK
        return 0

    def tally(s: Any, counts: Any) -> None:
        for seat in range(2):
            counts[0, seat] = count(s.pieces[seat])

    def ending(s: Any) -> int:
        return 0 if s.pieces[s.winner] & goals[s.winner] != 0 else 1

    way_to_go = sum(rows - 2 - row for row in range(depth)) * columns  # one seat's steps, short of the far row
    return Game(
        state=state,
        board=board,
        pieces=(Piece("."), Piece("W", owner=WHITE, fill="#f4f1e8"), Piece("B", owner=BLACK, fill="#1c1c1c")),
        seats=2,
        seat_names=("white", "black"),
        num_moves=len(steps),
        longest=2 * way_to_go + 1,  # every move is a step ahead, and one on the far row is the last
        branching=min(3 * depth * columns, len(steps) // 2),
        path=lambda move: steps[move][2:],
        keeps=("mirror",),
        swaps=("flip", "rotate180"),
        tallies=("pieces",),
        endings=("the far row was reached", "all pieces were captured"),
        refusals=(
            f"a side has more than {depth * columns} pieces",
            "both sides have won: both are on their far rows, or have no pieces",
        ),
        rules=(start, turn, legal, play, score, cells, heuristic, sample, setup, tally, ending),
    )
