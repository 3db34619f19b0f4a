"""Every hyper-parameter of a run, in sections, as its `config.json` holds them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from meijin.core.errors import BadParameter, MeijinError, UnknownName, suggest
from meijin.core.game import Game
from meijin.core.statistics import Sprt
from meijin.search.forest import Settings


def _at_least(section: Any, **lowest: float) -> None:
    for name, low in lowest.items():
        if not getattr(section, name) >= low:
            raise BadParameter(f"config: {name}={getattr(section, name)!r}: at least {low}")


def _shares(section: Any, *names: str) -> None:
    for name in names:
        if not 0 <= getattr(section, name) <= 1:
            raise BadParameter(f"config: {name}={getattr(section, name)!r}: a share is between 0 and 1")


def _one_of(section: Any, **known: tuple[str, ...]) -> None:
    for name, words in known.items():
        if (value := getattr(section, name)) not in words:
            raise BadParameter(f"config: {name}={value!r}: choose one of {', '.join(map(repr, words))}")


@dataclass(frozen=True)
class SelfPlay:
    """How games are made."""

    games: int = 128  # at once, on all devices and threads together
    threads: int = 2  # on a CPU; each plays its share of the games
    dtype: str = ""  # float32, bfloat16 or float16; empty: what the device is fastest at
    overlap: bool = True  # play on while the net learns, at most one iteration ahead; else take turns
    pool_share: float = 0.0  # of the games, in which one seat is a past net of the run; its positions are not learned
    pool_size: int = 8  # past nets to draw from: the latest that `length.keep` keeps
    curriculum: tuple[tuple[float, int], ...] = ()  # (share of the run, simulations from there on), ascending
    seed: int = 1  # of the games

    def __post_init__(self) -> None:
        _at_least(self, games=1, threads=1, pool_size=1)
        _shares(self, "pool_share")
        _one_of(self, dtype=("", "float32", "bfloat16", "float16"))
        shares = [share for share, _ in self.curriculum]
        if shares != sorted(shares) or any(simulations < 1 for _, simulations in self.curriculum):
            raise BadParameter(
                f"config: curriculum={self.curriculum}: pairs of a share of the run, ascending, and of simulations, "
                "such as [[0, 16], [0.3, 32]]"
            )


@dataclass(frozen=True)
class Replay:
    """What is kept of them."""

    window: int = 200_000  # positions at most
    start: int = 5_000  # positions before the first step of training
    growth: float = 0.75  # the window is this share of all positions so far, up to `window`; 1: everything
    policy_width: int = 64  # likeliest moves kept of a policy
    deduplicate: bool = True  # equal positions become one, averaged
    disk_mb: int = 0  # MiB that the positions may take on disk; the oldest go first, and a resume does without; 0: any

    def __post_init__(self) -> None:
        _at_least(self, window=1, start=0, growth=0, policy_width=1, disk_mb=0)


@dataclass(frozen=True)
class Training:
    """How the net learns from it."""

    batch: int = 512  # positions a step
    reuse: float = 2.0  # how often a position is drawn, on average, for every one that is new
    optimizer: str = "adamw"  # or "sgd" with Nesterov's momentum
    rate: float = 1e-3  # of learning, at its highest
    schedule: str = "cosine"  # or "steps" or "constant"
    final: float = 0.05  # of the rate at the end (cosine), or its factor at every drop (steps)
    drops: tuple[float, ...] = (0.5, 0.8)  # shares of the run after which the rate drops
    warmup: int = 100  # steps in which the rate rises from 0
    weight_decay: float = 1e-4  # of weights; norms and biases are left alone
    ema: float = 0.999  # decay of the mean of weights that plays, a step; 0: the latest weights play
    clip: float = 5.0  # the gradient's norm; 0: as it is
    value_mix: float = 0.5  # share of the search's value in the value's target, the rest is the outcome
    policy_weight: float = 1.0  # of the policy's cross-entropy in the loss
    value_weight: float = 1.0  # of the values' squared error
    moves_left_weight: float = 0.05  # of the plies left, where the net has `moves_left`
    ownership_weight: float = 0.15  # of the squared error a cell, where the net has `ownership`
    score_weight: float = 0.05  # of the score's squared error, where the net has `score`
    symmetries: bool = True  # every position in a random one of the game's symmetries
    mixed: bool = True  # bfloat16 where the device is fast at it
    compiled: bool = False  # by torch.compile
    threads: int = 1  # on a CPU; PyTorch's threads wait for each other, which costs more than it gains beside self-play
    seed: int = 1  # of the first weights, and of the order of positions

    def __post_init__(self) -> None:
        _at_least(self, batch=1, reuse=0, rate=0, final=0, warmup=0, weight_decay=0, clip=0, threads=1)
        _at_least(self, policy_weight=0, value_weight=0, moves_left_weight=0, ownership_weight=0, score_weight=0)
        _shares(self, "ema", "value_mix")
        _one_of(self, optimizer=("adamw", "sgd"), schedule=("cosine", "steps", "constant"))


@dataclass(frozen=True)
class Gate:
    """Whether a new net must beat the one that plays before it replaces it."""

    games: int = 0  # a match; 0: no gate
    threshold: float = 0.55  # share of the points it must reach
    sprt: tuple[float, ...] = ()  # or two Elo differences, and the match ends as soon as one of them is sure
    simulations: int = 32  # of both nets, a move
    plies: int = 4  # random plies that open each pair of games

    def __post_init__(self) -> None:
        _at_least(self, games=0, simulations=1, plies=0)
        _shares(self, "threshold")
        if self.sprt:
            if len(self.sprt) != 2:
                raise BadParameter(f"config: sprt={self.sprt}: two Elo differences, such as [0, 30], or none")
            Sprt(*self.sprt)  # complains of its own


@dataclass(frozen=True)
class Warm:
    """Games of another agent to begin with."""

    agent: str = ""  # its expression; empty: none
    games: int = 0  # of that agent, or the first ones of the file; 0: all of a file
    records: str = ""  # or a file of games, or a database of them
    steps: int = 0  # of training on them; 0: as many as `training.reuse` asks for

    def __post_init__(self) -> None:
        _at_least(self, games=0, steps=0)


@dataclass(frozen=True)
class Evaluation:
    """What else is measured at every evaluation, besides Elo against the net of the one before."""

    by: tuple[str, ...] = ()  # evaluators, such as "vs(mcts(simulations=200), games=40, goal=0.9)"
    simulations: int = 100  # of the net that is evaluated
    times: int = 1  # evaluations in a row in which all goals must be reached; then the run ends

    def __post_init__(self) -> None:
        _at_least(self, simulations=1, times=1)


@dataclass(frozen=True)
class Length:
    """How long the run is; the first limit met ends it."""

    iterations: int = 50  # at most
    seconds: float = 0.0  # at most, without evaluations; 0: no limit
    positions: int = 20_000  # new ones an iteration
    evaluate: int = 10  # iterations between evaluations; 0: never
    keep: int = 5  # every so many iterations a checkpoint stays; the others go

    def __post_init__(self) -> None:
        _at_least(self, iterations=1, seconds=0, positions=1, evaluate=0, keep=0)


@dataclass(frozen=True)
class ZeroConfig:
    """A run of AlphaZero."""

    game: str
    net: dict[str, Any] = field(default_factory=lambda: {"size": "nano"})  # a size by name, and changes to it
    search: Settings = field(default_factory=lambda: Settings(simulations=32, alpha=0.5, warm=12))
    selfplay: SelfPlay = field(default_factory=SelfPlay)
    replay: Replay = field(default_factory=Replay)
    training: Training = field(default_factory=Training)
    gate: Gate = field(default_factory=Gate)
    warm: Warm = field(default_factory=Warm)
    evaluation: Evaluation = field(default_factory=Evaluation)
    length: Length = field(default_factory=Length)

    def __post_init__(self) -> None:
        for _, simulations in self.selfplay.curriculum:
            if simulations > self.search.simulations:
                raise BadParameter(
                    f"config: selfplay.curriculum asks for {simulations} simulations, more than "
                    f"search.simulations={self.search.simulations}, which is what memory is taken for; raise that"
                )
        if self.selfplay.pool_share and not self.length.keep:
            raise BadParameter("config: selfplay.pool_share needs past nets; have some kept by length.keep")

    def unfit(self, game: Game) -> str | None:
        """Why the config does not suit a game; None where it does."""
        if self.gate.games and game.seats != 2:
            return f"gate.games={self.gate.games}: a gate is a match of two, {game} has {game.seats} seats; set it to 0"
        if self.selfplay.pool_share and game.seats < 2:
            return f"selfplay.pool_share={self.selfplay.pool_share}: {game} has no opponents; set it to 0"
        return None

    def search_at(self, progress: float) -> Settings:
        """How self-play searches at that share of the run."""
        reached = [simulations for share, simulations in self.selfplay.curriculum if share <= progress]
        now = reached[-1] if reached else self.search.simulations
        return dataclasses.replace(
            self.search, simulations=now, fast_simulations=min(now, self.search.fast_simulations)
        )

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ZeroConfig:
        filled: ZeroConfig = _filled(cls, values, "")
        return filled

    @classmethod
    def load(cls, path: Path) -> ZeroConfig:
        try:
            values = json.loads(path.read_text())
        except OSError as error:
            raise MeijinError(f"{path} cannot be read: {error.strerror or error}") from None
        except ValueError as error:
            raise MeijinError(f"{path} is not JSON: {error}") from None
        return cls.from_dict(values)

    def changed(self, changes: dict[str, Any]) -> ZeroConfig:
        """With some values replaced: `{"search": {"simulations": 100}}`, or `{"search.simulations": 100}`."""
        merged = dataclasses.asdict(self)
        for name, value in changes.items():
            where, key = merged, name
            while "." in key:
                section, key = key.split(".", 1)
                inner = where.get(section)
                if not isinstance(inner, dict):
                    raise UnknownName(f"config: unknown section '{section}'{suggest(section, merged)}")
                where = inner
            if isinstance(value, dict) and isinstance(where.get(key), dict):
                where[key].update(value)
            else:
                where[key] = value
        return ZeroConfig.from_dict(merged)


def _filled(kind: Any, values: Any, where: str) -> Any:
    """A dataclass from plain values; what is unknown or of another type is an error that names it."""
    if not isinstance(values, dict):
        raise BadParameter(f"config: {where or 'the whole'} must be an object, not {values!r}")
    known = {f.name: f for f in fields(kind)}
    given: dict[str, Any] = {}
    for name, value in values.items():
        place = f"{where}.{name}" if where else name
        if name not in known:
            raise UnknownName(f"config: unknown setting '{place}'{_meant(name, known, where)}")
        wanted = str(known[name].type)
        if wanted in _SECTIONS:
            given[name] = _filled(_SECTIONS[wanted], value, place)
        else:
            given[name] = _checked(wanted, value, place)
    missing = [
        name
        for name, f in known.items()
        if name not in given and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise BadParameter(f"config: {', '.join(missing)} is missing")
    return kind(**given)


def _meant(name: str, known: Iterable[str], where: str) -> str:
    """What somebody may have meant by a name that is not known there."""
    inside = [section for section, kind in _SECTIONS.items() if name in {f.name for f in fields(kind)}]
    if not where and inside:
        named = [f"'{f.name}.{name}'" for f in fields(ZeroConfig) if str(f.type) in inside]
        return f"; did you mean {' or '.join(named)}?"
    return suggest(name, known) or f"; known: {', '.join(known)}"


_SECTIONS: dict[str, Any] = {
    "Settings": Settings,
    "SelfPlay": SelfPlay,
    "Replay": Replay,
    "Training": Training,
    "Gate": Gate,
    "Warm": Warm,
    "Evaluation": Evaluation,
    "Length": Length,
}


_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "dict[str, Any]": "an object",
}


def _checked(wanted: str, value: Any, place: str) -> Any:
    if wanted == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if wanted.startswith("tuple[tuple"):
        if isinstance(value, list | tuple) and all(
            isinstance(pair, list | tuple)
            and len(pair) == 2
            and isinstance(pair[0], int | float)
            and type(pair[1]) is int
            for pair in value
        ):
            return tuple((float(first), second) for first, second in value)
        wanted = "a list of pairs, a share and a whole number"
    elif wanted.startswith("tuple"):
        kinds = str if "str" in wanted else int | float
        if isinstance(value, list | tuple) and all(isinstance(v, kinds) for v in value):
            return tuple(value)
        wanted = "a list of " + ("texts" if "str" in wanted else "numbers")
    elif wanted.startswith("dict"):
        if isinstance(value, dict):
            return value
    elif type(value).__name__ == wanted:
        return value
    raise BadParameter(f"config: {place}={value!r}: must be {_KINDS.get(wanted, wanted)}")
