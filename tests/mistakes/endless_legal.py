"""`legal` never returns."""

from mistakes._games import row

SAYS = "rule 'legal' does not return: it was stopped after"
REMEDY = "look for a loop that never ends"
ENDLESS = True


def legal(s, moves):
    n = 0
    i = 0
    while i < 3:
        if s.held[i] == 0:
            moves[n] = i
            n += 1
            i += 1
    return n


def faulty():
    return row(legal=legal)
