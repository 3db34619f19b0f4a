"""`play` writes to the cell on the right of the last."""

from mistakes._games import row

SAYS = "rule 'play' fails: index 3 is out of bounds"
REMEDY = "declare them larger"


def play(s, move):
    s.held[s.ply + 1] = 1  # wrong
    s.ply += 1


def faulty():
    return row(play=play)
