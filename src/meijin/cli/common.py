"""What the commands share: files to load, positions to begin from, limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.cli.console import announce_compiling
from meijin.core.agent import Limit
from meijin.core.catalogue import games
from meijin.core.errors import MeijinError

if TYPE_CHECKING:
    from meijin.core.game import Game
    from meijin.core.registry import Entry, Registry
    from meijin.core.state import State


def prepare(load: Sequence[Path], *more: Registry[Any]) -> list[Entry[Any]]:
    """Get ready to run: returns what the files to load registered as games, as agents or in one `more` registry."""
    from meijin.agents.catalogue import agents
    from meijin.core.registry import load_file

    announce_compiling()
    return [entry for path in load for entry in load_file(path, games, agents, *more)]


def position(game: Game, moves: str) -> State:
    """The position after a line of moves from the start."""
    from meijin.core.state import State

    state = State(game)
    try:
        return state.play_line(moves)
    except MeijinError as error:
        raise type(error)(f"--moves '{moves}': {error}") from None


def limit(seconds: float | None, simulations: int | None) -> Limit:
    return Limit(seconds=seconds, simulations=simulations)
