"""Muon, and PyTorch's optimizers without its compiler.

PyTorch's methods are marked for the compiler, `torch.compile`, and every mark loads it: seconds at the start of each
process that learns, for nothing, as no step of an optimizer is compiled here. Without the marks they are the same.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

MOMENTUM = 0.95  # of Muon
MATCHED = 0.2  # root mean square of Muon's steps at a rate of 1, about that of AdamW's: rates are of the same order
ROUNDS = 5  # of Newton and Schulz
ODD = 3.4445, -4.7750, 2.0315  # factors of X, X^3 and X^5, by Keller Jordan: singular values end between 0.7 and 1.2


class _Plain(Optimizer):
    add_param_group = inspect.unwrap(Optimizer.add_param_group)
    zero_grad = inspect.unwrap(Optimizer.zero_grad)


class SGD(_Plain, torch.optim.SGD):
    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        return inspect.unwrap(torch.optim.SGD.step)(self, closure)


class Adam(_Plain, torch.optim.Adam):
    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        return inspect.unwrap(torch.optim.Adam.step)(self, closure)


class AdamW(_Plain, torch.optim.AdamW):
    _warned_capturable_if_run_uncaptured = True  # the first steps on a GPU are not recorded, which is no mistake

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        return inspect.unwrap(torch.optim.AdamW.step)(self, closure)


class Muon(AdamW):
    """AdamW, but a group with `matrix` set takes momentum's direction with all its singular values near 1.

    Rare directions then count as much as frequent ones. A convolution's weights are a matrix with a row per output.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        every = self.param_groups
        self.param_groups = [group for group in every if not group["matrix"]]
        super().step(closure)
        self.param_groups = every
        for group in every:
            if group["matrix"]:
                self._turn([p for p in group["params"] if p.grad is not None], group["lr"], group["weight_decay"])

    def _turn(self, weights: list[Tensor], rate: Any, decay: float) -> None:
        alike: dict[tuple[int, int], list[tuple[Tensor, Tensor]]] = defaultdict(list)  # matrices of one shape
        for weight in weights:
            assert weight.grad is not None
            state = self.state[weight]
            if not state:
                state["momentum_buffer"] = torch.zeros_like(weight)
            state["momentum_buffer"].lerp_(weight.grad, 1 - MOMENTUM)
            ahead = weight.grad.lerp(state["momentum_buffer"], MOMENTUM).flatten(1)
            alike[ahead.shape[0], ahead.shape[1]].append((weight, ahead))
        for shape, members in alike.items():
            steps = orthogonal(torch.stack([ahead for _, ahead in members])) * (MATCHED * max(shape) ** 0.5)
            for (weight, _), step in zip(members, steps, strict=True):
                weight.mul_(1 - rate * decay).sub_(rate * step.view(weight.shape))


def orthogonal(matrices: Tensor) -> Tensor:
    """[matrix, row, column]: of each U V', nearly, where U S V' is its singular value decomposition."""
    x = matrices.bfloat16() if matrices.is_cuda else matrices
    if tall := x.shape[1] > x.shape[2]:
        x = x.mT
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    a, b, c = ODD
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    found: Tensor = x.mT if tall else x
    return found.to(matrices.dtype)
