"""Randomness as explicit state: one 64-bit word per stream, in an array that kernels advance.

The functions here are plain Python; kernels that call them are compiled for the CPU and the GPU like any rule.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

Stream = NDArray[np.uint64]  # [1] or [streams, 1]

_MASK = (1 << 64) - 1


def _mix(z: int) -> int:
    """SplitMix64's finaliser: neighbouring seeds give unrelated words."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def fresh_seed() -> int:
    """A random seed."""
    return secrets.randbits(63)


def stream(seed: int, index: int = 0) -> Stream:
    """The `index`-th independent stream of a seed, as a kernel takes it: an array of one word."""
    word = _mix((_mix(seed & _MASK) + (index + 1) * 0x9E3779B97F4A7C15) & _MASK)
    return np.array([word or 1], np.uint64)  # xorshift's one forbidden state is 0


def streams(seed: int, count: int) -> Stream:
    """`count` independent streams, shape [count, 1]; row i equals `stream(seed, i)`."""
    z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(_mix(seed & _MASK))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    z[z == 0] = 1
    return z.reshape(count, 1)


# ---- for kernels and rules ----


def word(rng: Any) -> Any:
    """The next 32 random bits (xorshift64*, high half), as a uint64."""
    x = rng[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    rng[0] = x
    return (x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(32)


def below(rng: Any, n: Any) -> Any:
    """A uniform integer in 0..n-1, for n up to 2**32."""
    return np.int64((word(rng) * np.uint64(n)) >> np.uint64(32))


def uniform(rng: Any) -> Any:
    """A uniform float in [0, 1)."""
    return np.float64(word(rng)) * (1.0 / 4294967296.0)


def choose(rng: Any, probs: Any, n: Any) -> Any:
    """An index in 0..n-1 drawn with the given probabilities, which sum to 1."""
    u = uniform(rng)
    for i in range(n - 1):
        u -= probs[i]
        if u < 0.0:
            return i
    return n - 1
