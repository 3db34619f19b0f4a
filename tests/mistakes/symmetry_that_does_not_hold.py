"""The left cell counts more than the right one, but the image is not ruled out."""

from mistakes._games import row

SAYS = "rule 'score' breaks the symmetry"
REMEDY = "leave 'rotate180' out of `keeps`"


def score(s, scores):  # wrong
    scores[0] = 1.0 if s.held[0] == 1 else 0.0
    scores[1] = 0.0


def faulty():
    return row(score=score)
