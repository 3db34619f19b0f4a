"""How near a seat is to joining its sides in Hex, as an electric current between them (Shannon; Anshelevich).

The board is a net of resistors: an empty cell resists, an own stone hardly does, the other's stone does not conduct.
The current counts all ways across at once, the short ones most.
"""

from __future__ import annotations

from typing import Any

import numpy as np

STONE = 0.1  # resistance of an own stone where an empty cell's is 1

_ONE = np.uint64(1)


def current(size: int, band: Any, own: Any, other: Any, seat: int) -> float:
    """Between the seat's sides at one volt; `band` is room, [cell, 0..size + 1]."""
    area = size * size
    span = size  # how far on the neighbours of a cell are: their matrix is banded
    for cell in range(area):
        for step in range(span + 2):
            band[cell, step] = 0.0
    # Kirchhoff's laws: row `cell` holds the conductances to cells 0, 1, ... further on, and to the first side.
    total = 0.0
    for cell in range(area):
        at = np.uint64(cell)
        if other >> at & _ONE != 0:
            band[cell, 0] = 1.0
            continue
        mine = STONE if own >> at & _ONE != 0 else 1.0
        row, column = cell // size, cell % size
        line = row if seat == 0 else column
        if line == 0:
            band[cell, span + 1] = 1.0 / mine
            total += 1.0 / mine
            band[cell, 0] += 1.0 / mine
        if line == size - 1:
            band[cell, 0] += 1.0 / mine
        for k in range(3):  # right, below on the left, below
            step = 1 if k == 0 else size - 1 if k == 1 else size
            if (k == 0 and column == size - 1) or (k == 1 and column == 0) or (k > 0 and row == size - 1):
                continue
            to = np.uint64(cell + step)
            if other >> to & _ONE != 0:
                continue
            flow = 1.0 / (mine + (STONE if own >> to & _ONE != 0 else 1.0))
            band[cell, step] -= flow
            band[cell, 0] += flow
            band[cell + step, 0] += flow
    for cell in range(area):  # elimination; the diagonal dominates, so it needs no pivots
        if band[cell, 0] <= 0.0:  # a cell that is cut off
            continue
        source = band[cell, span + 1]
        total -= source * source / band[cell, 0]
        for step in range(1, min(span, area - 1 - cell) + 1):
            if band[cell, step] != 0.0:
                share = band[cell, step] / band[cell, 0]
                band[cell + step, span + 1] -= share * source
                for more in range(step, span + 1):
                    band[cell + step, more - step] -= share * band[cell, more]
    return max(total, 1e-6)
