"""`heuristic` divides by the number of stones, which is 0 at the start."""

from mistakes._games import row

SAYS = "rule 'heuristic' fails: divi"
REMEDY = "test the divisor before dividing"


def heuristic(s, scores):
    scores[0] = 1.0 / s.ply  # wrong
    scores[1] = -scores[0]


def faulty():
    return row(heuristic=heuristic)
