"""`turn` compares texts."""

from meijin import OVER
from mistakes._games import row

SAYS = "rule 'turn' cannot be compiled: it makes a string"
REMEDY = "rules know numbers only"


def turn(s):
    return OVER if f"{s.ply}" == "3" else s.ply & 1  # wrong


def faulty():
    return row(turn=turn)
