"""The name of a move has a blank in it."""

from mistakes._games import row

SAYS = "`move_name`: move 0 is called 'cell 0'"
REMEDY = "a name must not be empty or contain spaces"


def faulty():
    return row(move_name=lambda move: f"cell {move}")  # wrong
