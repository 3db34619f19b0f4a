"""Two moves have the same path."""

from mistakes._games import row

SAYS = "`path` is (0,) for both moves 0 and 1"
REMEDY = "paths are unique"


def faulty():
    return row(path=lambda move: (move // 2,))
