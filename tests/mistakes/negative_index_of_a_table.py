"""`turn` looks a step back in a table of seats."""

import numpy as np

from meijin import OVER
from mistakes._games import row

SAYS = "rule 'turn' fails: index -1 is negative"
REMEDY = "test the index before it is used"


SEATS = np.array([1, 0, 1, 0])


def turn(s):
    return SEATS[s.ply - 1] if s.ply < 3 else OVER  # wrong


def faulty():
    return row(turn=turn)
