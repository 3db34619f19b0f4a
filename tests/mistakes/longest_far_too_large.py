"""`longest` is a wild guess."""

from mistakes._games import row

SAYS = "longest=1,000,000, but no random game lasts more than 3 plies"
REMEDY = "longest"
WARNING = True


def faulty():
    return row(longest=1_000_000)
