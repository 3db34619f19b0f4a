"""`SearchTree`: the arrays of one search tree, which one or several threads grow."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from meijin.core import compile as compiling
from meijin.core import kernels as core
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.mcts import kernels
from meijin.search.mcts.kernels import FULL, ROOT, STATES, USED, Thread, Tree
from meijin.search.mcts.selection import PLAIN, Options

FIRST_NODES = 4096  # a new tree's room; it doubles as needed
MOST = 2**31 - 1  # what the tree's 32-bit indices and visits reach
WORTH_THREADS = 64  # simulations per thread; to start threads for fewer takes longer than to do them


def node_bytes(seats: int, options: Options = PLAIN, remembers: bool = False) -> int:
    """What one node costs in memory, all arrays together; 4 bytes are its place while the tree is rerooted."""
    saved = _saved_dtype(seats).itemsize if remembers else 0
    return kernels.node_dtype(seats).itemsize + 4 * _slots(options) + 4 + saved


def _slots(options: Options) -> int:
    return 4 if options.rave else 2


def _saved_dtype(seats: int) -> np.dtype[Any]:
    return np.dtype([("visits", "i4"), ("total", "f8", (seats,))])


class SearchTree:
    """One search tree with all that its threads need to grow it.

    With several threads, which of them comes first is chance: no seed repeats such a search. With `remembers`, `saved`
    holds what the memory on disk knows of each node already: only what came since is new to it.
    """

    def __init__(
        self,
        game: Game,
        seed: int,
        index: int,
        max_nodes: int,
        options: Options = PLAIN,
        remembers: bool = False,
        threads: int = 1,
        stop: Any = None,
    ):
        self.game, self.max_nodes = game, max_nodes
        self.options = replace(options, shared=threads > 1)
        size = min(FIRST_NODES, max_nodes)
        self.arrays = Tree(
            nodes=np.zeros(size, kernels.node_dtype(game.seats)),
            stats=np.zeros((size, _slots(options)), np.float32),
            info=np.zeros(kernels.INFO_SIZE, np.int64),
            bounds=np.zeros((game.seats, 2)),
            lock=np.zeros(8, np.int64),  # a cache line of its own
            stop=np.zeros(1, np.int64) if stop is None else stop,
        )
        self.saved = np.zeros(size if remembers else 0, _saved_dtype(game.seats))
        self.threads = [self._thread() for _ in range(threads)]
        self.seed(seed, index)
        self.full = False

    def _thread(self) -> Thread:
        game = self.game
        moves, probs = core.buffers(game)
        return Thread(
            states=game.states(STATES),
            rng=stream(0),
            moves=moves,
            probs=probs,
            scores=np.zeros(game.seats),
            sums=np.zeros(game.seats),
            path=np.zeros(game.longest + 2, np.int32),
            losses=np.zeros(game.longest + 2),
            last=np.zeros((game.seats, game.num_moves) if self.options.rave else (0, 0), np.int64),
            stamp=np.ones(1, np.int64),
        )

    @property
    def nodes(self) -> Any:
        return self.arrays.nodes

    @property
    def info(self) -> Any:
        return self.arrays.info

    @property
    def root(self) -> Any:
        """The record of the position at the root."""
        return self.threads[0].states[ROOT]

    def seed(self, seed: int, index: int) -> None:
        for k, thread in enumerate(self.threads):
            thread.rng[:] = stream(seed, index + k)

    def reset(self, state: State) -> None:
        self.nodes[0] = np.zeros((), self.nodes.dtype)
        self.nodes[0].first = -1
        self.info[:] = 0
        self.info[USED] = 1
        for thread in self.threads:
            thread.last[:] = 0
            thread.stamp[0] = 1  # above what no move has been marked with
        self.saved[:] = np.zeros((), self.saved.dtype)
        self.arrays.bounds[:] = self.game.score_range if self.game.bounded else (math.inf, -math.inf)
        self._set_root(state)

    def _set_root(self, state: State) -> None:
        for thread in self.threads:
            thread.states[ROOT] = state.record
        self.full = False

    def follow(self, state: State, moves: tuple[Move, ...]) -> bool:
        """Move the root along `moves` to `state`, keeping what is known below it."""
        kernel = self.game.kernel(kernels.reroot)
        places = np.zeros(len(self.nodes), np.int32)
        for move in moves:
            used = int(self.info[USED])
            if not kernel(self.arrays, int(move), places):
                return False
            kept = np.flatnonzero(places[:used] >= 0)
            if len(self.saved):
                self.saved[: len(kept)] = self.saved[kept]
                self.saved[len(kept) : used] = np.zeros((), self.saved.dtype)
        self._set_root(state)
        return True

    def begin(self, c: float) -> int:
        """The first simulation, even if already stopped, so that there is something to report."""
        stop, self.arrays = self.arrays.stop, self.arrays._replace(stop=np.zeros(1, np.int64))
        done = self.run(1, c)
        self.arrays = self.arrays._replace(stop=stop)
        return done

    def run(self, simulations: int, c: float) -> int:
        """Do that many simulations; fewer if stopped, or when the root is proven or its visits are all used."""
        under_way = len(self.threads) if self.options.shared else 0  # threads count a visit before it is made
        simulations = min(simulations, MOST - under_way - int(self.nodes[0].visits))
        done = 0
        while done < simulations and not self.nodes[0].proven and not self.arrays.stop[0]:
            self.info[FULL] = 0
            done += self._round(simulations - done, c)
            if self.info[FULL] and not self.grow():
                self.full = True
        return done

    def _round(self, simulations: int, c: float) -> int:
        """Let the threads work until they are done or stopped, or one finds no room."""
        kernel = self.game.kernel(kernels.simulate_with(self.options))
        count = min(len(self.threads), simulations // WORTH_THREADS)
        if count <= 1:
            return int(kernel(self.arrays, self.threads[0], simulations, self.full, c))

        def work(thread: Thread, share: int) -> int:
            return int(kernel(self.arrays, thread, share, self.full, c))

        shares = [(simulations + k) // count for k in range(count)]
        if not (compiling.JIT and self.game.compiled):  # plain Python has no lock
            return sum(map(work, self.threads, shares))
        with ThreadPoolExecutor(count) as pool:
            return sum(pool.map(work, self.threads, shares))

    def grow(self) -> bool:
        """Double the room; False when the cap or the machine does not allow it."""
        size = min(2 * len(self.nodes), self.max_nodes)
        # The children of one node must fit, however wide; the cap is kept all the same.
        if size == len(self.nodes) or size < self.info[USED]:
            return False
        arrays: tuple[Any, ...] = (self.nodes, self.arrays.stats, self.saved)
        try:
            larger = [np.zeros((size if len(old) else 0, *old.shape[1:]), old.dtype) for old in arrays]
        except MemoryError:
            return False
        for new, old in zip(larger, arrays, strict=True):
            new[: len(old)] = old
        nodes, stats, self.saved = larger
        self.arrays = self.arrays._replace(nodes=nodes, stats=stats)
        return True

    def children(self, i: int) -> range:
        node = self.nodes[i]
        return range(int(node.first), int(node.first) + int(node.count))

    def line(self, i: int) -> tuple[Move, ...]:
        """The expected continuation below node `i`, until chance decides or statistics end."""
        path = self.threads[0].path
        length = self.game.kernel(kernels.principal_variation)(self.nodes, i, path)
        return tuple(self.game.moves[move] for move in path[:length].tolist())
