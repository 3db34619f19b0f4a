"""A helper of `turn` calls itself."""

from meijin import OVER
from mistakes._games import row

SAYS = "rule 'turn' cannot be compiled: a function calls itself"
REMEDY = "write it as a loop"


def down(n):  # wrong
    return 0 if n == 0 else down(n - 1)


def turn(s):
    return s.ply & 1 if s.ply < 3 else OVER + down(s.ply)


def faulty():
    return row(turn=turn)
