"""Functions of floating-point numbers that give the same bits on every target.

Sums, products, quotients and square roots are exact to the last bit everywhere; logarithms and the like are not, as
every library has its own. A search that must find the same with the same seed on any target uses these.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_LN2 = math.log(2.0)
_BITS = 7  # of the fraction, that choose an entry of the table
_FRACTION, _ONE = np.uint64((1 << 52) - 1), np.uint64(1023 << 52)  # of a float64's bits; those of 1.0

#: [entry, 2] -> 1 / c and log(c), for c in the middle of the numbers whose fraction begins with these bits
_TABLE = np.array([(1.0 / c, math.log(c)) for c in (1.0 + (i + 0.5) / 2**_BITS for i in range(2**_BITS))])
_TABLE[0] = 1.0, 0.0  # so that log(1) is 0


def log_whole(n: Any) -> Any:
    """The natural logarithm of a whole number from 1 to 2**53, to about 15 digits.

    n = 2**k * m; m is nearly the c of its entry in the table, and for the quotient the series of log(1 + r) is short.
    """
    bits = np.float64(n).view(np.uint64)
    k = np.float64(np.int64(bits >> np.uint64(52)) - 1023)
    entry = np.int64((bits & _FRACTION) >> np.uint64(52 - _BITS))
    m = np.uint64((bits & _FRACTION) | _ONE).view(np.float64)
    r = m * _TABLE[entry, 0] - 1.0
    square = r * r
    series = (1.0 / 3.0 - 0.25 * r) + square * ((0.2 - r * (1.0 / 6.0)) + square * (1.0 / 7.0 - 0.125 * r))
    return k * _LN2 + (_TABLE[entry, 1] + (r - square * (0.5 - r * series)))
