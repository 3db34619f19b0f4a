"""Driving a game by its kernels, for tests that look at very many positions."""

from __future__ import annotations

import numpy as np

from meijin.core import kernels
from meijin.core.game import Game

Look = tuple[int, list[int], list[float]]  # turn, legal moves, scores


class Runner:
    """One record of a game, driven by its kernels: far quicker than `State`, which checks and remembers."""

    def __init__(self, game: Game, jit: bool | None = None):
        self.states = game.states(1)
        self._start, self._play, self._look, self._cells = (
            game.kernel(maker, jit) for maker in (kernels.start, kernels.play, kernels.look, kernels.cells)
        )
        self._moves, self._probs = kernels.buffers(game)
        self._scores = np.zeros(game.seats)
        self._values = np.zeros(len(game.board.cells), np.int32)

    def start(self) -> None:
        self._start(self.states, 0)

    def play(self, move: int) -> None:
        self._play(self.states, 0, move)

    def look(self) -> Look:
        turn, n = self._look(self.states, 0, self._moves, self._probs, self._scores)
        return int(turn), self._moves[:n].tolist(), self._scores.tolist()

    def cells(self) -> list[int]:
        self._cells(self.states, 0, self._values)
        return list(self._values.tolist())


def perft(game: Game, depth: int) -> int:
    states = game.states(depth + 1)
    game.kernel(kernels.start)(states, 0)
    moves, probs = np.zeros((depth, game.branching or 0), np.int32), kernels.buffers(game)[1]
    counts, nexts = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    return int(game.kernel(kernels.perft)(states, depth, moves, probs, counts, nexts))
