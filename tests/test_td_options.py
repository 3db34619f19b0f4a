"""Learning with features of one's own, replay memory, other starts and stages that copy weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("safetensors")

from commands import good, run
from meijin import build, features, make, training
from meijin.agents.check import check_agent
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.state import State
from meijin.learning.td import feature_kernels, sizes
from meijin.learning.td.feature_network import FeatureNetwork
from meijin.learning.td.features import feature_sets
from meijin.learning.td.room import KEPT
from meijin.learning.td.summary import summary
from meijin.training.folder import read_metrics
from meijin.training.td_run import TdRun

NIM = "nim(heaps=(3, 3))"
TWO = {"features.by": "two_heaps"}
FILE = """
from meijin import features


@features("two_heaps")
def two_heaps(game):
    def fill(s, seat, out):
        out[0] = s.heaps[0] / 3
        out[1] = s.heaps[1] / 3
        out[2] = 1.0 if s.heaps[0] == s.heaps[1] else 0.0

    return ["first", "second", "equal"], fill
"""


@pytest.fixture(autouse=True)
def registered(tmp_path: Path) -> None:
    (tmp_path / "two_heaps.py").write_text(FILE)
    feature_sets.load_file(tmp_path / "two_heaps.py")


def trained(folder: Path, game: str = NIM, iterations: int = 1, **changes: Any) -> TdRun:
    settings = {"length.evaluate": 0, **{name.replace("__", "."): value for name, value in changes.items()}}
    made = training.td(game, out=folder, changes=settings, iterations=iterations)
    made.go()
    return made


def mistakes(net: Any) -> int:
    """Positions of two heaps in which equal heaps could be left and are not."""
    count = 0
    for a in range(4):
        for b in range(4):
            if a != b:
                state = State.set_up(net.game, _stones(net.game, a, b), 0)
                values = net.values(state)
                after = state.copy().play(state.legal_moves[values.index(max(values))]).record
                count += int(after.heaps[0] != after.heaps[1])
    return count


def _stones(game: Game, *heaps: int) -> list[int]:
    return [int(stone < size) for size in heaps for stone in range(3)]


# ---- features ----


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"coherence": "none", "alpha": 0.1, "trace": 0.5},
        {"features__hidden": 8},
        {"features__hidden": 8, "coherence": "none", "alpha": 0.3, "replay": 4, "memory": 500},
        {"first_moves": True, "coherence": "exp"},
    ],
    ids=["linear", "lambda", "hidden", "replay", "first moves"],
)
def test_features_learn_to_leave_equal_heaps(tmp_path: Path, changes: dict[str, Any]) -> None:
    run = trained(tmp_path / "run", features__by="two_heaps", games=4000, epsilon=0.3, **changes)
    assert isinstance(run.network, FeatureNetwork)
    assert mistakes(run.network) == 0


def test_derivatives_are_those_of_the_output() -> None:
    rng = np.random.default_rng(0)
    for hidden in (0, 3):
        size = feature_kernels.weights_of(2, hidden)
        table, x, units, slopes = rng.normal(0, 1, (size, 3)), rng.normal(0, 1, 2), np.zeros(hidden), np.zeros(size)
        value = feature_kernels.output(table, 0, x, units, 1)
        feature_kernels.derive(table, 0, x, units, slopes, 1 - value**2)
        for i in range(size):
            moved = table.copy()
            moved[i, 0] += 1e-6
            assert (feature_kernels.output(moved, 0, x, units, 1) - value) / 1e-6 == pytest.approx(slopes[i], abs=1e-4)


def test_a_run_with_features_repeats_resumes_and_plays(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", iterations=2, features__by="two_heaps", games=300)
    first = training.td(
        NIM,
        out=tmp_path / "run",
        changes={"features.by": "two_heaps", "games": 300, "length.evaluate": 0},
        iterations=2,
    )
    first.iterate()
    first.close()
    training.resume(tmp_path / "run").go()
    again = training.td(NIM, out=tmp_path / "run", resume=True)
    assert (again.network.table == whole.network.table).all()
    expression = f'td("{tmp_path / "run"}")'
    check_agent(expression, make(NIM))
    agent = build(f"nply({expression}, depth=1)", make(NIM))
    assert agent.act(State(make(NIM))) in State(make(NIM)).legal_moves
    reasons = dict(build(expression, make(NIM)).reasons(State(make(NIM)), make(NIM).find("a2")))
    assert reasons.keys() == {"first", "second", "equal", "always"}


def test_the_commands_take_features_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load = ("--load", "two_heaps.py")
    options = ("--iterations=1", "--set=games=200", "--set=length.evaluate=0", "--set=features.by=two_heaps", *load)
    good("train", NIM, "td", *options, "--out=run")
    assert "equal" in good("td", "show", "run", *load)
    assert summary(Path("run/checkpoints/latest.safetensors")) is None  # there are no tuples
    assert set(json.loads(good("td", "show", "run", "--json", *load))["weights"]) == {"first", "second", "equal"}
    assert "equal" in good("inspect", NIM, "--agent", 'td("run")', *load)
    feature_sets._entries = {}
    assert "unknown set of features 'two_heaps'" in run("inspect", NIM, "--agent", 'td("run")').stderr


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        (lambda game: ["a"], "return the names of the features and the function that fills them"),
        (lambda game: ([], lambda s, seat, out: None), "give one or more different names"),
        (lambda game: (["a"], lambda s, out: None), "takes (s, seat, out)"),
        (lambda game: (["a", "b"], lambda s, seat, out: out.fill(0) or out.__setitem__(5, 1)), "IndexError"),
        (lambda game: (["a", "b"], lambda s, seat, out: out.__setitem__(0, 1)), "'b' is not set to a finite number"),
    ],
)
def test_bad_features_are_refused_before_training(tmp_path: Path, factory: Any, said: str) -> None:
    features("wrong")(factory)
    with pytest.raises(BadParameter) as caught:
        training.td(NIM, out=tmp_path / "run", changes={"features.by": "wrong"})
    assert said in str(caught.value)
    assert not (tmp_path / "run" / "config.json").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"features.by": "two_haeps"}, "unknown set of features 'two_haeps'; did you mean 'two_heaps'?"),
        ({"features.by": "zzzzzzzzz"}, "unknown set of features 'zzzzzzzzz'; known sets of features: "),
        ({"features.by": "two_heaps", "learn": "sarsa"}, "learn=sarsa has tuples only"),
        (TWO | {"tuples.count": 3}, "tuples.count=3: features take the place of tuples; remove it, or features.by="),
        (TWO | {"tuples.cells": ["a1"]}, "tuples.cells=['a1']: features take the place"),
        (TWO | {"trace": 0.5, "horizon": 3}, "horizon=3: with features, errors reach back to the beginning"),
        (TWO | {"restarts": 0.5}, "restarts=0.5: with features, games begin at the start only; remove it"),
        (TWO | {"features.hidden": 10**10}, "100,000,000,002 weights need 6,705.5 GiB of "),
        (TWO | {"replay": 1, "memory": 10**11}, "memory=100,000,000,000 remembered moves need "),
        ({"tuples.copy": True}, "there is one stage only"),
        ({"tuples.copy": True, "tuples.stages": [2], "coherence": "none"}, "use coherence=id"),
        ({"restarts": 1}, "restarts=1: no game would begin at the start; choose less"),
        ({"memory": 0}, "memory = 0: must be at least 1"),
    ],
)
def test_bad_options_are_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(sizes, "free_memory", lambda: 8 * 2**30)
    with pytest.raises(MeijinError) as caught:
        training.td(NIM, out=tmp_path / "run", changes=changes)
    assert said in str(caught.value)


# ---- stages ----


def test_a_stage_begins_with_the_weights_of_the_one_before(tmp_path: Path) -> None:
    stages = {"tuples__stages": [4], "games": 200, "epsilon": 0.0, "iterations": 2}
    alone = trained(tmp_path / "alone", "2048(size=2)", **stages).network
    copied = trained(tmp_path / "copied", "2048(size=2)", tuples__copy=True, **stages).network
    size = copied.layout.stage_size  # type: ignore[union-attr]
    first, second = copied.table[:size], copied.table[size:]
    unseen = second[:, 2] == 0
    assert not alone.table[size:, 0][alone.table[size:, 2] == 0].any()
    assert second[unseen, 0].any()
    # What has learned nothing follows the stage before; what has learned stays as it is.
    learned = second[~unseen].copy()
    copied.promote()  # type: ignore[union-attr]
    np.testing.assert_array_equal(second[unseen, 0], first[unseen, 0])
    np.testing.assert_array_equal(second[~unseen], learned)


def test_games_restart_where_earlier_ones_were(tmp_path: Path) -> None:
    made = trained(tmp_path / "run", "2048(size=2)", games=300, epsilon=0.0, restarts=0.8, restart_every=5)
    alone = trained(tmp_path / "alone", "2048(size=2)", games=300, epsilon=0.0)
    row, plain = (read_metrics(each.folder.metrics)[-1] for each in (made, alone))
    # Games on the way are neither counted nor scored, but there is more to learn from.
    assert row["games"] == plain["games"] == "300"
    assert int(row["moves"]) > 1.5 * int(plain["moves"])
    assert float(row["score_seat0"]) == pytest.approx(float(plain["score_seat0"]), rel=0.2)
    room: Any = made.network.room(made.config.reach, seed=1)
    made.network.play(room, made._rule(0.0), 50)
    assert 1 <= room.filled[3] <= KEPT
    for k in range(room.filled[3]):
        record = room.kept[k]
        assert record["ply"] == 2 + 2 * 5 * (k + 1)  # two tiles, and one after each move
        state = State(made.game, record)
        assert not state.is_over and not state.is_chance
