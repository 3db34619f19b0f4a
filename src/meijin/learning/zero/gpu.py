"""A worker on a GPU: a step of its trees and of the net is recorded once as a CUDA graph, and then only launched."""

from __future__ import annotations

from typing import Any

import torch

from meijin.core.cuda import external_stream
from meijin.learning.nets.weights import HasWeights
from meijin.learning.zero.inference import CAPTURING, recorded, side_stream
from meijin.learning.zero.worker import Worker
from meijin.search.forest import Forest, Settings, layout


class GpuWorker(Worker):
    def __init__(self, net: HasWeights, games: int, settings: Settings, *, device: str, **options: Any):
        super().__init__(net, games, settings, device=device, **options)
        info = torch.as_tensor(self.forest.arrays.info, device=device)
        self._is_past = info[: self.rivals, layout.PAST, None]  # the forest's own memory
        # One that plays beside the learner has a stream of its own.
        selfplay = self.forest.selfplay
        self.stream: Any = torch.cuda.Stream(device) if selfplay else side_stream(device)  # type: ignore[no-untyped-call]
        self._graph: Any = None
        self.wait()  # the forest was made in Numba's stream

    def _forest(self, **options: Any) -> Forest:
        own = self.evaluator
        with torch.cuda.device(self.device):
            return Forest(x=own.x, logits=own.logits, outlook=own.values, gpu=True, **options)

    def set(self, settings: Settings, past: HasWeights | None, number: int = 0) -> None:
        super().set(settings, past, number)
        self.wait()  # the options were written in Numba's stream

    def evaluate(self) -> None:
        self.evaluator.run()
        if self.past is not None:
            own, past = self.evaluator, self.past
            past.x.copy_(own.x[: past.batch])
            past.run()
            for mine, theirs in ((own.logits, past.logits), (own.values, past.values)):
                mine[: past.batch].copy_(torch.where(self._is_past == 1, theirs, mine[: past.batch]))

    def run(self, steps: int) -> None:
        run_together([self], steps)
        with torch.cuda.stream(self.stream):
            self.forest.settle(stream=external_stream(self.stream.cuda_stream))

    def wait(self) -> None:
        with CAPTURING:
            torch.cuda.synchronize(self.device)

    def record(self) -> None:
        """Record a step once; from then on the CPU only replays it."""
        if self._graph is None:
            self._graph = recorded(self._step, self.stream)

    def replace(self, forest: Forest) -> None:
        super().replace(forest)
        self._graph = None

    def replay(self) -> None:
        with torch.cuda.stream(self.stream):
            self._graph.replay()

    def _step(self) -> None:
        self.forest.step(stream=external_stream(torch.cuda.current_stream().cuda_stream))
        self.evaluate()


def run_together(workers: list[GpuWorker], steps: int) -> None:
    """So many steps of each, without waiting. The trees of one move while the net answers another."""
    with torch.cuda.device(workers[0].device):
        current = torch.cuda.current_stream()
        for worker in workers:
            worker.stream.wait_stream(current)
            worker.record()
        for _ in range(steps):
            for worker in workers:
                worker.replay()
        for worker in workers:
            current.wait_stream(worker.stream)
