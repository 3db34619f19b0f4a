"""A position as learning frameworks see it."""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.catalogue import make
from meijin.core.game import Game
from meijin.core.rng import fresh_seed, stream
from meijin.core.state import State


class Position:
    """A game being played, in which chance moves by itself."""

    def __init__(self, game: Game | str):
        self.game = make(game) if isinstance(game, str) else game
        self.reset(None)

    def reset(self, seed: int | None) -> None:
        self._rng = stream(fresh_seed() if seed is None else seed)
        self.state = State(self.game).roll(self._rng)

    def play(self, move: int) -> None:
        self.state.play(int(move)).roll(self._rng)

    @property
    def mask(self) -> Any:
        """int8 [move]: 1 for the legal moves."""
        mask = np.zeros(self.game.num_moves, np.int8)
        if self.state.turn >= 0:
            mask[[int(move) for move in self.state.legal_moves]] = 1
        return mask

    @property
    def planes(self) -> Any:
        """float32 [plane, cell], from the mover's view."""
        return self.state.planes
