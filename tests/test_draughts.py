"""`examples/draughts.py`: compared with OpenSpiel's checkers, and with the published numbers of move sequences."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from meijin.core.catalogue import games
from meijin.core.game import Game
from meijin.core.registry import load_file
from meijin.core.state import State


@cache
def draughts() -> Game:
    (entry,) = load_file(Path(__file__).parents[1] / "examples" / "draughts.py", games)
    return games.make(entry.name)


def test_fields_are_aligned_as_gpus_need_them() -> None:
    record: Any = draughts().dtype
    assert all(record.fields[name][1] % record[name].alignment == 0 for name in record.names)
    assert record.itemsize % 8 == 0


def turns(state: State, depth: int) -> int:
    """Sequences of whole turns: several jumps of one piece are one turn."""
    if depth == 0 or state.is_over:
        return int(depth == 0)
    count = 0
    for move in state.legal_moves:
        after = state.copy().play(move)
        count += turns(after, depth - (after.turn != state.turn))
    return count


def test_as_many_move_sequences_as_published() -> None:
    assert [turns(State(draughts()), depth) for depth in range(1, 6)] == [7, 49, 302, 1469, 7361]


def test_random_games_agree_with_open_spiel() -> None:
    pyspiel: Any = pytest.importorskip("pyspiel")
    rng = random.Random(1)
    ends = set()
    for _ in range(30):
        ours, theirs = State(draughts()), pyspiel.load_game("checkers").new_initial_state()
        while not theirs.is_terminal():
            names = {theirs.action_to_string(action): action for action in theirs.legal_actions()}
            assert not ours.is_over and ours.turn == theirs.current_player()
            assert {str(move) for move in ours.legal_moves} == set(names)
            name = rng.choice(sorted(names))
            theirs.apply_action(names[name])
            ours.play(name)
        assert ours.is_over and list(ours.scores) == theirs.returns()
        ends.add(ours.ending)
    assert len(ends) == 2
