"""`play` shifts a word of 64 bits by a signed number."""

from mistakes._games import row

SAYS = "rule 'play' fails: a word (uint64) meets a signed integer"
REMEDY = "np.uint64 on both sides"


def play(s, move):
    s.held[move] = (s.ply & 1) + 1
    s.word = s.word >> s.ply  # wrong
    s.ply += 1


def faulty():
    return row(play=play)
