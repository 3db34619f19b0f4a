"""`legal` forgets the last cell, so that nothing is left while the game goes on."""

from mistakes._games import row

SAYS = "rule 'legal' lists nothing although it is seat"
REMEDY = "let `turn` say OVER"


def legal(s, moves):  # wrong
    n = 0
    for i in range(1):
        if s.held[i] == 0:
            moves[n] = i
            n += 1
    return n


def faulty():
    return row(legal=legal)
