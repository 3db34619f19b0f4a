"""`odds` gives probabilities that sum to 3/4."""

from mistakes._games import dice

SAYS = "rule 'odds' gives probabilities that sum to 0.75"
REMEDY = "divide each by their sum"


def odds(s, moves, probs):  # wrong
    moves[0] = 0
    moves[1] = 1
    probs[0] = 0.25
    probs[1] = 0.5
    return 2


def faulty():
    return dice(odds=odds)
