"""The CUDA driver: the same rules give the same games on a GPU, or in Numba's simulator of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meijin.core import cuda, kernels
from meijin.core.catalogue import games, make
from meijin.core.game import Game
from meijin.core.rng import streams

#: Game -> walks and plies; the simulator runs a thread a walk, interpreted, so both are few.
SMALL = {"connect_four": (4, 50), "tic_tac_toe": (4, 9), "othello": (3, 25), "nim": (4, 20), "2048": (3, 40)}

SIMULATED = """
import json, sys, warnings
warnings.simplefilter("ignore")  # words wrap around, as they should
from meijin.core import cuda
from meijin.core.catalogue import make
assert cuda.simulated() and cuda.available()
cuda.require()
records = {}
for name, (count, plies) in json.loads(sys.argv[1]).items():
    records[name] = cuda.random_walks(make(name), count, plies, seed=3).tobytes().hex()
sums = {}
for name in ("tic_tac_toe", "nim"):
    plies, totals, seconds = cuda.random_games(make(name), threads=5, count=3, seed=7)
    sums[name] = [plies, totals.tolist(), seconds]
print(json.dumps([records, sums]))
"""


def run(code: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    full = {**os.environ, **env}
    return subprocess.run([sys.executable, "-c", code, *args], env=full, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def simulated() -> Any:
    result = run(SIMULATED, json.dumps(SMALL), NUMBA_ENABLE_CUDASIM="1")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def walks(game: Game, count: int, plies: int, seed: int) -> np.ndarray:
    """What the CPU makes of the same streams."""
    states = game.states(count)
    game.kernel(kernels.random_walks)(states, plies, streams(seed, count), *kernels.buffers(game))
    return states


@pytest.mark.parametrize("name", SMALL)
def test_simulated_walks_equal_those_of_the_cpu(name: str, simulated: Any) -> None:
    count, plies = SMALL[name]
    states = walks(make(name), count, plies, seed=3)
    assert len({state.tobytes() for state in states}) > 1  # streams differ
    assert states.tobytes().hex() == simulated[0][name]


@pytest.mark.parametrize("name", ["tic_tac_toe", "nim"])
def test_simulated_games_add_up_and_equal_those_of_the_cpu(name: str, simulated: Any) -> None:
    plies, totals, seconds = simulated[1][name]
    assert seconds > 0
    # One game a thread warms up and is not counted; the same stream goes on with the three that are.
    game, expected, scores, played = make(name), np.zeros(make(name).seats), np.zeros(make(name).seats), 0
    moves, probs = kernels.buffers(game)
    for rng in streams(7, 5):
        game.kernel(kernels.random_games)(game.states(1), 1, rng, moves, probs, scores, np.zeros(game.seats))
        played += game.kernel(kernels.random_games)(game.states(1), 3, rng, moves, probs, scores, expected)
    assert plies == played
    assert totals == pytest.approx(expected.tolist())
    assert sum(totals) == pytest.approx(0)


NOWHERE = """
from meijin.core import cuda
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError, NoDevice
assert not cuda.available() and cuda.problem()
nim = make("nim")
for use in (cuda.require, lambda: cuda.random_walks(nim, 2, 2, 1), lambda: cuda.random_games(nim, 2, 2, 1)):
    try:
        use()
    except NoDevice as error:
        assert isinstance(error, MeijinError)
        print(error)
"""


def test_without_a_device_the_remedy_is_told() -> None:
    result = run(NOWHERE, NUMBA_ENABLE_CUDASIM="0", CUDA_VISIBLE_DEVICES="-1")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert line.startswith("no GPU can be used: ")
        assert "pip install numba-cuda" in line and "leave the device at cpu" in line


@pytest.mark.gpu
@pytest.mark.parametrize("name", games.names())
def test_walks_on_the_device_equal_those_of_the_cpu(name: str) -> None:
    game = make(name)
    plies = min(game.longest, 2000)
    assert cuda.random_walks(game, 500, plies, seed=5).tobytes() == walks(game, 500, plies, seed=5).tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("name", SMALL)
def test_games_on_the_device_add_up(name: str) -> None:
    game = make(name)
    plies, totals, seconds = cuda.random_games(game, threads=256, count=4, seed=9)
    assert seconds > 0 and 256 * 4 <= plies <= 256 * 4 * game.longest
    expected, scores, played = np.zeros(game.seats), np.zeros(game.seats), 0
    moves, probs = kernels.buffers(game)
    for rng in streams(9, 256):
        game.kernel(kernels.random_games)(game.states(1), 1, rng, moves, probs, scores, np.zeros(game.seats))
        played += game.kernel(kernels.random_games)(game.states(1), 4, rng, moves, probs, scores, expected)
    assert plies == played
    assert totals == pytest.approx(expected)


WALK = """
import hashlib
from meijin import make
from meijin.core import cuda
game = make("connect_four(width=5, height=5)")
found = cuda.random_walks(game, 100, 12, seed=3)
kernel = cuda.device_kernel(game, cuda.walks)
print(sum(kernel._cache_hits.values()), sum(kernel._cache_misses.values()), hashlib.sha256(found.tobytes()).hexdigest())
"""


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.available() or cuda.simulated(), reason="no CUDA device")
def test_machine_code_is_kept_on_the_disk(tmp_path: Path) -> None:
    """The second process compiles nothing; damaged files are compiled again."""
    env = {**os.environ, "MEIJIN_CACHE": str(tmp_path)}
    said = []
    for damage in (False, False, True):
        if damage:
            for path in tmp_path.glob("*.nbc"):
                path.write_bytes(path.read_bytes()[:-1])
        result = subprocess.run([sys.executable, "-c", WALK], env=env, capture_output=True, text=True, check=True)
        said.append(result.stdout.split())
    assert [(hits, misses) for hits, misses, _ in said] == [("0", "1"), ("1", "0"), ("0", "1")]
    assert len({digest for *_, digest in said}) == 1


@pytest.mark.gpu
@pytest.mark.skipif(not cuda.available() or cuda.simulated(), reason="no CUDA device")
def test_ranges_are_those_of_python() -> None:
    """Loops over ranges are compiled in a way of our own."""

    def kernel(bounds: Any, sums: Any) -> None:
        for i in range(bounds.shape[0]):
            for k in range(bounds[i, 0], bounds[i, 1], bounds[i, 2]):
                if k == 13:
                    continue
                if k == 40:
                    break
                for _ in range(k):
                    sums[i, 0] += 1
                sums[i, 1] = k

    rng = np.random.default_rng(3)
    bounds = np.stack([*rng.integers(-50, 60, (2, 500)), rng.choice([-7, -2, -1, 1, 2, 5], 500)], 1)
    expected = np.zeros((500, 2), np.int64)
    kernel(bounds, expected)
    found = np.zeros_like(expected)
    cuda.module().jit(kernel)[1, 1](bounds, found)
    np.testing.assert_array_equal(found, expected)
