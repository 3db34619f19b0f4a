"""Every game is played to its end by mouse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hands import Visitor

from meijin.core.catalogue import games, make
from meijin.core.rng import stream
from meijin.core.state import State
from serving import Server

NAMES = sorted({"chomp", *(name for name in games.names() if make(name).score.__module__.startswith("meijin."))})
BY_HAND = 6  # moves of the end that are made by mouse where a game is longer
TRIES = 3  # random games of which the shortest is taken

NEARLY_OVER = {
    "2048": [3, 4, 5, 6, 7, 8, 9, 10, 3, 4, 5, 6, 7, 7, 3, 4]
}  # one pair is left to merge; random games are long


def short_game(name: str) -> list[int]:
    """A short random game, chance outcomes included."""
    best: list[int] | None = None
    game = make(name)
    for seed in range(1 if game.chance else TRIES):  # after chance, what is played by hand differs anyhow
        state, random = State(game), np.random.default_rng(seed)
        while not state.is_over and (best is None or len(state.history) < len(best)):
            if state.is_chance:
                state.roll(stream(seed))
            else:
                state.play(int(random.choice(state.legal_moves)))
        if state.is_over:
            best = [int(move) for move in state.history]
    assert best is not None
    return best


def begun(name: str, server: Server) -> tuple[dict[str, Any], list[int] | None]:
    """A table not far from the end, and the moves to it; None where chance has a say."""
    if name in NEARLY_OVER:
        position = server.post("setup", game=name, cells=NEARLY_OVER[name], turn=0)["position"]
        return server.post("tables", game=name, position=position), None
    line = short_game(name)
    first = max(0, len(line) - BY_HAND)
    return server.post("tables", game=name, moves=line[:first], seed=1), None if make(name).chance else line[first:]


@pytest.mark.parametrize("name", NAMES)
def test_a_game_by_mouse(name: str, server: Server, visit: Callable[..., Visitor]) -> None:
    table, line = begun(name, server)
    visitor = visit()
    visitor.at_table(table)
    end = visitor.play_out(server, table, line)
    assert line is None or end["moves"] == table["moves"] + line
    assert visitor.read(".status.over .result")
