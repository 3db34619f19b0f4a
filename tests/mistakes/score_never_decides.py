"""`score` says 0 to 0 although the game is over."""

from mistakes._games import row

SAYS = "every game ends with the same scores (0, 0)"
REMEDY = "does `score` tell who won"
WARNING = True


def score(s, scores):
    scores[0] = 0.0
    scores[1] = 0.0


def faulty():
    return row(score=score)
