"""`cells` shows a third kind of stone, but there are only two pieces."""

from meijin import Piece
from mistakes._games import row

SAYS = "rule 'cells' writes 2 to cell"
REMEDY = "values are 0 to 1, indices into `pieces`"


def faulty():
    return row(pieces=(Piece("."), Piece("X")))
