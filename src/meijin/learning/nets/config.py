"""The shape of a net: how many blocks and channels, and which heads."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from meijin.core.errors import BadParameter, UnknownName, suggest


@dataclass(frozen=True)
class NetConfig:
    """The shape of a net. With the game, it says everything but the weights."""

    blocks: int = 4  # residual blocks of two convolutions each
    channels: int = 32  # of the tower; a perceptron has three times as many units a layer
    policy_channels: int = 32  # between the tower and the moves
    value_channels: int = 8  # between the tower and the value's hidden layer
    value_hidden: int = 64  # units of that layer
    pooling: bool = False  # blocks and heads that see the whole board: one net for several sizes
    kind: Literal["auto", "tower", "mlp"] = "auto"  # auto: a tower where the board has a grid
    policy: Literal["auto", "cells", "flat"] = (
        "auto"  # cells: one plane per kind of move; flat: a linear layer; auto: cells where possible
    )
    moves_left: bool = False  # also predict how many plies are left
    ownership: bool = False  # also predict who owns each cell at the end (Go, Othello); needs a tower
    draw: float = 0.0  # what a draw is worth to both sides, from -1 (as bad as a loss) to 1; below 0, they avoid it
    score: bool = False  # also predict the difference: the mover's cells minus the others', as a share of all

    def __post_init__(self) -> None:
        for name in ("blocks", "channels", "policy_channels", "value_channels", "value_hidden"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 4096:
                raise BadParameter(f"net: {name}={value!r}: choose a whole number from 1 to 4096")
        if not isinstance(self.draw, int | float) or isinstance(self.draw, bool) or not -1 <= self.draw <= 1:
            raise BadParameter(f"net: draw={self.draw!r}: choose a number from -1 to 1")
        for name, known in (("kind", ("auto", "tower", "mlp")), ("policy", ("auto", "cells", "flat"))):
            if getattr(self, name) not in known:
                raise BadParameter(f"net: {name}={getattr(self, name)!r}: choose one of {', '.join(known)}")
        for name in ("pooling", "moves_left", "ownership", "score"):
            if not isinstance(getattr(self, name), bool):
                raise BadParameter(f"net: {name}={getattr(self, name)!r}: choose true or false")

    @classmethod
    def sized(cls, name: str, **changes: Any) -> NetConfig:
        """A size by name (see `SIZES`), with changes."""
        if name not in SIZES:
            raise UnknownName(f"unknown net size '{name}'{suggest(str(name), SIZES)}; sizes are {', '.join(SIZES)}")
        return cls.from_dict({**SIZES[name], **changes})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> NetConfig:
        known = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                raise UnknownName(f"net: unknown setting '{name}'{suggest(name, known)}; known: {', '.join(known)}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


SIZES: dict[str, dict[str, Any]] = {
    "nano": {"blocks": 4, "channels": 32, "policy_channels": 16, "value_channels": 4, "value_hidden": 32},
    "tiny": {"blocks": 5, "channels": 64},
    "small": {"blocks": 6, "channels": 96},
    "medium": {"blocks": 10, "channels": 128, "value_hidden": 128},
    "large": {"blocks": 20, "channels": 256, "policy_channels": 64, "value_channels": 16, "value_hidden": 256},
}
