"""Repeated runs and sweeps: their plan, what a kill leaves, and the curves they have in common."""

from __future__ import annotations

import csv
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("safetensors")

from commands import good, run
from meijin.core.errors import BadParameter, UnknownName
from meijin.learning.zero.config import ZeroConfig
from meijin.training.events import Event, IterationDone, TrialDone, TrialStarted
from meijin.training.folder import read_metrics
from meijin.training.sweep import Sweep, read_sweep
from meijin.training.trials import SweepRun

SETTINGS = {"games": 100, "length.evaluate": 0}
PLAN = """
method = "td"
game = "tic_tac_toe"
repeat = 2
iterations = 2

[settings]
games = 100
length.evaluate = 0

[sweep]
alpha = [0.5, 1.0]
tuples.length = [2, 3]
"""


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def small(**changes: Any) -> Sweep:
    return Sweep(**{"game": "tic_tac_toe", "iterations": 2, "settings": SETTINGS, **changes})


def test_every_combination_is_repeated_with_seeds_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    trials = read_sweep(tmp_path / "plan.toml").trials()
    assert [trial.name for trial in trials[:4]] == [
        "alpha=0.5,tuples.length=2/1",
        "alpha=0.5,tuples.length=3/1",
        "alpha=1.0,tuples.length=2/1",
        "alpha=1.0,tuples.length=3/1",
    ]
    assert trials[3].variant == "alpha=1.0, tuples.length=3"
    values = [trial.config.to_dict() for trial in trials]
    assert [(v["alpha"], v["tuples"]["length"], v["seed"]) for v in values[2:6]] == [
        (1.0, 2, 0),
        (1.0, 3, 0),
        (0.5, 2, 1),
        (0.5, 3, 1),
    ]


def test_other_learners_have_other_seeds() -> None:
    values = ZeroConfig("tic_tac_toe").repetition(2).to_dict()
    assert (values["selfplay"]["seed"], values["training"]["seed"]) == (3, 3)
    _, second = Sweep("tic_tac_toe", "classic", repeat=2).trials()
    assert second.config.to_dict()["seed"] == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sweep": {"alpha": 0.5}}, "sweep.alpha: give a list of the values to try"),
        ({"sweep": {"alpha": [0.5, -1.0]}}, "alpha=-1.0: config: alpha = -1.0: must be above 0"),
        ({"sweep": {"tuples": {"cells": [["a1 b1"], ["a1 z9"]]}}}, "tic_tac_toe has no cell 'z9'"),
        ({"sweep": {"alhpa": [0.5]}}, "unknown key 'alhpa'; did you mean 'alpha'?"),
        ({"settings": {"tupels": {"length": 3}}}, "unknown key 'tupels'"),
        ({"evaluate": ("vs(randm)",)}, "randm"),
        ({"method": "dt"}, "unknown method 'dt'"),
        ({"repeat": 9000, "sweep": {"alpha": [0.5, 1.0]}}, "18,000 runs are more than 10,000"),
    ],
)
def test_a_mistake_in_any_variant_is_found_before_the_first_run(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises((BadParameter, UnknownName)) as caught:
        SweepRun(tmp_path / "sweep", small(**changes))
    assert said in str(caught.value)
    assert not (tmp_path / "sweep").exists()


def test_curves_are_means_over_the_runs(tmp_path: Path) -> None:
    made = SweepRun(tmp_path, small(repeat=3))
    assert made.go()
    errors = [float(read_metrics(tmp_path / str(k) / "metrics.csv")[1]["error"]) for k in (1, 2, 3)]
    mean = sum(errors) / 3
    (point,) = [r for r in rows(tmp_path / "curves.csv") if (r["metric"], r["iteration"]) == ("error", "2")]
    assert point["runs"] == "3"
    assert float(point["mean"]) == pytest.approx(mean, rel=1e-4)
    assert float(point["deviation"]) == pytest.approx(math.sqrt(sum((e - mean) ** 2 for e in errors) / 2), rel=1e-3)
    (final,) = [r for r in rows(tmp_path / "summary.csv") if r["metric"] == "error"]
    assert (float(final["low"]), float(final["high"])) == pytest.approx((min(errors), max(errors)), rel=1e-4)
    assert (tmp_path / "curves.svg").read_text().startswith("<svg")


def test_a_sweep_that_was_stopped_repeats_nothing(tmp_path: Path) -> None:
    whole = SweepRun(tmp_path / "whole", small(repeat=2))
    whole.go()
    made = SweepRun(tmp_path / "parts", small(repeat=2))
    seen: list[Event] = []

    def stop_in_the_second_run(event: Event) -> None:
        seen.append(event)
        if isinstance(event, IterationDone) and sum(isinstance(e, TrialStarted) for e in seen) == 2:
            made.stop()

    assert not made.go(stop_in_the_second_run)
    assert [trial.name for trial in made.waiting()] == ["2"]
    again, seen = SweepRun(tmp_path / "parts", resume=True), []
    assert again.go(seen.append)
    assert [e.name for e in seen if isinstance(e, TrialStarted)] == ["2"]
    assert [e.iteration for e in seen if isinstance(e, IterationDone)] == [2]  # its first is not done again
    for name in ("1", "2"):
        one, other = (read_metrics(tmp_path / folder / name / "metrics.csv") for folder in ("whole", "parts"))
        assert [row["error"] for row in one] == [row["error"] for row in other]


def test_more_repetitions_can_be_asked_for_later_but_nothing_else(tmp_path: Path) -> None:
    SweepRun(tmp_path, small()).go()
    with pytest.raises(BadParameter, match="already holds a sweep"):
        SweepRun(tmp_path, small())
    with pytest.raises(BadParameter, match="holds another sweep"):
        SweepRun(tmp_path, small(iterations=3), resume=True)
    seen: list[Event] = []
    assert SweepRun(tmp_path, small(repeat=2), resume=True).go(seen.append)
    assert [(e.name, e.number) for e in seen if isinstance(e, TrialDone)] == [("2", 2)]


def test_a_run_that_fails_does_not_keep_the_others_from_going_on(tmp_path: Path) -> None:
    settings = {**SETTINGS, "coherence": "none"}
    made = SweepRun(tmp_path, small(game="2048(size=2)", settings=settings, sweep={"alpha": [1e30, 0.1]}))
    assert not made.go()
    assert "lower alpha" in made.failed["alpha=1e+30/1"]
    assert [trial.name for trial in made.waiting()] == ["alpha=1e+30/1"]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="processes are ended by their group here")
def test_a_sweep_in_several_processes_survives_being_killed(tmp_path: Path) -> None:
    plan = PLAN.partition("[sweep]")[0].replace("repeat = 2", "repeat = 3").replace("iterations = 2", "iterations = 12")
    (tmp_path / "plan.toml").write_text(plan)
    command = [sys.executable, "-m", "meijin", "sweep", "plan.toml", "--out", "sweep", "--workers", "2", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if b"trial_done" in line:
                break
        os.killpg(process.pid, signal.SIGKILL)
    made = SweepRun(tmp_path / "sweep", resume=True)
    finished = {trial.name for trial in made.trials} - {trial.name for trial in made.waiting()}
    assert finished
    seen: list[Event] = []
    assert made.go(seen.append)
    assert not finished & {event.name for event in seen if isinstance(event, TrialStarted)}
    for trial in made.trials:
        assert len(read_metrics(tmp_path / "sweep" / trial.name / "metrics.csv")) == 12


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    said = good("sweep", "plan.toml")
    assert "run 8 of 8" in said and "alpha=0.5" in said and "±" in said
    assert "already holds a sweep; add --resume" in run("sweep", "plan.toml").stderr
    assert "run" not in good("sweep", "runs/plan").splitlines()[0]  # nothing is left to do
    options = ("--iterations=1", "--set=games=50", "--set=length.evaluate=0")
    assert "run 2 of 2" in good("train", "tic_tac_toe", "sarsa", "--repeat=2", *options)
    folder = "runs/tic_tac_toe-sarsa-repeated"
    assert len(rows(Path(folder) / "curves.csv")) > 3
    assert "run 3 of 3" in good("train", "tic_tac_toe", "sarsa", "--repeat=3", "--resume")
    assert "keep their settings" in run("train", "tic_tac_toe", "sarsa", "--repeat=3", "--resume", options[0]).stderr
    assert (
        "--warm does not go with --repeat" in run("train", "tic_tac_toe", "td", "--repeat=2", "--warm", "random").stderr
    )
