"""Gymnasium's environments: `SoloEnv` for games of one seat, `BatchEnv` for many positions of any game at once.

Observations are {"observation": float32 [plane, cell], "action_mask": int8 [move]}, with the position as the first axis
in a `BatchEnv`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.batch import States
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.interop.needed import needed
from meijin.interop.position import Position

_gymnasium = needed("gymnasium", "Gymnasium")
_vector = needed("gymnasium.vector", "Gymnasium")
_spaces = _gymnasium.spaces


def _space(game: Game) -> Any:
    return _spaces.Dict(
        {
            "observation": _spaces.Box(-np.inf, np.inf, (game.num_planes or 0, len(game.board.cells)), np.float32),
            "action_mask": _spaces.Box(0, 1, (game.num_moves,), np.int8),
        }
    )


class SoloEnv(_gymnasium.Env):  # type: ignore[misc, name-defined]
    """A game of one seat, such as 2048. The reward of a move is the change of the score.

    A move that is not legal changes nothing and has no reward; `info["illegal"]` is then True.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - theirs

    def __init__(self, game: Game | str, render_mode: str | None = None):
        self.position, self.render_mode = Position(game), render_mode
        self.game = self.position.game
        if self.game.seats != 1:
            raise BadParameter(f"{self.game} has {self.game.seats} seats; use PettingZoo's environment, or BatchEnv")
        self.observation_space, self.action_space = _space(self.game), _spaces.Discrete(self.game.num_moves)

    def _seen(self) -> dict[str, Any]:
        return {"observation": self.position.planes, "action_mask": self.position.mask}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.position.reset(int(self.np_random.integers(1 << 62)))
        return self._seen(), {"illegal": False}

    def step(self, action: int) -> Any:
        before = self.position.state.scores[0]
        illegal = not self.position.mask[action]
        if not illegal:
            self.position.play(action)
        state = self.position.state
        return self._seen(), float(state.scores[0] - before), state.is_over, False, {"illegal": illegal}

    def render(self) -> Any:
        return str(self.position.state) if self.render_mode == "ansi" else None


class BatchEnv(_vector.VectorEnv):  # type: ignore[misc, name-defined]
    """Many positions of one game, stepped together by the compiled rules; for self-play of all seats.

    A step plays a move for whoever is to move in each position; the reward is the final score of that seat where its
    move ended the game, and 0 elsewhere. A finished game is replaced by a new one at once; `info["scores"]` has the
    final scores, float64 [position, seat], of the games that ended, and `info["turn"]` the seats to move.
    """

    def __init__(self, game: Game | str, num_envs: int, *, seed: int = 0, threads: int | None = None):
        self.game = make(game) if isinstance(game, str) else game
        self.num_envs, self._threads = num_envs, threads
        self.metadata = {"autoreset_mode": _vector.AutoresetMode.SAME_STEP}
        self.single_observation_space = _space(self.game)
        self.single_action_space = _spaces.Discrete(self.game.num_moves)
        batch = _gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self._begin(seed)

    def _begin(self, seed: int) -> None:
        self.states = States(self.game, self.num_envs, seed=seed, threads=self._threads)

    def _seen(self) -> dict[str, Any]:
        return {"observation": self.states.planes, "action_mask": self.states.mask}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        if seed is None:
            self.states.reset()
        else:
            self._begin(seed)
        return self._seen(), {"turn": self.states.turns}

    def step(self, actions: Any) -> Any:
        movers = self.states.turns.copy()
        self.states.step(actions)
        over = self.states.over.astype(bool)
        rewards = np.where(over, self.states.scores[np.arange(self.num_envs), movers], 0.0)
        info = {"turn": self.states.turns, "scores": self.states.scores}
        return self._seen(), rewards, over, np.zeros(self.num_envs, bool), info

    def sample(self) -> Any:
        """A random legal move for each position."""
        return self.states.sample()
