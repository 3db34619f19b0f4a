"""`play` refuses a move that `legal` lists."""

from mistakes._games import row

SAYS = "rule 'play' fails: ValueError: the middle is taboo"
REMEDY = "rules may use numbers"


def play(s, move):
    if move == 1:
        raise ValueError("the middle is taboo")  # wrong
    s.held[move] = (s.ply & 1) + 1
    s.ply += 1


def faulty():
    return row(play=play)
