"""Every game is played to its end by mouse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hands import CHOMP, Visitor

from meijin.agents.catalogue import agents
from meijin.core.catalogue import games, make
from meijin.core.registry import load_file
from meijin.core.rng import stream
from meijin.core.state import State
from serving import Server

load_file(CHOMP, games, agents)
NAMES = sorted(games.names())
BY_HAND = 12  # moves of the end that are made by mouse where a game is longer
TRIES = 12  # random games of which the shortest is taken


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


@pytest.mark.parametrize("name", NAMES)
def test_a_game_by_mouse(name: str, server: Server, visit: Callable[..., Visitor]) -> None:
    line = short_game(name)
    begun = max(0, len(line) - BY_HAND)
    chance = make(name).chance
    table = server.post("tables", game=name, moves=line[:begun], seed=1)
    visitor = visit()
    visitor.at_table(table)
    end = visitor.play_out(server, table, None if chance else line[begun:])
    assert chance or end["moves"] == line
    assert visitor.read(".status.over .result")
