"""`play` multiplies a field of 8 bits beyond 127."""

import numpy as np

from mistakes._games import row

SAYS = "rule 'play' fails: a number grows beyond its type"
REMEDY = "give the field a wider type"


def play(s, move):
    s.held[move] = (s.ply & 1) + 1
    s.ply += 1
    s.word = np.uint64(s.ply * 100)  # wrong


def faulty():
    return row(play=play)
