"""`turn` never says OVER."""

from mistakes._games import row

SAYS = "rule 'legal' lists nothing although it is seat 1's turn"
REMEDY = "let `turn` say OVER"


def turn(s):
    return s.ply & 1


def faulty():
    return row(turn=turn)
