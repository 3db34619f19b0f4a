"""`branching` is smaller than the number of moves at the start."""

from mistakes._games import row

SAYS = "rule 'legal' fails: index 2 is out of bounds"
REMEDY = "`moves` holds branching=2 entries"


def faulty():
    return row(branching=2)
