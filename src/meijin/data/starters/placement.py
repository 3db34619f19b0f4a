"""My game: a small complete game to start your own from. Whoever makes three in a row loses.

Try it:   meijin check --load my_game.py
          meijin play my_game --load my_game.py
"""

from typing import Annotated

import numpy as np

from meijin import OVER, Game, Piece, Range, boards, game


@game("my_game", title="My game")
def my_game(size: Annotated[int, Range(3, 9)] = 4) -> Game:
    """Place stones in turn; whoever makes three in a row loses. Moves are cells, a1 at the bottom left.

    The row may be horizontal, vertical or diagonal. A full board without one is a draw.

    `size`: rows and columns of the board.
    """
    board = boards.square(size)  # cells 0, 1, ... row by row from the top left
    area = size * size

    # Tables that the rules read. All runs of three cells: [line, 3] -> cell
    steps = ((0, 1), (1, 0), (1, 1), (1, -1))
    inside = range(size)
    runs = [[(r + k * dr, c + k * dc) for k in range(3)] for r in inside for c in inside for dr, dc in steps]
    lines = np.array(
        [[r * size + c for r, c in run] for run in runs if all(r in inside and c in inside for r, c in run)]
    )

    # A position is one record of fixed size. The rules below read and write it in place. They are compiled, so they
    # use only numbers, loops, these fields and constant tables.
    state = np.dtype([("stones", "i1", (area,)), ("ply", "i2"), ("loser", "i1")])

    def start(s):  # set every field: the record may hold an old game
        for cell in range(area):
            s.stones[cell] = 0
        s.ply = 0
        s.loser = -1

    def turn(s):  # the seat to move, from 0, or OVER
        if s.loser >= 0 or s.ply == area:
            return OVER
        return s.ply % 2

    def legal(s, moves):  # write the legal moves in ascending order and return how many there are
        n = 0
        for cell in range(area):
            if s.stones[cell] == 0:
                moves[n] = cell
                n += 1
        return n

    def play(s, move):  # called with legal moves only
        seat = s.ply % 2
        s.stones[move] = seat + 1
        s.ply += 1
        for line in lines:
            if s.stones[line[0]] == seat + 1 and s.stones[line[1]] == seat + 1 and s.stones[line[2]] == seat + 1:
                s.loser = seat

    def score(s, scores):  # one score per seat: 1 for a win, -1 for a loss, 0 for a draw and during the game
        scores[0] = 0.0
        scores[1] = 0.0
        if s.loser >= 0:
            scores[s.loser] = -1.0
            scores[1 - s.loser] = 1.0

    def cells(s, out):  # what lies on each cell, as an index into `pieces`
        for cell in range(area):
            out[cell] = s.stones[cell]

    return Game(
        state=state,
        board=board,
        pieces=(Piece("."), Piece("X", owner=0, fill="#c8342c"), Piece("O", owner=1, fill="#2c5ea6")),
        seats=2,
        num_moves=area,  # move i puts a stone on cell i; other moves are described with `path`
        longest=area,  # no game lasts more plies
        rules=(start, turn, legal, play, score, cells),
    )
