"""How nets choose moves, for many positions at once: sampled from the policy, or nearly always the best value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from meijin.learning.classic.nets import PolicyNet, ValueNet, one_thread

#: (inputs [row, channel, cell], legal [row, move], generator) -> one legal move per row
Choice = Callable[[Any, Any, np.random.Generator], NDArray[np.int64]]


def draw(probs: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    """One column per row, drawn by the row's probabilities. One of probability 0 is never drawn."""
    sums = np.cumsum(probs, 1, dtype=np.float64)
    # Scaled by the sum itself, and strictly below it: rounding cannot lead past the last column with a probability.
    mark = rng.random(len(probs)) * sums[:, -1]
    return np.asarray((sums > np.minimum(mark, np.nextafter(sums[:, -1], 0.0))[:, None]).argmax(1))


def any_legal(inputs: Any, legal: Any, rng: np.random.Generator) -> NDArray[np.int64]:
    """All legal moves equally likely."""
    return draw(legal.astype(np.float64), rng)


def probabilities(net: PolicyNet, inputs: Any, legal: Any) -> NDArray[np.float32]:
    """[row, move]: the policy net's probabilities, exactly 0 for illegal moves."""
    with one_thread(), torch.inference_mode():
        out: NDArray[np.float32] = net(torch.from_numpy(inputs), torch.from_numpy(legal)).exp().numpy()
    return out


def rewards(net: ValueNet, inputs: Any) -> NDArray[np.float32]:
    """[row, move, seat]: the value net's rewards, the mover's seat first."""
    with one_thread(), torch.inference_mode():
        out: NDArray[np.float32] = net(torch.from_numpy(inputs)).numpy()
    return out


def chooser(net: PolicyNet | ValueNet, epsilon: float = 0.1) -> Choice:
    """A policy net's moves are sampled. A value net plays its best move, or with probability `epsilon` a random one."""
    if isinstance(net, PolicyNet):
        return lambda inputs, legal, rng: draw(probabilities(net, inputs, legal), rng)

    def nearly_best(inputs: Any, legal: Any, rng: np.random.Generator) -> NDArray[np.int64]:
        best = np.where(legal, rewards(net, inputs)[:, :, 0], -np.inf).argmax(1)
        return np.where(rng.random(len(legal)) < epsilon, any_legal(inputs, legal, rng), best)

    return nearly_best
