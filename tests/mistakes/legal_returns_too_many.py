"""`legal` returns one more than it has written."""

from mistakes._games import row

SAYS = "rule 'legal' says 2 but writes fewer entries"
REMEDY = "return how many entries were written"


def legal(s, moves):  # wrong
    moves[0] = 0
    return 2


def faulty():
    return row(legal=legal)
