"""`play` never returns."""

from mistakes._games import row

SAYS = "rule 'play' does not return: it was stopped after"
REMEDY = "look for a loop that never ends"
ENDLESS = True


def play(s, move):
    i = 0
    while i != move + 10:
        i = (i + 1) % 3
    s.ply += 1


def faulty():
    return row(play=play)
