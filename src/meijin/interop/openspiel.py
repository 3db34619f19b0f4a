"""Meijin's games and agents in OpenSpiel.

game = openspiel_game("connect_four")  # a pyspiel.Game, for OpenSpiel's algorithms
bot = MeijinBot("mcts(simulations=200)")  # a pyspiel.Bot that plays such games
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.agents.catalogue import build
from meijin.core.catalogue import make
from meijin.core.game import Game
from meijin.core.state import State
from meijin.interop.needed import needed

pyspiel = needed("pyspiel", "OpenSpiel")


def openspiel_game(game: Game | str) -> Any:
    """A game as OpenSpiel has them: actions are the numbers of moves, at chance turns those of outcomes."""
    return _Game(make(game) if isinstance(game, str) else game)


class _Held:
    """A state that OpenSpiel can clone: it copies what its Python states hold, deeply."""

    def __init__(self, state: State):
        self.state = state

    def __deepcopy__(self, memo: Any) -> _Held:
        return _Held(self.state.copy())


class _Game(pyspiel.Game):  # type: ignore[misc, name-defined]
    def __init__(self, game: Game):
        self.meijin = game
        kind = pyspiel.GameType(
            short_name=f"meijin_{game.name}",
            long_name=f"{game.title or game.name} (Meijin)",
            dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
            chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
            if game.chance
            else pyspiel.GameType.ChanceMode.DETERMINISTIC,
            information=pyspiel.GameType.Information.PERFECT_INFORMATION,
            utility=pyspiel.GameType.Utility.GENERAL_SUM,
            reward_model=pyspiel.GameType.RewardModel.TERMINAL,
            max_num_players=game.seats,
            min_num_players=game.seats,
            provides_information_state_string=False,
            provides_information_state_tensor=False,
            provides_observation_string=True,
            provides_observation_tensor=True,
            provides_factored_observation_string=False,
        )
        low, high = game.score_range
        info = pyspiel.GameInfo(
            num_distinct_actions=game.num_moves,
            max_chance_outcomes=game.num_outcomes,
            num_players=game.seats,
            min_utility=low,
            max_utility=high,
            utility_sum=None,
            max_game_length=game.longest,
        )
        super().__init__(kind, info, {})

    def new_initial_state(self) -> Any:
        return _State(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
        return _Observer(self.meijin)


class _State(pyspiel.State):  # type: ignore[misc, name-defined]
    def __init__(self, game: _Game):
        super().__init__(game)
        self.held = _Held(State(game.meijin))

    def current_player(self) -> int:
        state = self.held.state
        if state.is_over:
            return int(pyspiel.PlayerId.TERMINAL)
        return int(pyspiel.PlayerId.CHANCE) if state.is_chance else state.turn

    def _legal_actions(self, player: int) -> list[int]:
        return [int(move) for move in self.held.state.legal_moves]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return [(int(outcome), odds) for outcome, odds in self.held.state.odds.items()]

    def _apply_action(self, action: int) -> None:
        self.held.state.play(action)

    def _action_to_string(self, player: int, action: int) -> str:
        game = self.held.state.game
        return (game.outcomes if player == pyspiel.PlayerId.CHANCE else game.moves)[action].name

    def is_terminal(self) -> bool:
        return self.held.state.is_over

    def returns(self) -> list[float]:
        state = self.held.state
        return list(state.scores) if state.is_over else [0.0] * state.game.seats

    def __str__(self) -> str:
        return str(self.held.state)


class _Observer:
    """What OpenSpiel's algorithms ask for a tensor: the planes, from the mover's view."""

    def __init__(self, game: Game):
        self.planes = np.zeros((game.num_planes or 0, len(game.board.cells)), np.float32)
        self.tensor = self.planes.reshape(-1)
        self.dict = {"observation": self.planes}

    def set_from(self, state: _State, player: int) -> None:
        self.planes[:] = state.held.state.planes

    def string_from(self, state: _State, player: int) -> str:
        return str(state)


class MeijinBot(pyspiel.Bot):  # type: ignore[misc, name-defined]
    """Plays the states of an `openspiel_game`, in any seat."""

    def __init__(self, agent: str, seed: int | None = None):
        super().__init__()
        self.agent = build(agent, seed=seed)

    def restart_at(self, state: Any) -> None: ...

    def step(self, state: _State) -> int:
        return int(self.agent.act(state.held.state.copy()))
