"""`Tree`: one search tree with all that one thread needs to grow it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meijin.core import kernels
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search import tree as trees
from meijin.search.selection import PLAIN, Options

FIRST_NODES = 4096  # a new tree's room; it doubles as needed
MOST = 2**31 - 1  # what the tree's 32-bit indices and visits reach


def node_bytes(seats: int, options: Options = PLAIN, remembers: bool = False) -> int:
    """What one node costs in memory, all arrays together."""
    return trees.node_bytes(seats) + (8 if options.rave else 0) + (_saved_dtype(seats).itemsize if remembers else 0)


def _saved_dtype(seats: int) -> np.dtype[Any]:
    return np.dtype([("visits", "i4"), ("total", "f8", (seats,))])


class Tree:
    """One search tree with all that one thread needs to grow it.

    With `remembers`, `saved` holds what the memory knows of each node already: only what came since is new to it.
    """

    def __init__(
        self,
        game: Game,
        seed: int,
        index: int,
        max_nodes: int,
        options: Options = PLAIN,
        remembers: bool = False,
    ):
        self.game, self.max_nodes, self.options = game, max_nodes, options
        size = min(FIRST_NODES, max_nodes)
        self.nodes = np.zeros(size, trees.node_dtype(game.seats))
        self.hot = np.zeros((size, 4 if options.rave else 2), np.float32)
        self.saved = np.zeros(size if remembers else 0, _saved_dtype(game.seats))
        self.last = np.zeros((game.seats, game.num_moves) if options.rave else (0, 0), np.int64)
        self.info = np.zeros(trees.INFO_SIZE, np.int64)
        self.states = game.states(trees.STATES)
        self.bounds = np.zeros((game.seats, 2))
        self.seed(seed, index)
        self.moves, self.probs = kernels.buffers(game)
        self.scores, self.sums = np.zeros(game.seats), np.zeros(game.seats)
        self.path = np.zeros(game.longest + 2, np.int32)
        self.full = False

    def seed(self, seed: int, index: int) -> None:
        self.rng = stream(seed, index)

    def reset(self, state: State) -> None:
        self.nodes[0] = np.zeros((), self.nodes.dtype)
        self.nodes[0].first = -1
        self.info[trees.USED] = 1
        self.info[trees.DEEPEST] = 0
        self.info[trees.STAMP] = 1  # above what no move has been marked with
        self.last[:] = 0
        self.saved[:] = np.zeros((), self.saved.dtype)
        self.states[trees.ROOT] = state.record
        self.bounds[:] = self.game.score_range if self.game.bounded else (math.inf, -math.inf)
        self.full = False

    def follow(self, state: State, moves: tuple[Move, ...]) -> bool:
        """Move the root along `moves` to `state`, keeping what is known below it."""
        kernel = self.game.kernel(trees.reroot)
        places = np.zeros(len(self.nodes), np.int32)
        for move in moves:
            used = int(self.info[trees.USED])
            if not kernel(self.nodes, self.hot, self.info, int(move), places):
                return False
            kept = np.flatnonzero(places[:used] >= 0)
            if len(self.saved):
                self.saved[: len(kept)] = self.saved[kept]
                self.saved[len(kept) : used] = np.zeros((), self.saved.dtype)
        self.states[trees.ROOT] = state.record
        self.full = False
        return True

    def run(self, simulations: int, c: float) -> int:
        """Do that many simulations, fewer only if the root gets proven or its visits reach what they can count."""
        kernel = self.game.kernel(trees.simulator(self.options))
        simulations = min(simulations, MOST - int(self.nodes[0].visits))
        done = 0
        while done < simulations and not self.nodes[0].proven:
            done += kernel(
                self.nodes, self.hot, self.info, self.states, simulations - done, self.full, c,
                self.bounds, self.rng, self.moves, self.probs, self.scores, self.sums, self.path, self.last,
            )  # fmt: skip
            if done < simulations and not self.nodes[0].proven and not self.grow():
                self.full = True
        return done

    def grow(self) -> bool:
        """Double the room; False when the cap or the machine does not allow it."""
        size = min(2 * len(self.nodes), self.max_nodes)
        # The children of one node must fit, however wide; the cap is kept all the same.
        if size == len(self.nodes) or size < self.info[trees.USED]:
            return False
        arrays: tuple[Any, ...] = (self.nodes, self.hot, self.saved)
        try:
            larger = [np.zeros((size if len(old) else 0, *old.shape[1:]), old.dtype) for old in arrays]
        except MemoryError:
            return False
        for new, old in zip(larger, arrays, strict=True):
            new[: len(old)] = old
        self.nodes, self.hot, self.saved = larger
        return True

    def children(self, i: int) -> range:
        node = self.nodes[i]
        return range(int(node.first), int(node.first) + int(node.count))

    def line(self, i: int) -> tuple[Move, ...]:
        """The expected continuation below node `i`, until chance decides or statistics end."""
        length = self.game.kernel(trees.line)(self.nodes, i, self.path)
        return tuple(self.game.moves[move] for move in self.path[:length].tolist())
