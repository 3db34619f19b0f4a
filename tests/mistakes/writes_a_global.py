"""`play` counts in a global variable."""

from mistakes._games import row

SAYS = "rule 'play' cannot be compiled: it writes a global variable"
REMEDY = "keep everything that changes in a field"


count = 0


def play(s, move):
    global count  # noqa: PLW0603
    count = count + 1  # wrong
    s.held[move] = (s.ply & 1) + 1
    s.ply += 1


def faulty():
    return row(play=play)
