"""Kernels of self-play that another process compiles: it does compile them, and whatever happens to it does no harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from meijin import training
from meijin.core.errors import BadParameter
from meijin.training import early
from meijin.training.early import CODE, Early
from meijin.training.zero_run import ZeroRun

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(autouse=True)
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)


@pytest.mark.parametrize("gumbel", [False, True])
def test_it_compiles_the_kernels_of_a_game_from_a_file(gumbel: bool) -> None:
    files = [("file", str(EXAMPLES / "chomp.py"))]
    order = {"game": "chomp(rows=2)", "gumbel": gumbel, "device": "cuda", "registrations": files}
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "MEIJIN_JIT": "0"}
    run_with(order, env)


def run_with(order: dict[str, Any], env: dict[str, str]) -> None:
    text = json.dumps(order).encode()
    done = subprocess.run([sys.executable, "-c", CODE], input=text, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("code", ["raise SystemExit(1)", "import time; time.sleep(60)"], ids=["fails", "hangs"])
def test_nobody_waits_for_one_that_fails_or_hangs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "CODE", code)
    monkeypatch.setattr(early, "PATIENCE", 0.2)
    begun = Early(["tic_tac_toe", "hex"], False, "cuda")
    children = list(begun._children)
    began = time.perf_counter()
    begun.wait()
    assert len(children) == 2 and all(child.poll() is not None for child in children)
    assert time.perf_counter() - began < 30


def test_it_needs_cores_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert not Early(["tic_tac_toe"], False, "cuda")._children


class Recorder:
    """In place of `Early`: what it was asked for, and what became of it."""

    made: list[Any]

    def __init__(self, *order: Any):
        self.order, self.waited, self.closed = order, 0, 0
        self.made.append(self)

    def wait(self) -> None:
        self.waited += 1

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ({"device": "cuda:7"}, "cuda:7"),
        ({"device": "cuda:0,cuda:7"}, "cuda:0"),
        ({"device": "cuda:7", "selfplay_device": "cpu"}, None),
        ({"device": "cpu", "selfplay_device": "cpu,cuda:7"}, "cuda:7"),
    ],
    ids=["cuda", "two", "games on the cpu", "games on both"],
)
def test_it_begins_where_a_gpu_plays_and_ends_with_a_run_that_is_refused(
    where: dict[str, str], wanted: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "Early", Recorder)
    Recorder.made = []
    with pytest.raises(BadParameter, match="PyTorch finds"):
        training.zero("hex(size=5)", preset="tiny", out=tmp_path / "run", **where)  # type: ignore[arg-type]
    assert [each.order for each in Recorder.made] == ([(("hex(size=5)",), False, wanted)] if wanted else [])
    assert all(each.closed for each in Recorder.made)


def test_a_run_waits_for_it_once(tmp_path: Path) -> None:
    Recorder.made = []
    begun: Any = Recorder()
    config = training.configure("zero", "tic_tac_toe", preset="tiny", iterations=2)
    run = ZeroRun(tmp_path / "run", config, early=begun)  # type: ignore[arg-type]
    run.go()
    assert run.iteration == 2 and begun.waited == 1 and begun.closed


@pytest.mark.gpu
def test_a_run_finds_what_was_compiled(tmp_path: Path) -> None:
    env = {**os.environ, "MEIJIN_CACHE": str(tmp_path / "cache")}
    run_with({"game": "tic_tac_toe", "gumbel": False, "device": "cuda", "registrations": []}, env)
    before = sorted((tmp_path / "cache").glob("*-cuda-*"))
    settings = f"preset='tiny', iterations=1, device='cuda', out={str(tmp_path / 'run')!r}"
    code = f"from meijin import training; training.zero('tic_tac_toe', {settings}).go()"
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    assert len(before) == 2 and sorted((tmp_path / "cache").glob("*-cuda-*")) == before
