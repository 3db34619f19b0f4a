"""`score` never returns."""

from mistakes._games import row

SAYS = "rule 'score' does not return: it was stopped after"
REMEDY = "look for a loop that never ends"
ENDLESS = True


def score(s, scores):
    while scores[0] != 0.0:
        scores[1] = 0.0


def faulty():
    return row(score=score)
