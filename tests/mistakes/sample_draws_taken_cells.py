"""`sample` forgets to look whether the cell is free."""

from meijin.core.rng import below
from mistakes._games import row

SAYS = "rule 'sample' draws"
REMEDY = "draw listed moves only"


def sample(s, rng):  # wrong
    return below(rng, 3)


def faulty():
    return row(sample=sample)
