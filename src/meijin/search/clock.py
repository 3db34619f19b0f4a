"""Time control for searches: a thread that raises a flag which the running kernel reads."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from meijin.core.errors import MeijinError
from meijin.core.state import State


class Clock:
    """Within the block, `stop[0]` becomes 1 when the seconds are over; None: never."""

    def __init__(self, seconds: float | None, stop: Any):
        self._stop = stop
        stop[0] = 0
        self._timer = None if seconds is None else threading.Timer(seconds, self._ring)

    def _ring(self) -> None:
        self._stop[0] = 1

    def __enter__(self) -> Clock:
        if self._timer:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer.join()  # a ring already on its way must not stop the next search


def must_move(state: State) -> None:
    """Raise unless a seat is to move."""
    if state.turn < 0:
        raise MeijinError(f"there is nothing to search: {'chance moves' if state.is_chance else 'the game is over'}")
