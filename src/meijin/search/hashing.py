"""Positions as 64-bit keys, for tables of what was searched before."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meijin.core.compile import Function
from meijin.core.errors import BadParameter
from meijin.core.game import Game


def words(states: Any) -> Any:
    """An array of records seen as 64-bit words, [state, word]; shares its memory."""
    return states.view(np.uint64).reshape(len(states), -1)


def record_key(row: Any) -> Any:
    """A hash of a record's words. Equal records have equal keys; unequal ones differ but for one chance in 2**64."""
    key = np.uint64(0x9E3779B97F4A7C15)
    for i in range(row.shape[0]):
        key = (key ^ row[i]) * np.uint64(0xFF51AFD7ED558CCD)
        key ^= key >> np.uint64(32)
    return key


def keyer(game: Game) -> Function:
    """`key(s, row)`: the game's own key if it keeps one, else the hash of the record's words `row`."""
    own = game.key
    if own is None:

        def hashed(s: Any, row: Any) -> Any:
            return record_key(row)

        return hashed

    def kept(s: Any, row: Any) -> Any:
        return np.uint64(own(s))

    return kept


def table_size(megabytes: float, slot_bytes: int) -> int:
    """How many slots a table of that size has: a power of two."""
    if not 0 < megabytes <= 1e6:
        raise BadParameter(f"table_mb={megabytes!r}: give the size of the table in megabytes")
    return 1 << max(10, int(math.log2(megabytes * 1e6 / slot_bytes)))
