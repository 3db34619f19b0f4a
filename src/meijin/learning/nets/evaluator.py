"""Evaluators: a net ready to evaluate up to `batch` positions at a time, in memory that stays in place.

A search writes planes into `x`, calls `run` and reads `logits` and `values`. `load` takes over newer weights without
moving anything, so that whoever holds these arrays can keep them.

`logits` are [batch, move], illegal moves included: whoever uses them masks those. `values` are [batch, seat], scaled as
`search.forest.scale` says, and *as the mover sees the table*: entry k belongs to the seat `(mover + k) % seats`. At a
chance turn planes are written from seat 0's view, so the mover counts as seat 0 there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.learning.nets import forward as f
from meijin.learning.nets.program import ALIGN, Program, aligned
from meijin.learning.nets.weights import HasWeights

Floats = NDArray[np.float32]

TILES = 8  # of convolutions, worked on together: more reuse weights better, fewer stay in the cache themselves


class Evaluator(ABC):
    """What all evaluators have. `x` is [batch, plane, cell]; all numbers are float32."""

    game: Game
    batch: int
    x: Any
    logits: Any
    values: Any

    @abstractmethod
    def run(self, count: int | None = None) -> None:
        """Evaluate the first `count` positions in `x`, or all."""

    @abstractmethod
    def load(self, net: Any) -> None:
        """Take over a net's weights for all runs to come."""

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """`x`, `logits` and `values` as NumPy arrays on the same memory; not on a GPU."""
        return self.x, self.logits, self.values

    def __call__(self, planes: Any) -> tuple[Floats, Floats]:
        """Logits and values of any number of positions, for those who need no speed."""
        x, logits, values = self.arrays
        found = []
        for at in range(0, max(1, len(planes)), self.batch):
            part = planes[at : at + self.batch]
            x[: len(part)] = part
            self.run(len(part))
            found.append((logits[: len(part)].copy(), values[: len(part)].copy()))
        return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])


def check_batch(batch: int) -> None:
    if batch < 1:
        raise BadParameter(f"batch={batch}: must be at least 1")


class Runner:
    """A program with its memory, for up to `batch` positions, which several threads may share."""

    def __init__(self, program: Program, batch: int, auxiliary: bool = False, threads: int = 1):
        check_batch(batch)
        self.batch, self._auxiliary = batch, auxiliary
        self._threads = threads = min(threads, batch)
        self._chunk = min(-(-batch // threads), max(2, TILES // program.tiles))
        room = [len(program.constants)] + [batch * program.sizes[region] for region in range(f.X, f.BLOCK)]
        room += threads * [self._chunk * program.sizes[f.BLOCK], self._chunk * program.scratch]
        room = [-(-size // ALIGN) * ALIGN for size in room]
        starts = np.cumsum([0, *room[:-1]])
        # Threads share the regions before BLOCK; each has its own of the others.
        self._starts = [np.append(starts[: f.BLOCK], starts[f.BLOCK + 2 * t :][:2]) for t in range(threads)]
        self._steps = np.array([0, *(program.sizes[region] for region in range(f.X, f.SCRATCH)), 0])
        self._batched = np.where(np.arange(f.REGIONS) < f.BLOCK, self._steps, 0)
        self._memory, self._live = aligned(sum(room)), np.zeros((threads, f.OP_SIZE), np.int64)
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._forward = f.forward(program.lanes)
        self.load(program)

    def load(self, program: Program) -> None:
        """Continue with a program of the same shape."""
        self._memory[: len(program.constants)] = program.constants
        code = program.code
        self._code = code if self._auxiliary else code._replace(ops=code.ops[: program.playing])

    def region(self, region: int) -> Floats:
        """[position, number]"""
        begin, step = int(self._starts[0][region]), int(self._steps[region])
        return self._memory[begin : begin + self.batch * step].reshape(self.batch, step)

    def run(self, count: int) -> None:
        if self._pool is None or count < 2:
            self._part(0, 0, count)
            return
        cuts = [count * t // self._threads for t in range(self._threads + 1)]
        others = [self._pool.submit(self._part, t, cuts[t], cuts[t + 1]) for t in range(1, self._threads)]
        self._part(0, 0, cuts[1])
        for other in others:
            other.result()

    def _part(self, thread: int, begin: int, end: int) -> None:
        """Evaluate the positions from `begin` to `end`."""
        now = self._starts[thread] + begin * self._batched
        self._forward(self._code, self._memory, now, self._steps, self._live[thread], end - begin, self._chunk)


class CpuEvaluator(Evaluator):
    """Evaluates with kernels of our own, in the thread that asks and as many more as `threads` says.

    All evaluators of a net share its weights. The answers do not depend on the number of threads.

    With `auxiliary` there are also `moves_left` [batch], log(1 + plies), `ownership` [batch, cell on the grid], 1 where
    it will be the mover's and -1 where another's, and `score` [batch], the mean of that; None where the net has none.
    """

    def __init__(self, net: HasWeights, batch: int, *, auxiliary: bool = False, threads: int = 1):
        weights = net.weights()
        self.game, self.batch, self._plan = weights.game, batch, weights.plan
        self._runner = runner = Runner(weights.program, batch, auxiliary, threads)
        self.x = runner.region(f.X).reshape(batch, self.game.num_planes or 0, -1)
        self.logits, self.values = runner.region(f.LOGITS), runner.region(f.VALUES)
        config = weights.config
        self.moves_left = runner.region(f.MOVES_LEFT)[:, 0] if auxiliary and config.moves_left else None
        self.score = runner.region(f.SCORE)[:, 0] if auxiliary and config.score else None
        self.ownership = runner.region(f.OWNERSHIP) if auxiliary and config.ownership else None

    def run(self, count: int | None = None) -> None:
        self._runner.run(self.batch if count is None else count)

    def load(self, net: HasWeights) -> None:
        weights = net.weights()
        if (weights.config, weights.plan.layout) != (self._plan.config, self._plan.layout):
            raise BadParameter(f"a net of {net.game} with {weights.config} does not fit here; make a new one from it")
        self._runner.load(weights.program)
