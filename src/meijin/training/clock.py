"""The wall clock of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

Now = Callable[[], float]


class RunClock:
    """Seconds of a run: those of its earlier sessions, and those since this one began."""

    def __init__(self, began: float | None = None, now: Now = time.perf_counter):
        """`began`: when this session did, in the time of `now`; None: now."""
        self.limit, self.spent, self._now = math.inf, 0.0, now
        self._began = now() if began is None else began

    def set_limit(self, seconds: float) -> None:
        """For all sessions together; 0: none."""
        self.limit = seconds or math.inf

    @property
    def elapsed(self) -> float:
        return self.spent + self._now() - self._began

    @property
    def left(self) -> float:
        return self.limit - self.elapsed

    @property
    def share(self) -> float:
        """Of the limit; 0 if there is none."""
        return min(1.0, self.elapsed / self.limit)
