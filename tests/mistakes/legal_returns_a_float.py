"""`legal` divides with / and returns a float."""

from mistakes._games import row

SAYS = "rule 'legal' returns 1.5"
REMEDY = "return a whole number"


def legal(s, moves):  # wrong
    n = 0
    for i in range(3):
        if s.held[i] == 0:
            moves[n] = i
            n += 1
    return n / 2


def faulty():
    return row(legal=legal)
