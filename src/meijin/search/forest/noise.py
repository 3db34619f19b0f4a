"""Random variates for kernels, by plain loops that run on both processors."""

from __future__ import annotations

import math
from typing import Any

from meijin.core.rng import uniform

TINY = 1e-12


def gumbel(rng: Any) -> Any:
    """A standard Gumbel variate."""
    return -math.log(-math.log(uniform(rng) + TINY) + TINY)


def normal(rng: Any) -> Any:
    """A standard normal variate (Box and Muller)."""
    return math.sqrt(-2.0 * math.log(uniform(rng) + TINY)) * math.cos(2.0 * math.pi * uniform(rng))


def gamma(rng: Any, shape: Any) -> Any:
    """A gamma variate with scale 1 (Marsaglia and Tsang); shapes below 1 through shape + 1."""
    boost = 1.0
    if shape < 1.0:
        boost = (uniform(rng) + TINY) ** (1.0 / shape)
        shape = shape + 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    for _ in range(64):  # accepts nearly always at once
        x = normal(rng)
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(uniform(rng) + TINY) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v
    return boost * d
