"""`play` stores half a point in a field of integers."""

from mistakes._games import row

SAYS = "rule 'play' fails: 0.5 is not a whole number"
REMEDY = "give the field a float type"


def play(s, move):
    s.held[move] = (s.ply + 1) / 2  # wrong
    s.ply += 1


def faulty():
    return row(play=play)
