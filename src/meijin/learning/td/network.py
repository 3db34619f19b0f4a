"""An n-tuple network: its tuples, layout and weights; values of moves; files."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.config import convert
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.learning import checkpoint
from meijin.learning.checkpoint import Checkpoint
from meijin.learning.files import find
from meijin.learning.td import kernels
from meijin.learning.td.ahead import Search, ahead
from meijin.learning.td.config import TdConfig, TuplesConfig
from meijin.learning.td.room import SARSA, TD, Q, Room, make_room, scale
from meijin.learning.td.tuples import Layout, Tuples, find_tuples, layout

KIND = "td"
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
        """The network before training; an error says so if it does not fit into memory."""
        tuples = find_tuples(game, config.tuples, config.learn != "td", config.seed)
        made, size = layout(game, config.tuples, tuples, config.learn != "td")
        columns = 1 if config.coherence == "none" else 3
        _check_memory(size, columns)
        if made.seat_size >= 2**31:
            raise BadParameter(
                f"tuples: the tables of one seat would have {made.seat_size:,} entries, and {2**31:,} is too many; use "
                "shorter or fewer tuples"
            )
        squashes = config.squashes(game)
        table = np.zeros((size, columns), np.float32)
        if start := _initial(game, config.tuples.initial, squashes):
            table[:, 0] = start / len(made.first)
        return cls(game, config.learn, squashes, config.gamma, config.tuples, tuples, made, table)

    @property
    def weights(self) -> NDArray[np.float32]:
        """float32 [weight]; a view."""
        return self.table[:, 0]

    @property
    def features(self) -> int:
        """How many weights add up to a value."""
        return len(self.layout.first)

    def room(self, reach: int = 1, seed: int = 0, index: int = 0) -> Room:
        return make_room(self.game, self.features, reach, stream(seed, index))

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
        self.game.kernel(ahead)(self.layout, self.table, memory, search, self.gamma, depth, out)
        return [float(value) for value in out]

    def parts(self, state: State, move: int) -> NDArray[np.float64] | None:
        """What each tuple adds to the value of a move, all symmetries together; None if it ends the game.

        They add up to the value, or where the output is tanh, to its inverse.
        """
        memory, out = self._at(state), np.zeros(self.features)
        rule = KINDS[self.learn], move
        known = self.game.kernel(kernels.explain)(self.layout, self.table, memory, *rule, out)
        return out.reshape(len(self.tuples), -1).sum(axis=1) if known else None

    def _at(self, state: State) -> Room:
        memory = self.room()
        memory.states[0] = state.record
        return memory

    # ---- files ----

    def save(
        self, path: Path, extra: Mapping[str, NDArray[Any]] | None = None, half: bool = False, **facts: Any
    ) -> Path:
        """Write a checkpoint; `half`: in half precision, if the weights are in its range."""
        names = [" ".join(self.game.board.cells[c].name for c in places) for places in self.tuples]
        about = {
            "learn": self.learn,
            "squashes": self.squashes,
            "gamma": self.gamma,
            "tuples": asdict(self.config) | {"cells": names},
        }
        weights = self.weights.astype(np.float16 if half else np.float32)
        if not np.isfinite(weights).all():
            raise MeijinError(f"{path}: the weights go up to {np.abs(self.weights).max():.3g}, too large for float16")
        return checkpoint.write(path, KIND, self.game, about, {"weights": weights}, facts, extra)

    @classmethod
    def load(cls, path: str | Path, game: Game | None = None) -> Checkpoint[Network]:
        """The network of a checkpoint or of a run's directory."""
        found, tensors = checkpoint.read(find(path), (KIND,), game)
        about = found.net
        try:
            config = convert(TuplesConfig, dict(about["tuples"]), str(found.path), {})
            tuples = find_tuples(found.game, config, about["learn"] != "td", 0)
            made, size = layout(found.game, config, tuples, about["learn"] != "td")
            weights = np.array(tensors["weights"], np.float32)
            if weights.shape != (size,):
                raise ValueError(f"{len(weights)} weights instead of {size}")
            net = cls(
                found.game,
                about["learn"],
                bool(about["squashes"]),
                float(about["gamma"]),
                config,
                tuples,
                made,
                weights.reshape(-1, 1),
            )
        except (KeyError, ValueError, TypeError, BadParameter) as error:
            raise MeijinError(f"{found.path}: the network cannot be built ({error}); use another checkpoint") from None
        return Checkpoint(found.path, found.kind, found.game, net, found.facts, found.extra)


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
