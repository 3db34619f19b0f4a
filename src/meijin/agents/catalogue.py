"""Expression -> agent: `build("mcts(simulations=2000)")`."""

from __future__ import annotations

from typing import Any

from meijin.core.agent import Agent
from meijin.core.errors import BadParameter
from meijin.core.expression import Call, parse
from meijin.core.game import Game
from meijin.core.registry import AGENTS_GROUP, Registry

#: Every agent by name; its module is imported when it is first asked for.
agents: Registry[Agent] = Registry(
    "agent",
    AGENTS_GROUP,
    own={
        "alphabeta": "meijin.search.alphabeta:AlphaBeta",
        "champion": "meijin.agents.zero:Champion",
        "heuristic": "meijin.agents.heuristic:Heuristic",
        "human": "meijin.agents.human:Human",
        "maxn": "meijin.search.maxn:MaxN",
        "mc": "meijin.search.flat:Flat",
        "mcts": "meijin.search.mcts.agent:MCTS",
        "mcts_wrap": "meijin.agents.wrap:Wrap",
        "nply": "meijin.agents.nply:NPly",
        "perfect": "meijin.agents.perfect:Perfect",
        "policy": "meijin.agents.policy_value:Policy",
        "policy_value": "meijin.agents.policy_value:PolicyValue",
        "random": "meijin.agents.random:Random",
        "value": "meijin.agents.policy_value:Value",
        "weighted": "meijin.agents.weighted:Weighted",
        "zero": "meijin.agents.zero:Zero",
    },
)


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


def agent_names() -> list[str]:
    """The names of all agents, sorted: those of Meijin, of installed packages and of loaded files."""
    return agents.names()


def _resolve(value: Any) -> Any:
    """Agents inside an agent's arguments are built first."""
    return build(value) if isinstance(value, Call) else value
