"""Sets of up to 64 things as the bits of a uint64, for rules: plain Python that compiles for the CPU and the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

_ONE = np.uint64(1)
_EVERY_BYTE = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)

#: [n, byte] -> the number of the byte's n-th bit set
_IN_BYTE = np.zeros((8, 256), np.uint8)
for _byte in range(256):
    for _n, _bit in enumerate(b for b in range(8) if _byte >> b & 1):
        _IN_BYTE[_n, _byte] = _bit


def _by_byte(word: Any) -> Any:
    """How many bits are set in each byte, as the bytes of a word."""
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    return (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)


def count(word: Any) -> Any:
    """How many bits are set. Compilers know this idiom and make one instruction of it."""
    return np.int64((_by_byte(word) * _EVERY_BYTE) >> np.uint64(56))


def lowest(word: Any) -> Any:
    """The number of the lowest bit set; 64 if there is none."""
    return count(~word & (word - _ONE))


def without_lowest(word: Any) -> Any:
    return word & (word - _ONE)


def nth(word: Any, n: Any) -> Any:
    """The number of the n-th bit set, counted from 0 upwards; `word` has more than n bits.

    Without branches, after Vigna's "Broadword implementation of rank/select queries" (2008).
    """
    rank = np.uint64(n)
    sums = _by_byte(word) * _EVERY_BYTE  # byte i: how many bits are set in bytes 0..i
    passed = ((rank * _EVERY_BYTE) | _HIGH_BITS) - sums & _HIGH_BITS  # one bit for each byte before the right one
    place = np.uint64(count(passed) * 8)
    rank -= ((sums << np.uint64(8)) >> place) & np.uint64(255)
    return np.int64(place) + np.int64(_IN_BYTE[rank, (word >> place) & np.uint64(255)])
