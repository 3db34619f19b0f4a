"""`play` stores a large number in a field of 8 bits."""

import numpy as np

from meijin import Piece
from mistakes._games import row

SAYS = "rule 'play' fails: 200 out of bounds for int8"
REMEDY = "give the field a wider type"


def play(s, move):
    points = np.int64(s.ply) * 100
    s.held[move] = points  # wrong
    s.ply += 1


def faulty():
    return row(play=play, pieces=tuple(Piece(str(n)) for n in range(101)))
