"""`legal` looks at one cell too many."""

from mistakes._games import row

SAYS = "rule 'legal' fails: index 3 is out of bounds"
REMEDY = "the record has word, held[3], ply"


def legal(s, moves):
    n = 0
    for i in range(4):
        if s.held[i] == 0:  # wrong
            moves[n] = i
            n += 1
    return n


def faulty():
    return row(legal=legal)
