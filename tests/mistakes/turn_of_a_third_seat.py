"""`turn` returns a seat that does not exist."""

from meijin import OVER
from mistakes._games import row

SAYS = "rule 'turn' returns 2"
REMEDY = "return 0 to 1, CHANCE (-1) or OVER (-2)"


def turn(s):  # wrong
    return s.ply % 3 if s.ply < 3 else OVER


def faulty():
    return row(turn=turn)
