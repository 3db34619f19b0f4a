"""`score` counts points beyond the declared range."""

from mistakes._games import row

SAYS = "rule 'score' gives seat 0 2, outside score_range=(-1.0, 1.0)"
REMEDY = "declare a wider `score_range`"


def score(s, scores):  # wrong
    scores[0] = s.ply
    scores[1] = -s.ply


def faulty():
    return row(score=score)
