"""`cells` makes an array."""

import numpy as np

from mistakes._games import row

SAYS = "rule 'cells' cannot be compiled: np.zeros allocates an array"
REMEDY = "rules allocate nothing"


def cells(s, out):
    scratch = np.zeros(3)  # wrong
    for i in range(3):
        out[i] = s.held[i] + scratch[i]


def faulty():
    return row(cells=cells)
