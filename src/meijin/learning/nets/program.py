"""A net as a program for the forward pass: its operations in order, its weights folded and packed as kernels want them.

Batch norms become factors of the weights and biases. Weights of 3 x 3 convolutions are brought to Winograd's points. A
program knows nothing of batches; one serves any number of evaluators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meijin.core.errors import MeijinError
from meijin.learning.nets import forward as f
from meijin.learning.nets.vectors import vectors
from meijin.learning.nets.winograd import best, matrices

Array = NDArray[Any]
ALIGN = 16  # floats of a cache line


@dataclass(frozen=True)
class Program:
    """What `forward` takes, except for memory."""

    lanes: int
    code: f.Code
    playing: int  # how many operations give logits and values; the others, which follow, are for auxiliary heads
    constants: NDArray[np.float32]
    sizes: dict[int, int]  # region -> floats of a position
    scratch: int  # floats that operations need for themselves, for each position
    tiles: int  # of a position, in each of its convolutions


class Tensor(NamedTuple):
    """Where numbers of a position lie: [place, channel], places `stride` apart."""

    region: int
    offset: int
    places: int
    stride: int
    channels: int

    def at(self, offset: int) -> Tensor:
        return self._replace(offset=self.offset + offset)

    @property
    def flat(self) -> Tensor:
        """As one place with all channels."""
        assert self.stride == self.channels or self.places == 1
        return self._replace(places=1, channels=self.places * self.channels)


class Assembler:
    """Takes layers one by one and puts the program together."""

    def __init__(self, lanes: int = 0) -> None:
        self.kit = vectors(lanes)
        self.panel = self.kit.panel
        self._ops: list[NDArray[np.int64]] = []
        self._tables: list[int] = []
        self._weights: list[NDArray[np.float32]] = []
        self._packed = 0
        self._constants: list[NDArray[np.float32]] = []
        self._fixed = 0
        self.sizes = dict.fromkeys(range(f.REGIONS), 0)
        self._scratch = 0
        self.grid, self._tiles = np.zeros(f.GRID_SIZE, np.int64), 1
        self._playing = 0
        self._constant(np.zeros(self.panel))  # where there is no shortcut

    def program(self) -> Program:
        """Raise if a number is not finite, which a wrong weight may cause."""
        if not all(np.isfinite(part).all() for part in (*self._weights, *self._constants)):
            raise MeijinError("its weights lead to infinite or undefined numbers")
        return Program(
            self.kit.lanes,
            f.Code(
                np.array(self._ops, np.int64).reshape(-1, f.OP_SIZE),
                np.array(self._tables, np.int32),
                self.grid,
                aligned(self._weights),
            ),
            self._playing or len(self._ops),
            np.concatenate(self._constants),
            self.sizes,
            self._scratch,
            self._tiles,
        )

    def end_of_play(self) -> None:
        """What comes now is not needed for logits and values."""
        self._playing = len(self._ops)

    # ---- memory ----

    def tensor(self, places: int, channels: int, stride: int = 0, region: int = f.BLOCK) -> Tensor:
        stride = stride or channels
        found = Tensor(region, self.sizes[region], places, stride, channels)
        size = places * stride
        # A vector that begins at a place's last channels ends behind them.
        self.sizes[region] += _up(size, ALIGN) + ALIGN if region == f.BLOCK else size
        return found

    def on_grid(self, channels: int) -> Tensor:
        """A tensor for convolutions, with a border."""
        height = int(self.grid[f.TILES_DOWN] * self.grid[f.M]) + 2
        return self.tensor(height * int(self.grid[f.WIDTH]), channels, _up(channels, self.panel))

    def _constant(self, values: Sequence[float] | Array) -> int:
        offset, padded = self._fixed, np.zeros(_up(len(values), self.panel), np.float32)
        padded[: len(values)] = values
        self._constants.append(padded)
        self._fixed += len(padded)
        return offset

    def _pack(self, matrix: Array) -> int:
        """[point, input, output] -> where it is kept as [point, panel of outputs, input, output in it]."""
        points, inputs, outputs = matrix.shape
        padded = np.zeros((points, inputs, _up(outputs, self.panel)), np.float32)
        padded[:, :, :outputs] = matrix
        packed = padded.reshape(points, inputs, -1, self.panel).swapaxes(1, 2).ravel()
        offset = self._packed
        self._weights.append(packed)
        self._packed += len(packed)
        return offset

    def _op(self, kind: int, source: Tensor, target: Tensor, **columns: int) -> None:
        op = np.zeros(f.OP_SIZE, np.int64)
        op[f.SHORTCUT] = op[f.MASK] = f.NONE
        op[[f.KIND, f.SOURCE_REGION, f.SOURCE, f.SOURCE_STRIDE]] = kind, source.region, source.offset, source.stride
        op[[f.TARGET_REGION, f.TARGET, f.TARGET_STRIDE]] = target.region, target.offset, target.stride
        op[[f.PLACES, f.INPUTS, f.OUTPUTS]] = source.places, source.channels, target.channels
        for name, value in columns.items():
            op[getattr(f, name)] = value
        self._ops.append(op)

    def _bias(self, bias: Array | Tensor) -> dict[str, int]:
        if isinstance(bias, Tensor):
            return {"BIAS_REGION": bias.region, "BIAS": bias.offset}
        return {"BIAS_REGION": f.CONSTANTS, "BIAS": self._constant(bias)}

    def _shortcut(self, target: Tensor, shortcut: Tensor | None) -> dict[str, int]:
        if shortcut is None:
            return {}
        assert shortcut._replace(offset=0) == target._replace(offset=0)
        return {"SHORTCUT": shortcut.offset}

    # ---- layers ----

    def lay_grid(self, rows: int, columns: int, on_board: Sequence[bool]) -> None:
        """Prepare convolutions on a board with that many places; those off the board stay 0."""
        m, n = best(rows), best(columns)
        down, across = -(-rows // m), -(-columns // n)
        width = across * n + 2
        mask = np.zeros((down * m + 2, width))
        mask[1 : rows + 1, 1 : columns + 1] = np.reshape(on_board, (rows, columns))
        self._tiles = down * across
        self.grid[:] = m, n, down, across, width, self._constant(mask.ravel())

    def mask(self, on_board: Sequence[bool]) -> int:
        return f.NONE if all(on_board) else self._constant(np.array(on_board, float))

    def gather(self, source: Tensor, target: Tensor, table: Sequence[int], width: int = 1) -> None:
        """target[i * width + j] = source[table[i] + j]; `ZERO` and `ONE` give constants."""
        self._op(f.GATHER, source, target, TABLE=len(self._tables), INPUTS=len(table), OUTPUTS=width)
        self._tables += table

    def convolve(
        self, weight: Array, bias: Array | Tensor, source: Tensor, target: Tensor, shortcut: Tensor | None = None
    ) -> None:
        """A convolution of 3 x 3, the shortcut added, and a ReLU. `weight`: [output, input, 3, 3]."""
        outputs, inputs = weight.shape[:2]
        m, n = int(self.grid[f.M]), int(self.grid[f.N])
        points = np.kron(matrices(m).weight, matrices(n).weight) @ weight.reshape(-1, 9).T.astype(np.float64)
        matrix = points.reshape(-1, outputs, inputs).swapaxes(1, 2)
        wide = _up(outputs, self.panel)
        self._scratch = max(self._scratch, len(matrix) * self._tiles * (_up(inputs, self.kit.lanes) + wide))
        self._op(
            f.CONVOLVE, source, target, COLUMNS=wide, WEIGHTS=self._pack(matrix),
            **self._shortcut(target, shortcut), **self._bias(bias),
        )  # fmt: skip

    def dense(
        self,
        weight: Array,
        bias: Array | Tensor,
        source: Tensor,
        target: Tensor,
        relu: bool = False,
        shortcut: Tensor | None = None,
        mask: int = f.NONE,
    ) -> None:
        """A linear layer at every place, the shortcut added. `weight`: [output, input]."""
        assert weight.shape == (target.channels, source.channels)
        wide = _up(target.channels, self.panel)
        self._scratch = max(self._scratch, source.places * wide)
        self._op(
            f.DENSE, source, target, COLUMNS=wide, WEIGHTS=self._pack(weight.T[None]), RELU=int(relu), MASK=mask,
            **self._shortcut(target, shortcut), **self._bias(bias),
        )  # fmt: skip

    def pool(self, source: Tensor, on_board: int) -> Tensor:
        """What a net sees of the whole board: see `meijin.learning.zero.nets.pool`."""
        target = self.tensor(1, 3 * source.channels)
        numbers = self._constant([1 / on_board, (math.sqrt(on_board) - 9) / 10])
        self._op(f.POOL, source, target, BIAS=numbers)
        return target

    def tanh(self, target: Tensor) -> None:
        self._op(f.TANH, target, target, OUTPUTS=target.places * target.channels)


def aligned(parts: Sequence[NDArray[np.float32]] | int) -> NDArray[np.float32]:
    """Consecutive floats, or that many zeros, starting at a cache line."""
    size = parts if isinstance(parts, int) else sum(map(len, parts))
    room = np.zeros(size + ALIGN, np.float32)
    begin = -room.ctypes.data // 4 % ALIGN
    found = room[begin : begin + size]
    if not isinstance(parts, int) and parts:
        np.concatenate(parts, out=found)
    return found


def _up(count: int, unit: int) -> int:
    return -(-count // unit) * unit
