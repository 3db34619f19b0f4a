"""The player that looks one move ahead with the game's own estimate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meijin.core import kernels
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.game import Game
from meijin.core.state import State


class Heuristic(Agent):
    """Plays the move after which the game's heuristic likes its position best."""

    deterministic = True

    def unfit(self, game: Game) -> str | None:
        return None if game.heuristic else "the game has no heuristic; mcts needs none"

    def value(self, state: State) -> tuple[float, ...]:
        if state.turn < 0:
            return super().value(state)
        out = np.zeros(state.game.seats)
        state.game.kernel(kernels.heuristic)(state.records, 0, out)
        return tuple(out.tolist())

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        infos = [MoveInfo(move, value=self.value(state.copy().play(move)), pv=(move,)) for move in state.legal_moves]
        infos.sort(key=lambda info: -(info.value or ())[state.turn])
        yield Analysis(state.turn, tuple(infos), infos[0].value, nodes=len(infos), depth=1)
