"""Learning on a GPU: move for move what a CPU learns, under Numba's simulator and on a device; what a GPU cannot do."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("safetensors")

from meijin import make, training
from meijin.core import cuda
from meijin.core.errors import BadParameter, NoDevice
from meijin.learning.td.config import TdConfig
from meijin.learning.td.gpu import GpuNetwork
from meijin.learning.td.gpu_lookup import by_feature
from meijin.learning.td.kernels import make_enter
from meijin.learning.td.network import Network
from meijin.learning.td.room import ACCUMULATING, DELAYED, ID, NONE, REPLACING, TD, Rule
from meijin.training.events import Progress

TUPLES: dict[str, Any] = {"tuples.count": 3, "tuples.length": 3, "tuples.symmetries": 1}
RULES: dict[str, dict[str, Any]] = {
    "tic_tac_toe": {"trace": 0.5, "coherence": NONE, "random_plies": 2},
    "2048(size=2)": {"gamma": 0.99, "restarts": 0.9, "every": 3},
    "2048(size=3)": {"cap": 3, "trace": 0.5, "traces": REPLACING},
    "nim(heaps=(2, 3), players=3)": {"first_moves": 1, "learn_random": 1},
    "2048(size=2, width=3)": {"cap": 9, "trace": 0.5, "traces": DELAYED},
    "connect_four(width=4, height=3, connect=3)": {"trace": 0.5, "traces": DELAYED},
}


def rule(net: Network, **changes: Any) -> Rule:
    return Rule(
        kind=TD, learns=1, squashes=int(net.squashes), coherence=ID, alpha=1.0 / net.scale, beta=2.7, trace=0.0,
        traces=ACCUMULATING, group=1, gamma=1.0, epsilon=0.1, final=1, learn_random=0, random_plies=0, first_moves=0,
        restarts=0.0, every=1, replay=0, cap=net.game.longest,
    )._replace(**changes)  # fmt: skip


def learned_alike(name: str, games: int) -> None:
    """One game at a time learns the same on both. The weights begin at random, so that no two moves are worth the same:
    sums in another order would break such ties in other ways."""
    game = make(name)
    config = TdConfig(name).changed({**TUPLES, "trace": 0.5})
    nets = [Network.fresh(game, config) for _ in range(2)]
    for net in nets:
        net.weights[:] = np.random.default_rng(1).normal(0, 0.1, len(net.weights))
    before = nets[0].weights.copy()
    follow = rule(nets[0], **RULES[name])
    room = nets[0].room(config.reach, seed=5)
    made = nets[0].play(room, follow, games)
    gpu = GpuNetwork(nets[1], 1, config.reach, seed=5, restarts=follow.restarts > 0)
    totals = np.zeros(game.seats + 4)
    while totals[-2] < games:
        totals += gpu.play(follow, 1)
    gpu.fetch()
    assert totals[: game.seats + 2] == pytest.approx(room.totals, rel=1e-5)
    assert made <= totals[-1] <= made + 1  # the next game may have begun
    assert np.abs(nets[0].weights - before).max() > 0.1
    # Sums of single precision reach hundreds, where they differ by their rounding.
    assert nets[1].table == pytest.approx(nets[0].table, rel=1e-5, abs=1e-4)


def learns_and_resumes(folder: Path, device: str = "cuda", **changes: Any) -> None:
    settings = {"at_once": 2, "games": 1, "epsilon": 0, "length.evaluate": 2, **changes}
    run = training.td("2048(size=2)", out=folder, changes=settings, iterations=1, device=device)
    run.go()
    before = run.network.weights.copy()
    again = training.td("2048(size=2)", out=folder, resume=True, iterations=2, device=device)
    assert (again.network.weights == before).all() and again.iteration == 1
    again.go()
    assert again.iteration == 2 and (again.network.weights != before).any()
    assert 1 <= run.games < again.games


def promotes() -> None:
    """Weights of later stages that have learned nothing are those of the stage before."""
    game = make("2048(size=2)")
    config = TdConfig(game.name).changed({**TUPLES, "tuples.stages": [2, 3], "tuples.copy": True})
    net = Network.fresh(game, config)
    net.weights[: net.layout.stage_size] = np.random.default_rng(1).normal(0, 1, net.layout.stage_size)
    gpu = GpuNetwork(net, 1, config.reach, seed=5)
    gpu.fetch()
    first, second, third = net.table.reshape(3, -1, 3)
    assert (second[:, 0] == first[:, 0]).all() and (third[:, 0] == first[:, 0]).all()
    gpu.play(rule(net, epsilon=0.0), 40)
    gpu.fetch()
    for before, stage in ((first, second), (second, third)):
        unseen = stage[:, 2] == 0
        assert unseen.any() and not unseen.all()
        assert (stage[unseen, 0] == before[unseen, 0]).all() and (stage[~unseen, 0] != before[~unseen, 0]).any()


def begins_again(folder: Path, device: str = "cuda") -> None:
    """A run that is stopped in its first iteration has learned nothing, and saves that."""
    settings = {"at_once": 2, "games": 1_000_000, "tuples.initial": 10, "length.evaluate": 0}
    run = training.td("2048(size=2)", out=folder, changes=settings, iterations=1, device=device)
    before = run.network.table.copy()
    run.go(lambda event: run.stop() if isinstance(event, Progress) and event.metrics["games"] else None)
    assert run.iteration == run.games == 0
    assert (run.network.table == before).all()
    assert (Network.load(folder).net.weights == before[:, 0]).all()


def share_once() -> None:
    """Have the simulator's threads make every shared array once; two that come at the same moment would make two."""
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    class Allocations(dict[Any, Any]):
        def __init__(self) -> None:
            self.lock = threading.Lock()

        def get(self, key: Any, default: Any = None) -> Any:
            self.lock.acquire()  # until the one that finds nothing has set it
            if key in self:
                self.lock.release()
            return super().get(key, default)

        def __setitem__(self, key: Any, value: Any) -> None:
            super().__setitem__(key, value)
            self.lock.release()

    begin = FakeCUDAShared.__init__

    def init(self: Any, size: int) -> None:
        begin(self, size)
        self._allocations = Allocations()

    FakeCUDAShared.__init__ = init


def test_the_simulator_learns_as_a_cpu_does(tmp_path: Path) -> None:
    code = (
        "import sys, warnings; from pathlib import Path; warnings.simplefilter('ignore')\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from meijin.training import td_run\n"
        "from test_td_gpu import RULES, begins_again, learned_alike, learns_and_resumes, promotes, share_once\n"
        "share_once(); td_run.FEW_MOVES = 4\n"
        "for name in RULES: learned_alike(name, games=2)\n"
        "promotes()\n"
        f"learns_and_resumes(Path({str(tmp_path / 'run')!r}))\n"
        f"begins_again(Path({str(tmp_path / 'stopped')!r}))\n"
    )
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "MEIJIN_JIT": "0"}
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four(width=5, height=4)", "sim"])
def test_a_gpu_reads_positions_as_a_cpu_does(name: str) -> None:
    """The index of every feature, for both seats of networks that they share."""
    game = make(name)
    net = Network.fresh(game, TdConfig(name).changed({"tuples.share": True, "tuples.count": 4, "tuples.length": 4}))
    (lookup, (features, entries, values)), room = by_feature(net.layout), net.room()
    enter = make_enter(game)
    cells = lookup.cells.reshape(-1, entries, features)
    codes = lookup.codes.reshape(-1, entries, values, features)
    game.start(room.states[0])
    for move in (0, 4, 3):
        game.play(room.states[0], move)
        seat, _ = enter(net.layout, room)
        view = lookup.views[seat]
        for f in range(net.features):
            found = room.base[cells[view, :, f]]
            index = lookup.first[f] + codes[view, np.arange(entries), found, f].sum()
            assert index == room.now[f]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"replay": 3}, "device 'cuda': replay=3: a GPU has no replay memory; set it to 0, or use the CPU"),
        ({"learn": "q"}, "learn=q: a GPU learns td only; use the CPU"),
    ],
)
def test_what_a_gpu_cannot_do_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    method = changes.pop("learn", "td")
    with pytest.raises(BadParameter, match=message):
        training.start(method, "tic_tac_toe", out=tmp_path / "run", changes=changes, device="cuda")
    assert not (tmp_path / "run").exists()


def test_without_a_gpu_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.core.cuda.problem", lambda: "there is none")
    with pytest.raises(NoDevice, match="no GPU can be used: there is none"):
        training.td("tic_tac_toe", out=tmp_path / "run", device="cuda")


@pytest.mark.parametrize(("at_once", "free"), [(1, 1000), (10**8, 2**30)])
def test_what_a_gpu_has_no_room_for_is_refused(at_once: int, free: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.core.cuda.use", lambda name: None)
    monkeypatch.setattr("meijin.core.cuda.free_memory", lambda: free)
    net = Network.fresh(make("tic_tac_toe"), TdConfig("tic_tac_toe"))
    with pytest.raises(BadParameter, match=r"GiB of the GPU's memory, and \d\.0 GiB are free; use shorter"):
        GpuNetwork(net, at_once, 1, 0)


def test_a_thread_that_saves_works_on_the_device_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, used = GpuNetwork.__new__(GpuNetwork), []
    monkeypatch.setattr("meijin.core.cuda.use", used.append)
    gpu.device, gpu.network = "cuda:1", Network.fresh(make("tic_tac_toe"), TdConfig("tic_tac_toe"))
    learned = np.ones((len(gpu.network.table), 4), np.float32)
    gpu._table = SimpleNamespace(copy_to_host=lambda: learned)
    gpu.fetch()
    assert used == ["cuda:1"] and (gpu.network.table == 1).all()


class Counter:
    """In place of a GPU: every launch ends three games of two moves each."""

    def __init__(self) -> None:
        self.launches = 0

    def make_current(self) -> None: ...

    def fetch(self) -> None: ...

    def play(self, rule: Rule, moves: int) -> Any:
        self.launches += 1
        return np.array([0.0, 0.0, 0.0, 1.0, 3.0, 6.0])


@pytest.mark.parametrize("stopped", [False, True])
def test_an_iteration_has_as_many_games_as_asked_for(
    stopped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu, told = Counter(), []
    monkeypatch.setattr("meijin.training.td_run.TdRun._on_gpu", lambda run: gpu)
    run = training.td("tic_tac_toe", out=tmp_path / "run", changes={"games": 10}, iterations=5, device="cuda")

    def follow(event: Any) -> None:
        if isinstance(event, Progress):
            told.append(event.done)
            if stopped:
                run.stop()

    run.handlers.append(follow)
    row = run.iterate()
    assert row is not None and (row["games"], row["moves"], gpu.launches) == (12, 24, 4)  # kept, though asked to stop
    assert told == [10] and run.iteration == 1


@pytest.mark.parametrize("name", ["gpu", "cuda1", "cuda:x", "cuda:7"])
def test_devices_that_there_are_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.core.cuda.problem", lambda: None)
    monkeypatch.setattr("meijin.core.cuda.module", lambda: SimpleNamespace(gpus=[0, 1]))
    with pytest.raises(NoDevice, match=f"device '{name}': choose cpu, or cuda:0 to cuda:1"):
        cuda.use(name)


@pytest.mark.gpu
@pytest.mark.parametrize("name", RULES)
def test_a_device_learns_as_a_cpu_does(name: str) -> None:
    learned_alike(name, games=200)


@pytest.mark.gpu
def test_a_device_promotes_weights() -> None:
    promotes()


@pytest.mark.gpu
def test_a_run_on_a_device_resumes(tmp_path: Path) -> None:
    learns_and_resumes(tmp_path / "run", games=2000, at_once=64)


@pytest.mark.gpu
def test_a_run_that_is_stopped_in_its_first_iteration_has_learned_nothing(tmp_path: Path) -> None:
    begins_again(tmp_path / "run")


@pytest.mark.gpu
def test_thousands_of_games_at_once_learn_to_play_perfectly(tmp_path: Path) -> None:
    run = training.td("tic_tac_toe", out=tmp_path / "run", changes={"games": 200_000}, iterations=2, device="cuda")
    run.go()
    from meijin.arena.evaluators import evaluate, evaluator

    assert evaluate(run.game, run.agent(), evaluator("vs(perfect(vary=True), games=100)")).value == 0.5
