"""`play` forgets `s.ply += 1`, so the turn never changes."""

from mistakes._games import row

SAYS = "rule 'legal' lists nothing although it is seat 0's turn"
REMEDY = "does `play` count every move?"


def play(s, move):
    s.held[move] = (s.ply & 1) + 1


def faulty():
    return row(play=play)
