"""A piece belongs to a seat that does not exist."""

from meijin import Piece
from mistakes._games import row

SAYS = "`pieces` have the owners [0, 2]"
REMEDY = "seats are 0 to 1"


def faulty():
    return row(pieces=(Piece("."), Piece("X", owner=0), Piece("O", owner=2)))
