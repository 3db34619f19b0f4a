"""Expression -> agent: `build("mcts(simulations=2000)")`."""

from __future__ import annotations

from typing import Any

from meijin.core.agent import Agent
from meijin.core.errors import BadParameter
from meijin.core.expression import Call, parse
from meijin.core.game import Game
from meijin.core.registry import AGENTS_GROUP, Registry

agents: Registry[Agent] = Registry("agent", AGENTS_GROUP, package="meijin.agents")


def build(expression: str | Call, game: Game | None = None, seed: int | None = None) -> Agent:
    """The agent of an expression; with a game, one that can play it or an error that says why not."""
    call = parse(expression) if isinstance(expression, str) else expression
    inner = Call(call.name, tuple(map(_resolve, call.args)), {k: _resolve(v) for k, v in call.kwargs.items()})
    made = agents.make(inner)
    made.name = str(call)
    if seed is not None and "seed" not in call.kwargs:
        made.seed(seed)
    if game is not None and (why := made.unfit(game)):
        raise BadParameter(f"{call} cannot play {game}: {why}")
    return made


def _resolve(value: Any) -> Any:
    """Agents inside an agent's arguments are built first."""
    return build(value) if isinstance(value, Call) else value
