"""`cells` writes to a constant table."""

import numpy as np

from mistakes._games import row

SAYS = "rule 'cells' fails: it writes to a constant table"
REMEDY = "keep everything that changes in a field"


TABLE = np.array([1, 2, 4])


def cells(s, out):
    for i in range(3):
        out[i] = s.held[i]
        TABLE[i] = 0  # wrong


def faulty():
    return row(cells=cells)
