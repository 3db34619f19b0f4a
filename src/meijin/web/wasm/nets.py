"""A net as a file for browsers: its program, and its weights as float16.

The file is a little-endian uint32, the length of a JSON header, the header, and the arrays that it lists, each from a
multiple of 8 bytes on. Batch norms are folded into the weights. Those of 3 x 3 convolutions are as they were learned:
at Winograd's points they would be four times as many, so the page computes them (static/net.js).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from meijin.core.errors import MeijinError
from meijin.learning.nets import forward as f
from meijin.learning.nets.evaluator import Runner
from meijin.learning.nets.program import Array, Assembler, Program, Tensor
from meijin.learning.nets.tower import assemble
from meijin.learning.nets.weights import Weights
from meijin.learning.nets.winograd import matrices
from meijin.web.wasm.parts import LANES

ALIGN = 8


class Recorder(Assembler):
    """Rounds weights to float16, and keeps them in the order in which they are packed."""

    def __init__(self) -> None:
        super().__init__(LANES)
        self.layers: list[dict[str, int]] = []
        self.halves: list[Array] = []

    def convolve(
        self, weight: Array, bias: Array | Tensor, source: Tensor, target: Tensor, shortcut: Tensor | None = None
    ) -> None:
        super().convolve(self._rounded(weight, 9), bias, source, target, shortcut)

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
        super().dense(self._rounded(weight, 1), bias, source, target, relu, shortcut, mask)

    def _rounded(self, weight: Array, taps: int) -> Array:
        """[output, input, ...]"""
        with np.errstate(over="ignore"):
            half = weight.astype(np.float16)
        if not np.isfinite(half).all():
            raise MeijinError(f"its weights go up to {np.abs(weight).max():.3g}, too large for float16 (65504)")
        self.layers.append({"outputs": weight.shape[0], "inputs": weight.shape[1], "taps": taps})
        self.halves.append(half.ravel())
        return half.astype(np.float64)


def record(weights: Weights) -> tuple[Program, Recorder]:
    """The net as browsers have it: the program for their vectors, of rounded weights, and these weights."""
    recorder = Recorder()
    return assemble(weights.plan, weights.tensors, recorder), recorder


def net_file(weights: Weights) -> bytes:
    program, recorder = record(weights)
    runner, code = Runner(program, 1), program.code
    m, n = int(code.grid[f.M]), int(code.grid[f.N])
    arrays: dict[str, Array] = {
        "halves": np.concatenate(recorder.halves).view(np.uint16),
        "constants": program.constants,
        "ops": code.ops[: program.playing].astype(np.int32),
        "tables": code.tables,
        "grid": code.grid.astype(np.int32),
        "starts": runner._starts[0].astype(np.int32),
        "steps": runner._steps.astype(np.int32),
    }
    header: dict[str, Any] = {
        "version": 1,
        "game": weights.game.id,
        "panel": recorder.panel,
        "chunk": runner._chunk,
        "memory": len(runner._memory),
        "weights": len(code.weights),
        "layers": recorder.layers,
        # [point, tap]: what a filter of 3 x 3 becomes
        "points": np.kron(matrices(m).weight, matrices(n).weight).tolist() if m else [],
        "arrays": {},
    }
    size = 0
    for name, array in arrays.items():
        header["arrays"][name] = {"type": array.dtype.str[1:], "shape": array.shape, "at": size}
        size += -(-array.nbytes // ALIGN) * ALIGN
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % ALIGN)
    data = b"".join(array.tobytes() + b"\0" * (-array.nbytes % ALIGN) for array in arrays.values())
    return len(text).to_bytes(4, "little") + text + data
