"""`play` mixes a word of 64 bits with signed numbers."""

from mistakes._games import row

SAYS = "interpreted -> compiled: word"
REMEDY = "np.uint64 on both sides of an operator"
COMPILED = True


def play(s, move):  # wrong
    s.held[move] = (s.ply & 1) + 1
    s.ply += 1
    s.word = (s.word - 1) % 7


def faulty():
    return row(play=play)
