"""What a command or a first move imports: a command must answer at once, so nothing is imported needlessly."""

from __future__ import annotations

import json
import subprocess
import sys

MOVE = """
state = meijin.State(meijin.make("tic_tac_toe"))
meijin.build("mcts(simulations=10)").act(state)
"""


def modules(code: str) -> list[str]:
    """Every module that a new Python has imported after this code."""
    program = f"import json, sys, meijin\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


def command(*words: str) -> list[str]:
    code = "from contextlib import redirect_stdout\nfrom io import StringIO\nfrom meijin.cli.app import app\n"
    return modules(f"{code}with redirect_stdout(StringIO()):\n    app({list(words)!r}, standalone_mode=False)")


def ours(loaded: list[str]) -> list[str]:
    return [name for name in loaded if name.split(".")[0] == "meijin"]


def heavy(loaded: list[str]) -> set[str]:
    return {"numba", "torch", "prompt_toolkit", "sqlite3", "meijin.arena"} & set(loaded)


def test_import_loads_nothing_else() -> None:
    assert ours(modules("")) == ["meijin"]


def test_help() -> None:
    loaded = command("--help")
    assert len(ours(loaded)) <= 10, ours(loaded)
    assert not heavy(loaded) and "numpy" not in loaded


def test_listings_and_rules() -> None:
    assert not heavy(command("games")) and not heavy(command("rules", "othello"))
    loaded = command("games")
    assert not [name for name in loaded if name.startswith(("meijin.search.", "meijin.learning."))]
    assert not {"torch", "prompt_toolkit"} & set(command("agents"))


def test_one_move_of_a_tree_search() -> None:
    loaded = modules(MOVE)
    assert len(ours(loaded)) <= 40, ours(loaded)
    assert not {"torch", "rich", "typer", "meijin.arena", "meijin.learning"} & set(loaded)
