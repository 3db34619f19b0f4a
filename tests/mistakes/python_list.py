"""`legal` collects the moves in a list."""

from mistakes._games import row

SAYS = "rule 'legal' cannot be compiled: it makes a Python list"
REMEDY = "keep the numbers in a field"


def legal(s, moves):
    found = []  # wrong
    for i in range(3):
        if s.held[i] == 0:
            found.append(i)
    for n in range(len(found)):
        moves[n] = found[n]
    return len(found)


def faulty():
    return row(legal=legal)
