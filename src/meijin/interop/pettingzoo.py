"""PettingZoo's AEC environment of a game, with action masks.

    env = MeijinEnv("connect_four")

Agents are "seat_0", "seat_1" and so on. An observation is {"observation": float32 [plane, cell] from the mover's view,
"action_mask": int8 [move]}; the mask of a seat that is not to move is all zeros. Rewards are the changes of the score.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.game import Game
from meijin.interop.needed import needed
from meijin.interop.position import Position

_pettingzoo = needed("pettingzoo", "PettingZoo")
_spaces = needed("gymnasium.spaces", "Gymnasium")


class MeijinEnv(_pettingzoo.AECEnv):  # type: ignore[misc, name-defined]
    metadata = {"name": "meijin_v0", "render_modes": ["ansi"], "is_parallelizable": False}  # noqa: RUF012 - theirs

    def __init__(self, game: Game | str, render_mode: str | None = None):
        super().__init__()
        self.position, self.render_mode = Position(game), render_mode
        self.game = self.position.game
        self.possible_agents = [f"seat_{k}" for k in range(self.game.seats)]
        shape = (self.game.num_planes or 0, len(self.game.board.cells))
        self.observation_spaces = {
            agent: _spaces.Dict(
                {
                    "observation": _spaces.Box(-np.inf, np.inf, shape, np.float32),
                    "action_mask": _spaces.Box(0, 1, (self.game.num_moves,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: _spaces.Discrete(self.game.num_moves) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.position.reset(seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.possible_agents[max(0, self.position.state.turn)]
        self._scores = self.position.state.scores

    def observe(self, agent: str) -> dict[str, Any]:
        mask = self.position.mask
        if self.possible_agents.index(agent) != self.position.state.turn:
            mask[:] = 0
        return {"observation": self.position.planes, "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Play a move; one that is not legal is an error."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        assert action is not None
        self._cumulative_rewards[agent] = 0.0
        self.position.play(action)
        state = self.position.state
        before, self._scores = self._scores, state.scores
        # Games without a score during play only have one when they are over.
        counted = state.is_over or not self.game.bounded or self.game.seats == 1
        if not counted:
            self._scores = before
        self.rewards = {name: float(self._scores[k] - before[k]) for k, name in enumerate(self.possible_agents)}
        if state.is_over:
            self.terminations = dict.fromkeys(self.agents, True)
            self.agent_selection = self.agents[(self.agents.index(agent) + 1) % len(self.agents)]
        else:
            self.agent_selection = self.possible_agents[state.turn]
        self._accumulate_rewards()

    def render(self) -> str | None:
        return str(self.position.state) if self.render_mode == "ansi" else None

    def close(self) -> None: ...
