"""`cells` skips the middle."""

from mistakes._games import row

SAYS = "rule 'cells' leaves cell 1 ('b1') unwritten"
REMEDY = "write every entry, every time"


def cells(s, out):  # wrong
    out[0] = s.held[0]
    out[2] = s.held[2]


def faulty():
    return row(cells=cells)
