"""Compilation: what the cache's key sees, that nothing stale is served, and that damage costs a compile only."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meijin.core import compile as compiling
from meijin.core import kernels
from meijin.core.catalogue import game_names, make
from meijin.core.compile import Kernel, digest
from meijin.core.errors import RuleError
from meijin.core.rng import streams
from meijin.core.state import State
from meijin.search.mcts import MCTS
from meijin.search.mcts.kernels import simulate_with
from meijin.search.mcts.selection import PLAIN

GAMES = ("connect_four", "tic_tac_toe", "othello", "nim", "2048")


def python(code: str, *args: object, **env: object) -> Any:
    """Run code in a fresh process with these environment variables; returns what it prints, as JSON."""
    result = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        env={**os.environ, **{key: str(value) for key, value in env.items()}},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


# ---- the digest ----

SOURCE = """
import enum, typing
import numpy as np
import settings

LIMIT = 3  # a constant
TABLE = np.arange(4)

class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2

class Pair(typing.NamedTuple):
    left: int
    right: int

PAIR = Pair(1, 2)

def deep(x, step=1):
    return x + step

def helper(x):
    return deep(x) + LIMIT

def make(size, values):
    def rule(s):
        return helper(s) * size + values[0] + TABLE[1] + Colour.RED + PAIR.left + settings.KOMI
    return rule
"""


def digest_of(source: str, size: Any = 2, values: Any = (1, 2), komi: Any = 7) -> str:
    settings = type(sys)("settings")
    settings.KOMI = komi  # type: ignore[attr-defined]
    space: dict[str, Any] = {"__name__": "some_game"}
    sys.modules["settings"] = settings
    try:
        exec(compile(source, "some_game.py", "exec"), space)
    finally:
        del sys.modules["settings"]
    return digest(space["make"](size, values))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("helper(s) * size", "helper(s) + size"),  # the rule
        ("helper(s) * size", "helper(s) * size * 1"),
        ("deep(x) + LIMIT", "deep(x) - LIMIT"),  # a helper
        ("x + step", "x - step"),  # a helper's helper
        ("step=1", "step=2"),  # a default
        ("LIMIT = 3", "LIMIT = 4"),  # a module-level constant
        ("LIMIT = 3", "LIMIT = 3.0"),
        ("LIMIT = 3", "LIMIT = True + 2.0"),
        ("np.arange(4)", "np.arange(4) * 2"),  # a table's entries, type, shape
        ("np.arange(4)", "np.arange(4, dtype=np.int32)"),
        ("np.arange(4)", "np.arange(5)"),
        ("np.arange(4)", "np.arange(4).reshape(2, 2)"),
        ("RED = 1", "RED = 5"),  # a member of an enumeration
        ("left: int\n    right: int", "right: int\n    left: int"),  # what a named tuple's fields mean
        ("values[0]", "values[1]"),  # a literal
        ("values[0]", "values[-1]"),
    ],
)
def test_the_digest_sees_every_change(old: str, new: str) -> None:
    assert SOURCE.count(old) == 1
    assert digest_of(SOURCE.replace(old, new)) != digest_of(SOURCE)


def test_the_digest_sees_parameters_and_modules() -> None:
    others = [
        digest_of(SOURCE, size=3),
        digest_of(SOURCE, size=2.0),
        digest_of(SOURCE, size=np.int8(2)),
        digest_of(SOURCE, values=(1, 3)),
        digest_of(SOURCE, values=((1,), 2)),
        digest_of(SOURCE, values=np.array([1, 2])),
        digest_of(SOURCE, values=np.array([1.0, 2.0])),
        digest_of(SOURCE, komi=8),
        digest_of(SOURCE),
    ]
    assert len(set(others)) == len(others)


def test_the_digest_does_not_see_comments_and_places() -> None:
    moved = "\n# moved down\n" + SOURCE.replace("  # a constant", "  # nobody minds")
    assert digest_of(moved) == digest_of(SOURCE)


DIGESTS = """
import json, sys
from meijin.core import kernels
from meijin.core.catalogue import game_names, make
from meijin.core.compile import digest
from meijin.search.mcts.kernels import simulate_with
from meijin.search.mcts.selection import PLAIN
makers = (kernels.look, kernels.planes, kernels.random_walks, simulate_with(PLAIN))
print(json.dumps([digest(maker(make(name))) for name in sys.argv[1:] for maker in makers]))
"""


def test_the_digest_is_the_same_in_every_process() -> None:
    makers = (kernels.look, kernels.planes, kernels.random_walks, simulate_with(PLAIN))
    names = [name for name in game_names() if make(name).score.__module__.startswith("meijin.")]
    here = [digest(maker(make(name))) for name in names for maker in makers]  # type: ignore[arg-type]
    assert len(set(here)) == len(here)
    for seed in (1, 2):
        assert python(DIGESTS, *names, PYTHONHASHSEED=seed) == here


def test_library_functions_have_no_addresses_in_the_digest() -> None:
    code = """
import json
import numpy as np
from math import sqrt
from numpy import clip, minimum, uint64
from meijin.core.compile import digest
def rule(x):
    return clip(x, 0, 1) + minimum(x, 2) + sqrt(x) + uint64(3) + np.floor(x) + abs(x) + np.clip(x, 1, 2)
print(json.dumps(digest(rule)))
"""
    junk = "junk = [object() for _ in range(100_000)]\n"  # so that addresses differ
    assert python(code) == python(junk + code)


# ---- the cache on disk ----

RACE = """
from typing import Any

import numpy as np

from meijin.core.boards import square
from meijin.core.catalogue import game
from meijin.core.pieces import Piece
from meijin.core.game import OVER, Game

FACTOR = 10


@game("race")
def race(goal: int = 4) -> Game:
    bonus = np.array([1, 2])

    def gain(move: Any) -> Any:
        return bonus[move] * FACTOR

    def start(s: Any) -> None:
        s.at = 0
        s.score = 0

    def turn(s: Any) -> int:
        return 0 if s.at < goal else OVER

    def legal(s: Any, moves: Any) -> int:
        moves[0] = 0
        moves[1] = 1
        return 2

    def play(s: Any, move: int) -> None:
        s.at += 1
        s.score += gain(move)

    def score(s: Any, out: Any) -> None:
        out[0] = s.score

    def cells(s: Any, out: Any) -> None:
        out[0] = 0
        out[1] = 0

    return Game(
        state=[("at", "i4"), ("score", "i4")], board=square(1, 2), pieces=(Piece("."),), seats=1, num_moves=2,
        longest=goal, score_range=(0.0, 1e6),
        rules=(start, turn, legal, play, score, cells),
    )
"""

PLAY = """
import json, sys
from contextlib import nullcontext
from pathlib import Path
from meijin.core import compile as compiling
from meijin.core.catalogue import games, make
from meijin.core.state import State
compiled = []
def note(name):
    compiled.append(name)
    return nullcontext()
compiling.on_compile = note
compiling.Tiered.LOOK = compiling.Tiered.COMPILE = -1.0  # at the first call
file, results = Path(sys.argv[1]), []
for source in sys.argv[2:]:
    file.write_text(source)
    games.load_file(file)
    state = State(make("race"))
    while not state.is_over:
        state.play("b1" if len(state.history) % 2 else "a1")
    state.cells
    results.append([state.scores[0], len(state.history), sorted(compiled)])
    compiled.clear()
print(json.dumps(results))
"""

KERNELS = ["race-cells", "race-look", "race-play", "race-start"]


def play_race(file: Path, cache: Path, *sources: str) -> Any:
    """Write, load and play each version of the game in turn, all in one new process."""
    return python(PLAY, file, *sources, MEIJIN_CACHE=cache)


def files(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("**/*.*"))}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A file with the game, and a cache that knows it."""
    folder = tmp_path_factory.mktemp("race")
    assert play_race(folder / "race.py", folder / "cache", RACE) == [[60.0, 4, KERNELS]]
    return folder / "race.py", folder / "cache"


def test_an_edited_game_is_never_served_stale_and_an_unchanged_one_is_not_compiled(filled: tuple[Path, Path]) -> None:
    file, cache = filled
    kept = files(cache)
    assert len(kept) == 4
    edits = [
        ("s.score += gain(move)", "s.score += gain(move) + 1", [64.0, 4, ["race-play"]]),
        ("[move] * FACTOR", "[move] * FACTOR * 2", [120.0, 4, ["race-play"]]),
        ("[1, 2]", "[1, 3]", [80.0, 4, ["race-play"]]),
        ("FACTOR = 10", "FACTOR = 7", [42.0, 4, ["race-play"]]),
        ("goal: int = 4", "goal: int = 6", [90.0, 6, ["race-look"]]),
    ]
    edited = [RACE.replace(old, new) for old, new, _ in edits]
    assert RACE not in edited
    assert play_race(file, cache, RACE, *edited, RACE) == [[60.0, 4, []], *(r for _, _, r in edits), [60.0, 4, []]]
    assert len(files(cache)) == 4 + len(edits)
    assert {name: files(cache)[name] for name in kept} == kept  # nothing was written again
    # A new process finds all of it and serves each its own, even if the file was moved.
    known, kept = [[score, plies, []] for _, _, (score, plies, _) in edits], files(cache)
    moved = file.with_name("moved.py")
    assert play_race(moved, cache, *reversed(edited), RACE) == [*reversed(known), [60.0, 4, []]]
    assert files(cache) == kept


def test_a_damaged_cache_costs_a_compile_and_is_mended(filled: tuple[Path, Path], tmp_path: Path) -> None:
    file, cache = filled[0], tmp_path / "cache"
    shutil.copytree(filled[1], cache)
    for number, path in enumerate(sorted(cache.iterdir())):
        data = bytearray(path.read_bytes())
        if number % 4 == 0:
            path.write_bytes(data[: len(data) // 2])
        elif number % 4 == 1:
            path.write_bytes(b"")
        elif number % 4 == 2:
            path.write_bytes(b"not what it was\n" * 100)
        else:
            data[data.index(b"ELF") + 2000] ^= 0xFF  # one rotten byte in the machine code
            path.write_bytes(data)
    damaged = files(cache)
    assert [r[:2] for r in play_race(file, cache, RACE)] == [[60.0, 4]]
    mended = {name for name, value in files(cache).items() if damaged[name] != value}
    assert len(mended) == 4  # those of the game as it is
    assert files(cache).keys() == damaged.keys()  # and nothing is left lying about
    assert play_race(file, cache, RACE) == [[60.0, 4, []]]


def test_a_cache_that_cannot_be_written_costs_a_compile(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    if os.geteuid() == 0:  # root may write anywhere, but not below a file
        folder.write_text("a file where the folder should be")
    else:
        folder.mkdir(mode=0o500)
    assert play_race(tmp_path / "race.py", folder, RACE) == [[60.0, 4, KERNELS]]


def test_a_file_loaded_again_plays_by_its_new_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a restart, as in a notebook."""
    from meijin.core.catalogue import games

    monkeypatch.setenv("MEIJIN_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "race.py"
    for source, score in ((RACE, 20.0), (RACE.replace("FACTOR = 10", "FACTOR = 3"), 6.0)):
        file.write_text(source)
        games.load_file(file)
        assert State(make("race")).play("b1").scores == (score,)


def test_threads_may_call_a_kernel_for_the_first_time_together() -> None:
    def inner(x: int) -> int:
        return x + 1

    def outer(x: int) -> int:
        return inner(x) * 2

    kernel, results = Kernel(outer, "test-together"), []  # type: ignore[arg-type]
    gate = threading.Barrier(4)

    def call() -> None:
        gate.wait()
        try:
            results.append(kernel(20))
        except BaseException as error:
            results.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [42] * 4


# ---- without a compiler ----

INTERPRETED = """
import json, sys
from meijin.arena.match import match
from meijin.core import kernels
from meijin.core.catalogue import game_names, make
from meijin.core.rng import streams
from meijin.core.state import State
from meijin.search.mcts import MCTS
from meijin.search.mcts.selection import PLAIN
game = make("tic_tac_toe")
result = match(game, ["mcts(simulations=60)", "random"], 4, seed=1)
tallies = [[s.total.wins, s.total.draws, s.total.losses] for s in result.standings]
analysis = MCTS(simulations=300, seed=5).analyse(State(game))
visits = {int(info.move): info.visits for info in analysis.moves}
records = []
for name in sys.argv[1:]:
    game = make(name)
    states = game.states(6)
    game.kernel(kernels.random_walks)(states, 60, streams(9, 6), *kernels.buffers(game))
    records.append(states.tobytes().hex())
print(json.dumps([tallies, result.plies, visits, records, "numba" in sys.modules]))
"""


def test_everything_runs_without_a_compiler_and_comes_to_the_same() -> None:
    from meijin.arena.match import match

    tallies, plies, visits, records, numba = python(INTERPRETED, *GAMES, MEIJIN_JIT=0)
    assert not numba  # nothing was compiled: the compiler was not even loaded
    for name, record in zip(GAMES, records, strict=True):
        game = make(name)
        states = game.states(6)
        game.kernel(kernels.random_walks)(states, 60, streams(9, 6), *kernels.buffers(game))
        assert states.tobytes().hex() == record, name
    game = make("tic_tac_toe")
    result = match(game, ["mcts(simulations=60)", "random"], 4, seed=1)
    assert [[s.total.wins, s.total.draws, s.total.losses] for s in result.standings] == tallies
    assert result.plies == plies
    analysis = MCTS(simulations=300, seed=5).analyse(State(game))
    assert {str(int(info.move)): info.visits for info in analysis.moves} == visits


# ---- rules that cannot be compiled ----


@pytest.mark.parametrize("mutual", [False, True])
def test_recursion_is_explained(mutual: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEIJIN_CACHE", str(tmp_path))
    game = make("tic_tac_toe")

    def around(n: int) -> int:
        return 0 if n < 1 else descend(n - 1)

    def descend(n: int) -> int:
        return 0 if n < 1 else (around(n - 1) if mutual else descend(n - 1))

    def turn(s: Any) -> int:
        return descend(s.ply)

    other = game.changed(turn=turn, name="endless", id="")
    with pytest.raises(RuleError, match=r"endless: rule 'turn' cannot be compiled: a function calls itself") as caught:
        other.kernel(kernels.look)(other.states(1), 0, *kernels.buffers(other), np.zeros(2))
    assert "test_compile.py" in str(caught.value) and "loop" in str(caught.value)
    # The helpers are not left half compiled: the same error comes again.
    with pytest.raises(RuleError, match="a function calls itself"):
        other.kernel(kernels.random_walks)(other.states(1), 1, streams(1, 1), *kernels.buffers(other))


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEIJIN_CACHE", str(tmp_path / "mine"))
    assert compiling.cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("MEIJIN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiling.cache_folder() == tmp_path / "meijin"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert compiling.cache_folder() == tmp_path / ".cache" / "meijin"


# ---- kernels for single positions ----


def test_single_positions_are_interpreted_until_compiling_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import json, sys
from meijin.core import compile as compiling
from meijin.core.catalogue import make
from meijin.core.state import State
state = State(make("nim(heaps=(2, 2))"))
before = "numba" in sys.modules
compiling.Tiered.LOOK = compiling.Tiered.COMPILE = -1.0
for move in ("a1", "b1"):
    state.play(move)
print(json.dumps([before, "numba" in sys.modules, state.text, state.is_over]))
"""
    assert python(code) == [False, True, "nim(heaps=(2, 2)) a1 b1", True]
