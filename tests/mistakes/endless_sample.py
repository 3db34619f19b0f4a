"""`sample` waits for a cell that nobody can take."""

from meijin.core.rng import below
from mistakes._games import row

SAYS = "rule 'sample' does not return: it was stopped after"
REMEDY = "look for a loop that never ends"
ENDLESS = True


def sample(s, rng):
    while True:
        i = below(rng, 3)
        if s.held[i] == 3:
            return i


def faulty():
    return row(sample=sample)
