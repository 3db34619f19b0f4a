"""Games over processes: nothing that an agent does is lost, disturbs others or changes what they play."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from meijin.agents.catalogue import agents
from meijin.arena.judges import PlayRules, play_rules
from meijin.arena.match import match_tasks
from meijin.arena.pool import WorkerPool, play_tasks, yielded
from meijin.arena.record import GameRecord, Task
from meijin.core.catalogue import games, make
from meijin.core.errors import BadParameter, MeijinError, RuleError, UnknownName
from meijin.core.registry import load_file

HOSTILE = Path(__file__).with_name("hostile.py")
GAME = "tic_tac_toe"

#: A move may take this long, far more than honest ones do even on a busy machine.
PATIENCE = PlayRules(move_timeout=1, startup_grace=0)


@pytest.fixture(autouse=True)
def _hostile() -> None:
    load_file(HOSTILE, games, agents)


def against_random(*names: str) -> list[Task]:
    """Each agent from both seats."""
    pairs = [pair for name in names for pair in ((name, "random"), ("random", name))]
    return [Task(GAME, pair, seed=number, number=number) for number, pair in enumerate(pairs)]


def test_games_that_ended_before_an_earlier_one_are_not_lost_when_the_match_is_stopped() -> None:
    records = [GameRecord(task, (), (0.0, 0.0)) for task in against_random("random", "random")]
    ended = ((serial, records[serial]) for serial in (0, 3, 2))  # then it was stopped, in game 1
    assert list(yielded(ended, ordered=True)) == [records[0], records[2], records[3]]


def bare(record: GameRecord) -> GameRecord:
    """Without what the clock says."""
    return replace(record, began="", seconds=0.0, notes=tuple(replace(note, seconds=None) for note in record.notes))


def by_number(records: Iterator[GameRecord]) -> list[GameRecord]:
    return sorted(map(bare, records), key=lambda record: record.task.number)


# ---- agents that misbehave ----

REASONS = {
    "h_hang": "no answer within 1 s",
    "h_hang(asleep=False, after=1)": "no answer within 1 s",
    "h_fail": "failed with ValueError: two lines",
    'h_fail("KeyboardInterrupt")': "failed with KeyboardInterrupt: two lines",
    'h_fail("SystemExit")': "failed with SystemExit: enough",
    "h_unmade": "failed with FileNotFoundError: no such net",
    "h_end": "ended its process (exit status 3)",
    'h_end("kill")': "ended its process (SIGKILL)",
    'h_end("crash")': "ended its process (SIGSEGV)",
    'h_say("text")': "answered 'e4', which is not a move",
    'h_say("nothing")': "answered None, which is not a move",
    'h_say("half")': "answered 0.5, which is not a move",
    'h_say("true")': "answered True, which is not a move",
    'h_say("list")': "answered [1], which is not a move",
    'h_say("huge")': "the move 1000000000000000000000000000000 is not legal",
    'h_say("negative")': "the move -1 is not legal",
}


def test_whatever_an_agent_does_is_its_own_forfeit(capfd: pytest.CaptureFixture[str]) -> None:
    names = [*REASONS, "h_print", "h_tamper", "random"]
    pairs = [(name, "random") if place % 2 else ("random", name) for place, name in enumerate(names)]
    tasks = [Task(GAME, pair, seed=number, number=number) for number, pair in enumerate(pairs)]
    records = by_number(play_tasks(tasks, workers=2, rules=PATIENCE))
    assert [record.task for record in records] == tasks  # nothing is lost, nothing comes twice
    for record in records:
        name = next((name for name in record.task.agents if name != "random"), "random")
        if name not in REASONS:
            assert (record.ending, record.forfeit, record.reason) == ("rules", None, "")
            continue
        seat = record.task.agents.index(name)
        assert (record.ending, record.forfeit) == ("forfeit", seat)
        assert record.reason == f"{name}: {REASONS[name]}"
        assert record.scores == ((-1.0, 1.0) if seat == 0 else (1.0, -1.0))
        # The moves before are kept: none, one by the other, or one or two by itself.
        assert record.plies in ((2, 3) if "after=1" in name else (0,) if name == "h_unmade" else (0, 1))
    # Worker or not, it is the same game, as far as this process survives it.
    harmless = [task for task in tasks if not any(a.startswith(("h_hang", "h_end", "h_unmade")) for a in task.agents)]
    harmless = [task for task in harmless if not any("KeyboardInterrupt" in name for name in task.agents)]
    here = by_number(play_tasks(harmless, rules=PATIENCE))
    assert here == [record for record in records if record.task in harmless]
    capfd.readouterr()


def test_what_agents_print_goes_nowhere(capfd: pytest.CaptureFixture[str]) -> None:
    records = list(play_tasks(against_random("h_print"), workers=1))
    assert [record.ending for record in records] == ["rules"] * 2
    assert capfd.readouterr() == ("", "")


def test_a_taken_cell_is_not_legal() -> None:
    record = next(play_tasks([Task(GAME, ("random", 'h_say("taken")'))]))
    taken = make(GAME).moves[record.moves[0]].name
    assert (record.forfeit, record.reason) == (1, f'h_say("taken"): the move {taken} is not legal')
    assert record.plies == 1


def test_compiling_and_settling_take_no_time() -> None:
    # 0.6 s where 0.4 are allowed: to compile at any time, or at the first move in a process; but not at the third.
    rules = PlayRules(move_timeout=0.4, startup_grace=20)
    slow, compiling, late = "h_slow(0.6)", "h_slow(0.6, when=(2,), compiles=True)", "h_slow(0.6, when=(2,))"
    tasks = [Task(GAME, (name, "h_print"), number=number) for number, name in enumerate((slow, compiling, late))]
    for workers in (0, 1):
        reasons = [record.reason for record in by_number(play_tasks(tasks, workers=workers, rules=rules))]
        assert reasons == ["", "", f"{late}: no answer within 0.4 s"]


# ---- errors that are nobody's forfeit ----


@pytest.mark.parametrize("workers", [0, 1])
def test_broken_rules_are_an_error(workers: int) -> None:
    with pytest.raises(RuleError, match="the rules are broken"):
        list(play_tasks(against_random('h_fail("RuleError")'), workers=workers))
    with pytest.raises(MeijinError, match=r"the opening of game 7: 'a3' is not legal here"):
        list(play_tasks([Task(GAME, ("random", "random"), opening=(0, 0), number=7)], workers=workers))
    with pytest.raises(BadParameter, match="tic_tac_toe has 2 seats; name that many agents, not 1"):
        list(play_tasks([Task(GAME, ("random",))], workers=workers))


ENDS_WORKERS = """
import multiprocessing, os
from meijin.core.catalogue import game, make

@game("test_ends_workers")
def ends_workers():
    if multiprocessing.parent_process() is not None:
        os._exit(7)
    return make("tic_tac_toe")
"""


def test_a_process_that_ends_outside_of_any_agent(tmp_path: Path) -> None:
    file = tmp_path / "ends.py"
    file.write_text(ENDS_WORKERS)
    load_file(file, games, agents)
    with pytest.raises(MeijinError, match=r"game 5 .* ended its process twice \(exit status 7\) with no"):
        list(play_tasks([Task("test_ends_workers", ("random", "random"), number=5)], workers=1))


def test_names_that_workers_do_not_know() -> None:
    agents.register("test_only_here", agents.get("random").factory)
    try:
        task = Task(GAME, ("test_only_here", "random"))
        assert len(list(play_tasks([task]))) == 1
        with pytest.raises(UnknownName, match=r"unknown agent 'test_only_here'(.|\n)*--load(.|\n)*workers=0"):
            list(play_tasks([task], workers=1))
    finally:
        del agents._entries["test_only_here"]


def test_workers_are_counted() -> None:
    for workers in (-1, True, 1.5, 100_000):
        with pytest.raises(BadParameter, match="must be a number of processes, at most 1024, or 0"):
            list(play_tasks([], workers=workers))  # type: ignore[arg-type]


# ---- the same games everywhere ----


def test_games_depend_on_their_tasks_alone() -> None:
    tasks = [
        *match_tasks(make(GAME), ["mcts(simulations=30)", "random"], 40, seed=5),
        *match_tasks(make("2048(size=2)"), ["random", "mcts(simulations=10)"], 4, seed=6),
        *match_tasks(make("nim(heaps=(3, 3, 2), players=3)"), ["random", "mcts(simulations=20)", "random(seed=3)"], 12),
    ]
    tasks = [replace(task, number=number) for number, task in enumerate(tasks)]
    rules = play_rules(["cap(30, score=True)"], notes="analyses")
    here = by_number(play_tasks(tasks, rules=rules))
    assert len({record.moves for record in here}) > len(here) // 2

    def timeless(records: list[GameRecord]) -> list[GameRecord]:
        for record in records:
            for note in record.notes:
                if note.analysis:
                    note.analysis["seconds"] = 0.0
        return records

    timeless(here)
    for workers in (1, 2):
        shuffled = tasks[:]
        random.Random(workers).shuffle(shuffled)
        assert timeless(by_number(play_tasks(shuffled, workers=workers, rules=rules))) == here
    in_order = list(play_tasks(tasks, workers=2, rules=rules, ordered=True))
    assert [record.task for record in in_order] == tasks


# ---- workers come and go ----


def test_a_killed_worker_is_replaced_and_no_game_lost() -> None:
    tasks = [Task(GAME, ("h_slow(0.02, when=(0, 1, 2))", "random"), seed=n, number=n) for n in range(16)]
    expected = by_number(play_tasks(tasks, rules=PATIENCE))
    with WorkerPool(2, PATIENCE) as pool:
        playing = pool.play(tasks)
        records = [next(playing)]
        first = pool.processes
        os.kill(first[0], signal.SIGKILL)
        records += playing
        assert len(pool.processes) == 2 and first[0] not in pool.processes and first[1] in pool.processes
    assert by_number(iter(records)) == expected  # a kill from outside is nobody's forfeit


def test_a_pool_plays_again_and_ends_its_workers() -> None:
    tasks = against_random("random", "mcts(simulations=5)")
    with WorkerPool(2) as pool:
        pool.start()
        before = pool.processes
        assert len(before) == 2
        assert by_number(pool.play(tasks)) == by_number(pool.play(tasks)) == by_number(play_tasks(tasks))
        assert pool.processes == before
    assert gone(before)


def _blocked(answers: Any) -> None:
    answers.put(signal.pthread_sigmask(signal.SIG_BLOCK, []))


def test_processes_that_others_fork_later_hear_of_ctrl_c() -> None:
    """There is one fork server for everybody, and a match may be the first to need it."""
    with WorkerPool(1):
        context = multiprocessing.get_context("forkserver")
        answers = context.SimpleQueue()
        child = context.Process(target=_blocked, args=(answers,))
        child.start()
        assert answers.get() == set()
        child.join()


def test_closing_early_ends_the_workers() -> None:
    taken: list[int] = []

    def endless() -> Iterator[Task]:
        while True:
            taken.append(len(taken))
            yield Task(GAME, ("random", "random"), seed=len(taken))

    with WorkerPool(2) as pool:
        playing = pool.play(endless())
        next(playing)
        before = pool.processes
        playing.close()
        assert gone(before)
    assert len(taken) < 1000  # taken as they are needed


ORPHANS = """
import os, sys
from meijin.agents.catalogue import agents
from meijin.arena.pool import WorkerPool
from meijin.arena.record import Task
from meijin.core.catalogue import games
from meijin.core.registry import load_file

if __name__ == "__main__":
    load_file(sys.argv[1], games, agents)
    with WorkerPool(1) as pool:
        playing = pool.play([Task("tic_tac_toe", ("random", "random")), Task("tic_tac_toe", ("h_hang", "random"))])
        next(playing)
        print(*pool.processes, flush=True)
        sys.stdin.read()
"""


def test_no_worker_outlives_a_killed_parent(tmp_path: Path) -> None:
    file = tmp_path / "orphans.py"
    file.write_text(ORPHANS)
    command = [sys.executable, str(file), str(HOSTILE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [int(word) for word in parent.stdout.readline().split()]
        assert len(workers) == 1
        parent.kill()
    assert gone(workers)


def gone(processes: list[int]) -> bool:
    """Whether they all end; waits for it, as the system takes its time."""
    for _ in range(1000):
        if not any(_alive(process) for process in processes):
            return True
        time.sleep(0.01)
    return False


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    try:  # one that has ended may wait to be buried
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
