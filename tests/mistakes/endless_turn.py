"""`turn` never returns."""

from mistakes._games import row

SAYS = "rule 'turn' does not return: it was stopped after"
REMEDY = "look for a loop that never ends"
ENDLESS = True


def turn(s):
    seat = 0
    while s.ply >= seat:
        seat = seat % 2
    return seat


def faulty():
    return row(turn=turn)
