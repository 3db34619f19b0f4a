"""`legal` draws with a function of Python's random module."""

from random import randrange

from mistakes._games import row

SAYS = "rule 'legal' cannot be compiled: it draws random numbers of its own"
REMEDY = "chance belongs in `odds`"


def legal(s, moves):
    moves[0] = randrange(3)  # wrong
    return 1


def faulty():
    return row(legal=legal)
