"""`play` writes to a name of its own and not to the record."""

from mistakes._games import row

SAYS = "rule 'play' changes nothing when"
REMEDY = "let `play` record the move and pass the turn on"


def play(s, move):  # wrong
    held = (s.ply & 1) + 1
    ply = s.ply + 1
    held += ply


def faulty():
    return row(play=play)
