"""Winograd's minimal filtering F(m, 3): m outputs of a 3-tap filter with m + 2 multiplications instead of 3m.

With d the m + 2 inputs and g the filter, the outputs are `output @ ((weight @ g) * (input @ d))`. In two dimensions the
matrices are applied along columns and along rows. A convolution then is one matrix product over channels for each of
the points of a transformed tile.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TAPS = 3
SIZES = (3, 4)  # m, the outputs of a tile in one direction: larger ones lose too many digits in float32
POINTS = (0, 1, -1, 2, -2)  # where polynomials are evaluated, infinity aside; small numbers keep rounding errors small


class Matrices(NamedTuple):
    input: NDArray[np.float64]  # [m + 2, m + 2]
    weight: NDArray[np.float64]  # [m + 2, 3]
    output: NDArray[np.float64]  # [m, m + 2]


@cache
def matrices(m: int) -> Matrices:
    """By Toom and Cook: a filter is the transpose of a product of polynomials, which m + 2 of its values determine."""
    points = np.array(POINTS[: m + 1], float)
    size = m + 2
    found = Matrices(np.zeros((size, size)), np.zeros((size, TAPS)), np.zeros((m, size)))
    for i, point in enumerate(points):
        others = np.delete(points, i)
        found.input[i, :-1] = np.poly(others)[::-1]
        found.weight[i] = point ** np.arange(TAPS) / np.prod(point - others)
        found.output[:, i] = point ** np.arange(m)
    found.input[-1] = np.poly(points)[::-1]  # at infinity only the highest coefficient counts
    found.weight[-1, -1] = found.output[-1, -1] = 1.0
    return found


def best(length: int) -> int:
    """The m that covers that many places with the fewest multiplications."""
    return min(SIZES, key=lambda m: -(-length // m) * (m + 2))
