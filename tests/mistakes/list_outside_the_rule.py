"""`turn` reads a list that the rules close over."""

from meijin import OVER
from mistakes._games import row

SAYS = "rule 'turn' cannot be compiled: 'order' is a Python list"
REMEDY = "make it a tuple of numbers or a numpy array"


def faulty():
    order = [0, 1, 0, OVER]

    def turn(s):
        return order[s.ply]  # wrong

    return row(turn=turn)
