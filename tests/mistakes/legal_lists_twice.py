"""`legal` lists a move twice."""

from mistakes._games import row

SAYS = "rule 'legal' lists 0 twice"
REMEDY = "each entry once"


def legal(s, moves):  # wrong
    n = 0
    for i in range(3):
        for _ in range(2 - i // 2):
            if s.held[i] == 0:
                moves[n] = i
                n += 1
    return n


def faulty():
    return row(legal=legal, num_moves=6, path=lambda move: (move % 3, "+" * (1 + move // 3)))
