"""What a game and a config make of a net: the sizes of its layers, and which other games its weights serve."""

from __future__ import annotations

from dataclasses import dataclass, field

from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.learning.nets.config import NetConfig
from meijin.learning.nets.layout import Layout, layout

FLAT_WEIGHTS = 200_000  # a linear layer over all places has about so many, well below the tower's


@dataclass(frozen=True)
class Plan:
    """An error says what the game cannot have."""

    game: Game
    config: NetConfig
    layout: Layout = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", layout(self.game, self.config.kind))
        if self.config.policy == "cells" and not self.layout.kinds:
            raise BadParameter(
                f"{self.game}: its moves do not belong to cells of a grid; choose the policy 'flat' or 'auto'"
            )
        if problem := self._unfit_settings():
            raise BadParameter(problem)

    @property
    def tower(self) -> bool:
        """Convolutions on a grid; otherwise a perceptron, which is a tower on a single place."""
        return self.layout.kind == "tower"

    @property
    def channels(self) -> int:
        return self.config.channels if self.tower else 3 * self.config.channels

    @property
    def kernel(self) -> int:
        return 3 if self.tower else 1

    @property
    def pooling(self) -> bool:
        """Whether the heads see the whole board."""
        return self.config.pooling and self.tower

    def pooled(self, block: int) -> int:
        """Channels through which a block sees the whole board; 0: it does not."""
        return max(8, self.channels // 4) if self.pooling and block % 3 == 1 else 0

    @property
    def cells(self) -> bool:
        """Whether the policy has one plane for each kind of move, rather than a linear layer."""
        return bool(self.layout.kinds) and self.config.policy != "flat"

    @property
    def policy_width(self) -> int:
        config, lay = self.config, self.layout
        if self.cells:
            return max(config.policy_channels, min(len(lay.kinds), self.channels))
        if not self.tower:
            return self.channels
        return max(2, min(config.policy_channels, FLAT_WEIGHTS // (lay.places * self.game.num_moves)))

    @property
    def value_width(self) -> int:
        if not self.tower:
            return self.channels
        return self.config.value_channels * (4 if self.pooling else 1)

    def _unfit_settings(self) -> str | None:
        """Why the game cannot have what only some have: owners of cells, draws; None if it can, or need not."""
        game, config = self.game, self.config
        for name in ("ownership", "score"):
            if getattr(config, name) and game.owners is None:
                return f"net: {name}=true: {game} does not say who owns its cells in the end; set it to false"
        if config.ownership and not self.tower:
            return f"net: ownership=true: {game} has no tower here, and a perceptron has no cells; set it to false"
        if config.ownership and game.views is not None:
            return f"net: ownership=true: {game} turns its board to the mover, its owners do not turn; set it to false"
        if config.draw and not (game.seats == 2 and game.bounded):
            return f"net: draw={config.draw}: only games for two with a highest score have draws; set it to 0"
        return None

    def unfit(self, game: Game) -> str | None:
        """Why weights made for this plan do not fit another game; None when they do."""
        mine = self.game
        if game.name != mine.name:
            return "it is another game; train a net for it"
        if mine.num_planes != game.num_planes:
            return f"it sees {mine.num_planes} planes, that game shows {game.num_planes}"
        if mine.seats != game.seats:
            return f"it was made for {mine.seats} seats, not {game.seats}"
        if mine.bounded != game.bounded:
            return "only one of the two games has a highest score"
        other = layout(game, self.config.kind)
        if (self.layout, mine.num_moves) == (other, game.num_moves):
            return None
        if self.layout.kind != other.kind or not self.cells or self.layout.size_free() != other.size_free():
            return "their boards and moves differ in more than size; train a net for each"
        if not self.config.pooling:
            return "without pooling a net knows one size only; train it with pooling=true"
        return None
