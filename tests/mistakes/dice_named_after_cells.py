"""The outcomes of a die are called 'a1' to 'f1', like the cells of the board."""

import numpy as np

from meijin import CHANCE, OVER, Game, Piece, boards

SAYS = "outcomes are called 'a1', 'b1', 'c1' after cells of the board that they do not change"
REMEDY = "give `outcome_name`"
WARNING = True


STATE = np.dtype([("points", "i2", (2,)), ("rolling", "i1"), ("seat", "i1"), ("ply", "i1")])


def start(s):
    s.points[0] = 0
    s.points[1] = 0
    s.rolling = 0
    s.seat = 0
    s.ply = 0


def turn(s):
    return OVER if s.ply == 20 else CHANCE if s.rolling else s.seat


def legal(s, moves):
    moves[0] = 0
    return 1


def odds(s, moves, probs):
    for i in range(6):
        moves[i] = i
        probs[i] = 1 / 6
    return 6


def play(s, move):
    s.ply += 1
    if s.rolling:
        s.points[s.seat] += move + 1
        s.seat = 1 - s.seat
    s.rolling = 1 - s.rolling


def score(s, scores):
    for seat in range(2):
        scores[seat] = s.points[seat] - s.points[1 - seat]


def cells(s, out):
    for i in range(6):
        out[i] = 1 if i == s.seat else 0


def faulty():
    return Game(
        name="roll",
        state=STATE,
        board=boards.square(1, 6),
        pieces=(Piece("."), Piece("X")),
        seats=2,
        num_moves=1,
        num_outcomes=6,
        longest=20,
        score_range=(-60, 60),
        keeps=(),
        path=lambda move: ("roll",),
        rules=(start, turn, legal, odds, play, score, cells),
    )
