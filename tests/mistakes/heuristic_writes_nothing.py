"""`heuristic` returns its estimate instead of writing it."""

from mistakes._games import row

SAYS = "rule 'heuristic' gives [nan, nan]"
REMEDY = "write a finite estimate for every seat"


def heuristic(s, scores):  # wrong
    return 0.5


def faulty():
    return row(heuristic=heuristic)
