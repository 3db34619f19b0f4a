"""`cells` misspells a field."""

from mistakes._games import row

SAYS = "rule 'cells' fails: the record has no field 'hold'; did you mean 'held'?"
REMEDY = "its fields are word, held, ply"


def cells(s, out):
    for i in range(3):
        out[i] = s.hold[i]  # wrong


def faulty():
    return row(cells=cells)
