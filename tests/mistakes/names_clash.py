"""Two moves have the same name."""

from mistakes._games import row

SAYS = "`move_name`: notation clash: moves 1 and 2 are both called 'middle'"
REMEDY = "give them different paths or names"


def faulty():
    return row(move_name=lambda move: "middle" if move else "left")  # wrong
