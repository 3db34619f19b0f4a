"""PyTorch's optimizers without its compiler.

Its methods are marked for the compiler, `torch.compile`, and every mark loads it: seconds at the start of each process
that learns, for nothing, as no step of an optimizer is compiled here. Without the marks the methods are the same.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.optim import Optimizer


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
    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        return inspect.unwrap(torch.optim.AdamW.step)(self, closure)
