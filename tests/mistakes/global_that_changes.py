"""`turn` reads a global variable that the maker of the game sets."""

from meijin import OVER
from mistakes._games import row

SAYS = "rule 'turn' cannot be compiled: it reads the global variable 'size', which 'faulty' changes"
REMEDY = "make it a local variable"


size = 0


def turn(s):
    return s.ply & 1 if s.ply < size else OVER  # wrong


def faulty():
    global size  # noqa: PLW0603
    size = 3
    return row(turn=turn)
