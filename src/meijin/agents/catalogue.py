"""Expression -> agent: `build("mcts(simulations=2000)")`."""

from __future__ import annotations

import math
import typing
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from meijin.core.agent import Agent, Limit
from meijin.core.catalogue import game_of
from meijin.core.errors import BadParameter, UnknownName
from meijin.core.expression import Call, parse
from meijin.core.game import Game
from meijin.core.registry import AGENTS_GROUP, Registry

#: Every agent by name; its module is imported when it is first asked for.
agents: Registry[Agent] = Registry(
    "agent",
    AGENTS_GROUP,
    own={
        "alphabeta": "meijin.search.alphabeta:AlphaBeta",
        "cecp": "meijin.protocols.client.cecp:Cecp",
        "champion": "meijin.agents.champion:Champion",
        "gtp": "meijin.protocols.client.gtp:Gtp",
        "heuristic": "meijin.agents.heuristic:Heuristic",
        "human": "meijin.agents.human:Human",
        "maxn": "meijin.search.maxn:MaxN",
        "mc": "meijin.search.flat:Flat",
        "mcts": "meijin.search.mcts.agent:MCTS",
        "mcts_wrap": "meijin.agents.wrap:Wrap",
        "nboard": "meijin.protocols.client.nboard:NBoard",
        "nply": "meijin.agents.nply:NPly",
        "perfect": "meijin.agents.perfect:Perfect",
        "pipe": "meijin.protocols.client.pipe:Pipe",
        "policy": "meijin.agents.policy_value:Policy",
        "policy_value": "meijin.agents.policy_value:PolicyValue",
        "q": "meijin.agents.td:Q",
        "random": "meijin.agents.random:Random",
        "sarsa": "meijin.agents.td:Sarsa",
        "td": "meijin.agents.td:Td",
        "ugi": "meijin.protocols.client.ugi:Ugi",
        "usi": "meijin.protocols.client.ugi:Usi",
        "value": "meijin.agents.policy_value:Value",
        "weighted": "meijin.agents.weighted:Weighted",
        "zero": "meijin.agents.zero:Zero",
    },
)


def build(expression: str | Call, game: Game | str | None = None, seed: int | None = None) -> Agent:
    """The agent of an expression; with a game, one that can play it or an error that says why not."""
    call = parse(expression) if isinstance(expression, str) else expression
    entry = agents.get(call.name)
    inner = Call(call.name, tuple(map(_resolve, call.args)), {k: _resolve(v, k) for k, v in call.kwargs.items()})
    for name, value in entry.bind(inner).arguments.items():
        _check_kind(name, value, _kinds(entry.factory).get(name, ()))
    made = agents.make(inner)
    made.name = str(call)
    if seed is not None and "seed" not in call.kwargs:
        made.seed(seed)
    if game is not None and (why := made.unfit(game := game_of(game))):
        raise BadParameter(f"{call} cannot play {game}: {why}")
    return made


def agent_names() -> list[str]:
    """The names of all agents, sorted: those of Meijin, of installed packages and of loaded files."""
    return agents.names()


def _resolve(value: Any, name: str = "") -> Any:
    """Agents inside an agent's arguments are built first."""
    if not isinstance(value, Call):
        return value
    try:
        return build(value)
    except UnknownName as error:
        raise UnknownName(f"{name}={value}: {error}" if name else str(error)) from None


#: What an expression can say, where a parameter's annotation asks for nothing else.
_WORDS = {int: "a whole number", float: "a number", bool: "True or False", str: "a string", type(None): "None"}


@lru_cache(maxsize=256)
def _kinds(factory: Callable[..., Agent]) -> dict[str, tuple[type, ...]]:
    """Parameter -> the types it may have, for those that are numbers, strings or booleans."""
    try:
        hints = typing.get_type_hints(cast(Any, factory).__init__ if isinstance(factory, type) else factory)
    except Exception:  # an annotation with unknown names says nothing
        return {}
    found = {name: typing.get_args(hint) or (hint,) for name, hint in hints.items()}
    return {name: kinds for name, kinds in found.items() if all(kind in list(_WORDS) for kind in kinds)}


def _check_kind(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not kinds or type(value) in kinds or (whole and float in kinds):
        return
    if value == math.inf and name in Limit.__dataclass_fields__:  # until it is stopped
        return
    wanted = " or ".join(_WORDS[kind] for kind in kinds if kind is not type(None))
    raise BadParameter(f"{name}={value!r}: must be {wanted}")
