"""`turn` never says OVER, and there is always a move."""

from mistakes._games import row

SAYS = "rule 'turn' says the game goes on after longest=3 plies"
REMEDY = "end the game there, or declare a larger `longest`"


def turn(s):  # wrong
    return s.ply & 1


def legal(s, moves):
    for i in range(3):
        moves[i] = i
    return 3


def faulty():
    return row(turn=turn, legal=legal)
