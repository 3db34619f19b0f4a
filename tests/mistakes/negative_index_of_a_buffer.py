"""`legal` compares with the entry before the first."""

from mistakes._games import row

SAYS = "rule 'legal' fails: index -1 is negative"
REMEDY = "test the index before it is used"


def legal(s, moves):
    n = 0
    for i in range(3):
        if s.held[i] == 0 and moves[n - 1] != i:  # wrong
            moves[n] = i
            n += 1
    return n


def faulty():
    return row(legal=legal)
