"""What `import meijin` gives: real types, and names that mean the same thing at any time.

mypy reads this file too, so a public name that loses its type fails `make test`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import assert_type

import meijin
from meijin import Agent, Analysis, Game, Limit, Move, State


def test_public_names_have_types() -> None:
    game = meijin.make("tic_tac_toe")
    assert_type(game, Game)
    state = State(game)
    assert_type(state, State)
    assert_type(state.legal_moves, tuple[Move, ...])
    assert_type(state.scores, tuple[float, ...])
    agent = meijin.build("random", game, seed=1)
    assert_type(agent, Agent)
    assert_type(agent.analyse(state, Limit(simulations=1)), Analysis)
    assert_type(meijin.game_names(), list[str])


def test_every_public_name_is_there() -> None:
    for name in meijin.__all__:
        assert getattr(meijin, name) is getattr(meijin, name), name


def fresh(code: str, *options: str, **environment: str) -> str:
    command = [sys.executable, *options, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_subpackage_of_games_is_nothing_else_before_or_after() -> None:
    code = """
        import meijin
        before = hasattr(meijin, "games")
        meijin.make("nim")
        import meijin.games, types
        print(before, isinstance(meijin.games, types.ModuleType))
    """
    assert fresh(code) == "False True"


def test_the_example_of_the_docstring_runs() -> None:
    assert meijin.__doc__
    fresh(meijin.__doc__.split("\n", 1)[1])


def test_interpreted_search_of_a_few_simulations_divides_by_nothing() -> None:
    code = """
        import meijin
        for simulations in (1, 2, 5, 30):
            agent = meijin.build(f"mcts(simulations={simulations}, seed=1)")
            agent.analyse(meijin.State(meijin.make("tic_tac_toe")))
    """
    fresh(code, "-W", "error", MEIJIN_JIT="0")
