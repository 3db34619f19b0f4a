"""`play` forgets to switch the seat."""

import numpy as np

from meijin import OVER
from mistakes._games import row

SAYS = "seat 1 never moves"
REMEDY = "does `play` pass the turn on"
WARNING = True


STATE = np.dtype([("word", "u8"), ("held", "i1", (3,)), ("ply", "i1"), ("seat", "i1")])


def start(s):
    s.ply = 0
    s.word = 0
    s.seat = 0
    for i in range(3):
        s.held[i] = 0


def turn(s):
    return s.seat if s.ply < 3 else OVER


def play(s, move):
    s.held[move] = s.seat + 1
    s.ply += 1


def faulty():
    return row(state=STATE, start=start, turn=turn, play=play)
