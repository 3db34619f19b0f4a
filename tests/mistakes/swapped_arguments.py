"""`play` takes its arguments in the wrong order."""

from mistakes._games import row

SAYS = "rule 'play' fails: it is not the record that is read here"
REMEDY = "the record is the first argument of every rule"


def play(move, s):
    s.held[move] = (s.ply & 1) + 1  # wrong
    s.ply += 1


def faulty():
    return row(play=play)
