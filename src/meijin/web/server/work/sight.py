"""What a net sees of a position, and what it expects of its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.agents.policy_value import Policy, Value
from meijin.agents.zero import ZeroSearch
from meijin.core.agent import Agent
from meijin.core.state import State


def sight(agent: Agent, state: State) -> dict[str, Any]:
    """`planes` [plane][cell] for agents that ask a net; `ownership` [cell] (1: seat 0, -1: another) and `score` (the
    mean of that) where the net foretells them. Empty for other agents."""
    if not isinstance(agent, ZeroSearch | Policy | Value) or state.turn < 0:
        return {}
    if isinstance(agent, ZeroSearch) and not agent.has_net(state.game):
        return {}
    game, planes = state.game, state.planes
    shown = planes if game.turned is None else planes[:, np.array(game.turned[state.turn])]
    found: dict[str, Any] = {"planes": np.round(shown, 3).tolist()}
    if isinstance(agent, ZeroSearch):
        found |= _expected(agent, state, planes)
    return found


def _expected(agent: ZeroSearch, state: State, planes: Any) -> dict[str, Any]:
    from meijin.learning.nets.evaluator import CpuEvaluator

    net = agent.net(state.game).weights()
    if not net.config.ownership and not net.config.score:
        return {}
    evaluator = CpuEvaluator(net, 1, auxiliary=True)
    evaluator.x[0] = planes
    evaluator.run(1)
    sign = 1 if state.turn == 0 else -1  # nets speak of the mover
    found: dict[str, Any] = {}
    if evaluator.ownership is not None:
        found["ownership"] = np.round(sign * evaluator.ownership[0], 3).tolist()
    if evaluator.score is not None:
        found["score"] = float(sign * evaluator.score[0])
    return found
