"""The memory that a run would take, counted in Python's integers, which cannot overflow: too much is refused early."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from meijin.core.errors import BadParameter
from meijin.learning.td.config import TdConfig

Need = tuple[int, str, str]  # bytes, what for, and what would lower them

COPIES = 3  # of the tables, with the two that writing a checkpoint takes


def nbytes(shape: int | Sequence[int], dtype: Any = np.float64) -> int:
    """What `np.zeros` would take."""
    return math.prod(map(int, (shape,) if isinstance(shape, int) else shape)) * int(np.dtype(dtype).itemsize)


def of_weights(weights: int, size: int, remedy: str) -> Need:
    return size, f"{many(weights)} weights", remedy


def of_threads(config: TdConfig, room: Any) -> list[Need]:
    """What all threads need. `room` is that of each, made with `nbytes`: numbers of bytes in place of its arrays."""
    replay, reach = room.memory + room.facts, sum(getattr(room, name, 0) for name in ("past", "slopes", "owed"))
    rest = sum(part if isinstance(part, int) else part.nbytes for part in room) - replay - reach
    return [
        (config.threads * replay, f"memory={many(config.memory)} remembered moves", "lower memory"),
        (config.threads * reach, f"horizon={many(config.horizon)} positions that an error reaches", "lower horizon"),
        (config.threads * rest, f"threads={many(config.threads)}", "use fewer threads, or a smaller network"),
    ]


def check(*needs: Need) -> None:
    """Raise if all this together does not fit into memory."""
    total, free = sum(size for size, *_ in needs), free_memory()
    if total > free:
        size, what, remedy = max(needs)
        whole = f" of {_gib(total)} in all" if _gib(total) != _gib(size) else ""
        raise BadParameter(f"{what} need {_gib(size)}{whole}, and {_gib(free)} are free; {remedy}")


def many(number: int) -> str:
    """A number, roughly where nobody would read all of its digits."""
    return f"{number:,}" if number < 10**15 else f"about 10^{math.log10(number):.0f}"


def _gib(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB" if size < 10**15 else f"{many(size >> 30)} GiB"


def free_memory() -> int:
    """Bytes that a program can have without swapping; where the system does not say, 16 GiB are assumed."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return 1024 * int(text.partition("MemAvailable:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 2**34
