"""`path` is None for a move that has no name either."""

from mistakes._games import row

SAYS = "`path` of move 2 is None"
REMEDY = "give `move_name`"


def faulty():
    return row(path=lambda move: (move,) if move < 2 else None)
