"""A classic net (`meijin train GAME classic`) that looks at single positions, without PyTorch.

The layers and the names of the tensors are those of `meijin.learning.classic.nets`, which learns them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.state import State
from meijin.learning import checkpoint
from meijin.learning.classic.checkpoint import KINDS
from meijin.learning.classic.encoding import Encoder
from meijin.learning.files import find
from meijin.learning.nets import forward as f
from meijin.learning.nets.evaluator import Runner
from meijin.learning.nets.program import Assembler, Program

Array = NDArray[Any]
Values = tuple[float, ...]


class ClassicNet:
    """The policy or the value net of a checkpoint."""

    def __init__(self, path: str | Path, want: str):
        self._encoder, self._program = _read(find(path), want)

    def unfit(self, game: Game) -> str | None:
        mine = self._encoder.game
        if mine.id == game.id:
            return None
        return f"its net was trained for {mine}; train one with `meijin train '{game}' classic`"

    @cached_property
    def _runner(self) -> Runner:
        return Runner(self._program, 1)

    def _answers(self, state: State) -> tuple[Array, list[int]]:
        """What the net says about a position, and the legal moves."""
        inputs, _ = self._encoder(state.records)
        self._runner.region(f.X)[:] = inputs.reshape(1, -1)
        self._runner.run(1)
        return self._runner.region(f.LOGITS)[0].astype(np.float64), [int(move) for move in state.legal_moves]

    def priors(self, state: State) -> list[float]:
        """The probability of every legal move, in their order; of a policy net."""
        logits, moves = self._answers(state)
        weights = np.exp(logits[moves] - logits[moves].max())
        found: list[float] = (weights / weights.sum()).tolist()
        return found

    def move_values(self, state: State) -> list[Values]:
        """What each seat can expect after every legal move, in their order; of a value net."""
        rewards, moves = self._answers(state)
        found = np.roll(rewards.reshape(-1, state.game.seats)[moves], state.turn, 1)  # the mover's own reward is first
        return [tuple(row) for row in self._encoder.scores(found).tolist()]

    def position(self, state: State) -> Values:
        """What each seat can expect: the values of the best move, for whoever is to move."""
        return max(self.move_values(state), key=lambda value: value[state.turn])


def _read(file: Path, want: str) -> tuple[Encoder, Program]:
    found, tensors = checkpoint.read(file, KINDS)
    if (kind := found.kind.removeprefix("classic-")) != want:
        raise BadParameter(f"'{file}' holds a {kind} net, not a {want} net: play it as {kind}(\"{file}\")")
    encoder = Encoder(found.game)
    try:
        return encoder, assemble(encoder, found.net, tensors)
    except (KeyError, ValueError, TypeError) as error:
        raise MeijinError(
            f"{file}: the weights do not fit its own net ({error}). The file is damaged; use another checkpoint"
        ) from None


def assemble(encoder: Encoder, shape: Mapping[str, Any], tensors: Mapping[str, Array], lanes: int = 0) -> Program:
    """One convolution, or a linear layer where there is no grid, perhaps a ReLU, and a linear layer."""
    game, channels, cells = encoder.game, encoder.channels, encoder.cells
    features, kernel, relu = int(shape["features"]), int(shape["kernel"]), bool(shape["relu"])
    outputs = game.num_moves * (1 if shape["net"] == "policy" else game.seats)

    def take(name: str, *size: int) -> Array:
        found = tensors[name]
        if found.shape != size:
            raise ValueError(f"{name} is {list(found.shape)}, but should be {list(size)}")
        if not np.isfinite(found).all():
            raise ValueError(f"{name} holds infinite or undefined numbers")
        return found.astype(np.float64)

    to = Assembler(lanes)
    x = to.tensor(1, channels * cells, region=f.X)
    grid, index = game.board.grid, game.board.grid_index
    if grid is None or index is None:
        seen = to.tensor(1, features * cells)
        weight = take("board.look.weight", features * cells, channels * cells)
        to.dense(weight, take("board.look.bias", features * cells), x, seen, relu)
        decide = take("decide.weight", outputs, features * cells)
    else:
        places, beside = grid[0] * grid[1], range(len(index), cells)
        weight = take("board.look.weight", features, channels, kernel, kernel).reshape(features, -1)
        around = to.tensor(places, channels * kernel * kernel)
        to.gather(x, around, _surroundings(grid, index, channels, cells, kernel))
        seen = to.tensor(1, places * features + channels * len(beside))
        on_grid = seen._replace(places=places, stride=features, channels=features)
        to.dense(weight, take("board.look.bias", features), around, on_grid, relu)
        if beside:  # pieces in hand go past the convolution
            hand = to.tensor(1, channels * len(beside))
            to.gather(x, hand, [channel * cells + cell for channel in range(channels) for cell in beside])
            behind = seen.at(places * features)._replace(channels=hand.channels)
            to.dense(np.eye(hand.channels), np.zeros(hand.channels), hand, behind, relu)
        decide = take("decide.weight", outputs, seen.channels)
        by_feature = decide[:, : places * features].reshape(outputs, features, places)
        decide[:, : places * features] = by_feature.swapaxes(1, 2).reshape(outputs, -1)
    bias = np.zeros(outputs) if shape["net"] == "policy" else take("decide.bias", outputs)
    to.dense(decide, bias, seen, to.tensor(1, outputs, region=f.LOGITS))
    if extra := set(tensors) - {"board.look.weight", "board.look.bias", "decide.weight", "decide.bias"}:
        raise ValueError(f"{min(extra)} should not be there")
    return to.program()


def _surroundings(grid: tuple[int, int], index: tuple[int, ...], channels: int, cells: int, kernel: int) -> list[int]:
    """[place, channel, row, column] -> where the input that a convolution sees there is, or `ZERO`."""
    cell_at = {place: cell for cell, place in enumerate(index)}
    reach = range(-(kernel // 2), kernel - kernel // 2)

    def source(row: int, column: int, channel: int) -> int:
        inside = 0 <= row < grid[0] and 0 <= column < grid[1]
        cell = cell_at.get(row * grid[1] + column) if inside else None
        return f.ZERO if cell is None else channel * cells + cell

    return [
        source(row + down, column + right, channel)
        for row in range(grid[0])
        for column in range(grid[1])
        for channel in range(channels)
        for down in reach
        for right in reach
    ]
