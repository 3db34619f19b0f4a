"""The program of a net that `meijin train GAME zero` made: a residual tower or perceptron with its heads.

The layers and the names of the tensors are those of `meijin.learning.zero.nets.Net`, which learns them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.errors import MeijinError
from meijin.learning.nets import forward as f
from meijin.learning.nets.plan import Plan
from meijin.learning.nets.program import Assembler, Program, Tensor

Array = NDArray[Any]
EPSILON = 1e-5  # of batch norm


def assemble(plan: Plan, tensors: Mapping[str, Array], to: Assembler | None = None) -> Program:
    """Tensors that are missing, too many or of another shape are an error."""
    return _Tower(plan, tensors, to or Assembler()).program()


class _Tower:
    def __init__(self, plan: Plan, tensors: Mapping[str, Array], to: Assembler):
        self.plan, self.game, self.config, self.layout = plan, plan.game, plan.config, plan.layout
        self.tensors, self.unused = tensors, set(tensors)
        self.to = to
        self.on_board = [cell >= 0 for cell in self.layout.source] or [True]
        self.mask = self.to.mask(self.on_board)

    def take(self, name: str, *shape: int) -> Array:
        found = self.tensors.get(name)
        if found is None or found.shape != shape:
            what = "missing" if found is None else f"{list(found.shape)}"
            raise MeijinError(f"the weights do not fit the net: {name} is {what}, but should be {list(shape)}")
        if not np.isfinite(found).all():
            raise MeijinError(f"{name} holds infinite or undefined numbers")
        self.unused.discard(name)
        return found.astype(np.float64)

    def program(self) -> Program:
        y = self._trunk()
        self._policy(y)
        hidden = self._value(y)
        self.to.end_of_play()
        self._auxiliary(y, hidden)
        if left := sorted(self.unused):
            raise MeijinError(f"the weights do not fit the net: {left[0]} is there, but should not be")
        return self.to.program()

    # ---- units: convolution, side input and batch norm ----

    def unit(self, name: str, inputs: int, outputs: int, kernel: int, side: Tensor | None = None) -> Any:
        """Weights [output, input, kernel, kernel] and the bias, which with a side input is computed."""
        weight = self.take(f"{name}.conv.weight", outputs, inputs, kernel, kernel)
        mean, var = (self.take(f"{name}.norm.running_{part}", outputs) for part in ("mean", "var"))
        factor, constant = (self.take(f"{name}.norm.{part}", outputs) for part in ("weight", "bias"))
        self.take(f"{name}.norm.num_batches_tracked")
        with np.errstate(invalid="ignore"):  # a negative variance is found out in the end
            scale = factor / np.sqrt(var + EPSILON)
        bias: Any = constant - mean * scale
        if side is not None:
            wide = self.take(f"{name}.side.weight", outputs, side.channels) * scale[:, None]
            found = self.to.tensor(1, outputs, -(-outputs // self.to.panel) * self.to.panel)
            self.to.dense(wide, bias, side, found)
            bias = found
        return weight * scale[:, None, None, None], bias

    def conv(
        self,
        name: str,
        source: Tensor,
        target: Tensor,
        side: Tensor | None = None,
        shortcut: Tensor | None = None,
    ) -> None:
        """A unit of the tower or perceptron and its ReLU."""
        if self.plan.tower:
            weight, bias = self.unit(name, source.channels, target.channels, 3, side)
            self.to.convolve(weight, bias, source, target, shortcut)
        else:
            weight, bias = self.unit(name, source.channels, target.channels, 1, side)
            self.to.dense(weight[:, :, 0, 0], bias, source, target, relu=True, shortcut=shortcut)

    def one_by_one(self, name: str, source: Tensor, outputs: int, side: Tensor | None = None) -> Tensor:
        """A head's unit and its ReLU."""
        weight, bias = self.unit(name, source.channels, outputs, 1, side)
        target = self.to.tensor(source.places, outputs)
        self.to.dense(weight[:, :, 0, 0], bias, source, target, relu=True, mask=self.mask)
        return target

    def linear(
        self, name: str, source: Tensor, target: Tensor, scale: float = 1.0, shift: float = 0.0, planes: bool = False
    ) -> None:
        """A last layer, its answers scaled and shifted; with `planes` it is a convolution of 1 x 1."""
        shape = target.channels, source.channels
        weight = self.take(f"{name}.weight", *shape, *((1, 1) if planes else ())).reshape(shape)
        self.to.dense(weight * scale, self.take(f"{name}.bias", shape[0]) * scale + shift, source, target)

    # ---- the trunk ----

    def _trunk(self) -> Tensor:
        """From the planes to [place, channel]."""
        lay, to, cells = self.layout, self.to, len(self.game.board.cells)
        planes = self.game.num_planes or 0
        x = to.tensor(1, planes * cells, region=f.X)
        if not self.plan.tower:
            grid, side = to.tensor(1, lay.planes + 1), None
            to.gather(x, grid, [*range(lay.planes), f.ONE])
            first, second = to.tensor(1, self.plan.channels), to.tensor(1, self.plan.channels)
        else:
            to.lay_grid(lay.rows, lay.columns, self.on_board)
            grid = to.on_grid(lay.planes + 1)
            side = to.tensor(1, planes * len(lay.trays)) if lay.trays else None
            table = np.full((grid.places, grid.stride), f.ZERO)
            for cell, at in zip(lay.source, self._places(), strict=True):
                if cell >= 0:
                    table[at, : planes + 1] = [*(plane * cells + cell for plane in range(planes)), f.ONE]
            to.gather(x, grid, table.ravel().tolist())
            if side is not None:
                to.gather(x, side, [plane * cells + tray for plane in range(planes) for tray in lay.trays])
            first, second = to.on_grid(self.plan.channels), to.on_grid(self.plan.channels)
        self.conv("stem", grid, first, side)
        for i in range(self.config.blocks):
            name, side = f"blocks.{i}", None
            if pooled := self.plan.pooled(i):
                seen = to.on_grid(pooled)
                self.conv(f"{name}.look", first, seen)
                side = to.pool(seen, lay.on_board)
            self.conv(f"{name}.first", first, second, side)
            self.conv(f"{name}.second", second, first, shortcut=first)
        if not self.plan.tower:
            return first
        y = to.tensor(lay.places, self.plan.channels)
        to.gather(first, y, [place * first.stride for place in self._places()], self.plan.channels)
        return y

    def _places(self) -> list[int]:
        """[place] -> where it is inside the border."""
        width = int(self.to.grid[f.WIDTH])
        return [
            (row + 1) * width + column + 1 for row in range(self.layout.rows) for column in range(self.layout.columns)
        ]

    # ---- heads ----

    def _policy(self, y: Tensor) -> None:
        lay, to, moves = self.layout, self.to, self.game.num_moves
        kinds, words = len(lay.kinds), len(lay.words)
        logits = to.tensor(1, moves, region=f.LOGITS)
        side = to.pool(y, lay.on_board) if self.plan.pooling else None
        seen = self.one_by_one("policy.unit", y, self.plan.policy_width, side)
        if not self.plan.cells:
            self.linear("policy.flat", seen.flat, logits)
            return
        found = to.tensor(1, lay.places * kinds + words)
        self.linear("policy.planes", seen, Tensor(found.region, found.offset, lay.places, kinds, kinds), planes=True)
        if words:
            pooled = to.pool(seen, lay.on_board)
            self.linear("policy.words", pooled, found.at(lay.places * kinds)._replace(channels=words))
        to.gather(found, logits, list(lay.index))

    def _value(self, y: Tensor) -> Tensor:
        config, lay, to, seats = self.config, self.layout, self.to, self.game.seats
        seen = self.one_by_one("value.unit", y, self.plan.value_width)
        seen = to.pool(seen, lay.on_board) if self.plan.pooling else seen.flat
        hidden = to.tensor(1, config.value_hidden)
        weight = self.take("value.hidden.weight", config.value_hidden, seen.channels)
        to.dense(weight, self.take("value.hidden.bias", config.value_hidden), seen, hidden, relu=True)
        values = to.tensor(1, seats, region=f.VALUES)
        if self.game.bounded:
            self.linear("value.values", hidden, values)
            to.tanh(values)
        else:
            mean, spread = self.take("value.units", 2)
            self.linear("value.values", hidden, values, spread, mean)
        return hidden

    def _auxiliary(self, y: Tensor, hidden: Tensor) -> None:
        config, lay, to = self.config, self.layout, self.to
        if config.moves_left:
            self.linear("value.plies", hidden, to.tensor(1, 1, region=f.MOVES_LEFT))
        if config.score:
            self.linear("value.score", hidden, to.tensor(1, 1, region=f.SCORE))
        if not config.ownership:
            return
        found = to.tensor(lay.places, 1)
        self.linear("ownership", y, found, planes=True)
        places = range(lay.places) if lay.in_order else self.game.board.grid_index or ()
        target = to.tensor(1, len(places), region=f.OWNERSHIP)
        to.gather(found, target, list(places))
        to.tanh(target)
