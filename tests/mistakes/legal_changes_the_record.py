"""`legal` keeps its count in the record."""

from mistakes._games import row

SAYS = "rule 'legal' changes the record: word 0 -> 3"
REMEDY = "only `start` and `play` write to the record"


def legal(s, moves):  # wrong
    n = 0
    for i in range(3):
        if s.held[i] == 0:
            moves[n] = i
            n += 1
    s.word = n
    return n


def faulty():
    return row(legal=legal)
