"""`odds` never lists the last outcome."""

from mistakes._games import dice

SAYS = "1 of 2 chance outcomes never occur ('b1')"
REMEDY = "does `odds` list them"
WARNING = True


def odds(s, moves, probs):
    moves[0] = 0
    probs[0] = 1.0
    return 1


def faulty():
    return dice(odds=odds, keeps=())
