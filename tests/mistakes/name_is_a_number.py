"""`move_name` returns a number."""

from mistakes._games import row

SAYS = "`move_name` of move 0 is 0"
REMEDY = "return a string without spaces"


def faulty():
    return row(move_name=lambda move: move)  # wrong
