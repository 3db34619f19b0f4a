"""`play` looks at the left neighbour of the leftmost cell."""

from mistakes._games import row

SAYS = "rule 'play' fails: index -1 is negative"
REMEDY = "test the index before it is used"


def play(s, move):
    if s.held[move - 1] == 0:  # wrong
        s.word = 1
    s.held[move] = (s.ply & 1) + 1
    s.ply += 1


def faulty():
    return row(play=play)
