"""Gradient steps: the losses of both nets, over examples and over games."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning import optimizers
from meijin.learning.classic.config import ClassicConfig
from meijin.learning.classic.encoding import Encoder
from meijin.learning.classic.episodes import Moves
from meijin.learning.classic.examples import Examples
from meijin.learning.classic.nets import PolicyNet, ValueNet

Net = PolicyNet | ValueNet
Loss = Callable[[Tensor], Tensor]  # rows of the data -> the mean loss over them


def make_optimizer(net: Net, config: ClassicConfig) -> torch.optim.Optimizer:
    if config.optimizer_name == "adam":
        return optimizers.Adam(net.parameters(), lr=config.rate)
    return optimizers.SGD(net.parameters(), lr=config.rate, momentum=config.momentum)


def example_loss(game: Game, net: Net, examples: Examples) -> Loss:
    """Cross-entropy with the probabilities to learn, or the mean squared error of the known rewards.

    The report multiplies -log p of the best move with that move's reward, which teaches nothing in drawn positions and
    the opposite in lost ones: here every position counts like a win there.
    """
    inputs, legal = map(torch.from_numpy, Encoder(game)(examples.states))
    if isinstance(net, PolicyNet):
        policy = torch.from_numpy(examples.policy)
        return lambda rows: -_expected(net(inputs[rows], legal[rows]), policy[rows]).mean()
    rewards, known = torch.from_numpy(examples.rewards), torch.from_numpy(examples.known)

    def squared(rows: Tensor) -> Tensor:
        here = known[rows]
        said: Tensor = net(inputs[rows])
        return ((said - rewards[rows])[here] ** 2).sum() / (here.sum() * rewards.shape[2]).clamp(min=1)

    return squared


def move_loss(game: Game, net: Net, moves: Moves, baseline: bool = False, entropy: float = 0.0) -> Loss:
    """REINFORCE for the policy net: -log p * reward of the moves made. For the value net, their squared error.

    Every row is masked by its own legal moves. Where rewards are below zero, -log p * reward has no lower bound: many
    epochs over the same games drive such moves' probabilities to 0 and the policy to a single game. `entropy` times the
    policy's entropy, taken off the loss, and few epochs with small steps prevent that.
    """
    inputs, legal = map(torch.from_numpy, Encoder(game)(moves.states))
    made, rewards = torch.from_numpy(moves.moves), torch.from_numpy(moves.rewards)
    if isinstance(net, PolicyNet):

        def reinforce(rows: Tensor) -> Tensor:
            logs: Tensor = net(inputs[rows], legal[rows])
            reward = rewards[rows, 0]
            chosen = logs.gather(1, made[rows, None]).squeeze(1)
            loss = -(chosen * (reward - reward.mean() if baseline else reward)).mean()
            return loss + entropy * _expected(logs, logs.exp()).mean()  # the expectation of log p is minus the entropy

        return reinforce

    def squared(rows: Tensor) -> Tensor:
        said: Tensor = net(inputs[rows])[torch.arange(len(rows)), made[rows]]
        return ((said - rewards[rows]) ** 2).mean()

    return squared


def fit(
    loss: Loss,
    count: int,
    optimizer: torch.optim.Optimizer,
    config: ClassicConfig,
    seed: tuple[int, ...],
    on_slice: Callable[[int, int], bool] = lambda done, total: True,
) -> tuple[list[float], int]:
    """Train for the config's epochs; the mean loss of each, and the steps made. Every epoch has its own order.

    `on_slice(done, total)`, in epochs, is called between steps; once it says no, no more steps are made.
    """
    rng = np.random.default_rng(seed)
    means: list[float] = []
    steps = 0
    for epoch in range(config.epochs):
        total, rows = torch.zeros(()), 0
        for batch in _batches(rng, count, config.batch):
            if not on_slice(epoch, config.epochs):
                break
            optimizer.zero_grad(set_to_none=True)
            value = loss(batch)
            value.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += value.detach() * len(batch)
            rows, steps = rows + len(batch), steps + 1
        if rows:
            means.append(float(total) / rows)
        if rows and not math.isfinite(means[-1]):
            raise MeijinError(
                f"the loss became {means[-1]} in epoch {len(means)}: training diverged; "
                f"lower learning_rate (now {config.rate:g}) or epochs (now {config.epochs})"
            )
        if rows < count:
            break
    return means, steps


def _batches(rng: np.random.Generator, count: int, size: int) -> Iterator[Tensor]:
    order = torch.from_numpy(rng.permutation(count))
    for at in range(0, count, size):
        yield order[at : at + size]


def _expected(logs: Tensor, probs: Tensor) -> Tensor:
    """[row]: the sum of probability times logarithm; a product with probability 0 is 0."""
    return (probs * logs.where(probs > 0, 0.0)).sum(1)


def agreement(game: Game, net: Net, examples: Examples) -> tuple[float, float]:
    """Shares of positions in which the net's favourite move is one of the best, and in which it keeps the score."""
    inputs, legal = map(torch.from_numpy, Encoder(game)(examples.states))
    with torch.inference_mode():
        liked: Any = net(inputs, legal) if isinstance(net, PolicyNet) else net(inputs)[:, :, 0]
        best = liked.masked_fill(~legal, -torch.inf).argmax(1).numpy()
    rows = np.arange(len(examples))
    mine = np.where(examples.known, examples.rewards[:, :, 0], -np.inf)
    top = examples.policy.max(1)
    same = examples.policy[rows, best] >= top - 1e-6
    keeps = np.sign(mine[rows, best]) == np.sign(mine.max(1))
    return float(same.mean()), float(keeps.mean())
