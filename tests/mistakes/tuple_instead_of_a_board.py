"""A comma too many makes a tuple of the board."""

from meijin import boards
from mistakes._games import row

SAYS = "board must be a Board"
REMEDY = "a trailing comma makes a tuple"


def faulty():
    return row(board=(boards.square(1, 3),))
