"""Every setting of a run of temporal-difference learning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.learning.config import Count, EvaluationConfig, LengthConfig, Natural, Positive, RunConfig, Share


@dataclass(frozen=True)
class TdLength(LengthConfig):
    """How long the run is; the first limit reached ends it."""

    iterations: Count = 50  # of `games` games each, at most
    keep: Natural = 0  # iterations between checkpoints that are kept; 0: only the latest is kept


@dataclass(frozen=True)
class TuplesConfig:
    """The n-tuple network: which cells each table sees, and how tables are shared."""

    cells: tuple[str, ...] = ()  # the tuples, as names of cells: "a1 b1 c1"; none: drawn at random
    kind: Literal["walk", "points"] = "walk"  # how they are drawn: as walks from cell to cell, or anywhere
    count: Natural = 0  # tuples drawn; 0: enough to see every cell several times
    length: Natural = 0  # cells of each; 0: as many as a table of 20,000 entries allows
    values: Natural = 0  # values of a cell that are told apart, higher ones counting as the last; 0: all
    symmetries: Natural = 0  # how many symmetries share weights: the identity and others at random; 0: all
    share: bool = False  # one network for both seats, which see each other's pieces exchanged
    stages: tuple[Count, ...] = ()  # a network of its own from each of these cell values on, such as 11 for 2048
    copy: bool = False  # weights of a stage that have learned nothing yet are those of the stage before
    initial: float | None = None  # score expected before training; a high one makes it try everything; null: even


@dataclass(frozen=True)
class FeaturesConfig:
    """Features of your own in place of tuples: a function of the position, with a linear or a small network on top."""

    by: str = ""  # name of the set of features, as its decorator gives it; empty: tuples
    hidden: Natural = 0  # units of a hidden layer; 0: none, the value is a weighted sum


@dataclass(frozen=True)
class TdConfig(RunConfig):
    """How an n-tuple network learns from games against itself."""

    METHOD: ClassVar[str] = "td"
    RENAMED: ClassVar[Mapping[str, str]] = {"iterations": "length.iterations", "lambda": "trace"}

    game: str
    learn: Literal["td", "sarsa", "q"] = "td"  # values of afterstates, or of moves in positions
    tuples: TuplesConfig = field(default_factory=TuplesConfig)
    features: FeaturesConfig = field(default_factory=FeaturesConfig)
    # steps
    alpha: Positive = 1.0  # step size, shared out among the weights that add up to a value
    alpha_end: Positive | None = None  # step size at the end, approached geometrically; null: as at the beginning
    alpha_hold: Share = 0.0  # share of the run before it begins to change
    coherence: Literal["none", "id", "exp"] = "id"  # temporal coherence: a step size for each weight
    beta: Positive = 2.7  # of coherence=exp
    trace: Share = 0.0  # lambda: how much of an error reaches the position before, and so on
    trace_kind: Literal["accumulating", "replacing", "delayed"] = (
        "accumulating"  # when a weight is active again: add to its trace, or restart it; delayed: learn once, later
    )
    horizon: Count = 10  # positions an error reaches at most, with tuples
    gamma: Share = 1.0  # discount for each move
    output: Literal["auto", "tanh", "linear"] = "auto"  # auto: tanh where scores have bounds
    final: bool = True  # final adaptation: every seat learns the final score, not only the last to move
    # games
    games: Count = 10_000  # in each iteration
    epsilon: Share = 0.1  # share of random moves
    epsilon_end: Share | None = None  # at the end, approached in a straight line; null: as at the beginning
    learn_random: bool = False  # whether learn=td learns across random moves
    random_plies: Natural = 0  # games begin with up to so many random plies
    first_moves: bool = False  # games begin with every possible first move in turn
    restarts: Share = 0.0  # share of games that begin where an earlier one passed
    restart_every: Count = 1000  # moves between the positions that are kept for that
    replay: Natural = 0  # remembered moves that are learned again after each move; 0: none
    memory: Count = 10_000  # moves that are remembered for that, within an iteration
    cap: Natural = 0  # moves after which a game is broken off; 0: none
    threads: Count = 1  # that play and learn with the same weights; runs repeat exactly with 1 only
    at_once: Count = 2048  # games that do so on a GPU
    seed: Natural = 0  # of tuples and games
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)  # see `length.evaluate`
    length: TdLength = field(default_factory=TdLength)  # of the run

    def unfit_for_gpu(self) -> str | None:
        """Why a GPU cannot learn so; None when it can."""
        if self.learn != "td":
            return f"learn={self.learn}: a GPU learns td only; use the CPU"
        if self.features.by:
            return f"features.by='{self.features.by}': a GPU learns tuples only; use the CPU"
        if self.replay:
            return f"replay={self.replay}: a GPU has no replay memory; set it to 0, or use the CPU"
        return None

    def unfit(self, game: Game) -> str | None:
        if self.output == "tanh" and not game.bounded:
            return f"output=tanh: the scores of {game} have no bounds; use linear"
        if self.tuples.share and game.seats != 2:
            return f"tuples.share=true: {game} has {game.seats} seats, not two"
        if self.features.by and self.learn != "td":
            return f"features.by='{self.features.by}': learn={self.learn} has tuples only; use td"
        if self.tuples.copy and not self.tuples.stages:
            return "tuples.copy=true: there is one stage only; set tuples.stages"
        if self.tuples.copy and self.coherence == "none":
            return "tuples.copy=true: without coherence no weight knows whether it has learned; use coherence=id"
        if self.features.by and (why := self._unfit_for_features()):
            return why
        if self.restarts == 1.0:
            return "restarts=1: no game would begin at the start; choose less"
        if self.features.hidden and not self.features.by:
            return f"features.hidden={self.features.hidden}: tuples have no hidden units; set features.by, or remove it"
        if self.features.hidden and self.trace_kind == "replacing":
            return (
                f"trace_kind=replacing: with features.hidden={self.features.hidden} every weight is active in every "
                "position, so that no trace would last; use accumulating"
            )
        if self.tuples.values == 1:
            return "tuples.values=1: all values of a cell would look alike; use 0 for all of them, or 2 and more"
        if self.tuples.stages and self.tuples.stages[-1] > (most := _largest(game)):
            return f"tuples.stages={list(self.tuples.stages)}: the cells of {game} have values up to {most}"
        from meijin.learning.td.feature_network import plan_features
        from meijin.learning.td.network import plan  # which needs this module

        try:
            if self.features.by:
                plan_features(game, self)
            else:
                plan(game, self)
        except MeijinError as error:
            return str(error)
        return None

    def _unfit_for_features(self) -> str | None:
        """A setting that they would ignore."""
        for each in fields(self.tuples):
            if (value := getattr(self.tuples, each.name)) != each.default:
                return (
                    f"tuples.{each.name}={_shown(value)}: features take the place of tuples; "
                    f"remove it, or features.by='{self.features.by}'"
                )
        if self.restarts:
            return f"restarts={self.restarts:g}: with features, games begin at the start only; remove it"
        if self.trace_kind == "delayed":
            return "trace_kind=delayed: with features, errors reach back to the beginning of a game; use accumulating"
        if self.horizon != TdConfig.horizon:
            return f"horizon={self.horizon}: with features, errors reach back to the beginning of a game; remove it"
        return None

    def __post_init__(self) -> None:
        if list(self.tuples.stages) != sorted(set(self.tuples.stages)):
            raise BadParameter(f"tuples.stages={list(self.tuples.stages)}: must ascend")

    def fixed(self) -> dict[str, Any]:
        values = self.to_dict()
        return {name: values[name] for name in ("game", "learn", "tuples", "features", "output", "seed")}

    def squashes(self, game: Game) -> bool:
        """Whether values go through tanh."""
        return game.bounded if self.output == "auto" else self.output == "tanh"

    def alpha_at(self, progress: float) -> float:
        way = max(0.0, progress - self.alpha_hold) / max(1e-9, 1.0 - self.alpha_hold)
        return self.alpha * math.pow((self.alpha_end or self.alpha) / self.alpha, way)

    def epsilon_at(self, progress: float) -> float:
        end = self.epsilon if self.epsilon_end is None else self.epsilon_end
        return self.epsilon + (end - self.epsilon) * progress

    @property
    def reach(self) -> int:
        """Positions that an error reaches: none beyond which less than a hundredth arrives."""
        if self.trace == 0.0:
            return 1
        return self.horizon if self.trace == 1.0 else min(self.horizon, 1 + int(math.log(0.01) / math.log(self.trace)))


def _largest(game: Game) -> int:
    """The largest value that a cell can have."""
    return len(game.pieces) - 1 if game.alphabets is None else max(map(max, game.alphabets))


def _shown(value: Any) -> str:
    return str(list(value) if isinstance(value, tuple) else value).replace("True", "true")
