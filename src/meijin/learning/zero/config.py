"""Every hyper-parameter of a run of AlphaZero, in sections, as its `config.json` holds them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.statistics import Sprt
from meijin.learning.config import Count, EvaluationConfig, LengthConfig, Natural, RunConfig, Share, Size
from meijin.learning.nets.config import NetConfig
from meijin.learning.nets.plan import Plan
from meijin.search.forest import Settings


@dataclass(frozen=True)
class SelfPlayConfig:
    """How games are played."""

    games: Count = 128  # at once, on all devices and threads together; on a Ray cluster, of each actor
    threads: Count = 2  # on a CPU; each plays its share of the games
    dtype: Literal["", "float32", "bfloat16", "float16", "int8"] = ""  # of the net; empty: the fastest but int8
    overlap: bool = True  # play on while the net learns, at most one iteration ahead; else take turns
    pool_share: Share = 0.0  # of the games in which one seat is a past net of the run; its positions are not learned
    pool_size: Count = 8  # past nets to draw from: the latest that `length.keep` keeps
    curriculum: tuple[tuple[float, Count], ...] = ()  # (share of the run, simulations from there on), ascending
    seed: int = 1  # of the games

    def __post_init__(self) -> None:
        shares = [share for share, _ in self.curriculum]
        if shares != sorted(shares):
            raise BadParameter(
                f"curriculum={self.curriculum}: give pairs of a share of the run and a number of simulations, with "
                "ascending shares, such as [[0, 16], [0.3, 32]]"
            )


@dataclass(frozen=True)
class ReplayConfig:
    """Which positions the net learns from."""

    window: Count = 200_000  # positions at most
    start: Natural = 5_000  # positions before the first training step
    growth: Size = 0.75  # the window is this share of all positions so far, up to `window`; 1: everything
    policy_width: Count = 64  # how many moves of a policy are kept, the most likely ones
    deduplicate: bool = True  # merge equal positions into one, averaged
    disk_mb: Natural = 0  # MiB of disk for positions; the oldest go first, and a resumed run lacks them; 0: no limit


@dataclass(frozen=True)
class TrainingConfig:
    """How the net learns from them."""

    batch: Count = 512  # positions per step
    reuse: Size = 2.0  # how often a position is drawn, on average, for every new one
    optimizer: Literal["adamw", "muon", "sgd"] = (
        "adamw"  # or "muon" for the matrices of the blocks, AdamW for the rest; or "sgd" with Nesterov momentum
    )
    rate: Size = 1e-3  # highest learning rate; Muon takes higher ones than AdamW
    schedule: Literal["cosine", "steps", "inverse", "constant"] = (
        "cosine"  # of the learning rate; or "steps", "inverse" or "constant"
    )
    final: Size = 0.05  # share of the rate left at the end (cosine), or its factor at every drop (steps)
    drops: tuple[float, ...] = (0.5, 0.8)  # shares of the run after which the rate drops (steps)
    decay: Size = 1e-6  # the rate is divided by 1 + decay * steps so far, as in Keras (inverse)
    warmup: Natural = 100  # steps in which the rate rises from 0
    weight_decay: Size = 1e-4  # of weights; norms and biases are not decayed
    ema: Share = 0.999  # decay per step of the averaged weights that play; 0: the latest weights play
    clip: Size = 5.0  # largest norm of the gradient; 0: no limit
    value_mix: Share = 0.5  # share of the search's value in the value target; the rest is the outcome
    policy_weight: Size = 1.0  # of the policy's cross-entropy in the loss
    value_weight: Size = 1.0  # of the values' squared error
    moves_left_weight: Size = 0.05  # of the plies left, if the net has `moves_left`
    ownership_weight: Size = 0.15  # of the squared error per cell, if the net has `ownership`
    score_weight: Size = 0.05  # of the score's squared error, if the net has `score`
    surprise: Share = 0.0  # 0 to 1: how much of a position's weight is how far the search went from the net's policy
    validation: Natural = 0  # positions set aside, to see how the net does on what it has not learned; 0: none
    symmetries: bool = True  # show every position in a random symmetry of the game
    mixed: bool = True  # bfloat16 where the device is fast at it
    compiled: bool = False  # use torch.compile, in runs of 400 s and more: it takes half a minute itself
    threads: Count = 1  # on a CPU; more than one costs more than it gains beside self-play
    initial: Literal["even", "xavier"] = (
        "even"  # first weights: blocks change nothing and answers are even; or "xavier": Glorot's uniform ones
    )
    seed: int = 1  # of the first weights and of the order of positions


@dataclass(frozen=True)
class GateConfig:
    """Whether a new net must beat the one that plays before it replaces it."""

    games: Natural = 0  # in the match; 0: no gate
    threshold: Share = 0.55  # share of the points it must reach
    sprt: tuple[float, ...] = ()  # or two Elo differences: the match ends as soon as a sequential test decides
    simulations: Count = 32  # of both nets, per move
    plies: Natural = 4  # random plies that open each pair of games

    def __post_init__(self) -> None:
        if self.sprt:
            if len(self.sprt) != 2:
                raise BadParameter(f"sprt={self.sprt}: give two Elo differences, such as [0, 30], or none")
            Sprt(*self.sprt)  # checks them


@dataclass(frozen=True)
class WarmConfig:
    """What is there before self-play: another net's weights, and games to learn from."""

    init: str = ""  # run or checkpoint of a net of the same shape, or "champion"; empty: random weights
    agent: str = ""  # its expression; empty: none
    games: Natural = 0  # of that agent, or the first ones of the file; 0: all of a file
    records: str = ""  # or a file of games, or a database
    steps: Natural = 0  # of training on them; 0: as many as `training.reuse` asks for


@dataclass(frozen=True)
class ZeroEvaluation(EvaluationConfig):
    """What else is measured at every evaluation, besides Elo against the net of the previous one."""

    simulations: Count = 100  # of the net that is evaluated


@dataclass(frozen=True)
class ZeroLength(LengthConfig):
    """How long the run is; the first limit reached ends it."""

    positions: Count = 20_000  # new ones per iteration


@dataclass(frozen=True)
class ZeroConfig(RunConfig):
    """A run of AlphaZero."""

    METHOD: ClassVar[str] = "zero"
    SEEDS: ClassVar[tuple[str, ...]] = ("selfplay.seed", "training.seed")

    game: str
    variants: tuple[str, ...] = ()  # other sizes, such as "go(size=7)", for the same net to learn; needs net.pooling
    net: dict[str, Any] = field(default_factory=lambda: {"size": "nano"})  # a size by name, and changes to it
    search: Settings = field(default_factory=lambda: Settings(simulations=32, alpha=0.5, warm=12))
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    gate: GateConfig = field(default_factory=GateConfig)
    warm: WarmConfig = field(default_factory=WarmConfig)
    evaluation: ZeroEvaluation = field(default_factory=ZeroEvaluation)
    length: ZeroLength = field(default_factory=ZeroLength)

    def __post_init__(self) -> None:
        for _, simulations in self.selfplay.curriculum:
            if simulations > self.search.simulations:
                raise BadParameter(
                    f"selfplay.curriculum asks for {simulations} simulations, more than "
                    f"search.simulations={self.search.simulations}, which memory is reserved for; raise that"
                )
        if self.selfplay.pool_share and not self.length.keep:
            raise BadParameter("selfplay.pool_share needs past nets; set length.keep to keep some")

    def unfit(self, game: Game) -> str | None:
        if self.gate.games and game.seats != 2:
            return f"gate.games={self.gate.games}: a gate is a match of two, {game} has {game.seats} seats; set it to 0"
        if self.selfplay.pool_share and game.seats < 2:
            return f"selfplay.pool_share={self.selfplay.pool_share}: {game} has no opponents; set it to 0"
        return self._unfit_variants(game) if self.variants else None

    def _unfit_variants(self, game: Game) -> str | None:
        others = [make(name) for name in self.variants]
        names = [str(each) for each in (game, *others)]
        if twice := next((name for name in names if names.count(name) > 1), None):
            return f"variants: {twice} is there twice"
        if len(names) > self.selfplay.games:
            return (
                f"selfplay.games={self.selfplay.games}: {len(names)} variants are to be played; set it to at least that"
            )
        plan = Plan(game, self.shape)
        return next((f"variants: {other}: {why}" for other in others if (why := plan.unfit(other))), None)

    @property
    def shape(self) -> NetConfig:
        """The net's shape, with all that its size means."""
        changes = dict(self.net)
        return NetConfig.sized(changes.pop("size", "nano"), **changes)

    def fixed(self) -> dict[str, Any]:
        return {**super().fixed(), "variants": self.variants}

    def search_at(self, progress: float) -> Settings:
        """How self-play searches at that share of the run."""
        reached = [simulations for share, simulations in self.selfplay.curriculum if share <= progress]
        now = reached[-1] if reached else self.search.simulations
        return dataclasses.replace(
            self.search, simulations=now, fast_simulations=min(now, self.search.fast_simulations)
        )
