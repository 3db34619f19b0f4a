"""One source, two processors: a forest grows the same trees on the GPU and on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meijin.core import cuda
from meijin.core.catalogue import make
from meijin.search.forest import Forest, Settings

GAMES = [
    "tic_tac_toe",
    "connect_four",
    "othello(size=4)",  # games short enough to end before the cap, so that cells have owners
    "othello(size=6)",
    "go(size=5)",
    "nim(heaps=(3, 4, 5), players=3)",
    "2048",
    "minishogi",
]


def fake_net(x: np.ndarray, moves: int, seats: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers that depend on the position, the same on every machine."""
    flat = x.reshape(len(x), -1).astype(np.float64)
    seen = flat @ np.cos(np.arange(flat.shape[1]))
    logits = np.sin(seen[:, None] * (1 + np.arange(moves) % 7) + np.arange(moves))
    values = 0.5 * np.sin(3 * seen[:, None] + np.arange(seats))
    return logits.astype(np.float32), values.astype(np.float32)


def grown(game: Any, settings: Settings, gpu: bool, steps: int, selfplay: bool) -> Forest:
    forest = Forest(game, 16, settings, selfplay=selfplay, slots=64, seed=5, gpu=gpu)
    forest.set_options(settings, rivals=5 if game.seats > 1 else 0)  # some games are played against a past net
    for _ in range(steps):
        forest.step()
        logits, values = fake_net(forest.host("x"), game.num_moves, game.seats)
        if gpu:
            forest.arrays.logits.copy_to_device(logits)
            forest.arrays.outlook.copy_to_device(values)
        else:
            forest.arrays.logits[:] = logits
            forest.arrays.outlook[:] = values
    return forest


def searching(simulations: int, gumbel: bool) -> Settings:
    return Settings(
        simulations=simulations,
        gumbel=gumbel,
        alpha=0.5,
        warm=4,
        random_share=0.5,
        random_plies=4,
        cap=30,
        reuse=not gumbel,
        free_simulations=4,
    )


def same(game: Any, settings: Settings, steps: int, selfplay: bool) -> None:
    cpu, gpu = (grown(game, settings, gpu, steps, selfplay) for gpu in (False, True))
    for name in ("info", "facts", "kept_moves", "bits", "stats", "owners"):
        np.testing.assert_array_equal(cpu.host(name), gpu.host(name), err_msg=name)
    for name in ("kept_probs", "kept_roots", "surprise", "outcomes", "numbers"):
        np.testing.assert_allclose(cpu.host(name), gpu.host(name), atol=1e-5, err_msg=name)
    np.testing.assert_array_equal(cpu.host("edges")["visits"], gpu.host("edges")["visits"])
    np.testing.assert_allclose(cpu.host("edges")["total"], gpu.host("edges")["total"], atol=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.available(), reason="no CUDA device")
@pytest.mark.parametrize("gumbel", [False, True], ids=["puct", "gumbel"])
@pytest.mark.parametrize("name", GAMES)
def test_both_processors_grow_the_same_forest(name: str, gumbel: bool) -> None:
    same(make(name), searching(16, gumbel), 300, selfplay=True)


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.available(), reason="no CUDA device")
@pytest.mark.parametrize("name", ["connect_four", "2048"])
def test_both_processors_ask_about_the_same_leaves(name: str) -> None:
    same(make(name), Settings(simulations=200, leaves=4), 70, selfplay=False)


SEARCHES = {
    "puct": ("tic_tac_toe", "searching(6, False)", True),
    "gumbel": ("tic_tac_toe", "searching(6, True)", True),
    "owners": ("othello(size=4)", "searching(2, False)", True),
    "leaves": ("tic_tac_toe", "Settings(simulations=30, leaves=4)", False),
}


SIMULATED = f"""
import json, sys, traceback, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_forest_gpu import SEARCHES, Settings, make, same, searching
wrong = {{}}
for kind, (name, settings, selfplay) in SEARCHES.items():
    try:
        same(make(name), eval(settings), 40, selfplay)
    except Exception:
        wrong[kind] = traceback.format_exc()
print(json.dumps(wrong))
"""


@pytest.fixture(scope="module")
def wrong() -> dict[str, str]:
    """What the simulator does otherwise, by search; all of them in one process, which has to load the simulator."""
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "MEIJIN_JIT": "0"}
    result = subprocess.run([sys.executable, "-c", SIMULATED], env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return dict(json.loads(result.stdout.splitlines()[-1]))


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_simulator_grows_the_same_forest(kind: str, wrong: dict[str, str]) -> None:
    assert kind not in wrong, wrong[kind]
