"""`cells` reads a dict of the module."""

from mistakes._games import row

SAYS = "rule 'cells' cannot be compiled: 'COLOURS' is a Python dict"
REMEDY = "make it a tuple of numbers or a numpy array"


COLOURS = {0: 0, 1: 1, 2: 2}


def cells(s, out):
    for i in range(3):
        out[i] = COLOURS[s.held[i]]  # wrong


def faulty():
    return row(cells=cells)
