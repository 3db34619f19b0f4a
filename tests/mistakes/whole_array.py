"""`turn` compares a whole field at once."""

from meijin import OVER
from mistakes._games import row

SAYS = "rule 'turn' fails: 'equal' of a whole array allocates memory"
REMEDY = "write a loop over the entries"


def turn(s):
    return s.ply & 1 if (s.held == 0).any() else OVER  # wrong


def faulty():
    return row(turn=turn)
