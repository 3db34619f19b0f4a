"""An n-tuple network: its tuples, layout and weights; values of moves; files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from meijin.core.config import convert
from meijin.core.contract import Symmetry
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
from meijin.learning.td.sizes import COPIES, Need, check, nbytes, of_threads, of_weights
from meijin.learning.td.tuples import (
    Layout,
    Tuples,
    choose_symmetries,
    count_weights,
    find_tuples,
    layout,
    least_weights,
    named_symmetries,
    table_sizes,
)

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
    seen: tuple[Symmetry, ...]  # that share weights
    layout: Layout
    table: NDArray[np.float32]

    @classmethod
    def fresh(cls, game: Game, config: TdConfig) -> Network:
        """The network before training."""
        tuples, seen, made, size = plan(game, config)
        table = np.zeros((size, _columns(config)), np.float32)
        facts = config.learn, config.squashes(game), config.gamma
        found = cls(game, *facts, config.tuples, tuples, seen, made, table)
        found.begin(config)
        return found

    def begin(self, config: TdConfig) -> None:
        """Write the weights before training into a table of zeros."""
        if initial := _initial(self.game, config.tuples.initial, self.squashes):
            self.table[:, 0] = initial / self.features

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
        return len(self.seen)

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
        return int(self.game.kernel(kernels.EPISODES[rule.traces])(self.layout, self.table, memory, rule, games))

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
        about: dict[str, Any] = {
            "learn": self.learn,
            "squashes": self.squashes,
            "gamma": self.gamma,
            "tuples": asdict(self.config) | {"cells": self.tuple_names},
            "mean_weights": self.mean_weights(),
        }
        if self.config.symmetries:
            about["symmetries"] = [symmetry.name for symmetry in self.seen]
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
        self.seen, self.layout = other.seen, other.layout  # older runs chose their symmetries in another way
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
        game, moves = found.game, about["learn"] != "td"
        tuples = find_tuples(game, config, moves, 0)
        if weights.shape != (size := count_weights(game, config, tuples, moves),):
            raise ValueError(f"{len(weights)} weights instead of {size}")
        seen = named_symmetries(game, config, about.get("symmetries"))
        made, _ = layout(game, config, tuples, moves, seen)
        facts = str(about["learn"]), bool(about["squashes"]), float(about["gamma"])
        return cls(game, *facts, config, tuples, seen, made, weights.astype(np.float32).reshape(-1, 1))


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


def plan(game: Game, config: TdConfig) -> tuple[Tuples, tuple[Symmetry, ...], Layout, int]:
    """Tuples, symmetries, layout and the number of weights; raise if that cannot be made.

    How large it would be is known before anything large is made.
    """
    _initial(game, config.tuples.initial, config.squashes(game))
    moves = config.learn != "td"
    seen = choose_symmetries(game, config.tuples, config.seed)
    check(_need(config, least_weights(game, config.tuples, moves)))
    tuples = find_tuples(game, config.tuples, moves, config.seed)
    features, entries = len(seen) * len(tuples), len(seen) * sum(map(len, tuples))
    # Codes and blocks of the layout are made with 64 bits, and joined before they have 32.
    made = 3 * nbytes((game.seats, entries * (len(game.pieces) + 1) + features * moves * game.num_moves), np.int64)
    room = make_room(game, features, config.reach, config.memory if config.replay else 0, stream(0), nbytes)
    weights = count_weights(game, config.tuples, tuples, moves)
    check(_need(config, weights, made), *of_threads(config, room))
    if (of_seat := sum(table_sizes(game, config.tuples, tuples)) * (game.num_moves if moves else 1)) >= 2**31:
        raise BadParameter(
            f"tuples: the tables of one seat would have {of_seat:,} entries, and {2**31:,} is too many; use "
            "shorter or fewer tuples"
        )
    return tuples, seen, *layout(game, config.tuples, tuples, moves, seen)


def _need(config: TdConfig, weights: int, more: int = 0) -> Need:
    """The memory that weights take, and bytes that belong to them."""
    size = COPIES * nbytes((weights, _columns(config)), np.float32) + more
    return of_weights(weights, size, "use shorter or fewer tuples, fewer values or stages")


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
