"""Every setting of a run of the classic nets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from meijin.core.errors import BadParameter
from meijin.learning.config import Count, EvaluationConfig, LengthConfig, Natural, Positive, RunConfig, Share, Size


@dataclass(frozen=True)
class ClassicLength(LengthConfig):
    """How long the run is; the first limit reached ends it."""

    iterations: Count = 100  # rounds of data and training, at most
    keep: Natural = 1  # iterations between checkpoints that are kept; 0: only the latest is kept


@dataclass(frozen=True)
class ClassicConfig(RunConfig):
    """How a net is built and trained. The defaults are the report's where it names a number."""

    METHOD: ClassVar[str] = "classic"
    RENAMED: ClassVar[Mapping[str, str]] = {"iterations": "length.iterations"}

    game: str
    net: Literal["policy", "value"] = "policy"  # policy: a logit per move; value: a reward per move and seat
    learn: Literal["exact", "mcts", "reinforce"] = "reinforce"  # from a solver, from a tree search, or from games
    # the net
    features: Count = 20  # channels of the convolution
    kernel: Count = 3  # width of the convolution in cells, an odd number
    relu: bool | None = None  # ReLU after the convolution; null: as in the report, where only the value net has one
    # training
    epochs: Count = 500  # passes over the data in each iteration
    batch: Count = 100  # positions per gradient step; the report's supervised runs took 2
    optimizer: Literal["auto", "adam", "sgd"] = "auto"  # auto: adam for the policy net, sgd for the value net
    learning_rate: Positive | None = None  # null: the report's, 1e-4 for adam and 1e-3 for sgd
    momentum: Annotated[float, Meta(ge=0, lt=1)] = 0.9  # of sgd
    seed: int = 0  # of weights, games and the order of positions
    init: str | None = None  # checkpoint of the same net and game to start from; null: random weights
    # games, for learn=reinforce
    matches: Count = 1000  # played in each iteration
    alpha: Annotated[float, Meta(gt=0, le=1)] = 0.99  # discount per move: reward = e * alpha ** (length - move)
    seat: Literal["all", "first"] = "all"  # the learner takes all seats in turn, or (as in the report) the first
    opponent: Literal["latest", "pool"] = "latest"  # who becomes the opponent: the latest model, or any earlier one
    refresh: Count = 10  # iterations between changes of the opponent
    window: Count = 1  # iterations whose games are trained on; above 1 keeps games from earlier iterations
    baseline: bool = False  # subtract the mean reward of a batch in REINFORCE (the report does not)
    entropy: Size = 0.0  # weight of the policy's entropy: keeps REINFORCE from settling on one game too early
    epsilon: Share = 0.1  # share of random moves when the value net plays
    # positions, for learn=exact and learn=mcts
    positions: Count = 5000  # at most; all there are if they are fewer, else those of random games
    simulations: Annotated[int, Meta(ge=2)] = 1000  # of the tree search, per position
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)  # see `length.evaluate`
    length: ClassicLength = field(default_factory=ClassicLength)  # of the run

    def __post_init__(self) -> None:
        if self.kernel % 2 == 0:
            raise BadParameter(f"kernel={self.kernel}: must be odd, such as 3")
        if self.opponent == "pool" and self.length.keep != 1:
            raise BadParameter(f"length.keep={self.length.keep}: opponent=pool needs every model; set it to 1")

    def fixed(self) -> dict[str, Any]:
        return {name: value for name, value in self.to_dict().items() if name not in ("evaluation", "length")}

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
        """What determines the net's weights, besides the game."""
        return {"net": self.net, "features": self.features, "kernel": self.kernel, "relu": self.has_relu}
