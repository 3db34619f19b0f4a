"""A forest of trees and the net that answers their questions: on the CPU or on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.learning.nets.cache import CachedEvaluator
from meijin.learning.nets.evaluator import CpuEvaluator, Evaluator
from meijin.learning.nets.weights import HasWeights
from meijin.search.forest import Forest, Settings, layout


def make_evaluator(
    net: HasWeights, batch: int, device: str = "cpu", dtype: str = "", threads: int = 1, cache: bool = False
) -> Evaluator:
    """Whatever evaluates fastest there; with `dtype` ("float32", "bfloat16", "float16", "int8") in that precision.

    On a CPU it uses `threads` threads, and with `cache` it does not evaluate equal positions twice.
    """
    if device == "cpu" and dtype in ("", "float32"):
        own = CpuEvaluator(net, batch, threads=threads)
        return CachedEvaluator(own) if cache else own
    from meijin.learning.files import need_torch

    need_torch(f"device '{device}'" if device != "cpu" else f"dtype '{dtype}'")
    from meijin.learning.zero.inference import TorchEvaluator

    return TorchEvaluator(net, batch, device=device, dtype=dtype or None, graph=False, threads=threads)


def make_worker(net: HasWeights, games: int, settings: Settings, *, device: str = "cpu", **options: Any) -> Worker:
    """A worker on that device; the options are those of `Worker`."""
    if device == "cpu":
        return Worker(net, games, settings, **options)
    from meijin.learning.files import need_torch

    need_torch(f"device '{device}'")
    from meijin.learning.zero.gpu import GpuWorker

    return GpuWorker(net, games, settings, device=device, **options)


class Worker:
    """One forest with its evaluator. Some trees may play against a past net.

    These are the first `rivals` of the forest: there the past net answers whenever the root is its seat's to move. It
    sees the same questions, and which answer counts is chosen tree by tree.
    """

    def __init__(
        self,
        net: HasWeights,
        games: int,
        settings: Settings,
        *,
        selfplay: bool = True,
        device: str = "cpu",
        dtype: str = "",
        seed: int = 0,
        slots: int = 1,
        rivals: int = 0,
        threads: int = 1,
        cache: bool = False,
    ):
        self.device, self.rivals = device, rivals
        self.evaluator = make_evaluator(net, games * settings.leaves, device, dtype, threads, cache)
        self.past = make_evaluator(net, rivals, device, dtype) if rivals else None
        self.forest = self._forest(
            game=net.game,
            count=games,
            settings=settings,
            selfplay=selfplay,
            slots=slots,
            seed=seed,
            draw=net.config.draw,
        )

    def _forest(self, **options: Any) -> Forest:
        x, logits, values = self.evaluator.arrays
        return Forest(x=x, logits=logits, outlook=values, **options)

    def load(self, net: HasWeights) -> None:
        self.evaluator.load(net)

    def set(self, settings: Settings, past: HasWeights | None, number: int = 0) -> None:
        """From now on search with these settings, and play against this past net; `number` is that of the net."""
        if self.past is not None and past is not None:
            self.past.load(past)
        self.forest.set_options(settings, self.rivals if past is not None else 0, number)

    def evaluate(self) -> None:
        """The net answers, and the past one where it is its turn."""
        self.evaluator.run(self.forest.questions if self.forest.count == 1 else None)
        if self.past is not None:
            x, *answers = self.evaluator.arrays
            past_x, *past_answers = self.past.arrays
            np.copyto(past_x, x[: self.rivals])
            self.past.run()
            is_past = self.forest.arrays.info[: self.rivals, layout.PAST, None] == 1
            for mine, theirs in zip(answers, past_answers, strict=True):
                np.copyto(mine[: self.rivals], theirs, where=is_past)

    def run(self, steps: int) -> None:
        """So many steps of every tree, each followed by the net; on a GPU without waiting for it."""
        for _ in range(steps):
            self.forest.step()
            self.evaluate()
        self.forest.settle()

    def wait(self) -> None:
        """Until everything that was begun is done."""

    def replace(self, forest: Forest) -> None:
        """Continue with another forest on the same arrays of questions and answers."""
        self.forest = forest
