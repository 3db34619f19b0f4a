"""`legal` has no return statement."""

from mistakes._games import row

SAYS = "rule 'legal' returns nothing"
REMEDY = "return a whole number on every path"


def legal(s, moves):  # wrong
    n = 0
    for i in range(3):
        if s.held[i] == 0:
            moves[n] = i
            n += 1


def faulty():
    return row(legal=legal)
