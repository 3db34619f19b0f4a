"""The clocks of a table: plain data that is saved with it, and what happens to it.

`since` is when the clock of the seat to move was started, None while no clock runs. The first move of a game takes no
time; while the server does not run, neither do clocks.
"""

from __future__ import annotations

import time
from typing import Any

Clock = dict[str, Any]  # {"left": [seconds of each seat], "increment": seconds, "since": when or None}


def new(seats: int, seconds: float, increment: float) -> Clock:
    return {"left": [seconds] * seats, "increment": increment, "since": None}


def wake(clock: Clock | None) -> None:
    """The server was started again."""
    if clock is not None and clock["since"] is not None:
        clock["since"] = time.time()


def spent(clock: Clock | None) -> float | None:
    """Seconds that the seat to move has used so far."""
    return None if clock is None or clock["since"] is None else max(0.0, time.time() - clock["since"])


def stop(clock: Clock | None, turn: int) -> None:
    """Nobody's clock runs any more; `turn` is whose did."""
    used = spent(clock)
    if clock is not None and used is not None:
        if turn >= 0:
            clock["left"][turn] = max(0.0, clock["left"][turn] - used)
        clock["since"] = None


def start(clock: Clock | None) -> None:
    """The clock of the seat to move runs."""
    if clock is not None and clock["since"] is None:
        clock["since"] = time.time()


def press(clock: Clock | None, turn: int) -> None:
    """A seat has moved: its clock stops and gains the increment."""
    if clock is not None:
        if clock["since"] is not None and turn >= 0:
            stop(clock, turn)
            clock["left"][turn] += clock["increment"]
        clock["since"] = None


def shown(clock: Clock | None, turn: int) -> dict[str, Any] | None:
    """The clocks as clients see them; `turn` is the seat to move."""
    if clock is None:
        return None
    left, used = list(clock["left"]), spent(clock)
    active = turn if used is not None and turn >= 0 else None
    if active is not None:
        left[active] = max(0.0, left[active] - (used or 0.0))
    return {"left": left, "increment": clock["increment"], "active": active, "at": time.time() * 1000}
