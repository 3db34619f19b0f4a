"""Training from Python: events, stopping, time and resuming, whatever the learner."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch

from meijin import build, make, training
from meijin.arena.match import match
from meijin.arena.record import GameRecord
from meijin.arena.store import Store
from meijin.cli.run_display import Lines
from meijin.core.errors import BadParameter, MeijinError, UnknownName
from meijin.learning.zero import checkpoint
from meijin.learning.zero.config import WarmConfig
from meijin.training import events, remote
from meijin.training.clock import RunClock
from meijin.training.events import (
    Evaluated,
    Event,
    Finished,
    Gated,
    IterationDone,
    Progress,
    RunStarted,
    Stopped,
    Trained,
    WarmStarted,
    Warned,
)
from meijin.training.folder import RunFolder, read_metrics
from meijin.training.sweep import Sweep
from meijin.training.trials import SweepRun
from meijin.training.warm import warm_games
from meijin.training.zero_run import ZeroRun
from test_zero_run import GAME, config, iterated, rows


def kinds(told: list[Event]) -> list[type[Event]]:
    """The types of the events; those of progress once, however many there are."""
    return [kind for kind, _ in itertools.groupby(type(event) for event in told)]


# ---- events ----


def test_a_run_tells_all_it_does(tmp_path: Path) -> None:
    changes = {
        "warm.agent": "random", "warm.games": 4, "gate.games": 2, "gate.simulations": 8, "length.iterations": 1,
        "length.evaluate": 1, "evaluation.by": ["vs(random, games=2, goal=1)"], "evaluation.simulations": 8,
        "selfplay.overlap": False,  # or there may be enough positions before anybody waits for them
    }  # fmt: skip
    told = list(ZeroRun(tmp_path / "r", config(**changes)))
    assert kinds(told) == [
        RunStarted, Progress, WarmStarted, Progress, Trained, Progress, Gated, Progress, Evaluated, IterationDone,
        Finished,
    ]  # fmt: skip
    started, done, last = told[0], told[-2], told[-1]
    assert started == RunStarted("zero", GAME, tmp_path / "r", 0, 1, None)
    assert isinstance(done, IterationDone) and done.left == 0 and done.metrics["iteration"] == 1
    assert last == Finished(1, tmp_path / "r", f'zero("{tmp_path / "r"}")', "all iterations are done")
    phases = {event.phase for event in told if isinstance(event, Progress)}
    assert phases == {"warm start", "self-play", "training", "gate", "vs(random, games=2, goal=1)"}
    assert done.metrics.keys() == {name for name, value in rows(tmp_path / "r")[0].items() if value}
    build(last.agent, make(GAME))  # what the last event names can play


def test_events_are_frozen_typed_and_one_line_of_json() -> None:
    known = [kind for _, kind in inspect.getmembers(events, inspect.isclass) if issubclass(kind, Event)]
    assert len(known) == 13 and all(dataclasses.is_dataclass(kind) for kind in known)
    event = IterationDone(3, {"loss": float("nan"), "games": 4}, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.iteration = 4  # type: ignore[misc]
    assert json.loads(event.to_json()) == {
        "event": "iteration_done", "iteration": 3, "metrics": {"loss": None, "games": 4}, "left": None,
    }  # fmt: skip
    assert json.loads(Stopped(2, Path("r")).to_json()) == {"event": "stopped", "iteration": 2, "folder": "r"}


# ---- stopping ----


def test_a_run_is_stopped_from_another_thread_in_any_phase(tmp_path: Path) -> None:
    """Whatever it is doing, it ends with what it has, and is resumed from there."""
    folder = tmp_path / "r"
    changes = {
        "gate.games": 2, "gate.simulations": 8, "length.evaluate": 1,
        "selfplay.overlap": False,  # or there may be enough positions before anybody waits for them
    }  # fmt: skip
    ZeroRun(folder, config(**changes)).iterate()
    for phase in ("self-play", "training", "gate", "Elo"):
        run, reached = ZeroRun(folder, resume=True), threading.Event()
        told: list[Event] = []

        def handler(event: Event, phase: str = phase, run: ZeroRun = run, reached: Any = reached) -> None:
            told.append(event)  # noqa: B023
            if isinstance(event, Progress) and event.phase == phase and not reached.is_set():
                reached.set()
                assert run._stopping.wait(timeout=60)  # the other thread has stopped it by now

        stopper = threading.Thread(target=lambda run=run, reached=reached: reached.wait(60) and run.stop())
        stopper.start()
        before = run.iteration
        last = run.go(handler)
        stopper.join()
        after = told[[isinstance(e, Progress) and e.phase == phase for e in told].index(True) + 1 :]
        assert isinstance(last, Stopped) and told[-1] is last
        assert not any(isinstance(event, Progress) for event in after) or phase == "self-play"  # no more was begun
        # Stopped before the first new position, there is nothing to save; later, the iteration counts.
        assert last.iteration - before in ((0, 1) if phase == "self-play" else (1,))
        facts = checkpoint.describe(RunFolder(folder).latest)["facts"]
        assert facts["iteration"] == last.iteration == len(rows(folder))
    again = ZeroRun(folder, resume=True)
    assert again.iterate() is not None and len(rows(folder)) == again.iteration


def test_leaving_the_loop_over_events_stops_the_run(tmp_path: Path) -> None:
    run = training.zero(GAME, config=config(), out=tmp_path / "r")
    for event in run:
        if isinstance(event, IterationDone):
            break
    assert run.stopping and run.source is None and 1 <= run.iteration < 20
    assert len(rows(tmp_path / "r")) == checkpoint.describe(run.folder.latest)["facts"]["iteration"]
    with pytest.raises(MeijinError, match="no more"):
        for event in ZeroRun(tmp_path / "r", resume=True, handlers=[_fail]):
            assert not isinstance(event, IterationDone)


def _fail(event: Event) -> None:
    if isinstance(event, Trained):
        raise MeijinError("no more")


# ---- time ----


def ticking() -> Any:
    """A clock that advances by one second each time it is read, so that slices of work take time."""
    ticks = itertools.count()
    return lambda: float(next(ticks))


def test_a_run_keeps_to_its_time(tmp_path: Path) -> None:
    """By a clock that ticks when it is looked at: the last iteration is cut short, learned from and saved."""
    now, told = ticking(), []
    made = config(**{"selfplay.overlap": False, "length.positions": 2000, "training.reuse": 50})
    run = ZeroRun(tmp_path / "r", made.finish_in(300, None), now=now, handlers=[told.append])
    last = run.go()
    assert isinstance(last, Finished) and last.reason == "the time is up"
    assert now() < 300 + 40  # looks at the clock on the way out: metrics, saving, the last events
    assert last.iteration == len(rows(tmp_path / "r")) >= 1
    final = rows(tmp_path / "r")[-1]
    assert int(final["positions"]) > 0 and final["loss_policy"]  # what was played last was still learned from
    (cut,) = [event for event in told if isinstance(event, Trained)][-1:]
    assert cut.steps < 2000 * 50 / 32  # though not as often as the config says
    rates = [float(row["rate"]) for row in rows(tmp_path / "r")]
    assert rates[-1] < 0.3 * made.training.rate  # the schedule has followed the clock to the end
    assert checkpoint.load(run.folder.latest).facts["progress"] > 0.9
    with pytest.raises(MeijinError, match=r"is finished .*--iterations or --seconds"):
        ZeroRun(tmp_path / "r", resume=True).go()


def test_an_evaluation_that_does_not_fit_is_left_out(tmp_path: Path) -> None:
    told: list[Event] = []
    made = config(**{"evaluation.by": ["vs(random, games=100)"], "length.evaluate": 1, "evaluation.simulations": 8})
    run = ZeroRun(tmp_path / "r", made.finish_in(10**6, 3), handlers=[told.append])
    run._costs["evaluation"] = 10**6 + 1
    assert "elo" not in (run.iterate() or {}) and told[-2] == Warned("no time is left to evaluate iteration 1")
    run._costs["evaluation"] = 0.0
    elapsed = run.clock.elapsed

    def handler(event: Event) -> None:
        if isinstance(event, Progress) and event.phase.startswith("vs") and event.done == 2:
            run.clock.spent = 10**6 - (run.clock.elapsed - run.clock.spent) + 1  # the time is up

    run.handlers.append(handler)
    row = run.iterate()
    run.close()
    assert row is not None and not any(name.startswith("eval_") for name in row) and row["seconds"] > elapsed
    assert any(isinstance(event, Warned) and "not complete" in event.text for event in told)
    assert len(rows(tmp_path / "r")) == 2  # saved all the same


def test_the_time_left_is_that_of_the_clock_or_of_the_latest_iterations(tmp_path: Path) -> None:
    run = ZeroRun(tmp_path / "r", config(**{"length.iterations": 11}))
    assert run.left is None
    run._durations += [100.0]  # with compilation
    run.iteration = 1
    assert run.left == 1000.0
    run._durations += [2.0, 4.0]
    run.iteration = 3
    assert run.left == 24.0  # the first one, which compiled, does not count any more
    run.clock.set_limit(run.clock.elapsed + 10)
    assert 9 < run.left <= 10


def test_a_clock_counts_earlier_sessions() -> None:
    now = iter([10.0, 13.0, 14.0, 15.0])
    clock = RunClock(began=4.0, now=lambda: next(now))
    clock.set_limit(40.0)
    assert clock.elapsed == 6.0
    clock.spent = 20.0
    assert clock.elapsed == 29.0 and clock.left == 10.0 and clock.share == 31 / 40
    assert RunClock().share == 0.0 and RunClock().left == float("inf")


# ---- starting and resuming ----


def test_runs_are_started_and_resumed_by_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text("[length]\npositions = 60\nevaluate = 0\n[replay]\nstart = 50\n")
    changes = {"net.blocks": 1, "net.channels": 8, "search.simulations": 8}
    run = training.zero(GAME, preset="tiny", config="c.toml", changes=changes, iterations=1)
    assert run.folder.path == Path("runs/tic_tac_toe") and run.config.length.positions == 60
    assert run.go() == Finished(1, run.folder.path, 'zero("runs/tic_tac_toe")', "all iterations are done")
    again = training.resume("runs/tic_tac_toe", iterations=2)
    assert isinstance(again, ZeroRun) and again.go().iteration == 2
    with pytest.raises(MeijinError, match="is finished"):
        training.resume("runs/tic_tac_toe").go()
    for arguments, problem in (
        ({"resume": True, "preset": "tiny"}, "keeps its config"),
        ({"resume": True, "config": "c.toml"}, "keeps its config"),
        ({}, "already holds a run"),
        ({"out": "x", "config": config(game="nim")}, "is for nim, not for tic_tac_toe"),
        ({"out": "x", "device": "gpu"}, "write cpu, cuda"),
        ({"out": "x", "selfplay_device": "cpu, gpu"}, "device 'gpu'"),
        ({"out": "x", "warm": "random", "from_games": "c.toml"}, "not both"),
    ):
        with pytest.raises(BadParameter, match=problem):
            training.zero(GAME, **arguments)
    with pytest.raises(BadParameter, match="holds no run to resume"):
        training.resume("x")
    with pytest.raises(UnknownName, match="did you mean 'zero'"):
        training.start("zeros", GAME)
    assert not Path("x").exists()


def test_metrics_survive_a_kill_and_grow_columns(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.add_metrics({"iteration": 1, "loss": 0.25})
    folder.add_metrics({"iteration": 2, "loss": 1 / 3})
    folder.add_metrics({"iteration": 3, "loss": 0.1, "elo": 12.0})
    assert folder.metrics.read_text() == "iteration,loss,elo\n1,0.25,\n2,0.333333,\n3,0.1,12\n"
    with folder.metrics.open("a") as file:
        file.write("4,0.")  # killed while it wrote
    again = RunFolder(tmp_path)
    assert [row["iteration"] for row in read_metrics(again.metrics)] == ["1", "2", "3"]
    again.trim_metrics(2)
    again.add_metrics({"iteration": 3, "loss": 2.0})
    assert again.metrics.read_text() == "iteration,loss,elo\n1,0.25,\n2,0.333333,\n3,2,\n"


def test_curves_hide_what_a_killed_session_wrote(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = iterated(tmp_path / "r", 2)
    run.close()
    run.iteration = 1  # as if the second had been killed before its checkpoint
    run.save()
    again = ZeroRun(tmp_path / "r", resume=True)
    again.iterate()
    again.close()
    curves = EventAccumulator(str(tmp_path / "r" / "tensorboard"))
    curves.Reload()
    assert [event.step for event in curves.Scalars("run/positions")] == [1, 2]
    assert curves.Images("policy/start")


def test_a_run_starts_from_the_weights_of_another_net(tmp_path: Path) -> None:
    first = ZeroRun(tmp_path / "a", config(**{"length.iterations": 1}))
    first.go()
    taught = checkpoint.load(first.folder.latest).net.state_dict()
    changes = {"warm.init": str(tmp_path / "a"), "length.iterations": 1}
    run = ZeroRun(tmp_path / "b", config(**changes))
    assert all(torch.equal(tensor, taught[name]) for name, tensor in run.playing.state_dict().items())
    run.go()
    learned = checkpoint.load(run.folder.latest).net.state_dict()
    assert not all(torch.equal(tensor, taught[name]) for name, tensor in learned.items())
    resumed = ZeroRun(tmp_path / "b", config(**changes), resume=True)  # does not begin with those weights again
    assert all(torch.equal(tensor, learned[name]) for name, tensor in resumed.playing.state_dict().items())
    for wrong, why in (
        ({"net.blocks": 2}, "of another shape; set net.blocks=1"),
        ({"warm.init": "champion"}, "tic_tac_toe.safetensors"),  # which is no net
        ({"warm.init": "nowhere"}, "there is no 'nowhere'"),
    ):
        with pytest.raises(MeijinError, match=why):
            ZeroRun(tmp_path / "c", config(**changes | wrong))


def test_a_damaged_database_is_no_warm_start(tmp_path: Path) -> None:
    """A move that the rules forbid is named, and never reaches compiled code."""
    path = tmp_path / "games.db"
    records: list[GameRecord] = []
    match(make(GAME), ["random", "random"], 1, seed=1, on_game=records.append, workers=0)
    with Store(path) as store:
        store.add(records)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "UPDATE games SET moves = substr(moves, 1, length(moves) / 2) || substr(moves, 1, length(moves) / 2)"
        )
    with pytest.raises(MeijinError):
        warm_games(make(GAME), WarmConfig(records=str(path)), 1, lambda done, total: True)


def test_a_run_in_an_object_store_continues_on_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")

    def machine(name: str) -> None:
        """From now on a machine that has its own local copies, or none yet."""
        monkeypatch.setattr(remote, "cache_folder", lambda: tmp_path / name)

    shared = tmp_path / "store"
    for url in ("memory://runs/one", f"file://{shared}"):
        machine("first")
        run = training.zero(GAME, config=config(), out=url, iterations=1)
        run.iterate()
        run.close()
        machine("second")
        with pytest.raises(MeijinError, match="already holds a run; add --resume"):
            training.zero(GAME, out=url)
        second = training.resume(url, iterations=2)
        assert second.iteration == 1 and str(second.folder) == remote.url_of(url)
        before = second.folder.latest.read_bytes()
        monkeypatch.setattr(second.folder.remote, "_upload", _fails)
        with pytest.raises(MeijinError, match=r"cannot be used: OSError: no network"):
            second.iterate()
        second.close()
        again = training.resume(url, iterations=2)  # what was not uploaded does not count, not even where it is
        assert again.iteration == 1 and again.folder.latest.read_bytes() == before
        again.close()
        machine("third")
        third = training.resume(url, iterations=2)
        assert third.iteration == 1 and third.folder.latest.read_bytes() == before
        third.iterate()
        third.close()
    assert sorted(path.name for path in (shared / "games").iterdir()) == [f"00000{k}.safetensors" for k in (1, 2)]
    assert remote.url_of(Path("s3://bucket/a/b")) == "s3://bucket/a/b" and remote.url_of("runs/a") is None
    with pytest.raises(MeijinError, match=r"nosuch://x"):
        training.zero(GAME, out="nosuch://x")
    with pytest.raises(MeijinError, match=r"memory:///runs/all.*choose a local --out"):
        SweepRun("memory://runs/all", Sweep(GAME))
    with pytest.raises(MeijinError, match=r"copy 's3://bucket/a' to this machine"):
        build('zero("s3://bucket/a")', make(GAME))


def test_a_store_that_refuses_a_run_is_noticed_before_it_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setattr(remote, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(remote.RemoteFolder, "_upload", lambda self, name: _fails(name))
    with pytest.raises(MeijinError, match=r"memory:///runs/two cannot be used: OSError: no network"):
        training.zero(GAME, config=config(), out="memory://runs/two")
    said = "Unable to locate credentials"
    monkeypatch.setattr(remote.RemoteFolder, "_upload", lambda self, name: _fails(name, said))
    with pytest.raises(MeijinError, match=r"Unable to locate credentials; set the credentials of the store$"):
        training.zero(GAME, config=config(), out="memory://runs/two")


def test_a_run_in_an_object_store_names_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setattr(remote, "cache_folder", lambda: tmp_path)
    training.zero(GAME, config=config(), out="memory://runs/three", iterations=1).go(Lines(make(GAME), ()))
    said = capsys.readouterr().out
    assert "the net is in memory:///runs/three; play" in said and f'zero("{tmp_path}/runs/' in said


def _fails(name: str, said: str = "no network") -> None:
    raise OSError(said)
