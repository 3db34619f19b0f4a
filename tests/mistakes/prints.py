"""`play` prints what it does."""

from mistakes._games import row

SAYS = "rule 'play' cannot be compiled: it prints"
REMEDY = "remove the line"


def play(s, move):
    print(move)  # wrong
    s.held[move] = (s.ply & 1) + 1
    s.ply += 1


def faulty():
    return row(play=play)
