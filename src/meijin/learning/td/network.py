"""An n-tuple network: its tuples, layout and weights; values of moves; files."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from meijin.core.config import convert
from meijin.core.errors import BadParameter, MeijinError, UnknownName
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.learning import checkpoint
from meijin.learning.checkpoint import Checkpoint
from meijin.learning.files import about, find
from meijin.learning.td import kernels
from meijin.learning.td.ahead import Search, ahead
from meijin.learning.td.config import TdConfig, TuplesConfig
from meijin.learning.td.feature_network import KIND, FeatureNetwork
from meijin.learning.td.room import SARSA, TD, Q, Room, Rule, make_room, scale
from meijin.learning.td.tuples import Layout, Tuples, find_tuples, layout, table_sizes

AnyNetwork = Union["Network", FeatureNetwork]
KINDS = {"td": TD, "sarsa": SARSA, "q": Q}


@dataclass
class Network:
    """Weights and how to read them.

    `table` is float32 [weight, 1 or 3]: the weights, and while they learn with coherence, what they need for it. Every
    thread that learns writes to it.
    """

    game: Game
    learn: str  # "td", "sarsa" or "q"
    squashes: bool
    gamma: float
    config: TuplesConfig
    tuples: Tuples
    layout: Layout
    table: NDArray[np.float32]

    @classmethod
    def fresh(cls, game: Game, config: TdConfig) -> Network:
        """The network before training."""
        tuples, made, size, initial = plan(game, config)
        table = np.zeros((size, _columns(config)), np.float32)
        if initial:
            table[:, 0] = initial / len(made.first)
        return cls(game, config.learn, config.squashes(game), config.gamma, config.tuples, tuples, made, table)

    @property
    def weights(self) -> NDArray[np.float32]:
        """float32 [weight]; a view."""
        return self.table[:, 0]

    @property
    def features(self) -> int:
        """How many weights add up to a value."""
        return len(self.layout.first)

    @property
    def scale(self) -> float:
        """What the step size is divided by, to be shared out among the weights of a value."""
        return float(self.features)

    @property
    def symmetries(self) -> int:
        """How many symmetries of the game share weights."""
        return self.features // len(self.tuples)

    @property
    def entries(self) -> list[int]:
        """The size of each tuple's table, for one seat, stage and move."""
        return table_sizes(self.game, self.config, self.tuples)

    def tables(self) -> list[NDArray[np.float32]]:
        """The weights of each tuple, [seat, stage and move together, entry]."""
        blocks = self.weights.reshape(-1, sum(self.entries))
        return np.split(blocks, np.cumsum(self.entries)[:-1], axis=1)

    def mean_weights(self) -> list[float]:
        """How large the weights of each tuple are, on average and without their signs."""
        return [float(np.abs(weights).mean(dtype=np.float64)) for weights in self.tables()]

    def room(self, reach: int = 1, seed: int = 0, index: int = 0, memory: int = 0) -> Room:
        return make_room(self.game, self.features, reach, memory, stream(seed, index))

    def promote(self) -> None:
        """Give weights of later stages that have learned nothing yet those of the stage before."""
        size = self.layout.stage_size
        for begin in range(size, len(self.table), size):
            stage = self.table[begin : begin + size]
            np.copyto(stage[:, 0], self.table[begin - size : begin, 0], where=stage[:, 2] == 0)

    def play(self, memory: Any, rule: Rule, games: int) -> int:
        """Play games and learn from them; returns the moves made."""
        return int(self.game.kernel(kernels.episodes)(self.layout, self.table, memory, rule, games))

    # ---- values ----

    def values(self, state: State) -> list[float]:
        """What the seat to move can expect after each of its legal moves, in their order, in the game's scores."""
        memory, out = self._at(state), np.zeros(len(state.legal_moves))
        rule = KINDS[self.learn], int(self.squashes), self.gamma
        self.game.kernel(kernels.judge)(self.layout, self.table, memory, *rule, out)
        return [float(value) for value in out]

    def ahead(self, state: State, depth: int, search: Search) -> list[float]:
        """`values` after a look at `depth` moves, in a game for one; `search` carries its cache from call to call."""
        memory, out = self._at(state), np.zeros(len(state.legal_moves))
        search.states[0] = state.record
        rule = int(self.squashes), self.gamma
        self.game.kernel(ahead)(self.layout, self.table, memory, search, *rule, depth, out)
        return [float(value) for value in out]

    def parts(self, state: State, move: int) -> NDArray[np.float64] | None:
        """What each tuple adds to the value of a move, all symmetries together; None if it ends the game.

        They add up to the value, or where the output is tanh, to its inverse.
        """
        memory, out = self._at(state), np.zeros(self.features)
        rule = KINDS[self.learn], move
        known = self.game.kernel(kernels.explain)(self.layout, self.table, memory, *rule, out)
        return out.reshape(len(self.tuples), -1).sum(axis=1) if known else None

    def reasons(self, state: State, move: int) -> list[tuple[str, float]]:
        """What each tuple adds to the value of a move, by its cells; empty if the move ends the game."""
        parts = self.parts(state, move)
        return [] if parts is None else list(zip(self.tuple_names, map(float, parts), strict=True))

    @property
    def tuple_names(self) -> list[str]:
        """The tuples, as names of cells."""
        return [" ".join(self.game.board.cells[c].name for c in places) for places in self.tuples]

    def _at(self, state: State) -> Room:
        memory = self.room()
        memory.states[0] = state.record
        return memory

    # ---- files ----

    def save(self, path: Path, whole: bool = False, half: bool = False, **facts: Any) -> Path:
        """Write a checkpoint; a `whole` one can go on learning as if nothing had happened.

        `half`: in half precision, if the weights are in its range.
        """
        about = {
            "learn": self.learn,
            "squashes": self.squashes,
            "gamma": self.gamma,
            "tuples": asdict(self.config) | {"cells": self.tuple_names},
            "mean_weights": self.mean_weights(),
        }
        coherent = whole and self.table.shape[1] > 1
        extra = {"coherent": np.ascontiguousarray(self.table[:, 1:])} if coherent else {}
        weights = self.weights.astype(np.float16 if half else np.float32)
        if not np.isfinite(weights).all():
            raise MeijinError(f"{path}: the weights go up to {np.abs(self.weights).max():.3g}, too large for float16")
        return checkpoint.write(path, KIND, self.game, about, {"weights": weights}, facts, extra)

    def take(self, other: AnyNetwork, extra: Mapping[str, Any]) -> None:
        """Continue with the weights of a checkpoint."""
        if not isinstance(other, Network) or other.tuples != self.tuples or len(other.weights) != len(self.weights):
            raise BadParameter("it holds other tuples than this run; start another run")
        self.table[:, 0] = other.weights
        mine = self.table[:, 1:]
        if (found := extra.get("coherent")) is not None and found.shape == mine.shape:
            mine[:] = found

    @classmethod
    def load(cls, path: str | Path, game: Game | None = None) -> Checkpoint[Network]:
        """The network of a checkpoint or of a run's directory, which must have tuples."""
        found = load(path, game)
        if not isinstance(found.net, cls):
            raise MeijinError(f"{found.path} has features of its own and no tuples")
        return Checkpoint(found.path, found.kind, found.game, found.net, found.facts, found.extra)

    @classmethod
    def of(cls, found: Checkpoint[dict[str, Any]], weights: NDArray[Any]) -> Network:
        """The network of a checkpoint, whose weights are given."""
        about = found.net
        config = convert(TuplesConfig, dict(about["tuples"]), str(found.path), {})
        tuples = find_tuples(found.game, config, about["learn"] != "td", 0)
        made, size = layout(found.game, config, tuples, about["learn"] != "td")
        if weights.shape != (size,):
            raise ValueError(f"{len(weights)} weights instead of {size}")
        facts = str(about["learn"]), bool(about["squashes"]), float(about["gamma"])
        return cls(found.game, *facts, config, tuples, made, weights.astype(np.float32).reshape(-1, 1))


def fresh(game: Game, config: TdConfig) -> AnyNetwork:
    """The network of a config before training."""
    return FeatureNetwork.fresh(game, config) if config.features.by else Network.fresh(game, config)


def load(path: str | Path, game: Game | None = None) -> Checkpoint[AnyNetwork]:
    """The network of a checkpoint or of a run's directory."""
    found, tensors = checkpoint.read(find(path), (KIND,), game)
    kind = FeatureNetwork if "features" in found.net else Network
    try:
        net: AnyNetwork = kind.of(found, np.array(tensors["weights"]))
    except (KeyError, ValueError, TypeError, BadParameter, UnknownName) as error:
        raise MeijinError(f"{found.path}: the network cannot be built ({error}); use another checkpoint") from None
    return Checkpoint(found.path, found.kind, found.game, net, found.facts, found.extra)


def shared(path: str | Path) -> AnyNetwork:
    """The network of a checkpoint or of a run's directory, to play with and not to change.

    A file of tables is read once as long as it stays as it is: that may take seconds, and a new agent plays every game.
    """
    found = find(path)
    if "features" in (about(found) or {}).get("net", {}):  # these few weights belong to functions that may change
        return load(found).net
    stat = found.stat()
    return _shared(found, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=2)
def _shared(path: Path, changed: int, size: int) -> AnyNetwork:
    return load(path).net


def plan(game: Game, config: TdConfig) -> tuple[Tuples, Layout, int, float]:
    """The tuples, their layout, the number of weights and what they add up to; raise if that cannot be made."""
    tuples = find_tuples(game, config.tuples, config.learn != "td", config.seed)
    made, size = layout(game, config.tuples, tuples, config.learn != "td")
    _check_memory(size, _columns(config))
    if made.seat_size >= 2**31:
        raise BadParameter(
            f"tuples: the tables of one seat would have {made.seat_size:,} entries, and {2**31:,} is too many; use "
            "shorter or fewer tuples"
        )
    return tuples, made, size, _initial(game, config.tuples.initial, config.squashes(game))


def _columns(config: TdConfig) -> int:
    return 1 if config.coherence == "none" else 3


def _initial(game: Game, value: float | None, squashes: bool) -> float:
    """What the weights of a position add up to before training."""
    if value is None:
        return 0.0
    middle, half = scale(game)
    scaled = (value - middle) / half
    if not squashes:
        return scaled
    if abs(scaled) >= 1:
        low, high = game.score_range
        raise BadParameter(f"tuples.initial={value:g}: choose above {low:g} and below {high:g}")
    return math.atanh(scaled)


def _check_memory(weights: int, numbers: int) -> None:
    """Raise if the tables would not fit into memory, with the two copies that writing a checkpoint takes."""
    needed, free = 3 * 4 * weights * numbers, _free_memory()
    if needed > free:
        raise BadParameter(
            f"tuples: {weights:,} weights need {needed / 2**30:,.1f} GiB, and {free / 2**30:,.1f} GiB are free; use "
            "shorter or fewer tuples, fewer values or stages"
        )


def _free_memory() -> int:
    """Bytes that a program can have without swapping; where the system does not say, 16 GiB are assumed."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return 1024 * int(text.partition("MemAvailable:")[2].split()[0])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 2**34
