"""The memory of searches: it adds up, survives being killed, harms no foreign file, and makes the search stronger."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from meijin.agents.catalogue import build
from meijin.core import compile as compiling
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.mcts import MCTS, persistence
from meijin.search.mcts import store as module
from meijin.search.mcts.store import StatisticsFile

SMALL_2048 = "2048(size=2)"
NIM = "nim(heaps=(3, 3, 2), players=3)"


def python(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Another process that runs the script."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate()
    assert process.returncode == 0
    return output


def state_of(expression: str, line: str = "") -> State:
    return State(make(expression)).play_line(line).roll(stream(1))


def remembered(agent: MCTS, state: State) -> int:
    assert agent._store is not None
    stats = agent._store.known(state)
    return stats[0] if stats else 0


# ---- statistics ----


def test_what_is_added_is_there(tmp_path: Path) -> None:
    memory = StatisticsFile(tmp_path / "m", "some game", 3)
    memory.add({1: (2, (1.0, 0.5, -1.5)), -(2**63): (1, (0.0, 0.0, 1.0))})
    memory.add({1: (3, (1.0, 1.0, 1.0)), 2**63 - 1: (7, (0.0, 1.0, 2.0))})
    assert memory.look_up([1, 5, -(2**63)]) == {1: (5, (2.0, 1.5, -0.5)), -(2**63): (1, (0.0, 0.0, 1.0))}
    assert len(memory) == 3
    many = dict.fromkeys(range(10, 3000), (1, (0.0, 0.0, 0.0)))
    memory.add(many)
    assert len(memory.look_up(list(range(5000)))) == 2991
    # Another game in the same file is another table, and all of it is there for whoever opens the file next.
    other = StatisticsFile(tmp_path / "m", "other game", 1)
    other.add({1: (9, (9.0,))})
    assert other.look_up([1]) == {1: (9, (9.0,))} and len(other) == 1
    memory.close()
    assert StatisticsFile(tmp_path / "m", "some game", 3).look_up([1]) == {1: (5, (2.0, 1.5, -0.5))}


def test_those_visited_least_are_dropped_first_and_of_these_the_oldest(tmp_path: Path) -> None:
    memory = StatisticsFile(tmp_path / "m", "g", 1, limit=100)
    memory.add(dict.fromkeys(range(50), (100, (0.0,))))
    for key in range(1000, 1200):
        memory.add({key: (1, (0.0,))})
        assert len(memory) <= 100
    kept = set(memory.look_up(list(range(50)) + list(range(1000, 1200))))
    assert len(kept) == len(memory) >= 90
    assert set(range(50)) <= kept
    late = {key for key in kept if key >= 1000}
    assert late == set(range(1200 - len(late), 1200))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("expression", ["connect_four", SMALL_2048, NIM])
def test_no_visit_is_written_twice_and_none_is_lost(expression: str, threads: int, tmp_path: Path) -> None:
    """Whether a search goes on with its tree or begins with what it remembers."""
    state, path = state_of(expression), str(tmp_path / "m")
    first = MCTS(simulations=50, memory=path, seed=1, threads=threads)
    assert first.analyse(state).simulations == 50
    assert remembered(first, state) == 50
    first.analyse(state)
    assert remembered(first, state) == 100
    second = MCTS(simulations=60, memory=path, seed=2, threads=threads)
    analysis = second.analyse(state)
    assert sum(int(tree.nodes[0].visits) for tree in second._trees) == 160 == remembered(second, state)
    assert analysis.simulations == 60
    # The first did not see what the second wrote; its next search adds its own to it.
    first.analyse(state)
    assert remembered(first, state) == 210
    # Every position that was written holds what the trees say of it: no path leads to one of these twice.
    value = analysis.value
    assert value is not None and second._store is not None
    visits, totals = second._store.known(state) or (0, ())
    low, high = state.game.score_range
    assert all(low * visits <= total <= high * visits for total in totals)


def test_children_are_remembered_with_their_values(tmp_path: Path) -> None:
    state, path = state_of("connect_four"), str(tmp_path / "m")
    first = MCTS(simulations=2000, memory=path, seed=1)
    before = {info.move: info for info in first.analyse(state).moves}
    second = MCTS(simulations=1, memory=path, seed=2)
    after = {info.move: info for info in second.analyse(state).moves}
    assert sum((after[move].visits or 0) - (before[move].visits or 0) for move in before) == 1
    for move, info in before.items():
        if after[move].visits == info.visits:
            assert after[move].value == pytest.approx(info.value)
    (tree,) = second._trees
    assert tree.info[1] >= 2  # the one simulation went down what was known
    visited = [tree.nodes[i].visits > 0 for i in tree.children(0)]
    assert visited == sorted(visited, reverse=True)


def test_a_tree_that_knows_less_than_the_memory_begins_anew(tmp_path: Path) -> None:
    state, path = state_of("connect_four"), str(tmp_path / "m")
    agent = MCTS(simulations=100, memory=path, seed=1)
    agent.analyse(state)
    later = state.copy().play("4").play("4")
    other = MCTS(simulations=5000, memory=path, seed=2)
    other.analyse(later)
    known = remembered(other, later)
    agent.analyse(later)
    assert sum(int(tree.nodes[0].visits) for tree in agent._trees) == known + 100 == remembered(agent, later)


def test_equal_files_and_seeds_give_equal_searches(tmp_path: Path) -> None:
    state = state_of("connect_four")
    MCTS(simulations=500, memory=str(tmp_path / "a"), seed=1).analyse(state)
    with sqlite3.connect(tmp_path / "a") as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(tmp_path / "a", tmp_path / "b")
    one, other = (MCTS(simulations=300, memory=str(tmp_path / name), seed=7).analyse(state) for name in "ab")
    assert [(i.move, i.visits, i.value) for i in one.moves] == [(i.move, i.visits, i.value) for i in other.moves]


def test_games_parameters_and_policies_do_not_mix(tmp_path: Path, interpreted: None) -> None:
    path = str(tmp_path / "m")
    agent, state = MCTS(simulations=100, memory=path, seed=1), state_of("connect_four")
    for expression in ("connect_four", NIM):  # one agent, game after game
        agent.analyse(state_of(expression))
        assert remembered(agent, state_of(expression)) == 100
        assert agent._store is not None and agent._store.file.game == str(make(expression))
    decisive = MCTS(simulations=70, memory=path, seed=1, playout="decisive")
    decisive.analyse(state)
    assert remembered(decisive, state) == 70
    agent.analyse(state)
    assert remembered(agent, state) == 200


def narrowed(most: int) -> Game:
    """Connect Four in which only the first few columns may be played: a rule that the game's name does not tell."""
    game = make("connect_four")
    legal = game.legal

    def few(s: Any, moves: Any) -> int:
        n = legal(s, moves)
        return n if n < most else most

    new = game.changed(legal=few)
    new.params = game.params
    return new


def test_an_edited_game_begins_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that reads another constant is another rule; who undoes the edit has the old statistics again."""
    monkeypatch.setattr(compiling, "JIT", False)  # a few dozen playouts, not worth compiling for each rule
    path = str(tmp_path / "m")

    def search(most: int) -> int:
        agent, state = MCTS(simulations=30, memory=path, seed=1), State(narrowed(most))
        agent.analyse(state)
        return remembered(agent, state)

    assert [search(6), search(6), search(5), search(6)] == [30, 60, 30, 90]


def test_of_a_game_under_older_rules_the_latest_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "m"
    other = StatisticsFile(path, "other", 1, rules="x")
    other.add({1: (1, (1.0,))})
    for k in range(module.OLDER + 2):
        StatisticsFile(path, "g", 1, rules=f"edit {k}").add({1: (10 + k, (0.0,))})
    assert len(other) == 1
    kept = {k: len(StatisticsFile(path, "g", 1, rules=f"edit {k}")) for k in range(module.OLDER + 1, 0, -1)}
    assert set(kept.values()) == {1}
    assert len(StatisticsFile(path, "g", 1, rules="edit 0")) == 0
    with sqlite3.connect(path) as db:
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master WHERE name GLOB 'stats_*' AND type = 'table'")
        assert tables == (2 + module.OLDER,)


def test_what_a_game_depends_on_tells_its_rules_apart() -> None:
    """By what they do: the same rules made twice are the same, also in another process."""
    game = make("connect_four")
    assert persistence.rules_digest(game) == persistence.rules_digest(game, "decisive")
    script = (
        "from meijin import make; from meijin.search.mcts.persistence import rules_digest as d; "
        "print(d(make('connect_four')))"
    )
    assert finished(python(script)).strip() == persistence.rules_digest(game)
    assert persistence.rules_digest(make("connect_four(width=6)")) != persistence.rules_digest(game)
    hexes = make("hex(size=4)")
    assert persistence.rules_digest(hexes, "heuristic") != persistence.rules_digest(
        hexes
    )  # its playouts depend on more


def test_the_number_of_positions_is_bounded_in_a_search(tmp_path: Path) -> None:
    agent = MCTS(simulations=3000, memory=str(tmp_path / "m"), memory_limit=50, seed=1)
    agent.analyse(state_of("connect_four"))
    assert agent._store is not None and 1 <= len(agent._store.file) <= 50
    assert remembered(agent, state_of("connect_four")) == 3000  # the root is what was visited most
    with pytest.raises(BadParameter, match="memory_limit"):
        build("mcts(memory='m', memory_limit=0)")


def test_huge_counts_are_scaled_to_what_a_tree_can_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, path = state_of("connect_four"), str(tmp_path / "m")
    MCTS(simulations=5000, memory=path, seed=1).analyse(state)
    monkeypatch.setattr(persistence, "MOST_VISITS", 100)
    agent = MCTS(simulations=10, memory=path, seed=1)
    agent.analyse(state)
    assert int(agent._trees[0].nodes[0].visits) == 110
    assert remembered(agent, state) == 5010


# ---- other people's files ----


def test_a_file_that_is_no_memory_is_named_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("my diary\n" * 200)
    foreign = tmp_path / "other.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE games (name TEXT)")
    newer = tmp_path / "newer"
    StatisticsFile(newer, "g", 2).close()
    with sqlite3.connect(newer) as db:
        db.execute(f"PRAGMA user_version = {module.VERSION + 1}")
    older = tmp_path / "older"
    StatisticsFile(older, "g", 2).close()
    with sqlite3.connect(older) as db:
        db.execute("PRAGMA user_version = 1")
    broken = tmp_path / "broken"
    memory = StatisticsFile(broken, "g", 2)
    memory.add(dict.fromkeys(range(5000), (1, (0.0, 0.0))))
    memory.close()
    data = bytearray(broken.read_bytes())
    data[8192:20000] = os.urandom(20000 - 8192)
    broken.write_bytes(data)
    for path, problem in (
        (text, "not a database"),
        (foreign, "another program"),
        (newer, f"format {module.VERSION + 1}"),
        (older, "format 1, .*move it away"),
        (broken, "move it away"),
    ):
        before = path.read_bytes()
        with pytest.raises(MeijinError, match=problem) as caught:
            MCTS(simulations=10, memory=str(path), seed=1).analyse(state_of("connect_four"))
        assert path.name in str(caught.value)
        assert path.read_bytes() == before
    for path in (tmp_path, tmp_path / "no" / "such" / "folder"):
        with pytest.raises(MeijinError, match="folder"):
            StatisticsFile(path, "g", 2)


def test_an_empty_file_becomes_a_memory(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.touch()
    StatisticsFile(path, "g", 1).add({1: (1, (1.0,))})
    assert StatisticsFile(path, "g", 1).look_up([1]) == {1: (1, (1.0,))}


# ---- several processes ----

WRITER = """
import os, signal, sys
from meijin.search.mcts.store import StatisticsFile

path, times, die_at = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
memory = StatisticsFile(path, "g", 2)
news = {key: (1, (1.0, -1.0)) for key in range(3000)}
for done in range(times):
    if done == die_at:  # in the middle of the next transaction, thousands of steps from either end of it
        steps = iter(range(20))
        memory._connection.set_progress_handler(
            lambda: os.kill(os.getpid(), signal.SIGKILL) if next(steps, None) is None else 0, 1000
        )
    memory.add(news)
    print(done + 1, flush=True)
"""


def test_processes_that_write_at_once_lose_nothing_and_a_killed_one_nothing_committed(tmp_path: Path) -> None:
    path = tmp_path / "m"
    lasting, killed = python(WRITER, path, 25, -1), python(WRITER, path, 1000, 10)
    output, _ = killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert output.split()[-1] == "10"
    finished(lasting)
    known = StatisticsFile(path, "g", 2).look_up(list(range(3000)))
    assert set(known.values()) == {(35, (35.0, -35.0))} and len(known) == 3000
    # And the file is as good as new.
    finished(python(WRITER, path, 1, -1))
    assert StatisticsFile(path, "g", 2).look_up([7]) == {7: (36, (36.0, -36.0))}


MAKER = """
import sys
from meijin.search.mcts.store import StatisticsFile

memory = StatisticsFile(sys.argv[1], sys.argv[2], 1)
memory.add({5: (1, (1.0,))})
"""


def test_processes_may_make_the_file_at_the_same_time(tmp_path: Path) -> None:
    for process in [python(MAKER, tmp_path / "m", game) for game in ("a", "a", "b", "c")]:
        finished(process)
    assert [StatisticsFile(tmp_path / "m", game, 1).look_up([5])[5][0] for game in "abc"] == [2, 1, 1]


# ---- strength ----

TRAIN = """
import sys
from meijin.core.catalogue import make
from meijin.core.state import State
from meijin.search.mcts import MCTS

agent = MCTS(simulations=400, memory=sys.argv[1], seed=1)
for first in range(9):
    state = State(make("tic_tac_toe")).play(first)
    agent.analyse(state)
    for second in state.legal_moves:
        agent.analyse(state.copy().play(second))
"""

DECIDE = """
import json, sys
from meijin.core.catalogue import make
from meijin.core.state import State
from meijin.search.mcts import MCTS

chosen = []
for line in json.loads(sys.argv[1]):
    for seed in range(6):
        agent = MCTS(simulations=20, memory=sys.argv[2] or None, seed=seed)
        chosen.append((line, int(agent.act(State(make("tic_tac_toe")).play_line(line)))))
print(json.dumps(chosen))
"""


_WORTH: dict[bytes, float] = {}


def worth(state: State) -> float:
    """Seat 0's score under best play."""
    key = state.records.tobytes()
    if key not in _WORTH:
        below = [worth(state.copy().play(move)) for move in state.legal_moves]
        _WORTH[key] = state.scores[0] if state.is_over else (max, min)[state.turn](below)
    return _WORTH[key]


def test_a_second_process_with_the_memory_errs_less_at_equal_playouts(tmp_path: Path) -> None:
    """Errors of 20-playout searches in the openings of tic-tac-toe where some moves give the game away.

    If the memory made no difference, both processes would err equally often; that their shares lie five standard
    errors apart happens by chance for one seed in three million (one-sided).
    """
    path = tmp_path / "m"
    finished(python(TRAIN, path))
    lines = []
    for first in range(9):
        state = state_of("tic_tac_toe").play(first)
        lines += [[first]] + [[first, int(move)] for move in state.legal_moves]
    right = {}
    for line in lines:
        state = State(make("tic_tac_toe")).play_line(line)
        values = {int(move): worth(state.copy().play(move)) for move in state.legal_moves}
        best = (max, min)[state.turn](values.values())
        right[tuple(line)] = {move for move, value in values.items() if value == best}
    sharp = [list(line) for line, moves in right.items() if len(moves) < 9 - len(line)]
    errors = []
    for memory in ("", path):
        chosen = json.loads(finished(python(DECIDE, json.dumps(sharp), memory)))
        errors.append(sum(move not in right[tuple(line)] for line, move in chosen) / len(chosen))
    without, with_it = errors
    n, pooled = 6 * len(sharp), sum(errors) / 2
    assert without - with_it > 5 * math.sqrt(2 * pooled * (1 - pooled) / n), (without, with_it, n)
