"""What the commands share: files to load, positions to begin from, limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.cli.console import announce_compiling
from meijin.core.agent import Agent, Limit
from meijin.core.errors import BadParameter, MeijinError, UnknownName
from meijin.core.expression import Call, parse

if TYPE_CHECKING:
    from meijin.core.game import Game
    from meijin.core.registry import Entry, Registry
    from meijin.core.state import State


def prepare(load: Sequence[Path], *more: Registry[Any]) -> list[Entry[Any]]:
    """Load the files of --load; returns the games, agents and features in them, and what they add to `more`."""
    announce_compiling()
    if not load:
        return []
    from meijin.agents.registrations import load as load_file

    return [entry for path in load for entry in load_file(path, *more)]


def position(game: Game, moves: str, begin: str = "") -> State:
    """The position after a line of moves, from the start or from a position given as text."""
    from meijin.core.state import State

    try:
        state = State.from_position(game, begin) if begin else State(game)
    except MeijinError as error:
        raise type(error)(f"--position '{begin}': {error}") from None
    try:
        return state.play_line(moves)
    except MeijinError as error:
        raise type(error)(f"--moves '{moves}': {error}") from None


MOST = {"--seconds": 1_000_000, "--simulations": 10**12}  # days; more is a slip, and nobody could wait for it


def limit(seconds: float | None, simulations: int | None) -> Limit:
    for (name, most), given in zip(MOST.items(), (seconds, simulations), strict=True):
        if given is not None and given > most:
            raise BadParameter(f"{name} {given}: nobody can wait that long; give at most {most:,}")
    return Limit(seconds=seconds, simulations=simulations)


def shown(agent: Agent, limit: Limit) -> str:
    """An agent with the limit that holds: "mcts(seconds=0.5)" for `mcts(seconds=1)` under a limit of 0.5 seconds."""
    from meijin.agents.catalogue import agents

    names = [field.name for field in fields(Limit)]
    heeded = limit.only(agent.measures)
    given = {name: value for name in names if (value := getattr(heeded, name)) is not None}
    given = {name: int(value) if value % 1 == 0 else value for name, value in given.items()}
    if not given:
        return agent.name
    try:
        call = parse(agent.name)
        known = [*agents.get(call.name).parameters]
    except (BadParameter, UnknownName):  # an agent that no expression makes
        call, known = Call(agent.name), []
    if not given.keys() <= set(known):
        return f"{call} with {', '.join(f'{name}={value:g}' for name, value in given.items())}"
    first = next((k for k, name in enumerate(known[: len(call.args)]) if name in names), len(call.args))
    later = dict(zip(known[first:], call.args[first:], strict=False)) | call.kwargs
    kept = {name: value for name, value in later.items() if name not in names}
    return str(Call(call.name, call.args[:first], kept | given))
