"""A helper looks at the left neighbour of the leftmost cell."""

from mistakes._games import row

SAYS = "rule 'cells' fails: index -1 is negative"
REMEDY = "test the index before it is used"


def left(held, i):
    return held[i - 1]  # wrong


def cells(s, out):
    for i in range(3):
        out[i] = s.held[i] if left(s.held, i) >= 0 else 0


def faulty():
    return row(cells=cells)
