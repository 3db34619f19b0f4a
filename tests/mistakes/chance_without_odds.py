"""`turn` says CHANCE in a game without `odds`."""

from meijin import CHANCE, OVER
from mistakes._games import row

SAYS = "rule 'turn' says chance moves, but the game has no `odds`"
REMEDY = "give `odds` and `num_outcomes`"


def turn(s):  # wrong
    return CHANCE if s.ply == 1 else s.ply & 1 if s.ply < 3 else OVER


def faulty():
    return row(turn=turn)
