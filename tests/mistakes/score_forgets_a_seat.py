"""`score` writes the winner's entry only."""

from mistakes._games import row

SAYS = "rule 'score' leaves seat 1 unwritten"
REMEDY = "write every entry, every time"


def score(s, scores):  # wrong
    scores[0] = 1.0 if s.held[1] == 1 else 0.0


def faulty():
    return row(score=score)
