"""A game has `odds` but does not say how many outcomes there are."""

from mistakes._games import dice

SAYS = "`odds` and `num_outcomes` belong together"
REMEDY = "num_outcomes"


def faulty():
    return dice(num_outcomes=0)
