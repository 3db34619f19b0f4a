"""`legal` catches an error."""

from mistakes._games import row

SAYS = "rule 'legal' cannot be compiled: it has a `try` block"
REMEDY = "test for the case with `if`"


def legal(s, moves):
    n = 0
    for i in range(4):
        try:
            if s.held[i] == 0:
                moves[n] = i
                n += 1
        except IndexError:  # wrong
            break
    return n


def faulty():
    return row(legal=legal)
