"""`turn` returns nothing when the game is over."""

from mistakes._games import row

SAYS = "rule 'turn' returns nothing"
REMEDY = "return a whole number on every path"


def turn(s):  # noqa: RET503  # wrong
    if s.ply < 3:
        return s.ply & 1


def faulty():
    return row(turn=turn)
