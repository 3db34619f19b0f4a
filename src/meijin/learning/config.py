"""What the configs of all learners have in common: sections, bounds of numbers, and how a config is changed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from msgspec import Meta

from meijin.core.config import convert, load
from meijin.core.errors import BadParameter, suggest
from meijin.core.game import Game

Natural = Annotated[int, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]
Size = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Processes = Annotated[int, Meta(ge=0, le=1024)]

C = TypeVar("C", bound="RunConfig")


@dataclass(frozen=True)
class EvaluationConfig:
    """What is measured at every evaluation, and when that is good enough."""

    by: tuple[str, ...] = ()  # evaluators, such as "vs(mcts(simulations=200), games=40, goal=0.9)"
    times: Count = 1  # consecutive evaluations that must reach all goals; then the run ends
    workers: Processes = 0  # processes that play the games, on the CPU; 0: the run's own plays them one by one


@dataclass(frozen=True)
class LengthConfig:
    """How long the run is; the first limit reached ends it."""

    iterations: Count = 50  # at most
    seconds: Size = 0.0  # of wall-clock time at most, compilation and evaluation included; 0: no limit
    evaluate: Natural = 10  # iterations between evaluations; 0: never
    keep: Natural = 5  # iterations between checkpoints that are kept; 0: only the latest is kept


class RunConfig:
    """Base of the configs of runs, which are frozen dataclasses with at least these fields."""

    METHOD: ClassVar[str]  # how `meijin train` names the learner
    RENAMED: ClassVar[Mapping[str, str]] = {}  # old key -> its name now, for errors
    SEEDS: ClassVar[tuple[str, ...]] = ("seed",)  # the settings that are seeds

    game: str
    evaluation: EvaluationConfig
    length: LengthConfig

    def unfit(self, game: Game) -> str | None:
        """Why the config does not suit a game; None if it does."""
        return None

    def fixed(self) -> dict[str, Any]:
        """The settings that a resumed run cannot change, by name; those of a section as a dict."""
        return {"game": self.game}

    def to_dict(self) -> dict[str, Any]:
        return {"method": self.METHOD, **dataclasses.asdict(self)}  # type: ignore[call-overload]

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2) + "\n"

    @classmethod
    def from_dict(cls: type[C], values: Mapping[str, Any], where: str = "config") -> C:
        """The config of plain values; what is missing has its default."""
        values = dict(values)
        if (method := values.pop("method", cls.METHOD)) != cls.METHOD:
            raise BadParameter(f"{where}: this config is for '{method}', not for '{cls.METHOD}'")
        return convert(cls, values, where, cls.RENAMED)

    @classmethod
    def load(cls: type[C], path: str | Path) -> C:
        """The config of a JSON or TOML file."""
        return cls.from_dict(read(path), str(path))

    def changed(self: C, changes: Mapping[str, Any], where: str = "config") -> C:
        """With some values replaced: `{"search": {"simulations": 100}}`, or `{"search.simulations": 100}`."""
        merged = self.to_dict()
        for name, value in changes.items():
            inner, *path, key = [merged, *name.split(".")]
            for section in path:
                if not isinstance(inner.get(section), dict):
                    raise BadParameter(f"{where}: unknown section '{section}'{suggest(section, _sections(merged))}")
                inner = inner[section]
            if isinstance(value, Mapping) and isinstance(inner.get(key), dict):
                inner[key].update(value)
            else:
                inner[key] = value
        return type(self).from_dict(merged, where)

    def repetition(self: C, number: int) -> C:
        """The config of the run that repeats this one with other seeds; 0: this one."""
        values = self.to_dict()
        changes = {}
        for name in self.SEEDS:
            seed: Any = values
            for part in name.split("."):
                seed = seed[part]
            changes[name] = seed + number
        return self.changed(changes)

    def finish_in(self: C, seconds: float | None, iterations: int | None) -> C:
        """The config with another length: if only one limit is given, it alone decides."""
        changes: dict[str, Any] = {}
        if seconds is not None:
            if not seconds > 0:
                raise BadParameter(f"seconds={seconds}: must be above 0")
            changes = {"length.seconds": seconds, "length.iterations": UNLIMITED if iterations is None else iterations}
        elif iterations is not None:
            changes = {"length.seconds": 0.0, "length.iterations": iterations}
        return self.changed(changes) if changes else self


UNLIMITED = 10**6  # iterations, more than any clock allows


def read(path: str | Path) -> dict[str, Any]:
    """The values in a JSON or TOML file, which may be a part of a config."""
    return load(dict[str, Any], path)


def flat(values: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by their full names: `{"tuples": {"length": 3}}` -> ("tuples.length", 3)."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", value


def _sections(values: Mapping[str, Any]) -> list[str]:
    return [name for name, value in values.items() if isinstance(value, dict)]
