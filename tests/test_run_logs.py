"""What a run writes down for people: events, seconds, histograms and a profile; and who plays its evaluations."""

from __future__ import annotations

import json
import multiprocessing
import pstats
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from commands import good
from commands import run as command
from meijin import build, make, training
from meijin.core.errors import BadParameter
from meijin.training import remote
from meijin.training.events import Evaluated, Finished, Stopped, Trained
from meijin.training.zero_run import ZeroRun
from test_zero_run import GAME, config, iterated, rows

JUDGED = {"length.evaluate": 1, "length.iterations": 1, "evaluation.simulations": 8}


def told(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


# ---- events.jsonl ----


def test_a_run_notes_all_its_events_but_progress_with_their_time(tmp_path: Path) -> None:
    folder, heard = tmp_path / "r", []
    changes = JUDGED | {"gate.games": 2, "gate.simulations": 8, "evaluation.by": ["vs(random, games=2)"]}
    ZeroRun(folder, config(**changes)).go(lambda event: heard.append(json.loads(event.to_json())))
    noted = told(folder)
    assert [line["event"] for line in noted] == [
        "run_started", "trained", "gated", "evaluated", "iteration_done", "finished",
    ]  # fmt: skip
    times = [datetime.fromisoformat(line.pop("time")) for line in noted]
    assert times == sorted(times) and times[0].tzinfo is not None
    assert noted == [event for event in heard if event["event"] != "progress"]


def test_a_resumed_run_goes_on_with_its_events_after_a_kill(tmp_path: Path) -> None:
    for method, settings in (("td", {"games": 10}), ("classic", {"learn": "exact", "positions": 20, "epochs": 1})):
        folder = tmp_path / method
        training.start(method, GAME, out=folder, config=settings, iterations=1).go()
        with (folder / "events.jsonl").open("a") as file:
            file.write('{"time":"2026-')  # killed while it wrote
        training.resume(folder, iterations=2).go()
        said = [(line["event"], line["iteration"]) for line in told(folder) if line["event"] != "trained"]
        assert said == [
            ("run_started", 0), ("iteration_done", 1), ("finished", 1),
            ("run_started", 1), ("iteration_done", 2), ("finished", 2),
        ]  # fmt: skip


def test_the_last_event_is_in_the_object_store_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setattr(remote, "cache_folder", lambda: tmp_path / "copies")
    store, seen = tmp_path / "store", []

    def look(event: Any) -> None:
        if isinstance(event, Finished):
            seen.extend(told(store))

    training.td(GAME, out=f"file://{store}", config={"games": 10}, iterations=1, profile=True).go(look)
    assert seen[-1]["event"] == "finished" and (store / "profile.prof").exists()


# ---- metrics.csv ----


def test_metrics_say_how_long_the_gate_and_the_evaluation_took(tmp_path: Path) -> None:
    changes = {"gate.games": 2, "gate.simulations": 8, "length.evaluate": 1}  # Elo, from the second one on
    iterated(tmp_path / "r", 2, **changes).close()
    first, second = rows(tmp_path / "r")
    assert float(first["gate_seconds"]) > 0 and not first["evaluation_seconds"]
    assert 0 < float(second["evaluation_seconds"]) < float(second["seconds"])


# ---- TensorBoard ----


def test_milestones_have_histograms_and_a_picture_of_the_values(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = iterated(tmp_path / "r", 3)  # every second one is kept
    run.close()
    shown = EventAccumulator(str(tmp_path / "r" / "tensorboard"), {"histograms": 0})
    shown.Reload()
    tags = shown.Tags()["histograms"]
    assert {"weights/stem.conv", "weights/value.values", "policy/entropy", "value/mover"} <= set(tags)
    assert not any("norm" in tag or "bias" in tag for tag in tags)
    for tag in tags:
        assert [event.step for event in shown.Histograms(tag)] == [2]
    (conv,) = shown.Histograms("weights/stem.conv")
    assert conv.histogram_value.num == run.learner.net.stem.conv.weight.numel()
    (entropy,) = shown.Histograms("policy/entropy")
    assert 0 <= entropy.histogram_value.min <= entropy.histogram_value.max < 2.2  # ln 9: nine moves
    assert entropy.histogram_value.num > 60
    assert [event.step for event in shown.Images("policy/start")] == [1, 2, 3]
    assert [event.step for event in shown.Images("value/start")] == [2]


def test_classic_nets_have_histograms_of_their_weights(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    settings = {"learn": "exact", "positions": 20, "epochs": 1, "features": 4}
    training.classic(GAME, out=tmp_path / "r", config=settings, iterations=2).go()
    shown = EventAccumulator(str(tmp_path / "r" / "tensorboard"), {"histograms": 0})
    shown.Reload()
    assert [event.step for event in shown.Histograms("weights/decide")] == [1, 2]


# ---- evaluations in other processes ----


def test_other_processes_play_evaluations_with_the_same_result(tmp_path: Path) -> None:
    values = []
    for workers in (0, 2):
        changes = JUDGED | {"evaluation.by": ["vs(random, games=4)"], "evaluation.workers": workers}
        made, heard = config(**changes, **{"selfplay.overlap": False}), []
        run = ZeroRun(tmp_path / str(workers), made, handlers=[heard.append])
        assert isinstance(run.go(), Finished)
        (found,) = [event for event in heard if isinstance(event, Evaluated)]
        values.append(found.value)
        assert not (run.folder.checkpoints / "evaluated.safetensors").exists()
    assert values[0] == values[1]
    with pytest.raises(BadParameter, match=r"evaluation\.workers = -1: must be at least 0"):
        config(**{"evaluation.workers": -1})


def test_a_run_that_is_stopped_in_a_game_of_another_process_ends_it(tmp_path: Path) -> None:
    """The game would take several minutes."""
    by = "vs(mc(seconds=60), games=2)"
    changes = JUDGED | {"evaluation.by": [by], "evaluation.workers": 1, "length.iterations": 2}
    run = ZeroRun(tmp_path / "r", config(**changes))
    trained = threading.Event()

    def stop() -> None:
        assert trained.wait(60)
        while not multiprocessing.active_children():
            trained.wait(0.01)
        run.stop()

    stopper = threading.Thread(target=stop, daemon=True)
    stopper.start()
    last = run.go(lambda event: trained.set() if isinstance(event, Trained) else None)
    stopper.join()
    assert last == Stopped(1, tmp_path / "r")
    assert not multiprocessing.active_children()
    (row,) = rows(tmp_path / "r")
    assert not any(name.startswith("eval_") for name in row)
    assert not (run.folder.checkpoints / "evaluated.safetensors").exists()


# ---- a profile ----


def test_a_profile_names_the_functions_that_took_longest(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    good("train", GAME, "td", "--set", "games=10", "--iterations", "1", "--profile", "--out", folder)
    text = (folder / "profile.txt").read_text()
    assert "Ordered by: internal time" in text and 30 <= len(text.splitlines()) < 50
    functions = {name for _, _, name in pstats.Stats(str(folder / "profile.prof")).stats}  # type: ignore[attr-defined]
    assert "iterate" in functions
    failed = command("train", GAME, "td", "--profile", "--repeat", "2", "--out", tmp_path / "s")
    assert failed.exit_code and "--profile does not go with --repeat" in failed.output


def test_a_path_with_quotes_is_a_path(tmp_path: Path) -> None:
    folder = tmp_path / 'say "x" \\new'
    run = training.td(
        "tic_tac_toe",
        out=folder,
        iterations=1,
        changes={"games": 20, "length.evaluate": 1},
        evaluate=["vs(random, games=2)"],
    )
    last = run.go()
    assert isinstance(last, Finished) and build(last.agent, make("tic_tac_toe"))
