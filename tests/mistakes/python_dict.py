"""`cells` translates with a dict."""

from mistakes._games import row

SAYS = "rule 'cells' cannot be compiled: it makes a Python dict"
REMEDY = "look numbers up by index"


def cells(s, out):
    values = {0: 0, 1: 1, 2: s.ply * 0 + 2}  # wrong
    for i in range(3):
        out[i] = values[s.held[i]]


def faulty():
    return row(cells=cells)
