"""Runs: whatever happens to one, it is named, nothing but the iteration in flight is lost, and it goes on."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from meijin.core.catalogue import make  # noqa: E402
from meijin.core.errors import BadParameter, MeijinError, UnknownName  # noqa: E402
from meijin.core.state import State  # noqa: E402
from meijin.learning.nets.config import NetConfig  # noqa: E402
from meijin.learning.zero import checkpoint  # noqa: E402
from meijin.learning.zero.batch_search import BatchSearch  # noqa: E402
from meijin.learning.zero.config import SelfPlayConfig, ZeroConfig  # noqa: E402
from meijin.learning.zero.learner import Diverged, Learner  # noqa: E402
from meijin.learning.zero.nets import Net  # noqa: E402
from meijin.learning.zero.positions import Positions, Symmetries, Unpacker, imitated  # noqa: E402
from meijin.learning.zero.presets import PRESETS, preset  # noqa: E402
from meijin.learning.zero.replay import deduplicate  # noqa: E402
from meijin.learning.zero.selfplay import SelfPlay  # noqa: E402
from meijin.search.forest import Settings, layout  # noqa: E402
from meijin.training import curves, net_matches, sources, zero_run  # noqa: E402
from meijin.training.events import Finished, Progress  # noqa: E402
from meijin.training.zero_run import ZeroRun  # noqa: E402

GAME = "tic_tac_toe"


def config(**changes: Any) -> ZeroConfig:
    made = ZeroConfig(GAME, net={"size": "nano", "blocks": 1, "channels": 8}).changed(
        {
            "search": {"simulations": 8, "alpha": 0.5, "warm": 4},
            "selfplay": {"games": 8, "threads": 1},
            "replay": {"start": 50, "window": 5000},
            "training": {"batch": 32, "warmup": 5, "ema": 0.9, "threads": 1},
            "length": {"iterations": 20, "positions": 60, "evaluate": 0, "keep": 2},
        }
    )
    return made.changed(changes)


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def iterated(folder: Path, count: int, **changes: Any) -> ZeroRun:
    run = ZeroRun(folder, config(**changes))
    for _ in range(count):
        run.iterate()
    return run


# ---- going on ----


def test_a_resumed_run_is_where_it_was(tmp_path: Path) -> None:
    run = iterated(tmp_path / "r", 3, **{"replay.window": 130})
    again = ZeroRun(tmp_path / "r", resume=True)
    assert again.iteration == 3 and again.config == run.config
    assert checkpoint.describe(run.folder.latest)["facts"]["seconds"] == again.clock.spent > 0
    assert again.positions == run.positions > 130 and len(again.window.buffers[0]) == 130
    assert again.learner.steps == run.learner.steps > 0
    for mine, theirs in ((run.learner.net, again.learner.net), (run.learner.averaged, again.learner.averaged)):
        for name, tensor in mine.state_dict().items():
            assert torch.equal(tensor, theirs.state_dict()[name]), name
    old, new = run.learner.state(), again.learner.state()
    assert old.keys() == new.keys() and any(name.startswith("optimizer/") for name in old)
    assert all(torch.equal(old[name], new[name]) for name in old)
    as_set = lambda window: sorted(map(bytes, torch.cat([t.view(torch.uint8) for t in window.latest(99)], 1).numpy()))  # noqa: E731
    assert as_set(run.window.buffers[0]) == as_set(again.window.buffers[0])
    again.iterate()
    assert [int(row["iteration"]) for row in rows(tmp_path / "r")] == [1, 2, 3, 4]
    kept = sorted(path.stem for path in (tmp_path / "r" / "checkpoints").iterdir())
    assert kept == ["000002", "000004", "latest"]


def test_self_play_goes_on_until_there_is_enough_to_learn_from(tmp_path: Path) -> None:
    own = config(**{"replay.start": 300})
    source = sources.Background(Net(make(GAME), own.shape), own, "cpu", 1, missing=300)
    try:
        assert source.wait(120.0) > 0 and source.most == 300
        found, _ = source.collect(60, lambda done, total: True)
        assert len(found[0]) >= 60 and source.most == 60
        source.error = MeijinError("it broke")
        assert source.wait(120.0) >= 0  # whoever collects is told
    finally:
        source.close()


def test_the_first_games_do_not_wait_for_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(zero_run, "FIRST_GAMES", 120.0)
    monkeypatch.setattr(torch, "compile", lambda run, **options: run)
    monkeypatch.setattr(Learner, "prepare", lambda self: seen.append("compiler"))
    run = ZeroRun(tmp_path / "r", config(**{"training.compiled": True}), handlers=[seen.append])
    run.iterate()
    run.close()
    first = seen[: seen.index("compiler")]
    assert isinstance(first[-1], Progress) and first[-1].phase == "self-play" and first[-1].done > 0


def test_killed_at_any_time_it_loses_one_iteration_at_most(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    (tmp_path / "config.json").write_text(config(**{"length.iterations": 10_000}).to_json())
    command = [sys.executable, "-m", "meijin", "train", GAME, "zero", "--json", "--out", str(folder)]
    child = subprocess.Popen(
        [*command, "--config", str(tmp_path / "config.json")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stderr is not None
    seen = 0
    while seen < 3:
        line = child.stdout.readline()
        assert line, child.stderr.read()
        event = json.loads(line)
        seen = event["iteration"] if event["event"] == "iteration_done" else seen
    os.kill(child.pid, signal.SIGKILL)
    seen = max([seen, *(json.loads(line)["iteration"] for line in child.stdout if '"iteration_done"' in line)])
    child.wait()
    child.stdout.close()
    child.stderr.close()
    run = ZeroRun(folder, resume=True)
    # an iteration is told of when it is saved: one more may have been saved in between
    assert seen <= run.iteration <= seen + 1
    assert [int(row["iteration"]) for row in rows(folder)] == list(range(1, run.iteration + 1))
    files = sorted(int(path.stem) for path in (folder / "games").glob("*.safetensors"))
    assert files == list(range(1, run.iteration + 1))
    found = checkpoint.load(run.folder.latest)
    assert found.facts["iteration"] == run.iteration and run.learner.steps == int(found.extra["steps"])
    assert run.positions == found.facts["positions"] == int(rows(folder)[-1]["positions"])
    run.iterate()
    assert int(rows(folder)[-1]["iteration"]) == run.iteration


def test_what_an_iteration_in_flight_left_is_thrown_away(tmp_path: Path) -> None:
    run = iterated(tmp_path / "r", 2)
    total = run.positions
    run.save = lambda: None  # type: ignore[method-assign] - killed just before the checkpoint
    run.iterate()
    assert len(rows(tmp_path / "r")) == 3
    again = ZeroRun(tmp_path / "r", resume=True)
    assert again.iteration == 2 and again.positions == total and len(rows(tmp_path / "r")) == 2
    assert not (tmp_path / "r" / "games" / "000003.safetensors").exists()


def test_every_position_says_which_net_played_it(tmp_path: Path) -> None:
    run = iterated(tmp_path / "r", 3, **{"selfplay.overlap": False})
    kept = [Positions.load(run.folder.games / f"{k:06d}.safetensors", run.game).nets for k in (1, 2, 3)]
    assert [int(nets.max()) for nets in kept] == [0, 1, 2]
    ages = (2 - kept[2]).float()  # games that began under an older net go on under a new one
    last = rows(tmp_path / "r")[-1]
    assert float(last["staleness"]) == pytest.approx(float(ages.mean()), rel=1e-4)
    assert float(last["staleness_max"]) == float(ages.max()) >= 1


def test_a_run_resumes_with_other_settings(tmp_path: Path) -> None:
    run = iterated(tmp_path / "r", 1)
    old = run.learner.state()
    old["generator"] = torch.zeros(16, dtype=torch.uint8)  # as of a GPU
    run.learner.restore(old)
    again = ZeroRun(tmp_path / "r", config(**{"training.optimizer": "sgd"}), resume=True)
    assert again.learner.steps == run.learner.steps > 0
    again.iterate()
    with pytest.raises(MeijinError, match="the run's positions list 9 moves each"):
        ZeroRun(tmp_path / "r", config(**{"replay.policy_width": 4}), resume=True)


def test_presets_know_which_games_muon_and_draws_are_for() -> None:
    def chosen(name: str, game: str) -> tuple[str, float, float]:
        found = preset(name, make(game))
        return found.training.optimizer, found.training.rate, found.shape.draw

    assert chosen("strong", "connect_four") == ("muon", 0.01, -0.3)
    assert chosen("strong", "yavalath(players=3)") == ("muon", 0.01, 0.0)
    assert chosen("strong", "2048") == ("adamw", 0.002, 0.0)
    assert chosen("quick", "othello") == ("muon", 0.01, 0.0)
    assert chosen("quick", "2048") == ("adamw", 0.001, 0.0)


def test_muon_goes_on_with_its_moments(tmp_path: Path) -> None:
    run = iterated(tmp_path / "r", 1, **{"training.optimizer": "muon"})
    again = ZeroRun(tmp_path / "r", resume=True)
    old, new = run.learner.state(), again.learner.state()
    assert old.keys() == new.keys() and all(torch.equal(old[name], new[name]) for name in old)
    kinds = {name.rpartition("/")[2] for name in old if name.startswith("muon/")}
    assert kinds == {"step", "exp_avg", "exp_avg_sq", "momentum_buffer"}
    again.iterate()
    adamw = ZeroRun(tmp_path / "r", config(), resume=True)  # its moments are of other weights: it starts afresh
    assert not adamw.learner.optimizer.state
    adamw.iterate()


def test_moments_of_the_optimiser_lie_as_their_weights_do(tmp_path: Path) -> None:
    """A file has them in plain order; the fused optimiser of a GPU takes only equal strides."""
    iterated(tmp_path / "r", 1)
    again = ZeroRun(tmp_path / "r", resume=True)
    moments = again.learner.optimizer.state
    assert moments and all(moment["exp_avg"].stride() == weight.stride() for weight, moment in moments.items())
    again.close()


@pytest.mark.gpu
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_recorded_steps_learn_what_others_do(optimizer: str, compiled: bool) -> None:
    own = config(**{"training.optimizer": optimizer, "training.batch": 32, "training.compiled": compiled})
    game = make(GAME)
    play = SelfPlay(Net(game, own.shape), 16, own.search, seed=1)
    data = play.play(400).to("cuda")
    before = Positions(*(tensor.clone() for tensor in data))

    def learned(recorded: bool) -> torch.Tensor:
        torch.manual_seed(0)
        learner = Learner(Net(game, own.shape), own.training, "cuda")
        for step in range(8):
            batch = data[32 * step : 32 * step + 32]
            if recorded:
                learner.step(batch, step / 8)
            else:
                learner.update(batch, learner.turns(32), learner.rate(step / 8), 1.0)
        assert learner.steps == 8
        return torch.cat([t.flatten().float() for t in learner.averaged.state_dict().values()])

    once, again = learned(True), learned(False)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(before, data, strict=True))
    assert torch.allclose(once, again, atol=0.02) and float((once - again).abs().mean()) < 2e-3


@pytest.mark.gpu
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_run_resumes_on_a_gpu(tmp_path: Path, optimizer: str) -> None:
    first = ZeroRun(tmp_path / "r", config(**{"training.optimizer": optimizer}), device="cuda")
    first.iterate()
    first.close()
    for device in ("cuda", "cpu"):
        again = ZeroRun(tmp_path / "r", resume=True, device=device)
        again.iterate()
        again.close()
    assert [int(row["iteration"]) for row in rows(tmp_path / "r")] == [1, 2, 3]


@pytest.mark.parametrize(
    "bad",
    [
        {"search.random_plies": -5},
        {"search.fast_simulations": -1},
        {"search.free_simulations": -1},
        {"evaluation.simulations": 0},
        {"warm.games": -1},
        {"net": {"size": 5}},
    ],
    ids=str,
)
def test_numbers_that_make_no_sense_are_refused_at_once(bad: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(MeijinError, match=r"at least|unknown net size"):
        ZeroRun(tmp_path / "r", config(**bad))


def test_names_and_folders(tmp_path: Path) -> None:
    iterated(tmp_path / "r", 1)
    with pytest.raises(MeijinError, match="already holds a run; add --resume"):
        ZeroRun(tmp_path / "r", config())
    with pytest.raises(MeijinError, match="holds no run to resume"):
        ZeroRun(tmp_path / "other", resume=True)
    with pytest.raises(MeijinError, match=r"has game='tic_tac_toe' \(now 'othello'\)"):
        ZeroRun(tmp_path / "r", ZeroConfig("othello"), resume=True)
    with pytest.raises(MeijinError, match="another net than the config asks for"):
        ZeroRun(tmp_path / "r", config(net={"size": "nano", "blocks": 2}), resume=True)
    with pytest.raises(UnknownName, match="net size"):
        ZeroRun(tmp_path / "new", config(net={"size": "nanno"}))
    assert not (tmp_path / "new").exists()


# ---- trouble ----


def test_a_loss_that_is_no_number_is_named_and_the_checkpoint_stays_sound(tmp_path: Path) -> None:
    run = iterated(tmp_path / "r", 1)
    with torch.no_grad():
        next(run.learner.net.parameters()).fill_(float("nan"))
    with pytest.raises(Diverged, match=r"the loss became nan.*training\.rate"):
        run.iterate()
    again = ZeroRun(tmp_path / "r", resume=True)
    assert again.iteration == 1
    assert all(bool(torch.isfinite(t).all()) for t in again.learner.net.parameters())
    assert "loss_policy" in again.iterate()


def test_a_full_disk_is_named_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = iterated(tmp_path / "r", 1)
    before = run.folder.latest.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(MeijinError, match=r"could not be written: No space left.*intact"):
            run.iterate()
    assert run.folder.latest.read_bytes() == before
    assert not list((tmp_path / "r").rglob("*.part"))
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1000})())
        with pytest.raises(MeijinError, match=r"make room, then --resume"):
            ZeroRun(tmp_path / "r", resume=True).iterate()
    again = ZeroRun(tmp_path / "r", resume=True)
    assert again.iteration == 1
    again.iterate()


def test_memory_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ZeroRun(tmp_path / "r", config())

    def greedy(*args: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 99 GiB")

    monkeypatch.setattr(run.learner, "fit", greedy)
    with pytest.raises(MeijinError, match=r"out of memory on cpu.*selfplay\.games.*--resume"):
        run.go()


def test_a_damaged_checkpoint_is_named_and_an_older_one_can_be_gone_on_from(tmp_path: Path) -> None:
    run = iterated(tmp_path / "r", 3)
    data = run.folder.latest.read_bytes()
    run.folder.latest.write_bytes(data[: len(data) // 2])
    with pytest.raises(MeijinError, match=r"latest\.safetensors is damaged.*continues from 00"):
        ZeroRun(tmp_path / "r", resume=True)
    run.folder.latest.unlink()
    again = ZeroRun(tmp_path / "r", resume=True)
    assert again.iteration == 2 and len(rows(tmp_path / "r")) == 2
    again.iterate()
    (tmp_path / "r" / "games" / "000001.safetensors").write_bytes(b"junk")
    with pytest.raises(MeijinError, match=r"000001\.safetensors: these positions cannot be read"):
        ZeroRun(tmp_path / "r", resume=True)


def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    run = iterated(tmp_path / "r", 1)
    said: list[str] = []
    source = sources.Processes(
        tmp_path / "inbox", config(**{"search.simulations": 2}), ("cpu",), run.folder.latest, 1, said.append
    )
    try:
        os.kill(source.workers[0].pid, signal.SIGKILL)
        source.workers[0].join()
        (positions,), stats = source.collect(100, lambda done, total: True)
        assert len(positions) >= 100 and stats["games"] > 0
        assert said == ["self-play worker 0 on cpu ended with status -9; another one takes its place"]
    finally:
        source.close()
    assert not source.workers[0].is_alive()


# ---- gate, goals, warm start ----


def test_a_net_that_fails_the_gate_does_not_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = iterated(tmp_path / "r", 1, **{"gate.games": 4, "gate.simulations": 4, "gate.threshold": 0.55})
    monkeypatch.setattr(net_matches, "duel", lambda *nets, **rest: np.array([-1.0, 1.0, 0.0, -1.0]))
    before = {name: tensor.clone() for name, tensor in run.playing.state_dict().items()}
    steps = run.learner.steps
    row = run.iterate()
    run.close()
    assert row["gate"] == 3 / 8 and not row["gate_passed"] and run.learner.steps > steps
    assert same_weights(run.playing.state_dict(), before)
    # What was learned is not lost: it goes on rising, also after a resume.
    assert not same_weights(run.learner.averaged.state_dict(), before)
    again = ZeroRun(tmp_path / "r", resume=True)
    assert same_weights(again.playing.state_dict(), before)
    assert same_weights(again.learner.averaged.state_dict(), run.learner.averaged.state_dict())


def same_weights(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def test_goals_that_are_reached_often_enough_in_a_row_end_the_run(tmp_path: Path) -> None:
    goals = {"evaluation.by": ["vs(random, games=2, goal=0.0)"], "evaluation.times": 2, "evaluation.simulations": 8}
    run = iterated(tmp_path / "r", 2, **goals, **{"length.evaluate": 2})
    assert run.goal.streak == 1 and not run.reason and run.rival == 2
    last = ZeroRun(tmp_path / "r", resume=True).go()  # the streak is not lost
    assert last == Finished(4, tmp_path / "r", f'zero("{tmp_path / "r"}")', "all goals are reached")
    assert [row["goal_streak"] for row in rows(tmp_path / "r")] == ["", "1", "", "2"]
    assert float(rows(tmp_path / "r")[3]["eval_vs_random_games_2_goal_0.0"]) >= 0


def test_a_warm_start_teaches_before_the_first_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game, told = make(GAME), []

    def games(*args: Any) -> Any:
        told.append(1)
        line = tuple(int(m) for m in State(game).play_line("a1 b1 a2 b2 a3").history)
        return [(line, (1.0, -1.0), 0)] * 40

    monkeypatch.setattr(zero_run, "warm_games", games)
    changes = {"warm.agent": "random", "warm.games": 40, "warm.steps": 60, "replay.start": 10**6}
    run = ZeroRun(tmp_path / "r", config(**changes))
    run.save = lambda: None  # type: ignore[method-assign] - killed before it is saved, a warm start is made again
    run._start_warm()
    run.close()
    run = ZeroRun(tmp_path / "r", resume=True)
    run.iterate()  # trains on the others' games alone
    assert run.learner.steps == 60 and run.positions > 260
    from meijin.learning.zero.raw_net import RawNet

    priors = RawNet(run.learner.averaged).priors(State(game))
    assert int(np.argmax(priors)) == int(game.find("a1"))
    again = ZeroRun(tmp_path / "r", resume=True)
    again.iterate()
    assert told == [1, 1] and again.learner.steps == 60


# ---- positions ----


def test_imitated_positions_are_those_of_the_game() -> None:
    game = make(GAME)
    state = State(game)
    line = [int(m) for m in State(game).play_line("b2 a1 c3").history]
    found = imitated(game, [(line, (0.5, -0.5), 1)], 64)
    assert len(found) == 2  # the first ply was no choice of theirs
    state.play(line[0])
    for row, move in enumerate(line[1:]):
        planes = Unpacker(game, "cpu")(found.bits[row : row + 1], found.numbers[row : row + 1])[0]
        assert np.array_equal(planes.numpy(), state.planes)
        listed = [int(m) for m in found.moves[row] if m >= 0]
        assert listed == [int(m) for m in state.legal_moves]
        assert found.probs[row].tolist() == [float(m == move) for m in listed] + [0.0] * (
            len(found.probs[row]) - len(listed)
        )
        assert found.facts[row].tolist() == [state.turn, row + 1, 2 - row]
        assert found.outcomes[row].tolist() == [0.5, -0.5]
        state.play(move)
    narrow = imitated(game, [(line, (0.0, 0.0), 0)], 4)
    assert narrow.moves[:, 0].tolist() == line and (narrow.moves[:, 1:] == -1).all()


def test_equal_positions_are_averaged() -> None:
    game = make(GAME)
    b2, a1, c3 = (int(game.find(name)) for name in ("b2", "a1", "c3"))
    played = [([b2], (1.0, -1.0), 0), ([b2], (1.0, -1.0), 0), ([a1], (-1.0, 1.0), 0), ([b2, c3], (0.0, 0.0), 1)]
    found = deduplicate(imitated(game, played, 64))
    assert len(found) == 2  # the empty board three times, and one position more
    empty = int((found.facts[:, 0] == 0).nonzero())
    assert found.probs[empty, b2].item() == pytest.approx(2 / 3, abs=1e-3)
    assert found.probs[empty, a1].item() == pytest.approx(1 / 3, abs=1e-3)
    assert found.outcomes[empty].tolist() == pytest.approx([1 / 3, -1 / 3], abs=1e-3)


def test_policies_that_list_other_moves_are_averaged_too() -> None:
    """Where a position keeps the likely moves only, likeliest first, equal ones hardly ever list the same."""
    game = make("breakthrough")
    data = Positions.empty(game, 3, 4)
    lists = [([5, 7, 9], [0.7, 0.2, 0.1]), ([7, 5, -1], [0.8, 0.2, 0.0]), ([5, 2, 7], [0.5, 0.3, 0.2])]
    for row, (moves, probs) in enumerate(lists):
        data.moves[row], data.probs[row] = torch.tensor(moves), torch.tensor(probs)
    data.bits[3], data.moves[3, 0], data.probs[3, 0] = 1, 4, 1.0  # another position
    found = deduplicate(data)
    assert len(found) == 2
    merged, alone = (found[found.bits[:, 0] == bit] for bit in (0, 1))
    assert merged.moves.tolist() == [[5, 7, 2]]  # 9 finds no room
    assert merged.probs[0].tolist() == pytest.approx([1.4 / 3, 1.2 / 3, 0.3 / 3], abs=1e-3)
    assert alone.moves[0, 0] == 4 and alone.probs[0, 0] == 1.0


def test_images_of_positions_are_positions_of_the_image() -> None:
    """Law: the image of a position is what playing the images of its moves leads to."""
    game = make(GAME)
    symmetries = Symmetries(game, "cpu")
    assert symmetries.count == 8
    line = [int(m) for m in State(game).play_line("a1 b2 c2").history]
    planes = torch.from_numpy(State(game).play_line(line).planes)[None]
    for k in range(8):
        image, moves = symmetries.apply(torch.tensor([k]), planes, torch.tensor([[*line, -1]]))
        assert moves[0, -1] == -1
        assert np.array_equal(image[0].numpy(), State(game).play_line(moves[0, :-1].tolist()).planes)


def test_images_are_seen_from_the_movers_side() -> None:
    """Minishogi shows the board to the second player turned by half; its mirror image is that of the turned board."""
    game = make("minishogi")
    symmetries = Symmetries(game, "cpu")
    mirror = [s for s in game.symmetries if not s.swaps][1]
    assert symmetries.count == 2 and game.views is not None
    state = State(game)
    for name in ("2e3d", "4a3b", "3d2c"):
        cells = np.zeros(len(game.board.cells), int)
        cells[list(mirror.cells)] = state.cells
        other = State.set_up(game, cells.tolist(), state.turn)
        row = symmetries.rows(torch.tensor([1]), torch.tensor([state.turn]))
        numbers = torch.tensor([[int(game.views[state.turn, m]) for m in state.legal_moves]])
        image, moves = symmetries.apply(row, torch.from_numpy(state.planes)[None], numbers)
        assert np.array_equal(image[0, :31].numpy(), other.planes[:31])  # the last plane counts the plies
        assert sorted(moves[0].tolist()) == sorted(int(game.views[other.turn, m]) for m in other.legal_moves)
        state.play(name)


# ---- settings and pictures ----


def test_settings_that_make_no_sense_are_named() -> None:
    for changes, problem in (
        ({"search.simulation": 3}, r"^config: search: unknown key 'simulation'; did you mean 'simulations'\?$"),
        ({"serch.simulations": 3}, r"^config: unknown section 'serch'; did you mean 'search'\?$"),
        ({"simulations": 3}, r"^config: unknown key 'simulations'; did you mean 'search.simulations'\?$"),
        ({"search.simulations": "many"}, r"^config: search\.simulations = 'many': must be a whole number$"),
        ({"length.iterations": 0}, r"^config: length\.iterations = 0: must be at least 1$"),
        ({"length.iterations": True}, "must be a whole number"),
        ({"length": 3}, "length = 3: must be a table"),
        ({"selfplay.games": 10**30}, "64 bits"),
        ({"training.rate": 10**400}, "64 bits"),
        ({"training.rate": float("inf")}, "finite"),
        ({"training.optimizer": "adam"}, "choose from adamw, muon, sgd; did you mean 'adamw'"),
        ({"training.drops": ["a"]}, r"training\.drops\[0\] = 'a': must be a number"),
        ({"evaluation.by": [1]}, r"evaluation\.by\[0\] = 1: must be a string"),
        ({"method": "classic"}, "this config is for 'classic', not for 'zero'"),
    ):
        with pytest.raises(BadParameter, match=problem):
            config(**changes)
    with pytest.raises(BadParameter, match="missing key 'game'"):
        ZeroConfig.from_dict({})
    with pytest.raises(BadParameter, match=r"selfplay\.games = 0: must be at least 1"):  # constructors do not look
        ZeroRun("never made", ZeroConfig(GAME, selfplay=SelfPlayConfig(games=0)))
    made = config()
    assert ZeroConfig.from_dict(json.loads(made.to_json())) == made


def test_presets_fit_every_kind_of_game() -> None:
    for name in PRESETS:
        for game in (GAME, "connect_four", "2048", "nim(heaps=(3, 4, 5), players=3)"):
            made = preset(name, make(game))
            assert ZeroConfig.from_dict(json.loads(made.to_json())) == made and made.game == game
    with pytest.raises(UnknownName, match="did you mean 'quick'"):
        preset("quik", make(GAME))
    made = preset("quick", make(GAME))
    assert made.finish_in(10.0, None).length.seconds == 10 and made.finish_in(None, 7).length.iterations == 7
    assert made.finish_in(None, 7).length.seconds == 0 and made.finish_in(None, None) is made
    for seconds, iterations in ((0, None), (float("nan"), None), (10, 0), (None, 0)):
        with pytest.raises(BadParameter, match="must be"):
            made.finish_in(seconds, iterations)


def test_the_value_map_shows_the_best_cell_and_where_no_move_is() -> None:
    state = State(make(GAME)).play("b2")
    values = [float(move.name == "a1") for move in state.legal_moves]
    picture = curves.value_map(state, values)
    assert picture is not None
    small = dict(zip(state.game.board.grid_index or (), picture[:: curves.PIXELS, :: curves.PIXELS].flat, strict=True))
    shades = {state.game.moves[cell].name: round(float(shade), 3) for cell, shade in small.items()}
    assert shades.pop("a1") == 1 and shades.pop("b2") == 0 and set(shades.values()) == {curves.DARKEST}
    directions = State(make("2048")).roll(np.random.default_rng(1).integers(1 << 62, size=4, dtype=np.uint64))
    assert curves.value_map(directions, [0.0] * len(directions.legal_moves)) is None


def test_the_heat_map_shows_the_likeliest_cell() -> None:
    from meijin.learning.zero.raw_net import RawNet

    torch.manual_seed(1)
    net = Net(make(GAME), NetConfig(blocks=1, channels=8)).eval()
    torch.nn.init.normal_(net.policy.planes.weight, std=1.0)
    state = State(net.game)
    picture = curves.heat_map(state, RawNet(net).priors(state))
    assert picture is not None and picture.shape == (3 * curves.PIXELS, 3 * curves.PIXELS)
    small = picture[:: curves.PIXELS, :: curves.PIXELS].reshape(-1)
    assert int(small.argmax()) == int(np.argmax(RawNet(net).priors(state))) and small.max() == 1
    heaps = State(make("nim"))
    assert curves.heat_map(heaps, [1.0] * len(heaps.legal_moves)) is None


def test_the_only_move_that_is_not_refuted_is_played_even_if_it_was_never_tried() -> None:
    net = Net(make(GAME), NetConfig(blocks=1, channels=8, policy_channels=8, value_channels=1, value_hidden=8)).eval()
    searcher = BatchSearch(net, 1, Settings(simulations=8))
    records = State(net.game).play_line(["b2", "a1"]).records
    searcher.search(records)
    arrays = searcher.worker.forest.arrays
    root = arrays.nodes[0, 0]
    edges = arrays.edges[0, root["first"] : root["first"] + root["count"]]
    edges["visits"], edges["proven"], edges["total"] = 1, 1, -1.0
    edges["visits"][-1], edges["proven"][-1] = 0, 0
    arrays.info[0, layout.PROVEN] = 0
    searcher.search = lambda records: None  # type: ignore[method-assign]
    assert searcher.moves(records).tolist() == [int(edges["move"][-1])]
