"""Checkpoints of zero nets; see `learning.checkpoint` for the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning import checkpoint
from meijin.learning.checkpoint import ZERO, Checkpoint, describe
from meijin.learning.nets.config import NetConfig
from meijin.learning.zero.nets import Net

__all__ = ["describe", "load", "save"]


def save(
    path: str | Path, net: Net, *, half: bool = False, extra: Mapping[str, Tensor] | None = None, **facts: Any
) -> Path:
    """Write a checkpoint; `half` stores all but vectors as float16, half the size and exact enough to play."""
    weights = {}
    for name, tensor in net.state_dict().items():
        tensor = tensor.detach().cpu()
        if tensor.is_floating_point():
            tensor = tensor.to(torch.float16 if half and tensor.ndim > 1 else torch.float32)
            if not bool(torch.isfinite(tensor).all()):
                raise MeijinError(
                    f"{path}: not written, because the net's {name} holds infinite or undefined numbers; "
                    "go back to an earlier checkpoint and lower the learning rate"
                )
        weights[name] = tensor.contiguous().numpy()
    more = {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in (extra or {}).items()}
    return checkpoint.write(Path(path), ZERO, net.game, net.config.to_dict(), weights, facts, more)


def load(path: str | Path, game: Game | None = None) -> Checkpoint[Net]:
    """Read a checkpoint, on the CPU and in `eval` mode. With `game`, it must be one of that very game.

    A net with pooling moves to other sizes by `checkpoint.net.for_game(other)`.
    """
    found, weights = checkpoint.read(path, [ZERO], game)
    try:
        config = NetConfig.from_dict(found.net)
    except (MeijinError, TypeError) as error:
        raise MeijinError(f"{path}: its net cannot be built ({error}); the file may be from a newer Meijin") from None
    with torch.device("meta"):  # shapes first: a forged config must not ask for more memory than the file has
        wanted = {name: list(tensor.shape) for name, tensor in Net(found.game, config).state_dict().items()}
    given = {name: list(tensor.shape) for name, tensor in weights.items()}
    for name in sorted(wanted.keys() | given.keys()):
        if wanted.get(name) != given.get(name):
            raise MeijinError(
                f"{path}: the weights do not fit its own net: {name} is {given.get(name, 'missing')}, "
                f"but should be {wanted.get(name, 'absent')}. The file is damaged; use another checkpoint"
            )
    net = Net(found.game, config)
    net.load_state_dict({name: torch.tensor(tensor) for name, tensor in weights.items()})  # casts float16 back
    extra = {name: torch.tensor(tensor) for name, tensor in found.extra.items()}
    return Checkpoint(found.path, found.kind, found.game, net.eval(), found.facts, extra)
