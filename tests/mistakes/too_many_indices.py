"""`cells` treats a field of one dimension as a grid."""

from mistakes._games import row

SAYS = "rule 'cells' fails: too many indices"
REMEDY = "check the field's shape"


def cells(s, out):
    for i in range(3):
        out[i] = s.held[0, i]  # wrong


def faulty():
    return row(cells=cells)
