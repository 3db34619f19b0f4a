"""Sweeps: runs of one learner with several settings, each repeated with several seeds. This is the plan.

    method = "td"
    game = "tic_tac_toe"
    repeat = 5                 # runs of each combination, with seeds of their own
    iterations = 10
    evaluate = ["vs(random, games=100)"]

    [settings]                 # of all runs
    games = 2000

    [sweep]                    # every combination of these is a variant
    alpha = [0.5, 1.0]
    tuples.length = [3, 5]

A sweep becomes a list of `Trial`s, each a whole config and the place of its run. `meijin.training.trials` runs them one
after the other or in several processes; whoever has other machines can run them there.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meijin.arena.evaluators import evaluator
from meijin.core.catalogue import make
from meijin.core.config import convert
from meijin.core.errors import BadParameter
from meijin.learning.config import Count, RunConfig, flat, read
from meijin.training import configure

MOST = 10_000  # runs of one sweep


@dataclass(frozen=True)
class Trial:
    """One run of a sweep: nothing else is needed to do it."""

    name: str  # of its directory within that of the sweep: "alpha=0.5/1"
    variant: str  # the settings that it tries: "alpha=0.5"; empty if there is only one variant
    repetition: int  # from 1 on
    config: RunConfig  # every setting of the run


@dataclass(frozen=True)
class Sweep:
    """Settings to try and how often."""

    game: str
    method: str = "td"  # as `meijin train` names it
    repeat: Count = 1  # runs of each variant; the seeds of the n-th are n - 1 higher
    preset: str | None = None  # settings to begin with
    seconds: float | None = None  # of each run
    iterations: Count | None = None  # of each run
    evaluate: tuple[str, ...] = ()  # evaluators
    settings: dict[str, Any] = field(default_factory=dict)  # of all runs
    sweep: dict[str, Any] = field(default_factory=dict)  # setting -> the values to try

    def __post_init__(self) -> None:
        values = dict(flat(self.sweep))
        for name, tried in values.items():
            if not isinstance(tried, list) or not tried:
                raise BadParameter(f"sweep.{name}: give a list of the values to try, as in [0.5, 1.0]")
        count = self.repeat
        for tried in values.values():
            count *= len(tried)
        if count > MOST:
            raise BadParameter(f"{count:,} runs are more than {MOST:,}; try fewer values, or repeat them less often")

    def variants(self) -> Iterator[dict[str, Any]]:
        """Every combination of the values to try, by setting."""
        values = dict(flat(self.sweep))
        for combination in itertools.product(*values.values()):
            yield dict(zip(values, combination, strict=True))

    def trials(self) -> tuple[Trial, ...]:
        """All runs, the first repetitions of all variants first; raise if one of them could not start."""
        configs = []
        for values in self.variants():
            try:
                configs.append((label(values), self._config(values)))
            except BadParameter as error:
                raise BadParameter(f"{label(values)}: {error}" if values else str(error)) from None
        folders = [_folder(name) for name, _ in configs]
        if len(set(folders)) < len(folders):  # long values may look alike
            folders = [f"{k}-{folder}" for k, folder in enumerate(folders, 1)]
        return tuple(
            Trial(f"{folder}/{n}" if folder else str(n), name, n, config.repetition(n - 1))
            for n in range(1, self.repeat + 1)
            for (name, config), folder in zip(configs, folders, strict=True)
        )

    def _config(self, values: Mapping[str, Any]) -> RunConfig:
        game = make(self.game)
        made = configure(
            self.method,
            game,
            preset=self.preset,
            config=self.settings,
            changes=values,
            seconds=self.seconds,
            iterations=self.iterations,
            evaluate=self.evaluate,
        )
        if why := made.unfit(game):
            raise BadParameter(why)
        for name in made.evaluation.by:
            if why := (by := evaluator(name)).unfit(game):
                raise BadParameter(f"{by.name} does not fit {game}: {why}")
        return made

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


def read_sweep(path: str | Path) -> Sweep:
    """The sweep of a TOML or JSON file."""
    return convert(Sweep, read(path), str(path))


def label(values: Mapping[str, Any]) -> str:
    """A variant in words."""
    return ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in values.items()
    )


def _folder(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.=,+-]+", "", label.replace(", ", ","))[:80].strip(".")
