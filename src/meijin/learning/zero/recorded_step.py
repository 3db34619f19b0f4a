"""A training step on a GPU as one CUDA graph: hundreds of launches, which the CPU would be slow at, become one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from meijin.learning.zero.inference import capture
from meijin.learning.zero.positions import Positions

Step = Callable[[Positions, Tensor | None], dict[str, Tensor]]

FIRST = 3  # steps made as usual before one is recorded, in which PyTorch chooses and prepares its kernels


class RecordedStep:
    """Records what a step does the first times it is made, and repeats that on other batches of the same size."""

    def __init__(self, device: torch.device):
        self.stream: Any = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.made = 0
        self._graph: Any = None
        self._given: tuple[Positions, Tensor | None]  # what it reads
        self._found: dict[str, Tensor]  # what it writes

    def __call__(self, step: Step, batch: Positions, turns: Tensor | None) -> dict[str, Tensor]:
        """The measures stay what they are until the next step."""
        if self._graph is None:
            return self._first(step, batch, turns)
        mine, own = self._given
        for kept, given in zip(mine, batch, strict=True):
            kept.copy_(given)
        if own is not None and turns is not None:
            own.copy_(turns)
        self._graph.replay()
        return self._found

    def _first(self, step: Step, batch: Positions, turns: Tensor | None) -> dict[str, Tensor]:
        current = torch.cuda.current_stream(self.stream.device)
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            found = step(batch, turns)
        current.wait_stream(self.stream)
        self.made += 1
        if self.made == FIRST:
            self._given = Positions(*(tensor.clone() for tensor in batch)), None if turns is None else turns.clone()

            def work() -> None:
                self._found = step(*self._given)

            self._graph = capture(work, self.stream)
        return found
