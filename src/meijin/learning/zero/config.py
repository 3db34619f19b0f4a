"""Every hyper-parameter of a run, in sections, as its `config.json` holds them."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from meijin.core.errors import BadParameter, MeijinError, UnknownName, suggest
from meijin.search.forest import Settings


def _at_least(section: Any, **lowest: float) -> None:
    for name, low in lowest.items():
        if not getattr(section, name) >= low:
            raise BadParameter(f"config: {name}={getattr(section, name)!r}: at least {low}")


def _one_of(section: Any, **known: tuple[str, ...]) -> None:
    for name, words in known.items():
        if (value := getattr(section, name)) not in words:
            raise BadParameter(f"config: {name}={value!r}: choose one of {', '.join(map(repr, words))}")


@dataclass(frozen=True)
class SelfPlay:
    """How games are made."""

    games: int = 128  # at once, on all devices and threads together
    threads: int = 2  # on a CPU
    dtype: str = ""  # float32, bfloat16 or float16; empty: what the device is fastest at
    compiled: bool = False  # by torch.compile
    overlap: bool = True  # on a CPU: play on while the net learns; else the same seed makes the same run
    seed: int = 1

    def __post_init__(self) -> None:
        _at_least(self, games=1, threads=1)
        _one_of(self, dtype=("", "float32", "bfloat16", "float16"))


@dataclass(frozen=True)
class Replay:
    """What is kept of them."""

    window: int = 200_000  # positions at most
    start: int = 5_000  # positions before the first step of training
    growth: float = 0.75  # the window is this share of all positions so far, up to `window`; 1: everything
    policy_width: int = 64  # likeliest moves kept of a policy
    deduplicate: bool = True  # equal positions become one, averaged

    def __post_init__(self) -> None:
        _at_least(self, window=1, start=0, growth=0, policy_width=1)


@dataclass(frozen=True)
class Training:
    """How the net learns from it."""

    batch: int = 512
    reuse: float = 2.0  # how often a position is drawn, on average, for every one that is new
    optimizer: str = "adamw"  # or "sgd" with Nesterov's momentum
    rate: float = 1e-3
    schedule: str = "cosine"  # or "steps" or "constant"
    final: float = 0.05  # of the rate at the end (cosine), or its factor at every drop (steps)
    drops: tuple[float, ...] = (0.5, 0.8)  # shares of the run after which the rate drops
    warmup: int = 100  # steps
    weight_decay: float = 1e-4
    ema: float = 0.999  # of the weights that play; 0: the latest ones play
    clip: float = 5.0  # the gradient's norm; 0: as it is
    value_mix: float = 0.5  # share of the search's value in the value's target, the rest is the outcome
    policy_weight: float = 1.0
    value_weight: float = 1.0
    moves_left_weight: float = 0.05
    symmetries: bool = True
    mixed: bool = True  # bfloat16 where the device is fast at it
    compiled: bool = False
    threads: int = 1  # on a CPU; PyTorch's threads wait for each other, which costs more than it gains beside self-play
    seed: int = 1

    def __post_init__(self) -> None:
        _at_least(self, batch=1, reuse=0, rate=0, warmup=0, weight_decay=0, ema=0, clip=0, value_mix=0, threads=1)
        _one_of(self, optimizer=("adamw", "sgd"), schedule=("cosine", "steps", "constant"))


@dataclass(frozen=True)
class Gate:
    """Whether a new net must beat the one that plays before it replaces it."""

    games: int = 0  # a match; 0: no gate
    threshold: float = 0.55  # share of the points it must reach
    simulations: int = 32
    plies: int = 4  # random plies that open each pair of games

    def __post_init__(self) -> None:
        _at_least(self, games=0, threshold=0, simulations=1, plies=0)


@dataclass(frozen=True)
class Warm:
    """Games of another agent to begin with."""

    agent: str = ""  # its expression; empty: none
    games: int = 0
    records: str = ""  # or a file of games, or a database of them
    steps: int = 0  # of training on them; 0: as many as `training.reuse` asks for


@dataclass(frozen=True)
class Evaluation:
    """What else is measured at every evaluation, besides Elo against the net of the one before."""

    by: tuple[str, ...] = ()  # evaluators, such as "vs(mcts(simulations=200), games=40, goal=0.9)"
    simulations: int = 100  # of the net that is evaluated
    times: int = 1  # evaluations in a row in which all goals must be reached; then the run ends


@dataclass(frozen=True)
class Length:
    """How long the run is; the first limit met ends it."""

    iterations: int = 50
    seconds: float = 0.0  # 0: no limit
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
            raise UnknownName(f"config: unknown setting '{place}'{suggest(name, known)}; known: {', '.join(known)}")
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


def _checked(wanted: str, value: Any, place: str) -> Any:
    if wanted == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if wanted.startswith("tuple"):
        kinds = str if "str" in wanted else int | float
        if isinstance(value, list | tuple) and all(isinstance(v, kinds) for v in value):
            return tuple(value)
        wanted = "a list of " + ("texts" if "str" in wanted else "numbers")
    elif wanted.startswith("dict"):
        if isinstance(value, dict):
            return value
    elif type(value).__name__ == wanted:
        return value
    raise BadParameter(f"config: {place}={value!r}: must be {wanted}")
