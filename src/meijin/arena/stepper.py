"""`Stepper`: follows a game move by move with its rules; as strict as `State`, but without a history."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from meijin.core import kernels
from meijin.core.errors import IllegalMove
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.moves import Move
from meijin.core.state import State

_SHOWN = 10  # legal moves named in an error


class Stepper:
    """One position of a game, the start position at first. Only legal moves reach the rules."""

    def __init__(self, game: Game):
        self.game = game
        self.states = game.states(1)
        self._start, self._play, self._look = (game.tiered(k) for k in (kernels.start, kernels.play, kernels.look))
        self._moves, self._probs = kernels.buffers(game)
        self._scores = np.zeros(game.seats)
        self.restart()

    def restart(self, position: str = "") -> Stepper:
        """Back to the start, or to a position that a text describes."""
        if position:
            self.states[0] = State.from_position(self.game, position).record
        else:
            self._start(self.states, 0)
        self.ply = 0  # moves and outcomes played
        self._update()
        return self

    def _update(self) -> None:
        turn, n = self._look(self.states, 0, self._moves, self._probs, self._scores)
        self.turn = int(turn)  # the seat to move, CHANCE or OVER
        self.legal: list[int] = self._moves[:n].tolist()

    @property
    def scores(self) -> tuple[float, ...]:
        return tuple(self._scores.tolist())

    def find(self, move: int | str) -> Move:
        """The legal move or outcome of that number or name; any other is an error that says why."""
        if self.turn == OVER:
            raise IllegalMove("the game is over")
        names = self.game.outcomes if self.turn == CHANCE else self.game.moves
        if isinstance(move, str):
            found = self.game.find(move, self.turn == CHANCE)
        elif 0 <= move < len(names):
            found = names[move]
        else:
            raise IllegalMove(f"{self.game} has no move number {move}")
        if found not in self.legal:
            some = ", ".join(names[m].name for m in self.legal[:_SHOWN])
            more = f", and {len(self.legal) - _SHOWN} more" if len(self.legal) > _SHOWN else ""
            raise IllegalMove(f"'{found}' is not legal here; legal: {some}{more}")
        return found

    def play(self, move: int | str) -> Move:
        found = self.find(move)
        self._play(self.states, 0, int(found))
        self.ply += 1
        self._update()
        return found

    def line(self, moves: Iterable[int | str], position: str = "") -> list[tuple[int, Move]]:
        """Play moves from the start or a position; returns (whose turn it was, the move) for each."""
        self.restart(position)
        return [(self.turn, self.play(move)) for move in moves]
