"""The two nets. Both see the board through one convolution and decide with one linear layer.

The policy net: convolution, linear without bias, illegal moves masked; a softmax of what is left gives probabilities.
Without a ReLU (the report's net has none) that is a linear function of the input, with the limits this brings.
The value net: convolution, ReLU, linear; a reward for every move and seat.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from meijin.core.game import Game
from meijin.learning.classic.encoding import Encoder


class BoardFeatures(nn.Module):
    """Features of a position: a convolution if the board is a grid, else a dense layer with as many features.

    Cells beside the grid (pieces in hand) go past the convolution as they are.
    """

    grid_index: Tensor

    def __init__(self, game: Game, features: int, kernel: int):
        super().__init__()
        encoder = Encoder(game)
        self.grid = game.board.grid
        cells, channels = encoder.cells, encoder.channels
        self.look: nn.Module
        if self.grid is None or game.board.grid_index is None:
            self.grid = None
            self.look = nn.Linear(channels * cells, features * cells)
            self.out_features = features * cells
        else:
            index = torch.tensor(game.board.grid_index)
            self.register_buffer("grid_index", index, persistent=False)
            self.on_grid = len(index)
            self.look = nn.Conv2d(channels, features, kernel, padding=kernel // 2)
            self.out_features = features * self.grid[0] * self.grid[1] + channels * (cells - self.on_grid)

    def forward(self, inputs: Tensor) -> Tensor:
        """[row, channel, cell] -> [row, feature]"""
        if self.grid is None:
            return self.call(self.look, inputs.flatten(1))
        rows, columns = self.grid
        matrix = inputs.new_zeros(*inputs.shape[:2], rows * columns)
        matrix[:, :, self.grid_index] = inputs[:, :, : self.on_grid]
        seen = self.call(self.look, matrix.view(*inputs.shape[:2], rows, columns)).flatten(1)
        return torch.cat((seen, inputs[:, :, self.on_grid :].flatten(1)), 1)

    @staticmethod
    def call(module: nn.Module, inputs: Tensor) -> Tensor:
        out: Tensor = module(inputs)
        return out


class ClassicNet(nn.Module):
    """What both nets share: the board, an optional ReLU, and the linear layer."""

    def __init__(self, game: Game, outputs: int, features: int, kernel: int, relu: bool, bias: bool):
        super().__init__()
        self.board = BoardFeatures(game, features, kernel)
        self.relu = relu
        self.decide = nn.Linear(self.board.out_features, outputs, bias=bias)

    def raw(self, inputs: Tensor) -> Tensor:
        features: Tensor = self.board(inputs)
        out: Tensor = self.decide(torch.relu(features) if self.relu else features)
        return out


class PolicyNet(ClassicNet):
    """A logit for every move."""

    def __init__(self, game: Game, features: int = 20, kernel: int = 3, relu: bool = False):
        super().__init__(game, game.num_moves, features, kernel, relu, bias=False)

    def forward(self, inputs: Tensor, legal: Tensor) -> Tensor:
        """The logarithm of every move's probability: [row, move]; minus infinity for illegal ones."""
        # The report gives illegal moves -1000, which a logit of -1100 loses to; nothing loses to minus infinity.
        logits = self.raw(inputs).masked_fill(~legal, -torch.inf)
        return torch.log_softmax(logits, 1)


class ValueNet(ClassicNet):
    """A reward for every move and seat; seats count from the mover on, so that its own reward is entry 0."""

    def __init__(self, game: Game, features: int = 20, kernel: int = 3, relu: bool = True):
        super().__init__(game, game.num_moves * game.seats, features, kernel, relu, bias=True)
        self.shape = game.num_moves, game.seats

    def forward(self, inputs: Tensor) -> Tensor:
        """[row, move, seat], seats relative to the mover; the values of illegal moves mean nothing."""
        return self.raw(inputs).view(-1, *self.shape)


def build(game: Game, shape: dict[str, Any]) -> PolicyNet | ValueNet:
    """The net of a config's `shape`, with fresh weights."""
    options = {key: value for key, value in shape.items() if key != "net"}
    return (PolicyNet if shape["net"] == "policy" else ValueNet)(game, **options)


@contextmanager
def one_thread() -> Iterator[None]:
    """Nets this small gain nothing from more threads, and lose a factor of ten if other work wants the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
