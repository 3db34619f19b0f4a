"""`longest` is smaller than the number of moves in a game."""

from mistakes._games import row

SAYS = "rule 'turn' says the game goes on after longest=2 plies"
REMEDY = "declare a larger `longest`"


def faulty():
    return row(longest=2)
