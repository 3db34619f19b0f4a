"""`legal` returns after the first move that it finds."""

from mistakes._games import row

SAYS = "there is never more than one legal move"
REMEDY = "see `legal`"
WARNING = True


def legal(s, moves):
    for i in range(3):
        if s.held[i] == 0:
            moves[0] = i
            return 1
    return 0


def faulty():
    return row(legal=legal, keeps=())
