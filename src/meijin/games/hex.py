"""Hex: join your two sides of the rhombus with a chain of stones."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from meijin.core.bits import count, lowest, nth, without_lowest
from meijin.core.boards import rhombus
from meijin.core.catalogue import game
from meijin.core.game import OVER, Game
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below
from meijin.games._hex_distance import distance_of

BLACK, WHITE = 0, 1  # the seats; black begins
NEAR, FAR = 0, 1  # a seat's two sides: black's are the top and the bottom, white's the left and the right


@game("hex", title="Hex")
def hex_game(size: Annotated[int, Range(1, 19)] = 11, swap: bool = False) -> Game:
    """Place stones to join your two sides of the board with a chain.

    Goal: black joins the top and the bottom side with an unbroken chain of black stones, white the left and the right
    side with white ones.

    Moves: black begins. The players take turns; each places one stone on an empty cell. Stones never move and are never
    taken. The first stone is worth a lot, so with `swap` white may answer it with "swap" instead of a stone of its own:
    the black stone is taken off and a white one is placed on its mirror image along the long diagonal (c1 for a3),
    where it is as useful to white as the black one was to black.

    End: whoever joins their sides wins. Exactly one side always can, so there are no draws.

    Notation: a move is the name of its cell. Columns are lettered from the left and rows numbered from the top, so a1
    is the top left corner.

    Set-up: any stones and either turn. A single stone counts as the first: with `swap` the other side may take it over.

    `size`: cells along a side.
    `swap`: whether white may take over the first stone.
    """
    # The seats see the board differently: mirroring along a diagonal exchanges them (`swaps`). The planes are not
    # turned to the mover's view, so a net learns from the seat planes which sides the mover joins.
    area = size * size
    take_over = area  # the move "swap"
    board = rhombus(size)

    # ---- sets of cells: words of 64 bits, bit i of word w for cell 64 w + i ----

    words = (area + 63) // 64
    one = np.uint64(1)
    on_board = np.zeros(words, np.uint64)
    sides = np.zeros((2, 2, words), np.uint64)  # [seat, side]
    around = np.zeros((area, words), np.uint64)  # [cell] -> its neighbours
    for cell in range(area):
        row, column = divmod(cell, size)
        bit = one << np.uint64(cell % 64)
        on_board[cell // 64] |= bit
        for seat, line in ((BLACK, row), (WHITE, column)):
            if line == 0:
                sides[seat, NEAR, cell // 64] |= bit
            if line == size - 1:
                sides[seat, FAR, cell // 64] |= bit
        for near in board.neighbours[cell]:
            around[cell, near // 64] |= one << np.uint64(near % 64)

    # Whole groups are marked when they get joined to a side, so a stone is marked at most once before the game ends:
    # as cheap as a union-find, but a position has one record however it was reached, and a small one.
    state = np.dtype(
        [
            ("stones", "u8", (2, words)),  # [seat]
            ("joined", "u8", (2, 2, words)),  # [seat, side] -> the stones that are joined to the side
            ("spread", "u8", (words,)),  # room for `join` and `distance`; else empty
            ("turn", "i1"),
            ("opening", "i1"),  # moves played, up to 2: only the second can be "swap"
            ("winner", "i1"),
        ],
        align=True,
    )

    def start(s: Any) -> None:
        for w in range(words):
            for seat in range(2):
                s.stones[seat, w] = 0
                for side in range(2):
                    s.joined[seat, side, w] = 0
            s.spread[w] = 0
        s.turn = BLACK
        s.opening = 0
        s.winner = -1

    def turn(s: Any) -> int:
        return s.turn if s.winner < 0 else OVER

    def empty(s: Any, w: int) -> Any:
        return on_board[w] & ~(s.stones[BLACK, w] | s.stones[WHITE, w])

    def legal(s: Any, moves: Any) -> int:
        n = 0
        for w in range(words):
            left = empty(s, w)
            while left != 0:
                moves[n] = 64 * w + lowest(left)
                left = without_lowest(left)
                n += 1
        if swap and s.opening == 1:
            moves[n] = take_over
            n += 1
        return n

    def sample(s: Any, rng: Any) -> int:
        total = 0
        for w in range(words):
            total += count(empty(s, w))
        n = below(rng, total + 1 if swap and s.opening == 1 else total)
        for w in range(words):
            left = empty(s, w)
            here = count(left)
            if n < here:
                return 64 * w + nth(left, n)
            n -= here
        return take_over

    def touches(s: Any, seat: int, side: int, cell: int) -> bool:
        """Whether the cell is on the side, or next to stones that are joined to it."""
        found = sides[seat, side, cell >> 6] & (one << np.uint64(cell & 63))
        for v in range(words):
            found |= around[cell, v] & s.joined[seat, side, v]
        return found != 0

    def join(s: Any, seat: int, side: int, cell: int) -> None:
        """Mark the group of the cell's stone as joined to the side."""
        s.spread[cell >> 6] |= one << np.uint64(cell & 63)
        s.joined[seat, side, cell >> 6] |= one << np.uint64(cell & 63)
        more = True
        while more:
            more = False
            for w in range(words):
                while s.spread[w] != 0:
                    at = 64 * w + lowest(s.spread[w])
                    s.spread[w] = without_lowest(s.spread[w])
                    for v in range(words):
                        fresh = around[at, v] & s.stones[seat, v] & ~s.joined[seat, side, v]
                        s.joined[seat, side, v] |= fresh
                        s.spread[v] |= fresh
                        if fresh != 0 and v < w:
                            more = True

    def place(s: Any, seat: int, cell: int) -> None:
        s.stones[seat, cell >> 6] |= one << np.uint64(cell & 63)
        near, far = touches(s, seat, NEAR, cell), touches(s, seat, FAR, cell)
        if near and far:
            s.winner = seat
        elif near or far:
            join(s, seat, NEAR if near else FAR, cell)

    def play(s: Any, move: int) -> None:
        seat = s.turn
        if swap and move == take_over:
            first = 0
            for w in range(words):
                stone = s.stones[1 - seat, w]
                if stone != 0:
                    first = 64 * w + lowest(stone)
                s.stones[1 - seat, w] = 0
                for side in range(2):
                    s.joined[1 - seat, side, w] = 0
            move = first % size * size + first // size
        place(s, seat, move)
        if s.opening < 2:
            s.opening += 1
        s.turn = 1 - seat

    def score(s: Any, out: Any) -> None:
        out[BLACK] = 0.0 if s.winner < 0 else 1.0 if s.winner == BLACK else -1.0
        out[WHITE] = -out[BLACK]

    distance = distance_of(size)

    def heuristic(s: Any, out: Any) -> None:
        """Who needs fewer stones to join its sides, where bridges cost nothing; the move is worth half a stone."""
        if s.winner >= 0:
            score(s, out)
        else:
            lead = distance(s, WHITE) - distance(s, BLACK) + (0.5 if s.turn == BLACK else -0.5)
            out[BLACK] = lead / (abs(lead) + 2.0)
            out[WHITE] = -out[BLACK]

    def cells(s: Any, out: Any) -> None:
        for cell in range(area):
            bit = one << np.uint64(cell & 63)
            w = cell >> 6
            out[cell] = 1 if s.stones[BLACK, w] & bit != 0 else 2 if s.stones[WHITE, w] & bit != 0 else 0

    def setup(s: Any, values: Any, mover: int) -> int:
        start(s)
        stones, owner = 0, BLACK
        for cell in range(area):
            if values[cell] > 0:
                owner = values[cell] - 1
                place(s, owner, cell)
                stones += 1
        s.turn = mover
        s.opening = 1 if stones == 1 and owner != mover else min(2 * stones, 2)
        return 0

    def ending(s: Any) -> int:
        return 0

    return Game(
        state=state,
        board=board,
        pieces=(Piece("."), Piece("X", owner=BLACK, fill="#1c1c1c"), Piece("O", owner=WHITE, fill="#f4f1e8")),
        seats=2,
        seat_names=("black", "white"),
        num_moves=area + 1 if swap else area,
        longest=area + 1 if swap and size > 1 else area,  # a swap leaves as many stones as there were
        branching=area,
        path=lambda move: ("swap",) if move == take_over else (move,),
        words={"swap": "swap: take over the first stone"} if swap else {},
        keeps=("rotate180",) if size > 1 else (),
        swaps=("transpose", "antitranspose") if size > 1 else (),
        endings=("a chain joins both sides",),
        rules=(start, turn, legal, play, score, cells, heuristic, sample, setup, ending),
    )
