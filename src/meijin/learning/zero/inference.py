"""Running a net with PyTorch, mostly on a GPU: batch norms folded into the convolutions, low precision, CUDA graphs.

On a CPU `meijin.learning.nets` is faster; this serves other precisions there. Give each thread an evaluator of its own
with `threads=1`: PyTorch's threads wait for each other in every layer, which costs a little when the cores are idle and
most of the speed when they are shared.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from meijin.core.errors import BadParameter, MeijinError, NoDevice
from meijin.learning.nets.evaluator import Evaluator, Floats, check_batch
from meijin.learning.nets.weights import HasWeights, Weights
from meijin.learning.zero import fused
from meijin.learning.zero.nets import Net, Unit, relu

INT8 = "int8"  # a dtype that only `fused` knows
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
FUSED = (torch.float16, torch.int8)  # what `fused` computes in
SEEN = 512  # of the latest positions, by which a net in bytes is scaled
CAPTURING = threading.RLock()  # held while a graph is captured: meanwhile nobody may wait for the whole device


class Folded(nn.Module):
    """A `Unit` without its batch norm, which is one more factor of the weights and a bias."""

    def __init__(self, unit: Unit, inputs: int):
        super().__init__()
        self.conv = nn.Conv2d(inputs, unit.conv.out_channels, unit.conv.kernel_size, padding=unit.conv.padding)  # type: ignore[arg-type]
        self.shape: Any = (1, 1), unit.conv.padding, (1, 1), 1  # stride, padding, dilation, groups
        side = unit.side
        self.side = None if side is None else nn.Linear(side.in_features, side.out_features, bias=False)

    @torch.no_grad()
    def load(self, unit: Unit) -> None:
        norm = unit.norm
        assert norm.running_mean is not None and norm.running_var is not None and self.conv.bias is not None
        scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        weight = unit.conv.weight * scale[:, None, None, None]
        missing = self.conv.in_channels - unit.conv.in_channels  # planes of zeros that fill up the input
        self.conv.weight.copy_(F.pad(weight, (0, 0, 0, 0, 0, missing)))
        self.conv.bias.copy_(norm.bias - norm.running_mean * scale)
        if unit.side is not None and self.side is not None:
            self.side.weight.copy_(unit.side.weight * scale[:, None])

    def forward(self, x: Tensor, mask: Tensor | None, side: Tensor | None = None) -> Tensor:
        y: Tensor = self.conv(x)
        if self.side is not None:
            assert side is not None
            y = y + self.side(side)[:, :, None, None]
        return y if mask is None else y * mask

    def relu(self, x: Tensor, mask: Tensor | None, side: Tensor | None = None) -> Tensor:
        if self.side is not None or not x.is_cuda:
            return relu(self(x, mask, side))
        # cuDNN takes the ReLU, and below the sum, into the convolution: a third of the net's time is saved.
        y = torch.cudnn_convolution_relu(x, self.conv.weight, self.conv.bias, *self.shape)
        return y if mask is None else y * mask

    def onto(self, x: Tensor, mask: Tensor | None, shortcut: Tensor) -> Tensor:
        if not x.is_cuda:
            return relu(self(x, mask).add_(shortcut))
        y = torch.cudnn_convolution_add_relu(x, self.conv.weight, shortcut, 1.0, self.conv.bias, *self.shape)
        return y if mask is None else y * mask


class InferenceNet(nn.Module):
    """A net for `eval` only, its batch norms folded, in any precision. Same input and outputs, these in float32."""

    def __init__(self, net: Net, dtype: torch.dtype = torch.float32, align: int = 1):
        super().__init__()
        self.net = Net(net.game, net.config)
        self.dtype = dtype
        planes = self.net.stem.conv.in_channels
        padded = -(-planes // align) * align  # tensor cores take their channels by eights
        frame = F.pad(self.net.frame, (0, 0, 0, 0, 0, padded - planes))
        self.net.register_buffer("frame", frame, persistent=False)
        for name, unit in net.named_modules():
            if isinstance(unit, Unit):
                self.net.set_submodule(name, Folded(unit, padded if name == "stem" else unit.conv.in_channels))
        self.net.eval().requires_grad_(False).to(dtype)
        if dtype is torch.bfloat16:  # 8 bits are enough for a tower, but too coarse for the answers
            for part in (self.net.policy, self.net.value):
                for name, layer in part.named_children():
                    if name != "unit":
                        layer.float()
        if self.net.value.units is not None:
            self.net.value.units = self.net.value.units.float()
        self.net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.to(next(net.parameters()).device)
        self.load(net)

    @torch.no_grad()
    def load(self, net: Net) -> None:
        """Take over a net's weights, in place."""
        if net.config != self.net.config or net.layout != self.net.layout:
            raise BadParameter(f"a net of {net.game} with {net.config} does not fit here; make a new one from it")
        for name, module in net.named_modules():
            if isinstance(module, Unit):
                cast(Folded, self.net.get_submodule(name)).load(module)
        theirs = dict(net.named_parameters())
        for name, weight in self.net.named_parameters():
            if ".conv." not in name and ".side." not in name:
                weight.copy_(theirs[name])
        if self.net.value.units is not None and net.value.units is not None:
            self.net.value.units.copy_(net.value.units)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        logits, values = self.net(x.to(self.dtype))
        return logits.float(), values.float()


def cpu_dtype() -> torch.dtype:
    """What this machine's CPU is fastest at: bfloat16 where it has instructions for it, else float32."""
    # Asked by name, since which of these questions PyTorch answers depends on its version.
    for question in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        if getattr(torch.cpu, question, lambda: False)():
            return torch.bfloat16
    return torch.float32


class TorchEvaluator(Evaluator):
    """Its `x`, `logits` and `values` are tensors; on a GPU they have `__cuda_array_interface__`."""

    def __init__(
        self,
        net: HasWeights,
        batch: int,
        *,
        device: str | torch.device = "cpu",
        dtype: str | torch.dtype | None = None,  # None: float16 on a GPU; on a CPU what PyTorch is fastest at
        graph: bool = True,  # on a GPU: record the whole net once, then launch it with one call
        threads: int | None = None,  # on a CPU: PyTorch's threads while `run` lasts; None: leave them as they are
    ):
        check_batch(batch)
        net = _torch(net)
        self.game, self.batch, self.threads = net.game, batch, threads
        self.device = torch.device(device)
        cuda = self.device.type == "cuda"
        if cuda and not torch.cuda.is_available():
            raise NoDevice(f"device '{device}': PyTorch finds no GPU; choose device 'cpu'")
        if isinstance(dtype, str):
            if dtype not in (*DTYPES, INT8):
                raise BadParameter(f"dtype={dtype!r}: choose one of {', '.join((*DTYPES, INT8))}")
            dtype = torch.int8 if dtype == INT8 else DTYPES[dtype]
        self.dtype = dtype or (torch.float16 if cuda else cpu_dtype())
        self._graph: Any = None
        try:
            self.fused = self._fused(net)
            if self.fused is None:
                self.inference = InferenceNet(net, self.dtype, align=8 if cuda else 1).to(self.device)
            shape = net.game.num_planes or 0, len(net.game.board.cells)
            self.x = torch.zeros((batch, *shape), device=self.device)
            self.logits = torch.zeros((batch, net.game.num_moves), device=self.device)
            self.values = torch.zeros((batch, net.game.seats), device=self.device)
            if cuda and graph:
                self._record()
        except torch.OutOfMemoryError as error:
            raise MeijinError(
                f"the GPU does not have enough memory for a net of {net.num_weights:,} weights with batch={batch}; "
                f"choose a smaller batch ({str(error).splitlines()[0]})"
            ) from None

    def _fused(self, net: Net) -> fused.FusedNet | None:
        """The net as two kernels, where that is possible; int8 has no other way."""
        int8 = self.dtype is torch.int8
        if self.dtype not in FUSED:
            return None
        if why := fused.problem(net, self.device, int8):
            if int8:
                raise BadParameter(f"dtype='{INT8}': {why}")
            return None
        try:
            return fused.fitting(net, self.device, self.batch, int8)
        except MeijinError as error:
            if int8:
                raise
            warnings.warn(f"the net runs layer by layer, which is slower: {error}", stacklevel=3)
            return None

    def _record(self) -> None:
        self._graph = recorded(lambda: self._step(self.batch), side_stream(str(self.device)))

    def _step(self, count: int) -> None:
        if self.fused is not None:
            self.fused.run(self.x, self.logits, self.values, count)
            return
        with torch.inference_mode():
            logits, values = self.inference(self.x[:count])
            self.logits[:count].copy_(logits)
            self.values[:count].copy_(values)

    def run(self, count: int | None = None) -> None:
        """Evaluate the first `count` positions in `x` (a graph always does all), without waiting for a GPU."""
        if self._graph is not None:
            self._graph.replay()
            return
        if self.threads is not None and torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        self._step(self.batch if count is None else count)

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.x.numpy(), self.logits.numpy(), self.values.numpy()

    def load(self, net: HasWeights) -> None:
        if self.fused is not None:
            self.fused.load(_torch(net), self.x[:SEEN])
        else:
            self.inference.load(_torch(net))

    def __call__(self, planes: Any) -> tuple[Floats, Floats]:
        if self.device.type == "cpu":
            return super().__call__(planes)
        logits, values = [], []
        planes = torch.as_tensor(planes)
        for at in range(0, max(1, len(planes)), self.batch):
            part = planes[at : at + self.batch]
            self.x[: len(part)].copy_(part)
            self.run(len(part))
            logits.append(self.logits[: len(part)].cpu().numpy())
            values.append(self.values[: len(part)].cpu().numpy())
        return np.concatenate(logits), np.concatenate(values)


def _torch(net: HasWeights) -> Net:
    if isinstance(net, Weights):
        return Net.of(net)
    assert isinstance(net, Net)
    return net


def make_current(device: str) -> None:
    """Let a GPU be the current one, for Numba too, which goes by that."""
    torch.cuda.set_device(torch.device(device).index or 0)


@cache
def side_stream(device: str) -> Any:
    """A stream beside the main one, for whoever works in the main thread: PyTorch has 32 in all, then they repeat."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def recorded(work: Callable[[], None], stream: Any) -> Any:
    """A CUDA graph of work that asks nets, recorded in this stream with the convolutions that prove fastest."""
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True  # what it finds out counts for this thread only: try and record in one
    try:
        with torch.cuda.device(stream.device):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                work()
            return capture(work, stream)
    finally:
        torch.backends.cudnn.benchmark = before


def capture(work: Callable[[], None], stream: Any) -> Any:
    """A CUDA graph of work that has been done in this stream before."""
    with torch.cuda.device(stream.device), CAPTURING:
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        # "thread_local": other threads may use the GPU meanwhile.
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            work()
    return graph
