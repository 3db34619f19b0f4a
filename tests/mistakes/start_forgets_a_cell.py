"""`start` clears all cells but the last."""

from mistakes._games import row

SAYS = "rule 'start' leaves a field as it was: held[2]"
REMEDY = "set every field"


def start(s):  # wrong
    s.ply = 0
    s.word = 0
    for i in range(2):
        s.held[i] = 0


def faulty():
    return row(start=start)
