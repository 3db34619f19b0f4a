"""`path` returns a list of cells."""

from mistakes._games import row

SAYS = "`path` of move 0 is [0]"
REMEDY = "return a tuple of steps"


def faulty():
    return row(path=lambda move: [move])  # wrong
