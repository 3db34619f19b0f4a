"""Yavalath: four in a row win, but three in a row lose. Invented by Cameron Browne's program Ludi, 2007."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from meijin.core.bits import count, lowest, nth, without_lowest
from meijin.core.boards import hexagon
from meijin.core.catalogue import game
from meijin.core.errors import BadParameter
from meijin.core.game import OVER, Game
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below

SIDE = 5
LONGEST_LINE = 2 * SIDE - 1
NOBODY, DRAW = -1, -2  # a `winner` that is not a seat: the game continues, or nobody won


@game("yavalath", title="Yavalath")
def yavalath(players: Annotated[int, Range(2, 3)] = 2, swap: bool = False) -> Game:
    """Four in a row win, but three in a row lose.

    Goal: make a row of four or more of your stones without making a row of exactly three first.

    Moves: white begins. The players take turns; each places one stone on an empty cell. With `swap`, black may answer
    the first stone with "swap" instead of a stone of its own: that stone becomes black.

    End: whoever makes four or more in a row wins. Whoever makes three in a row loses, unless the same stone also makes
    four. A full board is a draw.

    Three players (white, black, red): whoever makes three is out, but the stones stay. The last one left wins, or the
    first to make four. The next player's win must be blocked: while there are empty cells where the next player still
    in the game would make four, the mover must play on one of them, even if that makes three. Only a stone that makes
    four itself is exempt. On a full board those still in the game draw, with a score of 0, and the others have lost.

    Notation: a move is the name of its cell. Rows are lettered from the bottom and diagonals numbered from the left.
    "swap" takes over the first stone.

    Set-up: any stones and turn. Seats with three in a row are out. With `swap`, white must have exactly one stone at
    black's first move.

    `players`: number of players, two or three.
    `swap`: whether black may take over the first stone. Only for two players.
    """
    if swap and players != 2:
        raise BadParameter(f"swap=True, players={players}: only two players can swap; choose one or the other")
    board = hexagon(SIDE)
    area = len(board.cells)
    take_over = area  # the move "swap"
    assert board.grid_index is not None
    places = [divmod(index, LONGEST_LINE) for index in board.grid_index]  # (row, column), lower rows sheared

    # ---- lines: stones are kept in three orders, in each of which the lines of one direction are side by side ----

    at = np.zeros((3, area), np.uint8)  # [direction, cell] -> its number in that order
    first = np.zeros((3, area), np.uint8)  # [direction, cell] -> the number of the first cell of its line
    line_mask = np.zeros((3, area), np.uint64)  # [direction, cell] -> as many low bits as its line is long
    cell_at = np.zeros((3, area), np.uint8)  # [direction, number] -> cell
    numbers = [[r for r, _ in places], [c for _, c in places], [r + c for r, c in places]]  # [direction, cell] -> line
    for direction, lines in enumerate(numbers):
        order = sorted((line, cell) for cell, line in enumerate(lines))
        for number, (_, cell) in enumerate(order):
            at[direction, cell] = number
            cell_at[direction, number] = cell
        for cell in range(area):
            first[direction, cell] = min(at[direction, other] for other in range(area) if lines[other] == lines[cell])
            line_mask[direction, cell] = (1 << lines.count(lines[cell])) - 1

    # [stones in a line] -> where one more makes three or more, and where it makes four or more
    makes_three = np.zeros(1 << LONGEST_LINE, np.uint64)
    makes_four = np.zeros(1 << LONGEST_LINE, np.uint64)
    for stones in range(1 << LONGEST_LINE):
        text = f"{stones:0{LONGEST_LINE}b}"[::-1]
        for spot, stone in enumerate(text):
            if stone == "0":
                before, after = text[:spot][::-1], text[spot + 1 :]
                run = 1 + sum(len(part) - len(part.lstrip("1")) for part in (before, after))
                makes_three[stones] |= np.uint64((run >= 3) << spot)
                makes_four[stones] |= np.uint64((run >= 4) << spot)

    one = np.uint64(1)
    whole = np.uint64((1 << area) - 1)
    state = np.dtype(
        [
            ("stones", "u8", (players, 3)),  # [seat, direction], each in its order; direction 0 numbers the cells
            ("threes", "u8", (players,)),  # [seat] -> cells where it would make three or more, taken by others or not
            ("fours", "u8", (players,)),  # [seat] -> those where it would make four or more
            ("out", "i1", (players,)),  # [seat] -> 1: made three
            ("turn", "i1"),
            ("winner", "i1"),
        ],
        align=True,
    )

    def start(s: Any) -> None:
        for seat in range(players):
            for direction in range(3):
                s.stones[seat, direction] = 0
            s.threes[seat] = 0
            s.fours[seat] = 0
            s.out[seat] = 0
        s.turn = 0
        s.winner = NOBODY

    def turn(s: Any) -> int:
        return s.turn if s.winner == NOBODY else OVER

    def taken(s: Any) -> Any:
        stones = s.stones[0, 0] | s.stones[1, 0]
        return stones | s.stones[2, 0] if players == 3 else stones

    def next_seat(s: Any) -> int:
        """Whose turn follows; at most one seat is out while the game goes on."""
        seat = (s.turn + 1) % players
        return (seat + 1) % players if s.out[seat] else seat

    def open_cells(s: Any) -> Any:
        empty = whole & ~taken(s)
        if players == 3:
            block = s.fours[next_seat(s)] & empty
            if block != 0:
                return block | s.fours[s.turn] & empty
        return empty

    def may_swap(s: Any) -> bool:
        return swap and s.turn == 1 and s.stones[1, 0] == 0

    def legal(s: Any, moves: Any) -> int:
        left = open_cells(s)
        n = 0
        while left != 0:
            moves[n] = lowest(left)
            left = without_lowest(left)
            n += 1
        if may_swap(s):
            moves[n] = take_over
            n += 1
        return n

    def sample(s: Any, rng: Any) -> int:
        cells = open_cells(s)
        total = count(cells)
        n = below(rng, total + 1 if may_swap(s) else total)
        return nth(cells, n) if n < total else take_over

    def place(s: Any, seat: int, cell: int) -> None:
        """Put a stone down and note where one more would make three or four."""
        for direction in range(3):
            stones = s.stones[seat, direction] | one << np.uint64(at[direction, cell])
            s.stones[seat, direction] = stones
            begin = np.uint64(first[direction, cell])
            line = (stones >> begin) & line_mask[direction, cell]
            three = makes_three[line] & line_mask[direction, cell]
            while three != 0:
                s.threes[seat] |= one << np.uint64(cell_at[direction, np.int64(begin) + lowest(three)])
                three = without_lowest(three)
            four = makes_four[line] & line_mask[direction, cell]
            while four != 0:
                s.fours[seat] |= one << np.uint64(cell_at[direction, np.int64(begin) + lowest(four)])
                four = without_lowest(four)

    def play(s: Any, move: int) -> None:
        seat = s.turn
        if swap and move == take_over:
            move = lowest(s.stones[0, 0])
            for direction in range(3):
                s.stones[0, direction] = 0
        bit = one << np.uint64(move)
        four, three = s.fours[seat] & bit != 0, s.threes[seat] & bit != 0
        following = next_seat(s)
        place(s, seat, move)
        if three:  # the seat plays no more, so these are done with
            s.threes[seat] = 0
            s.fours[seat] = 0
        if four:
            s.winner = seat
        elif three:
            s.out[seat] = 1
            left = 0
            for k in range(players):
                left += 1 - s.out[k]
            if left == 1:
                s.winner = following
        if s.winner == NOBODY and taken(s) == whole:
            s.winner = DRAW
        s.turn = following

    def setup(s: Any, values: Any, mover: int) -> int:
        start(s)
        s.turn = mover
        for cell in range(area):
            if values[cell] > 0:
                seat = values[cell] - 1
                bit = one << np.uint64(cell)
                # Stones come in the order of the cells: a row is noticed with its last stone.
                four, three = s.fours[seat] & bit != 0, s.threes[seat] & bit != 0
                place(s, seat, cell)
                if four:
                    if s.winner >= 0 and s.winner != seat:
                        return 1
                    s.winner = seat
                elif three:
                    s.out[seat] = 1
        left, last = 0, NOBODY
        for seat in range(players):
            if s.winner >= 0:
                s.out[seat] = 0
            if s.out[seat]:
                s.threes[seat] = 0
                s.fours[seat] = 0
            else:
                left += 1
                last = seat
        if left == 0:
            return 2
        if s.winner == NOBODY and left == 1:
            s.winner = last
        elif s.winner == NOBODY and taken(s) == whole:
            s.winner = DRAW
        if s.winner == NOBODY and s.out[mover]:
            return 3
        if swap and s.stones[1, 0] == 0 and count(s.stones[0, 0]) != mover:
            return 4
        return 0

    def ending(s: Any) -> int:
        if s.winner == DRAW:
            return 2
        left = 0
        for seat in range(players):
            left += 1 - s.out[seat]
        return 1 if left == 1 else 0

    def score(s: Any, out: Any) -> None:
        for seat in range(players):
            out[seat] = -1.0 if s.out[seat] or s.winner >= 0 else 0.0
        if s.winner >= 0:
            out[s.winner] = 1.0

    def cells(s: Any, out: Any) -> None:
        for cell in range(area):
            out[cell] = 0
            for seat in range(players):
                if s.stones[seat, 0] & one << np.uint64(cell) != 0:
                    out[cell] = seat + 1

    colours = (Piece("W", 0, "#f4f1e8"), Piece("B", 1, "#1c1c1c"), Piece("R", 2, "#c8342c"))
    return Game(
        state=state,
        board=board,
        pieces=(Piece("."), *colours[:players]),
        seats=players,
        seat_names=("white", "black", "red")[:players],
        num_moves=area + 1 if swap else area,
        longest=area + 1 if swap else area,
        branching=area,
        path=lambda move: ("swap",) if move == take_over else (move,),
        words={"swap": "swap: take over the first stone"} if swap else {},
        endings=("four in a row", "three in a row", "the board is full"),
        refusals=(
            "more than one side has four in a row",
            "every side has three in a row",
            "the side to move has three in a row and is out",
            "before black's first stone there is one white stone at black's turn, and none at white's",
        ),
        rules=(start, turn, legal, play, score, cells, sample, setup, ending),
    )
