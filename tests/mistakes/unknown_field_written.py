"""`play` writes to a field that does not exist."""

from mistakes._games import row

SAYS = "rule 'play' fails: the record has no field 'turns'"
REMEDY = "its fields are word, held, ply"


def play(s, move):
    s.held[move] = (s.ply & 1) + 1
    s.turns = s.ply + 1  # wrong


def faulty():
    return row(play=play)
