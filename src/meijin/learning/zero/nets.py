"""Nets in PyTorch, which learn what a position is worth and which moves look good, for any game.

`net(planes)` takes what the game's `planes` rule writes, float [batch, plane, cell], and gives logits [batch, move] and
values [batch, seat]; `meijin.learning.nets.evaluator` says what they mean. A trained net plays without PyTorch:
`meijin.learning.nets` has a forward pass of the same layers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning.nets.config import NetConfig
from meijin.learning.nets.plan import Plan
from meijin.learning.nets.weights import Weights


class Outputs(NamedTuple):
    """All that a net says, the auxiliary heads included; None for those it does not have."""

    logits: Tensor  # [batch, move]
    values: Tensor  # [batch, seat], from the mover on
    moves_left: Tensor | None = None  # [batch], log(1 + plies)
    ownership: Tensor | None = None  # [batch, cell on the grid], 1 where it will be the mover's, -1 another's
    score: Tensor | None = None  # [batch], the mean of that over all cells


class Norm(nn.BatchNorm2d):
    """Batch norm whose statistics leave out the places that are off the board."""

    together = False  # whether the statistics are those of all processes that learn from shares of one batch

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if not self.training or (mask is None and not self.together):
            found = super().forward(x)
            return found if mask is None else found * mask
        assert self.running_mean is not None and self.running_var is not None
        x, mask = x.float(), x.new_ones(x.shape[2:]) if mask is None else mask
        count = self._total(mask.sum() * x.shape[0])
        mean = self._total((x * mask).sum((0, 2, 3))) / count
        centred = (x - mean[:, None, None]) * mask
        var = self._total(centred.square().sum((0, 2, 3))) / count
        with torch.no_grad():
            momentum = self.momentum if self.momentum is not None else 0.1
            self.running_mean.lerp_(mean, momentum)
            self.running_var.lerp_(var * count / (count - 1), momentum)
        scale = self.weight * torch.rsqrt(var + self.eps)
        return centred * scale[:, None, None] + self.bias[:, None, None] * mask

    def _total(self, x: Tensor) -> Tensor:
        return _AllReduce.apply(x) if self.together else x  # type: ignore[no-untyped-call]


class _AllReduce(torch.autograd.Function):
    """The sum over all processes; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        total = x.clone()
        torch.distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.contiguous().clone()
        torch.distributed.all_reduce(total)
        return total


def relu(x: Tensor) -> Tensor:
    return F.relu(x, inplace=True)  # what it is given is always fresh, and memory is what a small net waits for


class Unit(nn.Module):
    """Convolution, a vector for the whole board added in (`side` wide; 0: none), batch norm. Off the board stays 0."""

    def __init__(self, inputs: int, outputs: int, kernel: int, side: int = 0):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        self.side = nn.Linear(side, outputs, bias=False) if side else None
        self.norm = Norm(outputs)

    def forward(self, x: Tensor, mask: Tensor | None, side: Tensor | None = None) -> Tensor:
        y: Tensor = self.conv(x)
        if self.side is not None:
            assert side is not None
            y = y + self.side(side)[:, :, None, None]
        normed: Tensor = self.norm(y, mask)
        return normed

    def relu(self, x: Tensor, mask: Tensor | None, side: Tensor | None = None) -> Tensor:
        return relu(self(x, mask, side))

    def onto(self, x: Tensor, mask: Tensor | None, shortcut: Tensor) -> Tensor:
        """The ReLU of the unit's output and the shortcut together."""
        return relu(self(x, mask).add_(shortcut))


def pool(x: Tensor, on_board: int) -> Tensor:
    """[batch, c, rows, columns], none negative and 0 off the board -> [batch, 3c]: mean, mean by size, maximum."""
    mean = x.mean((2, 3)) * (x.shape[2] * x.shape[3] / on_board)  # a sum may be too large for half precision
    # The maximum by its place: compiled gradients of amax compare what was rounded differently, so that they are NaN.
    most = x.permute(0, 2, 3, 1).flatten(1, 2).max(1).values
    # The width enters as a factor, so that a net can weigh a mean differently on other sizes.
    return torch.cat([mean, mean * ((math.sqrt(on_board) - 9) / 10), most], 1)


class Block(nn.Module):
    """Two convolutions and a shortcut; with `pooled` > 0 the first also sees that many channels of the whole board."""

    def __init__(self, channels: int, kernel: int, pooled: int):
        super().__init__()
        self.look = Unit(channels, pooled, kernel) if pooled else None
        self.first = Unit(channels, channels, kernel, 3 * pooled)
        self.second = Unit(channels, channels, kernel)

    def forward(self, x: Tensor, mask: Tensor | None, on_board: int) -> Tensor:
        side = pool(self.look.relu(x, mask), on_board) if self.look is not None else None
        return self.second.onto(self.first.relu(x, mask, side), mask, x)


class Policy(nn.Module):
    """Logits of moves: one plane for each kind and a pooled number for each word, or a linear layer over all places."""

    def __init__(self, plan: Plan):
        super().__init__()
        lay, width, moves = plan.layout, plan.policy_width, plan.game.num_moves
        kinds, words = len(lay.kinds), len(lay.words)
        self.pooled = plan.pooling
        self.unit = Unit(plan.channels, width, 1, 3 * plan.channels if self.pooled else 0)
        self.planes = nn.Conv2d(width, kinds, 1) if plan.cells else None
        self.words = nn.Linear(3 * width, words) if plan.cells and words else None
        self.flat = None if plan.cells else nn.Linear(width * lay.places, moves)

    def forward(self, x: Tensor, mask: Tensor | None, on_board: int, index: Tensor | None) -> Tensor:
        y = self.unit.relu(x, mask, pool(x, on_board) if self.pooled else None)
        if self.planes is None:
            assert self.flat is not None
            flat: Tensor = self.flat(for_layer(by_place(y), self.flat))
            return flat
        y = for_layer(y, self.planes)
        logits = by_place(self.planes(y))
        if self.words is not None:
            logits = torch.cat([logits, self.words(pool(y, on_board))], 1)
        return logits if index is None else logits.index_select(1, index)


def by_place(x: Tensor) -> Tensor:
    """[batch, c, rows, columns] -> [batch, place * c]: no copy where channels are last in memory."""
    return x.permute(0, 2, 3, 1).flatten(1)


def for_layer(x: Tensor, layer: nn.Linear | nn.Conv2d) -> Tensor:
    """In the precision of that layer's weights: inference may keep the last layers finer than the tower."""
    return x.to(layer.weight.dtype)


class Value(nn.Module):
    """The value vector; and the plies left and the score, where the net has them and they are asked for.

    Without bounds, values have a mean and a spread that nobody knows beforehand, and differ by little from each other:
    the last layer speaks in units of the spread, which follow what is learned from.
    """

    units: Tensor | None  # mean and spread; None where scores have bounds

    def __init__(self, plan: Plan):
        super().__init__()
        config, width = plan.config, plan.value_width
        self.register_buffer("units", None if plan.game.bounded else torch.tensor([0.0, 1.0]))
        self.pooled = plan.pooling
        self.unit = Unit(plan.channels, width, 1)
        self.hidden = nn.Linear(width * (3 if self.pooled else plan.layout.places), config.value_hidden)
        self.values = nn.Linear(config.value_hidden, plan.game.seats)
        self.plies = nn.Linear(config.value_hidden, 1) if config.moves_left else None
        self.score = nn.Linear(config.value_hidden, 1) if config.score else None

    def forward(
        self, x: Tensor, mask: Tensor | None, on_board: int, auxiliary: bool
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        y = self.unit.relu(x, mask)
        y = for_layer(pool(y, on_board) if self.pooled else by_place(y), self.hidden)
        hidden = relu(self.hidden(y))
        plies = self.plies(hidden).squeeze(1) if auxiliary and self.plies is not None else None
        score = self.score(hidden).squeeze(1) if auxiliary and self.score is not None else None
        values = self.values(hidden)
        values = torch.tanh(values) if self.units is None else self.units[0] + self.units[1] * values.float()
        return values, plies, score

    @torch.no_grad()
    def measure_in(self, units: Tensor) -> None:
        """Speak in other units and say the same."""
        assert self.units is not None
        self.values.weight.mul_(self.units[1] / units[1])
        self.values.bias.mul_(self.units[1]).add_(self.units[0] - units[0]).div_(units[1])
        self.units.copy_(units)


class Net(nn.Module):
    """A residual tower for one game. Its weights know nothing of the board's size if `config.pooling` is set."""

    # Where things lie. These follow from the game, so they are not part of a checkpoint.
    mask: Tensor | None  # [row, column], 1 on the board; None where all places are
    frame: Tensor  # [plane, row, column]: planes that every position has
    source: Tensor | None  # [place] -> cell; None where they are the same
    trays: Tensor | None  # the cells without a place
    index: Tensor | None  # [move] -> where its logit is; None where they are in order
    places: Tensor | None  # [cell on the grid] -> its place; None where they are the same

    def __init__(self, game: Game, config: NetConfig | None = None):
        super().__init__()
        self.plan = plan = Plan(game, config or NetConfig())
        self.game, self.config, self.layout = game, plan.config, plan.layout
        self._place()
        channels, kernel, trays = plan.channels, plan.kernel, len(plan.layout.trays) * plan.layout.planes
        # One more plane: 1 on the board, which shows a convolution where the board ends.
        self.stem = Unit(plan.layout.planes + 1, channels, kernel, trays)
        self.blocks = nn.ModuleList(Block(channels, kernel, plan.pooled(i)) for i in range(plan.config.blocks))
        self.policy, self.value = Policy(plan), Value(plan)
        self.ownership = nn.Conv2d(channels, 1, 1) if plan.config.ownership else None
        self._begin()

    @classmethod
    def of(cls, weights: Weights) -> Net:
        """A net with these weights, in `eval` mode."""
        net = cls(weights.game, weights.config)
        net.load_state_dict({name: torch.from_numpy(np.array(part)) for name, part in weights.tensors.items()})
        return net.eval()

    def weights(self) -> Weights:
        """A copy of its weights as they are now, for use without PyTorch."""
        tensors = {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.state_dict().items()}
        return Weights(self.plan, tensors)

    def _place(self) -> None:
        def keep(name: str, values: Any) -> None:
            self.register_buffer(name, None if values is None else torch.as_tensor(values), persistent=False)

        lay, plan = self.layout, self.plan
        in_order = lay.in_order or not plan.tower
        on_board = torch.tensor([float(cell >= 0) for cell in lay.source] or [1.0]).view(lay.rows, lay.columns)
        keep("mask", on_board if lay.holes else None)
        keep("frame", on_board[None])
        keep("source", None if in_order else [max(cell, 0) for cell in lay.source])
        keep("trays", list(lay.trays) if lay.trays else None)
        keep("places", None if in_order else list(self.game.board.grid_index or ()))
        keep("index", list(lay.index) if plan.cells and lay.index != tuple(range(len(lay.index))) else None)

    def _begin(self) -> None:
        """Begin with every block an identity and every answer even: training is steady from the first step."""
        for block in self.blocks:
            nn.init.zeros_(block.second.norm.weight)  # type: ignore[union-attr, arg-type]
        heads = (self.policy.planes, self.policy.words, self.policy.flat, self.value.values, self.ownership)
        for head in heads:
            if head is not None:
                nn.init.normal_(head.weight, std=0.01)
                if head.bias is not None:
                    nn.init.zeros_(head.bias)

    def begin_as_xavier(self) -> None:
        """Begin with the weights of Glorot and Bengio in every layer, without biases, as Keras does."""
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
            elif isinstance(layer, Norm):
                nn.init.ones_(layer.weight)

    def place(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """[batch, plane, cell] -> [batch, plane + frame, row, column], and the trays [batch, plane * tray] if any."""
        lay = self.layout
        side = None if self.trays is None else x.index_select(2, self.trays).flatten(1)
        if self.source is not None:
            x = x.index_select(2, self.source)
        x = x.reshape(x.shape[0], lay.planes, lay.rows, lay.columns)
        if self.mask is not None:
            x = torch.where(self.mask > 0, x, torch.zeros_like(x))
        return torch.cat([x, self.frame.to(x.dtype).expand(x.shape[0], -1, -1, -1)], 1), side

    def outputs(self, x: Tensor, auxiliary: bool = True) -> Outputs:
        """Everything the net says about a batch of planes, or without `auxiliary` what is needed to play."""
        mask, on_board = self.mask, self.layout.on_board
        grid, side = self.place(x)
        y = self.stem.relu(grid, mask, side)
        for block in self.blocks:
            y = block(y, mask, on_board)
        logits = self.policy(y, mask, on_board, self.index)
        values, plies, score = self.value(y, mask, on_board, auxiliary)
        owned = None
        if auxiliary and self.ownership is not None:
            owned = torch.tanh(self.ownership(y)).flatten(1)
            owned = owned if self.places is None else owned.index_select(1, self.places)
        return Outputs(logits, values, plies, owned, score)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [batch, move] and values [batch, seat], the mover's first."""
        found = self.outputs(x, auxiliary=False)
        return found.logits, found.values

    @property
    def num_weights(self) -> int:
        return sum(weight.numel() for weight in self.parameters())

    def for_game(self, game: Game) -> Net:
        """This net on another size of board. The weights are shared: training one trains the other."""
        if problem := self.unfit(game):
            raise MeijinError(f"the net of {self.game} cannot play {game}: {problem}")
        other = Net(game, self.config)
        for name, child in self.named_children():
            setattr(other, name, child)
        other.to(next(self.parameters()).device)
        return other.train(self.training)

    def unfit(self, game: Game) -> str | None:
        """Why these weights do not fit a game; None when they do."""
        return self.plan.unfit(game)
