"""Learning on a GPU: a network's weights and the games in flight, in the device's memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meijin.core import cuda
from meijin.core.errors import BadParameter
from meijin.core.rng import streams
from meijin.learning.td.gpu_kernel import (
    BEGUN,
    FACTS,
    FADED,
    FRESH,
    LAST,
    LEFT,
    VISITS,
    Games,
    fading,
    learner,
    promoting,
)
from meijin.learning.td.gpu_lookup import LANES, Lookup, by_feature
from meijin.learning.td.network import Network
from meijin.learning.td.room import KEPT, Rule

GROWTH = 100_000  # moves made after which one more game begins: many at once learn well only what they roughly know
FIRST = 256  # games that begin at once
MEMORY = 2048  # moves of each game after which visits fade, at most
COUNTED = 2**23  # moves of all games together after which they do: well below what single precision can count


class GpuNetwork:
    """A network that learns on a GPU; `fetch` brings what it has learned.

    A thread that plays makes the device its own first, by `make_current`.
    """

    def __init__(
        self, network: Network, at_once: int, reach: int, seed: int, device: str = "cuda", restarts: bool = False
    ):
        """`restarts`: whether games may begin where earlier ones passed."""
        self.network, self.at_once, self.reach, self.device = network, at_once, reach, device
        self._kept = at_once * KEPT if restarts else 1  # positions
        self.make_current()
        if len(network.table) >= 2**32:
            raise BadParameter(
                f"tuples: {len(network.table):,} weights are more than a GPU can number; use fewer tuples"
            )
        traces = at_once * network.game.seats * reach * (network.features + 4)
        needed = 4 * ((VISITS + 1) * len(network.table) + traces) + self._kept * network.game.dtype.itemsize
        if needed > (free := cuda.free_memory()):
            raise BadParameter(
                f"tuples: {len(network.table):,} weights, with at_once={at_once:,} games, need {needed / 2**30:,.1f} "
                f"GiB of the GPU's memory, and {free / 2**30:,.1f} GiB are free; use shorter or fewer tuples, fewer "
                "values or stages, or fewer games at once"
            )
        self._table = cuda.zeros((len(network.table), VISITS + 1), np.float32)
        self._memory = max(1, min(MEMORY, COUNTED // at_once))
        self.begin(seed)

    def make_current(self) -> None:
        """Work on its device in this thread."""
        cuda.use(self.device)

    def begin(self, seed: int) -> None:
        """Continue from the network's weights, with new games."""
        self.make_current()
        self._made = 0.0  # moves
        self._since, self._counted = 0, 0.0  # moves of each game since visits faded, and those before, faded
        found, self._shape = by_feature(self.network.layout)  # which may be that of a checkpoint now
        self._lookup = Lookup(*(cuda.as_device(x) if isinstance(x, np.ndarray) else x for x in found))
        self._games = self._start(self.at_once, self.reach, seed)
        table = np.zeros(self._table.shape, np.float32)
        table[:, : self.network.table.shape[1]] = self.network.table
        self._table.copy_to_device(table)

    def fetch(self) -> None:
        """Have the network know what was learned."""
        self.make_current()
        self._promote()
        self.network.table[:] = self._table.copy_to_host()[:, : self.network.table.shape[1]]

    def play(self, rule: Rule, moves: int) -> NDArray[np.float64]:
        """Have each game make at most so many moves, and learn; returns the sums of what `Games.totals` gained."""
        moves = min(moves, self._memory - self._since)
        active = min(self.at_once, FIRST + int(self._made / GROWTH))
        found = self._run(self._games, active, rule, moves, self._counted + self._since)
        self._made += found[-1]
        self._since += moves
        if self._since == self._memory:
            cuda.blocks(self.network.game, fading, 4096, 256, self._table)
            self._counted, self._since = (self._counted + self._since) * FADED, 0
            self._promote()
        return found

    def _promote(self) -> None:
        """Do what `Network.promote` does, often enough that a new stage begins with recent weights."""
        size = self.network.layout.stage_size
        if self.network.config.copy:
            for begin in range(size, len(self.network.table), size):
                cuda.blocks(self.network.game, promoting, min(4096, -(-size // 256)), 256, self._table, begin, size)

    def measure(self, rule: Rule, games: int, seed: int) -> NDArray[np.float64]:
        """Play so many games without learning."""
        return self._run(self._start(games, 1, seed, left=1), games, rule, 2**62, 1.0)

    def _run(self, games: Games, count: int, rule: Rule, moves: int, steps: float) -> NDArray[np.float64]:
        """Have the first games go on."""
        args = self._lookup, self._table, games, rule, moves, float(steps)
        cuda.blocks(self.network.game, learner(rule.traces, *self._shape), count, LANES, *args)
        found = games.totals.copy_to_host().sum(axis=0)
        cuda.clear(games.totals)
        return np.asarray(found)

    def _start(self, count: int, reach: int, seed: int, left: int = -1) -> Games:
        game, features = self.network.game, self.network.features
        facts = np.zeros((count, FACTS), np.int64)
        facts[:, LAST], facts[:, BEGUN], facts[:, LEFT] = FRESH, np.arange(count), left
        return Games(
            states=cuda.as_device(game.states(count)),
            past=cuda.zeros((count, game.seats, reach, features), np.uint32),
            slopes=cuda.zeros((count, game.seats, reach), np.float64),
            owed=cuda.zeros((count, game.seats, reach), np.float64),
            length=cuda.zeros((count, game.seats), np.int64),
            spoilt=cuda.zeros((count, game.seats), np.int64),
            earlier=cuda.zeros((count, game.seats), np.float64),
            facts=cuda.as_device(facts),
            kept=cuda.as_device(game.states(self._kept)),
            rng=cuda.as_device(streams(seed, count)),
            totals=cuda.zeros((count, game.seats + 4), np.float64),
        )
