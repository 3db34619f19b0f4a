"""Checkpoints of classic nets; see `learning.checkpoint` for the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.learning import checkpoint
from meijin.learning.checkpoint import Checkpoint
from meijin.learning.files import find, need_torch

if TYPE_CHECKING:
    from torch import Tensor

    from meijin.learning.classic.nets import PolicyNet, ValueNet

KINDS = ("classic-policy", "classic-value")


def save(
    path: Path,
    net: PolicyNet | ValueNet,
    game: Game,
    shape: Mapping[str, Any],
    *,
    extra: Mapping[str, Tensor] | None = None,
    **facts: Any,
) -> Path:
    """Write a checkpoint; `shape` is what the net was built from."""
    weights = {name: tensor.contiguous().numpy() for name, tensor in net.state_dict().items()}
    more = {name: tensor.contiguous().numpy() for name, tensor in (extra or {}).items()}
    return checkpoint.write(path, f"classic-{shape['net']}", game, shape, weights, facts, more)


def load(path: str | Path, want: str | None = None, game: Game | None = None) -> Checkpoint[PolicyNet | ValueNet]:
    """The net of a checkpoint or of a run's directory. `want`: "policy" or "value", whichever it has to be."""
    file = find(path)
    need_torch(f"'{path}'")
    import torch

    from meijin.learning.classic.nets import build

    found, weights = checkpoint.read(file, KINDS, game)
    kind = found.kind.removeprefix("classic-")
    if want not in (None, kind):
        raise BadParameter(f"'{file}' holds a {kind} net, not a {want} net: play it as {kind}(\"{file}\")")
    try:
        net = build(found.game, found.net)
        net.load_state_dict({name: torch.tensor(tensor) for name, tensor in weights.items()})
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        reason = (str(error) or repr(error)).splitlines()[0]
        raise MeijinError(
            f"{file}: the weights do not fit its own net ({reason}). The file is damaged; use another checkpoint"
        ) from None
    extra = {name: torch.tensor(tensor) for name, tensor in found.extra.items()}
    return Checkpoint(file, found.kind, found.game, net.eval(), found.facts, extra)
