"""A whole net as two CUDA kernels, for Hopper GPUs: several times as fast as a library's convolutions one by one.

The tower's activations stay on the multiprocessors from the first layer to the last (see `tower.cu`). Its products are
in half precision, or in integers of 8 bits, which are twice as fast and differ by a few percent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from meijin.core import nvrtc
from meijin.core.errors import BadParameter, MeijinError
from meijin.learning.zero.fused_shape import WORKERS, Shape, source
from meijin.learning.zero.fused_weights import head_weights, tower_weights
from meijin.learning.zero.nets import Net

ARCH, CAPABILITY = "sm_90a", (9, 0)
STATIC = 48 * 1024  # bytes of shared memory that a kernel may have without asking


def problem(net: Net, device: torch.device, int8: bool) -> str | None:
    """Why a net cannot be run so on a device, whatever the batch; None where it can, if the kernels can be compiled."""
    plan, lay = net.plan, net.layout
    if device.type != "cuda" or torch.cuda.get_device_capability(device) != CAPABILITY:
        return "it needs a Hopper GPU, such as an H100 or H200"
    if not plan.tower or plan.pooling or lay.trays:
        return "it needs a tower without pooling, on a board without trays"
    if Shape.of(plan, int8).for_batch(1, 1) is None or not boards_together(net):
        return "it needs a smaller net or board, which fits into the memory of a multiprocessor"
    return None


def fitting(net: Net, device: torch.device, batch: int, int8: bool) -> FusedNet:
    """A net without `problem` for that device and batch."""
    if why := nvrtc.problem():
        raise MeijinError(why)
    processors = torch.cuda.get_device_properties(device).multi_processor_count
    shape = Shape.of(net.plan, int8).for_batch(batch, processors)
    assert shape is not None
    return FusedNet(net, shape, batch, device, processors, boards_together(net))


def boards_together(net: Net) -> int:
    """How many boards a block of the heads' kernel has memory for; it may be none."""
    plan, lay = net.plan, net.layout
    logits = lay.places * len(lay.kinds) + len(lay.words) if plan.cells else plan.game.num_moves
    numbers = lay.places * (plan.policy_width + plan.value_width) + logits + plan.config.value_hidden
    return next((boards for boards in (4, 2, 1) if boards * numbers * 4 <= STATIC), 0)


def head_source(net: Net, boards: int) -> str:
    """The code of the heads' kernel."""
    plan, lay = net.plan, net.layout
    values = {
        "BOARDS": boards,
        "CELLS": lay.places,
        "POLICY": plan.policy_width,
        "VALUE": plan.value_width,
        "FLAT": not plan.cells,
        "KINDS": len(lay.kinds),
        "WORDS": len(lay.words),
        "MOVES": plan.game.num_moves,
        "HIDDEN": plan.config.value_hidden,
        "SEATS": plan.game.seats,
        "BOUNDED": plan.game.bounded,
    }
    return source("heads", {name: int(value) for name, value in values.items()})


class FusedNet:
    """The kernels with the weights of a net, which `load` replaces in place."""

    def __init__(self, net: Net, shape: Shape, batch: int, device: torch.device, processors: int, boards: int):
        self.shape, self.device, self.processors, self.boards = shape, device, processors, boards
        plan, lay = net.plan, net.layout
        self._config, self._layout = plan.config, lay
        self._weights = [part.to(device) for part in packed(net, shape)]
        self._cells = torch.tensor(lay.source, dtype=torch.int32, device=device)
        index = lay.index if plan.cells else range(plan.game.num_moves)
        self._index = torch.tensor(list(index), dtype=torch.int32, device=device)
        self._policy = torch.zeros((batch, lay.places, shape.policy), dtype=torch.float16, device=device)
        self._value = torch.zeros((batch, lay.places, shape.value), dtype=torch.float16, device=device)
        self._tower = _kernel(shape.source(), "tower", shape.shared, self._cells.device.index)
        self._heads = _kernel(head_source(net, boards), "heads", 0, self._cells.device.index)

    def load(self, net: Net, seen: Tensor | None = None) -> None:
        """Take over a net's weights, in place; `seen` are positions such as it will be asked about."""
        if net.config != self._config or net.layout != self._layout:
            raise BadParameter(f"a net of {net.game} with {net.config} does not fit here; make a new one from it")
        for mine, theirs in zip(self._weights, packed(net, self.shape, seen), strict=True):
            mine.copy_(theirs)

    def run(self, x: Tensor, logits: Tensor, values: Tensor, count: int) -> None:
        """Evaluate the first `count` positions, in the current stream."""
        if not count:  # a kernel without blocks is an error
            return
        convolutions, first, numbers, wide, narrow = self._weights
        blocks = min(self.processors, -(-count // (WORKERS * self.shape.boards)))
        parts = [x, self._cells, convolutions, first, numbers, self._policy, self._value]
        self._launch(self._tower, blocks, 128 * (WORKERS + 1), parts, count)
        parts = [self._policy, self._value, wide, narrow, self._index, logits, values]
        self._launch(self._heads, -(-count // self.boards), 256, parts, count)

    def _launch(self, kernel: nvrtc.CudaKernel, blocks: int, threads: int, parts: Sequence[Tensor], count: int) -> None:
        stream = torch.cuda.current_stream(self.device).cuda_stream
        kernel.launch(blocks, threads, stream, *(part.data_ptr() for part in parts), count)


def packed(net: Net, shape: Shape, seen: Tensor | None = None) -> list[Tensor]:
    """The weights of both kernels."""
    return [*tower_weights(net, shape, seen), *head_weights(net)]


@cache
def _kernel(code: str, name: str, shared: int, device: int) -> nvrtc.CudaKernel:
    return nvrtc.CudaKernel(nvrtc.compiled(code, name, ARCH), name, shared, device)
