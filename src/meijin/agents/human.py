"""The player at the keyboard."""

from __future__ import annotations

from collections.abc import Callable

from meijin.agents.catalogue import agents
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import IllegalMove
from meijin.core.state import State


def _ask(state: State) -> str:
    print(state)
    return input(f"seat {state.turn}, your move: ")


@agents.register("human")
class Human(Agent):
    """Asks a person for each move, again until it is legal. `ask` is how: by default on the terminal."""

    def __init__(self, ask: Callable[[State], str] = _ask):
        self._ask = ask

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        while True:
            try:
                move = state.copy().play(self._ask(state)).history[-1]
            except IllegalMove as error:
                print(error)
            else:
                rest = (MoveInfo(other) for other in state.legal_moves if other != move)
                return Analysis(state.turn, (MoveInfo(move), *rest))
