"""What a run reports while it goes: one frozen dataclass per kind of event. See `Run.go`.

A handler is any function of an event:

    def handler(event):
        match event:
            case IterationDone(iteration=k, metrics=row):
                print(k, row["loss_policy"])
            case Evaluated(name=name, value=value):
                print(name, value)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec


@dataclass(frozen=True)
class Event:
    """Base of all events."""

    def to_json(self, **first: str) -> str:
        """The event on one line: `{"event": "iteration_done", "iteration": 3, ...}`; nan is written as null.

        `first`: what else it says, before the rest.
        """
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()
        return msgspec.json.encode({**first, "event": name, **vars(self)}, enc_hook=_plain).decode()


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else float(value)  # numpy's numbers


Handler = Callable[[Event], None]


@dataclass(frozen=True)
class RunStarted(Event):
    """The first event: what is trained, and where it starts or continues."""

    method: str  # "zero", ...
    game: str
    folder: Path
    iteration: int  # iterations that earlier sessions have done
    iterations: int | None  # in all; None: a clock decides
    seconds: float | None  # of wall-clock time in all; None: no limit
    store: str | None = None  # the address of the object store whose local copy `folder` is


@dataclass(frozen=True)
class Progress(Event):
    """A slice of work is done. Many of these come between two others."""

    phase: str  # "self-play", "training", "warm start", "gate", or the name of an evaluator
    done: int
    total: int
    metrics: Mapping[str, float] = field(default_factory=dict)  # so far, by their names in metrics.csv


@dataclass(frozen=True)
class WarmStarted(Event):
    """The net has learned from other agents' games."""

    positions: int
    steps: int
    metrics: Mapping[str, float]  # means over the steps


@dataclass(frozen=True)
class Trained(Event):
    """The training steps of an iteration are done."""

    positions: int  # to learn from
    steps: int  # made now
    metrics: Mapping[str, float]  # means over the steps


@dataclass(frozen=True)
class Gated(Event):
    """The match that decides whether the new net may play."""

    share: float  # of the points
    games: int
    passed: bool


@dataclass(frozen=True)
class Evaluated(Event):
    """One evaluator's result."""

    name: str
    value: float
    interval: tuple[float, float]  # 95 %
    games: int
    goal: float | None
    reached: bool | None  # None: it has no goal


@dataclass(frozen=True)
class Warned(Event):
    """Something went wrong that the run survives."""

    text: str


@dataclass(frozen=True)
class IterationDone(Event):
    """An iteration is over and saved."""

    iteration: int  # from 1 on
    metrics: Mapping[str, float]  # its row of metrics.csv
    left: float | None  # estimated seconds to the end of the run


@dataclass(frozen=True)
class Stopped(Event):
    """The last event after `Run.stop`: the run can be resumed."""

    iteration: int
    folder: Path


@dataclass(frozen=True)
class Finished(Event):
    """The last event of a run that reached its length or its goals."""

    iteration: int
    folder: Path
    agent: str  # expression of the agent that plays what was learned
    reason: str


@dataclass(frozen=True)
class TrialStarted(Event):
    """A run of a sweep begins or is resumed."""

    name: str
    number: int  # from 1 on
    total: int  # runs of the sweep


@dataclass(frozen=True)
class TrialDone(Event):
    """A run of a sweep is finished."""

    name: str
    number: int  # of runs that are finished now
    total: int
    iteration: int  # its last
    reason: str
