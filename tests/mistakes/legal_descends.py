"""`legal` lists the moves from the last to the first."""

from mistakes._games import row

SAYS = "rule 'legal' lists 2 before 1"
REMEDY = "list in ascending order"


def legal(s, moves):  # wrong
    n = 0
    for i in range(2, -1, -1):
        if s.held[i] == 0:
            moves[n] = i
            n += 1
    return n


def faulty():
    return row(legal=legal)
