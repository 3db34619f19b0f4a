"""`turn` returns a number or an array."""

from meijin import OVER
from mistakes._games import row

SAYS = "rule 'turn' cannot be compiled: it returns different types on different paths"
REMEDY = "give it one type on every path"
COMPILED = True


def turn(s):
    if s.ply > 3:
        return s.held  # wrong, or
    return s.ply & 1 if s.ply < 3 else OVER  # wrong: the compiler names either


def faulty():
    return row(turn=turn)
