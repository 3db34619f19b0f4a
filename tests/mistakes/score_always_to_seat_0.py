"""`score` gives every game to seat 0."""

from mistakes._games import row

SAYS = "seat 1 never wins"
REMEDY = "does `score` give the points to the right seat?"
WARNING = True


def score(s, scores):
    won = 1.0 if s.held[1] > 0 else 0.0
    scores[0] = won
    scores[1] = -won


def faulty():
    return row(score=score)
