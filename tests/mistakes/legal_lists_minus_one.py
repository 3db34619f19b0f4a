"""`legal` lists -1 for a pass."""

from mistakes._games import row

SAYS = "rule 'legal' lists -1, outside 0..2"
REMEDY = "moves are 0 to num_moves-1 = 2"


def legal(s, moves):  # wrong
    moves[0] = -1
    return 1


def faulty():
    return row(legal=legal)
