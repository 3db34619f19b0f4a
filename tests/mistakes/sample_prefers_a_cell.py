"""`sample` takes the next free cell, which is not uniform."""

from meijin.core.rng import below
from mistakes._games import row

SAYS = "are expected"
REMEDY = "draw legal moves uniformly"
COMPILED = True  # it takes many draws to see


def sample(s, rng):  # wrong
    i = below(rng, 3)
    while s.held[i] != 0:
        i = (i + 1) % 3
    return i


def faulty():
    return row(sample=sample)
