"""A network of features that a person thought up: its weights, values of moves, files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.compile import Function
from meijin.core.config import convert
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.learning import checkpoint
from meijin.learning.checkpoint import Checkpoint
from meijin.learning.td import feature_kernels
from meijin.learning.td.config import FeaturesConfig, TdConfig
from meijin.learning.td.feature_kernels import FeatureRoom, Kernels, make_feature_room, weights_of
from meijin.learning.td.features import Features, features_of
from meijin.learning.td.sizes import COPIES, check, nbytes, of_threads, of_weights

KIND = "td"


@cache
def _kernels(fill: Function) -> Kernels:
    return feature_kernels.make_kernels(fill)


@dataclass
class FeatureNetwork:
    """Weights of features and how to read them. `table` is float64 [weight, 3]; see `feature_kernels`."""

    game: Game
    squashes: bool
    gamma: float
    config: FeaturesConfig
    features: Features
    table: NDArray[np.float64]

    learn = "td"

    @classmethod
    def fresh(cls, game: Game, config: TdConfig) -> FeatureNetwork:
        """The network before training."""
        features, hidden = plan_features(game, config), config.features.hidden
        table = np.zeros((game.seats * weights_of(len(features.names), hidden), 3))
        found = cls(game, config.squashes(game), config.gamma, config.features, features, table)
        found.begin(config)
        return found

    def begin(self, config: TdConfig) -> None:
        """Write the weights before training into a table of zeros."""
        if config.features.hidden:  # hidden units that are all alike would stay so
            rng = np.random.default_rng((config.seed, 16))
            self.table[:, 0] = rng.normal(0, 1 / np.sqrt(len(self.features.names) + 1), len(self.table))

    @property
    def weights(self) -> NDArray[np.float64]:
        """float64 [weight]; a view."""
        return self.table[:, 0]

    @property
    def scale(self) -> float:
        """What the step size is divided by; the kernels do it themselves."""
        return 1.0

    def room(self, reach: int = 1, seed: int = 0, index: int = 0, memory: int = 0) -> FeatureRoom:
        """One thread's memory, whatever the `reach`: traces carry an error back to the beginning of the game."""
        inputs = len(self.features.names)
        return make_feature_room(self.game, inputs, self.config.hidden, memory, stream(seed, index))

    def play(self, room: Any, rule: Any, games: int) -> int:
        """Play games and learn from them; returns the moves made."""
        return int(self._kernel("feature_episodes")(self.table, room, rule, games))

    def _kernel(self, name: str) -> Function:
        kernel = self.game.kernel(getattr(_kernels(self.features.fill), name))

        def call(*args: Any) -> Any:
            try:
                return kernel(*args)
            except MeijinError:
                raise
            except Exception as error:
                said = " ".join(str(error).split())[:300]
                raise MeijinError(f"features '{self.config.by}' cannot be compiled: {said}") from error

        return call

    # ---- values ----

    def values(self, state: State) -> list[float]:
        """What the seat to move can expect after each of its legal moves, in their order, in the game's scores."""
        return [float(value) for value in self._judged(state)[0]]

    def reasons(self, state: State, move: int) -> list[tuple[str, float]]:
        """What each feature adds to the value of a move; with hidden units, what it is. Empty if it ends the game."""
        inputs = self._judged(state)[1][[int(each) for each in state.legal_moves].index(int(move))]
        if np.isnan(inputs).any():
            return []
        if self.config.hidden:
            return list(zip(self.features.names, map(float, inputs), strict=True))
        size = weights_of(len(inputs), 0)
        own = self.weights[state.turn * size : (state.turn + 1) * size]
        return [*zip(self.features.names, map(float, own[:-1] * inputs), strict=True), ("always", float(own[-1]))]

    def _judged(self, state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        room = self.room()
        room.states[0] = state.record
        values = np.zeros(len(state.legal_moves))
        inputs = np.zeros((len(values), len(self.features.names)))
        self._kernel("feature_judge")(self.table, room, int(self.squashes), self.gamma, values, inputs)
        return values, inputs

    # ---- files ----

    def save(self, path: Path, whole: bool = False, **facts: Any) -> Path:
        """Write a checkpoint; a `whole` one can go on learning as if nothing had happened."""
        about = {
            "learn": self.learn,
            "squashes": self.squashes,
            "gamma": self.gamma,
            "features": asdict(self.config),
            "names": list(self.features.names),
        }
        extra = {"coherent": np.ascontiguousarray(self.table[:, 1:])} if whole else None
        weights = {"weights": np.ascontiguousarray(self.weights)}
        return checkpoint.write(path, KIND, self.game, about, weights, facts, extra)

    @classmethod
    def of(cls, found: Checkpoint[dict[str, Any]], weights: NDArray[Any]) -> FeatureNetwork:
        """The network of a checkpoint, whose weights are given."""
        about = found.net
        config = convert(FeaturesConfig, dict(about["features"]), str(found.path), {})
        features = features_of(found.game, config.by)
        if list(features.names) != about["names"]:
            raise BadParameter(f"features '{config.by}' are {', '.join(features.names)} now, and were others")
        table = np.zeros((len(weights), 3))
        if len(weights) != found.game.seats * weights_of(len(features.names), config.hidden):
            raise ValueError(f"{len(weights)} weights")
        table[:, 0] = weights
        return cls(found.game, bool(about["squashes"]), float(about["gamma"]), config, features, table)

    def take(self, other: Any, extra: Mapping[str, Any]) -> None:
        """Continue with the weights of a checkpoint."""
        if not isinstance(other, FeatureNetwork) or other.config != self.config:
            raise BadParameter("it holds other features than this run; start another run")
        self.table[:, 0] = other.weights
        if (found := extra.get("coherent")) is not None:
            self.table[:, 1:] = found


def plan_features(game: Game, config: TdConfig) -> Features:
    """The features of a config; raise if they cannot be had, or learning with them takes more memory than there is."""
    features, hidden = features_of(game, config.features.by), config.features.hidden
    memory, inputs = config.memory if config.replay else 0, len(features.names)
    weights = game.seats * weights_of(inputs, hidden)
    room = make_feature_room(game, inputs, hidden, memory, stream(0), nbytes)
    check(of_weights(weights, COPIES * nbytes((weights, 3)), "lower features.hidden"), *of_threads(config, room))
    return features
