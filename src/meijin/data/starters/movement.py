"""My game: pieces that move and capture, some of them in several steps.

Try it:   meijin check --load my_game.py
          meijin play my_game --load my_game.py
"""

from typing import Annotated

import numpy as np

from meijin import OVER, Game, Piece, Range, boards, game

AHEAD, NO_WAY = 0, 1  # how a game ends, see `endings`


@game("my_game", title="My game")
def my_game(size: Annotated[int, Range(4, 8)] = 5) -> Game:
    """Bring a stone to the other side of the board. Moves are written from-to, such as a1a2.

    A stone steps ahead, straight or diagonally, to an empty cell, or hops over a stone next to it to the empty cell
    behind. Stones of the other seat that are hopped over are taken. A stone that has hopped may hop on: its seat moves
    again, or says "stop". A seat that cannot move loses.

    `size`: rows and columns of the board.
    """
    area = size * size

    # All moves from one cell to another, by number. Seat 0 starts at the bottom and moves up, seat 1 moves down.
    table = []  # from, to, the cell hopped over or -1, the seat that moves this way
    for cell in range(area):
        row, column = divmod(cell, size)
        for seat, ahead in ((0, -1), (1, 1)):
            for aside in (-1, 0, 1):
                for far in (1, 2):
                    r, c = row + far * ahead, column + far * aside
                    if 0 <= r < size and 0 <= c < size:
                        middle = (row + ahead) * size + column + aside
                        table.append((cell, r * size + c, middle if far == 2 else -1, seat))
    ways = np.array(table)  # [move, 4]
    stop = len(table)  # one more move: end the turn instead of hopping on

    state = np.dtype(
        [
            ("stones", "i1", (area,)),  # 0 empty, 1 and 2 for the stones of seats 0 and 1
            ("seat", "i1"),  # to move
            ("hopping", "i2"),  # the cell of the stone that may hop on, or -1
            ("winner", "i1"),  # or -1
        ]
    )

    def start(s):
        for cell in range(area):
            s.stones[cell] = 2 if cell < size else 1 if cell >= area - size else 0
        s.seat = 0
        s.hopping = -1
        s.winner = -1

    def turn(s):
        return OVER if s.winner >= 0 else s.seat

    # Rules may call helpers like this one.
    def can(s, move):  # whether the stones allow this move to the seat whose turn it is
        way = ways[move]
        if way[3] != s.seat or s.stones[way[0]] != s.seat + 1 or s.stones[way[1]] != 0:
            return False
        if s.hopping >= 0 and (way[0] != s.hopping or way[2] < 0):
            return False
        return way[2] < 0 or s.stones[way[2]] != 0

    def legal(s, moves):
        n = 0
        for move in range(stop):
            if can(s, move):
                moves[n] = move
                n += 1
        if s.hopping >= 0:
            moves[n] = stop
            n += 1
        return n

    def can_move(s):
        for move in range(stop):
            if can(s, move):
                return True
        return False

    def play(s, move):
        if move != stop:
            origin, target, middle = ways[move, 0], ways[move, 1], ways[move, 2]
            s.stones[origin] = 0
            s.stones[target] = s.seat + 1
            if middle >= 0 and s.stones[middle] == 2 - s.seat:
                s.stones[middle] = 0  # it is taken
            if target // size == (size - 1) * s.seat:  # the last row
                s.winner = s.seat
                return
            if middle >= 0:
                s.hopping = target
                if can_move(s):
                    return  # the same seat is to move again
        s.hopping = -1
        s.seat = 1 - s.seat
        if not can_move(s):
            s.winner = 1 - s.seat

    def score(s, scores):
        scores[0] = 0.0
        scores[1] = 0.0
        if s.winner >= 0:
            scores[s.winner] = 1.0
            scores[1 - s.winner] = -1.0

    def cells(s, out):
        for cell in range(area):
            out[cell] = s.stones[cell]

    def tally(s, counts):  # [tally, seat]: numbers worth showing during the game, see `tallies`
        counts[0, 0] = 0.0
        counts[0, 1] = 0.0
        for cell in range(area):
            if s.stones[cell] > 0:
                counts[0, s.stones[cell] - 1] += 1

    def ending(s):  # when the game is over: the place in `endings`
        for cell in range(size):
            if s.stones[cell] == 1 or s.stones[area - 1 - cell] == 2:
                return AHEAD
        return NO_WAY

    return Game(
        state=state,
        board=boards.square(size, theme="chess"),
        pieces=(Piece("."), Piece("X", owner=0, fill="#c8342c"), Piece("O", owner=1, fill="#2c5ea6")),
        seats=2,
        num_moves=stop + 1,
        path=lambda move: ("stop",) if move == stop else table[move][:2],  # what a person clicks; names follow
        longest=4 * size * size,  # every stone goes ahead with each move, and a hop may be followed by "stop"
        keeps=("mirror",),  # the symmetries of the board that the rules keep
        tallies=("stones",),
        endings=("the other side is reached", "no move is left"),
        rules=(start, turn, legal, play, score, cells, tally, ending),
    )
