"""`odds` lists an outcome with probability 0."""

from mistakes._games import dice

SAYS = "rule 'odds' gives outcome 1 a probability that is not above 0"
REMEDY = "leave impossible outcomes out"


def odds(s, moves, probs):  # wrong
    moves[0] = 0
    moves[1] = 1
    probs[0] = 1.0
    probs[1] = 0.0
    return 2


def faulty():
    return dice(odds=odds)
