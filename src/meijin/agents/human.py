"""The player at the keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import IllegalMove
from meijin.core.state import State


def _ask(state: State) -> str:
    print(state)
    return input(f"{state.game.seat_name(state.turn)}, your move: ")


class Human(Agent):
    """Asks a person for each move, again until it is legal. `ask` is how: by default on the terminal."""

    def __init__(self, ask: Callable[[State], str] = _ask):
        self._ask = ask

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        while True:
            try:
                move = state.copy().play(self._ask(state)).history[-1]
            except IllegalMove as error:
                print(error)
                continue
            rest = (MoveInfo(other) for other in state.legal_moves if other != move)
            yield Analysis(state.turn, (MoveInfo(move), *rest))
            return
