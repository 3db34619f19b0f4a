"""Every setting of a run, read from JSON; a key that is not known is an error."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from meijin.core.errors import BadParameter, suggest

#: Keys of a run's config.json that say what was trained and not how.
ABOUT = ("method", "game")

CHOICES = {
    "net": ("policy", "value"),
    "learn": ("exact", "mcts", "reinforce"),
    "optimizer": ("auto", "adam", "sgd"),
    "seat": ("all", "first"),
    "opponent": ("latest", "pool"),
}


@dataclass(frozen=True)
class ClassicConfig:
    """How a net is built and trained. The defaults are the report's where it names a number."""

    net: str = "policy"  # policy: a logit a move; value: a reward a move and seat
    learn: str = "reinforce"  # exact: a solver's values; mcts: those of a tree search; reinforce: from games
    # the net
    features: int = 20  # channels of the convolution
    kernel: int = 3  # width of the convolution, in cells
    relu: bool | None = None  # ReLU after the convolution; None: as in the report, where only the value net has one
    # how long, and what is kept
    iterations: int = 100  # rounds of data and training; each keeps a model, numbered from 0
    epochs: int = 500  # passes over the data in each iteration
    batch: int = 100  # positions a gradient step; the report's supervised runs took 2
    optimizer: str = "auto"  # auto: adam for the policy net, sgd with momentum for the value net
    learning_rate: float | None = None  # None: the report's, 1e-4 for adam and 1e-3 for sgd
    momentum: float = 0.9  # of sgd
    seed: int = 0
    init: str | None = None  # checkpoint of the same net and game to begin with; None: random weights
    # games, for learn=reinforce
    matches: int = 1000  # played in each iteration
    alpha: float = 0.99  # discount a move, for learn=exact too: reward = e * alpha ** (length - move)
    seat: str = "all"  # the learner takes all seats in turn, or (as in the report) always the first
    opponent: str = "latest"  # who is taken when the opponent is refreshed: the latest model, or any one kept
    refresh: int = 10  # iterations between refreshes of the opponent
    window: int = 1  # iterations whose games are trained on; above 1 keeps data between models
    baseline: bool = False  # subtract the mean reward of a batch in REINFORCE (the report does not)
    entropy: float = (
        0.0  # weight of the policy's entropy against REINFORCE: keeps it from settling on one game too soon
    )
    epsilon: float = 0.1  # share of random moves when the value net plays
    # positions, for learn=exact and learn=mcts
    positions: int = 5000  # at most; all there are where they are fewer, else those of random games
    simulations: int = 1000  # of the tree search, a position

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_type(field.name, getattr(self, field.name), str(field.type))
        for key, allowed in CHOICES.items():
            value = getattr(self, key)
            if value not in allowed:
                raise BadParameter(f"{key}={value!r}: choose from {', '.join(allowed)}{suggest(value, allowed)}")
        for key in ("features", "iterations", "epochs", "batch", "matches", "refresh", "window", "positions"):
            if getattr(self, key) < 1:
                raise BadParameter(f"{key}={getattr(self, key)}: give 1 or more")
        for ok, problem in (
            (self.kernel >= 1 and self.kernel % 2, f"kernel={self.kernel}: give an odd width, such as 3"),
            (0 < self.alpha <= 1, f"alpha={self.alpha}: the discount is above 0 and at most 1"),
            (0 <= self.epsilon <= 1, f"epsilon={self.epsilon}: a share is between 0 and 1"),
            (self.entropy >= 0, f"entropy={self.entropy}: its weight is zero or more"),
            (0 <= self.momentum < 1, f"momentum={self.momentum}: it is between 0 and 1"),
            (self.learning_rate is None or self.learning_rate > 0, f"learning_rate={self.learning_rate}: above zero"),
            (self.simulations >= 2, f"simulations={self.simulations}: give 2 or more"),
        ):
            if not ok:
                raise BadParameter(problem)

    @property
    def has_relu(self) -> bool:
        return self.net == "value" if self.relu is None else self.relu

    @property
    def optimizer_name(self) -> str:
        return {"policy": "adam", "value": "sgd"}[self.net] if self.optimizer == "auto" else self.optimizer

    @property
    def rate(self) -> float:
        return self.learning_rate or {"adam": 1e-4, "sgd": 1e-3}[self.optimizer_name]

    @property
    def shape(self) -> dict[str, Any]:
        """What fixes the net's weights, beside the game."""
        return {"net": self.net, "features": self.features, "kernel": self.kernel, "relu": self.has_relu}

    # ---- JSON ----

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, given: Any, source: str = "config") -> ClassicConfig:
        """The config a JSON object describes; keys left out have their defaults."""
        if not isinstance(given, dict):
            raise BadParameter(f"{source}: a config is a JSON object, not {type(given).__name__}")
        known = [field.name for field in fields(cls)]
        for key in given:
            if key not in known and key not in ABOUT:
                hint = suggest(key, known) or f"; known: {', '.join(known)}"
                raise BadParameter(f"{source}: unknown key '{key}'{hint}")
        if (method := given.get("method", "classic")) != "classic":
            raise BadParameter(f"{source}: this config is for '{method}', not for 'classic'")
        try:
            return cls(**{key: value for key, value in given.items() if key not in ABOUT})
        except BadParameter as error:
            raise BadParameter(f"{source}: {error}") from None

    @classmethod
    def read(cls, path: str | Path) -> ClassicConfig:
        """The config in a JSON file; a run's own config.json can be given as it is."""
        return cls.of(read_json(path), str(path))


def read_json(path: str | Path) -> Any:
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise BadParameter(f"cannot read '{path}': {error.strerror}; give the path of a JSON file") from error
    except ValueError as error:
        raise BadParameter(f"{path} is not JSON: {error}") from error


def _check_type(name: str, value: Any, kind: str) -> None:
    """Raise unless the value is of the annotated type; a whole number may stand for a float."""
    kinds = [part.strip() for part in kind.split("|")]
    actual = "None" if value is None else type(value).__name__
    whole = actual == "int" and "float" in kinds
    if (actual not in kinds and not whole) or (actual == "float" and not math.isfinite(value)):
        raise BadParameter(f"{name}={value!r}: give a value of type {kind}")
