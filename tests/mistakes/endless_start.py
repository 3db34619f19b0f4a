"""`start` never returns."""

from mistakes._games import row

SAYS = "rule 'start' does not return: it was stopped after"
REMEDY = "look for a loop that never ends"
ENDLESS = True


def start(s):
    s.ply = 0
    s.word = 0
    i = 0
    while i < 3:
        s.held[i] = 0


def faulty():
    return row(start=start)
