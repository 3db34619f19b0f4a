"""`legal` lacks the buffer."""

from mistakes._games import row

SAYS = "rule 'legal'"
REMEDY = "the contract is legal(s, moves)"


def legal(s):
    return 0


def faulty():
    return row(legal=legal)
