"""`weighted("bench")`: the weighted piece counters that Othello programs of the literature are measured against."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.game import Game
from meijin.core.options import among
from meijin.core.rng import below, fresh_seed, stream
from meijin.core.state import State

#: [cell in reading order] -> what a disc there is worth.
#: heur: Yoshioka, Ishii and Ito, "Strategy acquisition for the game Othello based on reinforcement learning" (1999).
#: bench: the stronger table without symmetry that the General Board Game framework (GBG) calls BenchPlayer.
WEIGHTS = {
    "heur": (
        100, -25, 10, 5, 5, 10, -25, 100,
        -25, -25, 2, 2, 2, 2, -25, -25,
        10, 2, 5, 1, 1, 5, 2, 10,
        5, 2, 1, 2, 2, 1, 2, 5,
        5, 2, 1, 2, 2, 1, 2, 5,
        10, 2, 5, 1, 1, 5, 2, 10,
        -25, -25, 2, 2, 2, 2, -25, -25,
        100, -25, 10, 5, 5, 10, -25, 100,
    ),
    "bench": (
        80, -26, 24, -1, -5, 28, -18, 76,
        -23, -39, -18, -9, -6, -8, -39, -1,
        46, -16, 4, 1, -3, 6, -20, 52,
        -13, -5, 2, -1, 4, 3, -12, -2,
        -5, -6, 1, -2, -3, 0, -9, -5,
        48, -13, 12, 5, 0, 5, -24, 41,
        -27, -53, -11, -1, -11, -16, -58, -15,
        87, -25, 27, -1, 5, 36, -3, 100,
    ),
}  # fmt: skip


class Weighted(Agent):
    """Plays the Othello move after which its discs weigh most, less the other's; one of the best at random."""

    def __init__(self, table: str = "bench", seed: int | None = None):
        among("table", table, WEIGHTS)
        self._weights = np.array(WEIGHTS[table])
        self._all = float(np.abs(self._weights).sum())
        self.reseed(fresh_seed() if seed is None else seed)

    def reseed(self, seed: int) -> None:
        self._rng = stream(seed)

    def unfit(self, game: Game) -> str | None:
        return None if game.name == "othello" and game.params.get("size") == 8 else "it knows Othello on 8 x 8 only"

    def value(self, state: State) -> tuple[float, ...]:
        return super().value(state) if state.is_over else self._weigh(state)

    def _weigh(self, state: State) -> tuple[float, float]:
        cells = np.array(state.cells)
        lead = float(self._weights[cells == 1].sum() - self._weights[cells == 2].sum()) / self._all
        return lead, -lead

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        # Even a move that ends the game is only weighed: these players are measuring sticks, and known for that.
        infos = [MoveInfo(move, value=self._weigh(state.copy().play(move)), pv=(move,)) for move in state.legal_moves]
        infos.sort(key=lambda info: -(info.value or ())[state.turn])
        ties = sum(info.value == infos[0].value for info in infos)
        with np.errstate(over="ignore"):
            chosen = int(below(self._rng, ties))
        infos.insert(0, infos.pop(chosen))
        yield Analysis(state.turn, tuple(infos), self._weigh(state), nodes=len(infos), depth=1)
