"""`turn` copies a field."""

from meijin import OVER
from mistakes._games import row

SAYS = "rule 'turn' cannot be compiled: '.copy' allocates memory"
REMEDY = "rules allocate nothing"


def turn(s):
    held = s.held.copy()  # wrong
    return s.ply & 1 if held[0] == 0 or s.ply < 3 else OVER


def faulty():
    return row(turn=turn)
