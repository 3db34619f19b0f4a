"""`cells` divides with / and uses the result as an index."""

from mistakes._games import row

SAYS = "rule 'cells' fails: an index is not an integer"
REMEDY = "divide with //"


def cells(s, out):
    for i in range(6):
        out[i / 2] = s.held[i / 2]  # wrong


def faulty():
    return row(cells=cells)
