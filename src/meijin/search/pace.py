"""The pace of a search: when its kernels return to report, to end in time, or because of `stop`."""

from __future__ import annotations

import math
import threading
import time
from types import TracebackType
from typing import Any

from meijin.core.agent import Agent


class Alarm:
    """Within the block, `flag[0]` becomes 1 once the seconds are over (None, or centuries: never); 0 after it."""

    def __init__(self, seconds: float | None, flag: Any):
        self._flag = flag
        never = seconds is None or seconds > threading.TIMEOUT_MAX
        self._timer = None if never else threading.Timer(seconds, self._ring)  # type: ignore[arg-type]

    def _ring(self) -> None:
        self._flag[0] = 1

    def __enter__(self) -> Alarm:
        if self._timer:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer.join()  # an alarm already on its way must not stop the next search
        self._flag[0] = 0


class Pace:
    """Within the block, the agent's `stop_flag` is raised when the time is over and, if `reports`, when one is due.

    with Pace(agent, limit.seconds, every) as pace: ...

    `over` says whether the search must end, `due` whether a report should be yielded; `resume` lowers the flag for the
    next slice.
    """

    def __init__(self, agent: Agent, seconds: float | None, every: float = math.inf, reports: bool = True):
        self.agent, self.every = agent, every
        self.began = time.perf_counter()
        self.deadline = math.inf if seconds is None else self.began + seconds
        self._next = self.began + every
        self._reports = reports
        self._alarm: Alarm | None = None

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return time.perf_counter() - self.began

    @property
    def over(self) -> bool:
        return self.agent.stopping or time.perf_counter() >= self.deadline

    def due(self) -> bool:
        """Whether it is time for a report; if so, the next one comes after `every` seconds."""
        now = time.perf_counter()
        if now < self._next:
            return False
        self._next = now + self.every
        return True

    def resume(self) -> None:
        """Lower the flag and set the alarm for whatever comes next."""
        self._cancel()
        until = min(self.deadline, self._next if self._reports else math.inf)
        self._alarm = Alarm(max(0.0, until - time.perf_counter()), self.agent.stop_flag).__enter__()
        if self.agent.stopping:  # it may have come just before the flag was lowered
            self.agent.stop_flag[0] = 1

    def _cancel(self) -> None:
        if self._alarm is not None:
            self._alarm.__exit__(None, None, None)
            self._alarm = None

    def __enter__(self) -> Pace:
        self.resume()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cancel()
