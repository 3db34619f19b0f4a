"""Players of other libraries as agents, for the tournaments beside this file: `load = ["rivals.py"]`.

bitbully                          plays Connect Four perfectly (pip install bitbully)
openspiel_mcts(simulations=1000)  OpenSpiel's own tree search, in games whose moves both number alike
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meijin.agents.catalogue import agents
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.game import Game
from meijin.core.rng import fresh_seed
from meijin.core.state import State
from meijin.interop.needed import needed

#: Our game -> OpenSpiel's, where action k is our move k.
SAME = {"connect_four": "connect_four", "othello": "othello", "tic_tac_toe": "tic_tac_toe"}


def answer(state: State, move: int) -> Analysis:
    others = tuple(MoveInfo(each) for each in state.legal_moves if int(each) != move)
    return Analysis(state.turn, (MoveInfo(state.game.moves[move]), *others))


class BitBully(Agent):
    """The solver bitbully with its opening book; of equally good moves it takes one at random."""

    def __init__(self) -> None:
        self._solver: Any = needed("bitbully", "bitbully").BitBully()

    def unfit(self, game: Game) -> str | None:
        return None if str(game) == "connect_four" else "bitbully plays connect_four"

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        board = needed("bitbully", "bitbully").Board([int(move) for move in state.history])
        yield answer(state, int(self._solver.best_move(board, tie_break="random")))


class OpenSpielMcts(Agent):
    """OpenSpiel's MCTSBot with random rollouts, in its compiled games."""

    def __init__(self, simulations: int = 1000):
        self.simulations, self._seed = simulations, fresh_seed() % 2**31
        self._bot: Any = None

    def unfit(self, game: Game) -> str | None:
        return None if str(game) in SAME else f"openspiel_mcts plays {', '.join(SAME)}"

    def reseed(self, seed: int) -> None:
        self._seed, self._bot = seed % 2**31, None

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        pyspiel = needed("pyspiel", "OpenSpiel")
        theirs = pyspiel.load_game(SAME[str(state.game)])
        if self._bot is None:
            rollouts = pyspiel.RandomRolloutEvaluator(1, self._seed)
            self._bot = pyspiel.MCTSBot(theirs, rollouts, 2.0, self.simulations, 1000, True, self._seed, False)
        position = theirs.new_initial_state()
        for move in state.history:
            position.apply_action(int(move))
        yield answer(state, int(self._bot.step(position)))


agents.register("bitbully", BitBully)
agents.register("openspiel_mcts", OpenSpielMcts)
