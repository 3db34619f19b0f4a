"""`legal` numbers the moves from 1."""

from mistakes._games import row

SAYS = "rule 'legal' lists 3, outside 0..2"
REMEDY = "moves are 0 to num_moves-1 = 2"


def legal(s, moves):  # wrong
    n = 0
    for i in range(3):
        if s.held[i] == 0:
            moves[n] = i + 1
            n += 1
    return n


def faulty():
    return row(legal=legal)
