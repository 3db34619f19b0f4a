"""A learner on several devices: the same weights as on one, and one error if a process dies."""

from __future__ import annotations

import copy
import os
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from meijin.core.catalogue import make  # noqa: E402
from meijin.core.errors import BadParameter, MeijinError  # noqa: E402
from meijin.learning.nets.config import NetConfig  # noqa: E402
from meijin.learning.zero.config import TrainingConfig, ZeroConfig  # noqa: E402
from meijin.learning.zero.learner import Learner  # noqa: E402
from meijin.learning.zero.nets import Net  # noqa: E402
from meijin.learning.zero.positions import Positions  # noqa: E402
from meijin.training.replicas import Replicas  # noqa: E402
from meijin.training.zero_run import ZeroRun  # noqa: E402

GAME = "2048"  # values without bounds, whose units also reach the other process


def learner() -> Learner:
    torch.manual_seed(3)
    # AdamW divides by the size of a gradient: where that should be 0, rounding alone decides what it does.
    config = TrainingConfig(batch=51, optimizer="sgd", rate=0.1, warmup=0, ema=0.9, mixed=False, clip=1.0)
    return Learner(Net(make(GAME), NetConfig(blocks=1, channels=8)), config)


def positions() -> Positions:
    dice = torch.Generator().manual_seed(5)
    found = Positions.empty(make(GAME), 4, 105)
    found.bits[:] = torch.randint(256, found.bits.shape, dtype=torch.uint8, generator=dice)
    found.moves[:] = torch.arange(4)
    found.probs[:] = torch.rand(found.probs.shape, generator=dice).half()
    found.outcomes[:] = torch.randn(found.outcomes.shape, generator=dice).half()
    found.values[:] = found.outcomes
    return found


def test_two_processes_learn_what_one_learns() -> None:
    """Also when they are resumed; the batch of 51 does not divide evenly."""
    alone, first, again, data = learner(), learner(), learner(), positions()
    begun = copy.deepcopy(alone.net.state_dict())
    alone.fit(data, 8, 0.0)
    for pair in (first, again):
        if pair is again:
            again.averaged.load_state_dict(first.averaged.state_dict())
            again.restore(first.state())
        with closing(Replicas(pair, ["cpu"])):
            pair.fit(data, 4, 0.0)  # two batches are all of the data, so the order is that of eight steps
    for one, two in ((alone.net, again.net), (alone.averaged, again.averaged)):
        for (name, weights), other in zip(one.state_dict().items(), two.state_dict().values(), strict=True):
            if weights.is_floating_point():
                torch.testing.assert_close(other, weights, rtol=1e-4, atol=1e-5, msg=name)
    assert any((weights - begun[name]).abs().max() > 0.01 for name, weights in alone.net.named_parameters())


def config(**changes: Any) -> ZeroConfig:
    return ZeroConfig("tic_tac_toe", net={"size": "nano", "blocks": 1, "channels": 8}).changed(
        {
            "search": {"simulations": 8, "alpha": 0.5, "warm": 4},
            "selfplay": {"games": 8, "threads": 1, "overlap": False},
            "replay": {"start": 50},
            "training": {"batch": 32, "warmup": 5, "ema": 0.9, "threads": 1},
            "length": {"iterations": 100, "positions": 100, "evaluate": 0},
            **changes,
        }
    )


def test_a_run_on_two_devices_ends_with_one_sentence_when_one_dies(tmp_path: Path) -> None:
    run = ZeroRun(tmp_path / "r", config(), device="cpu,cpu")
    assert run.iterate() is not None and run.device == "cpu" and run.replicas is not None
    os.kill(run.replicas.processes[0].pid, signal.SIGKILL)
    with pytest.raises(MeijinError, match=r"the learner's process on cpu ended with status -9; .* so --resume"):
        run.go()
    assert run.replicas is None
    again = ZeroRun(tmp_path / "r", config(), device="cpu", resume=True)  # on another number of devices
    assert again.iterate() is not None and again.iteration == 2
    again.close()


def test_devices_are_different(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.training.zero_run.check_device", lambda name: None)
    for devices in ("cuda,cuda:0", "cuda:1,cuda:1", "cpu,cuda:0"):
        with pytest.raises(BadParameter, match="name different GPUs"):
            ZeroRun(tmp_path / "r", config(), device=devices)
    with pytest.raises(BadParameter, match="a batch has 1 positions; name at most 1 devices"):
        ZeroRun(tmp_path / "r", config(**{"training.batch": 1}), device="cpu,cpu")
