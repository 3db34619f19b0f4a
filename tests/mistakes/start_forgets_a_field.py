"""`start` leaves a field as the last game left it."""

from mistakes._games import row

SAYS = "rule 'start' leaves a field as it was: word"
REMEDY = "set every field"


def start(s):  # wrong
    s.ply = 0
    for i in range(3):
        s.held[i] = 0


def faulty():
    return row(start=start)
