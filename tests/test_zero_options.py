"""What a run may do besides: a sequential gate, past nets as opponents, growing searches, bounds of disk and memory."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from meijin.agents.catalogue import build  # noqa: E402
from meijin.core.catalogue import make  # noqa: E402
from meijin.core.errors import BadParameter  # noqa: E402
from meijin.core.rng import below, stream  # noqa: E402
from meijin.core.state import State  # noqa: E402
from meijin.learning.nets.config import NetConfig  # noqa: E402
from meijin.learning.zero.config import TrainingConfig, ZeroConfig  # noqa: E402
from meijin.learning.zero.inference import TorchEvaluator  # noqa: E402
from meijin.learning.zero.learner import Learner  # noqa: E402
from meijin.learning.zero.nets import Net  # noqa: E402
from meijin.learning.zero.positions import Positions, imitated, policy_width  # noqa: E402
from meijin.learning.zero.replay import ReplayBuffer, _keys, set_aside  # noqa: E402
from meijin.learning.zero.selfplay import SelfPlay  # noqa: E402
from meijin.learning.zero.worker import make_worker  # noqa: E402
from meijin.search.forest import Settings, layout  # noqa: E402
from meijin.training import net_matches  # noqa: E402
from meijin.training.net_matches import NetMatches  # noqa: E402
from meijin.training.zero_run import ZeroRun  # noqa: E402
from test_zero_run import GAME, config, iterated, rows  # noqa: E402


def net(seed: int, game: str = GAME) -> Net:
    torch.manual_seed(seed)
    made = Net(make(game), NetConfig(blocks=1, channels=8)).eval()
    for head in (made.policy.planes, made.policy.flat):
        if head is not None:
            torch.nn.init.normal_(head.weight, std=1.0)
    return made


# ---- the gate ----


@pytest.mark.parametrize(("share", "passes"), [(0.85, True), (0.15, False)])
def test_a_sequential_gate_ends_when_it_is_sure(share: float, passes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given = NetMatches(make(GAME), config(**{"gate.games": 1000, "gate.sprt": [0, 60]}), "cpu")
    rng, first = np.random.default_rng(4), []

    def duel(one: Any, other: Any, game: Any, games: int, **rest: Any) -> Any:
        first.append(rest["first"])
        return np.where(rng.random(games) < share, 1.0, -1.0)

    monkeypatch.setattr(net_matches, "duel", duel)
    found, games, passed = given.gate(net(1), net(2), seed=3)
    assert passed is passes and games < 1000 and games % 64 == 0 and abs(found - share) < 0.25
    assert first == [32 * k for k in range(len(first))]  # every part has openings of its own


def test_a_sequential_gate_takes_the_likelier_in_the_end(tmp_path: Path) -> None:
    changes = {"gate.games": 6, "gate.simulations": 2, "gate.sprt": [-900, 900]}
    row = iterated(tmp_path / "r", 1, **changes).iterate()
    assert row["gate_games"] <= 6 and row["gate_passed"] == (row["gate"] > 0.5)  # a draw is not enough


# ---- past nets as opponents ----


def past_answers(device: str) -> None:
    """Where the past net's seat is to move at the root, its answers are the ones that count."""
    present, past = net(1), net(2)
    worker = make_worker(
        present, 8, Settings(simulations=4, warm=9), device=device, dtype="float32", slots=80, rivals=5
    )
    worker.set(Settings(simulations=4, warm=9), past)
    expected = [TorchEvaluator(each, 8, device=device, dtype="float32", graph=False) for each in (present, past)]
    seen, near = set(), 1e-4 if device == "cpu" else 2e-2  # a GPU rounds by batch and algorithm
    for _ in range(60):
        worker.run(1)
        own, info = worker.evaluator, worker.forest.host("info")
        x, logits, values = (torch.as_tensor(part).cpu().numpy() for part in (own.x, own.logits, own.values))
        answers = [each(x) for each in expected]
        for i in range(8):
            of_past = int(info[i, layout.PAST])
            assert of_past == 0 or i < 5
            np.testing.assert_allclose(logits[i], answers[of_past][0][i], atol=near)
            np.testing.assert_allclose(values[i], answers[of_past][1][i], atol=near)
            assert np.abs(logits[i] - answers[1 - of_past][0][i]).max() > near  # the two can be told apart
            seen.add(of_past)
    assert seen == {0, 1}


def test_past_nets_answer_for_their_seat() -> None:
    past_answers("cpu")


@pytest.mark.gpu
def test_past_nets_answer_for_their_seat_on_a_gpu() -> None:
    past_answers("cuda")


def test_positions_of_past_nets_are_not_learned() -> None:
    play = SelfPlay(net(1), 8, Settings(simulations=4, warm=9), seed=3, pool_share=1.0)
    both = play.play(200)  # nobody to play against yet
    assert {0, 1} == set(both.facts[:, 0].tolist()) and play.stats()["pool_games"] == 0
    play.load(net(1), Settings(simulations=4, warm=9), net(2))
    play.play(100)  # games that had begun
    play.stats()
    found = play.play(300)
    games, stats = int((found.facts[:, 1] <= 1).sum()), play.stats()
    assert stats["pool_games"] == stats["games"] == games  # a game's first or second position, never both
    assert 0 <= stats["pool_points"] <= games
    # every other ply of a game: about half of what both seats would have left
    assert len(found) <= 5 * games


def test_a_run_draws_on_what_it_kept(tmp_path: Path) -> None:
    changes = {"selfplay.pool_share": 0.5, "selfplay.pool_size": 2, "length.keep": 1, "selfplay.overlap": False}
    run = iterated(tmp_path / "r", 4, **changes)
    games = [float(row["pool_games"]) for row in rows(tmp_path / "r")]
    assert games[0] == 0 and sum(games[1:]) > 0
    source, folder = run.source, run.folder.checkpoints
    assert source is not None
    drawn = [source.past.draw(folder) for _ in range(20)]  # type: ignore[attr-defined]
    kept = [path.stem for path in sorted(folder.glob("0*.safetensors"))]
    assert kept == ["000001", "000002", "000003", "000004"]
    first = [next(each.parameters()).sum().item() for each in drawn if each is not None]
    assert len(first) == 20 and len(set(first)) == 2  # the latest two, by chance


# ---- growing searches ----


def test_simulations_grow_over_the_run(tmp_path: Path) -> None:
    changes = {"selfplay.curriculum": [[0, 2], [0.25, 4], [0.5, 8]], "length.iterations": 4, "selfplay.overlap": False}
    made = config(**changes)
    assert ZeroConfig.from_dict(json.loads(made.to_json())) == made
    assert [made.search_at(at).simulations for at in (0.0, 0.24, 0.25, 0.5, 1.0)] == [2, 2, 4, 8, 8]
    assert config().search_at(0.0) == config().search
    capped = config(**{"search.fast_simulations": 6, "search.full_share": 0.5, "selfplay.curriculum": [[0, 2]]})
    assert capped.search_at(0.0).fast_simulations == 2
    iterated(tmp_path / "r", 4, **changes)
    found = rows(tmp_path / "r")
    assert [row["simulations_a_move"] for row in found] == ["2", "4", "8", "8"]
    a_position = [float(row["simulations"]) / 60 for row in found]
    assert a_position[0] < a_position[1] < a_position[2]


# ---- bounds ----


def test_old_positions_go_when_the_disk_is_full(tmp_path: Path) -> None:
    run = iterated(tmp_path / "r", 2, **{"replay.disk_mb": 1, "replay.window": 50_000, "selfplay.overlap": False})
    folder = tmp_path / "r" / "games"
    assert [row["dropped_for_disk"] for row in rows(tmp_path / "r")] == ["0", "0"]
    size = (folder / "000001.safetensors").stat().st_size
    filler = Positions.empty(run.game, 9, (2**20 - 2 * size) // (Positions.empty(run.game, 9, 1).nbytes))
    filler.save(folder / "000000.safetensors")  # fills the megabyte
    run.window.buffers[0].add(filler)
    row = run.iterate()
    assert row["dropped_for_disk"] == 1 and row["games_mb"] < 1
    assert sorted(path.stem for path in folder.iterdir()) == ["000001", "000002", "000003"]
    again = ZeroRun(tmp_path / "r", resume=True)
    assert again.positions == run.positions and len(again.window.buffers[0]) == len(run.window.buffers[0]) - len(filler)
    again.iterate()
    Positions.cat([filler, filler]).save(folder / "000009.safetensors")
    again.window.buffers[0].added = 10**6
    assert len(again.window.surplus()[1]) == 4 and again.window.surplus()[2] > 2**20  # the newest stays in any case


def test_a_window_counts_what_it_cannot_hold() -> None:
    game = make(GAME)
    window = ReplayBuffer(game, 10, 9)
    many = Positions.empty(game, 9, 25)
    many.facts[:, 1] = torch.arange(25, dtype=torch.int16)
    window.add(many[:4])
    window.add(many)
    assert window.total == 29 and len(window) == 10
    assert sorted(window.latest(10).facts[:, 1].tolist()) == list(range(15, 25))
    assert window.latest(3).facts[:, 1].tolist() == [22, 23, 24]


def test_a_window_of_abalone_fits_in_a_gibibyte(tmp_path: Path) -> None:
    """1.44 million positions, in memory and on disk, judged by the rows of real games."""
    game, rng, wanted = make("abalone"), stream(3), 1_440_000
    width, played = policy_width(game, config().replay.policy_width), []
    with np.errstate(over="ignore"):
        for _ in range(6):
            state = State(game)
            while not state.is_over and len(state.history) < 100:
                state.play(state.legal_moves[below(rng, len(state.legal_moves))])
            played.append(([int(move) for move in state.history], (0.0, 0.0), 0))
    found = imitated(game, played, width)
    assert len(found) == 600 and (found.probs.sum(1) == 1).all()
    window = ReplayBuffer(game, 8 * len(found), width)
    for k in range(8):
        window.add(found)
        found.save(tmp_path / f"{k}.safetensors")
    assert window.nbytes / len(window) * wanted < 2**30
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) / len(window) * wanted < 2**30


# ---- how a net begins and how fast it learns ----


def test_the_rate_falls_as_in_keras() -> None:
    training = TrainingConfig(schedule="inverse", rate=0.001, decay=0.01, warmup=0)
    learner = Learner(Net(make(GAME), NetConfig(blocks=1, channels=8)), training)
    found = []
    for learner.steps in (0, 1, 100, 900):
        found.append(learner.rate(0.5))  # whatever the share of the run
    assert found == pytest.approx([0.001, 0.001 / 1.01, 0.0005, 0.0001])


def test_the_first_weights_may_be_xaviers(tmp_path: Path) -> None:
    run = ZeroRun(tmp_path / "xavier", config(**{"training.initial": "xavier"}))
    block = run.learner.net.blocks[0].second
    largest = float(block.conv.weight.detach().abs().max())
    bound = math.sqrt(6 / (9 * 8 + 9 * 8))  # 3 x 3, 8 channels in and out
    assert 0.95 * bound < largest <= bound and (block.norm.weight == 1).all()
    assert not run.learner.net.value.values.bias.any()
    run.iterate()
    # It is not a net of another shape.
    again = ZeroRun(tmp_path / "on", config(**{"warm.init": str(tmp_path / "xavier")}))
    assert torch.equal(again.playing.blocks[0].second.conv.weight, run.playing.blocks[0].second.conv.weight)


# ---- settings that make no sense ----


def test_options_that_make_no_sense_are_named(tmp_path: Path) -> None:
    for changes, problem in (
        ({"gate.sprt": [5]}, "two Elo differences"),
        ({"gate.sprt": [10, 0]}, "elo0 must be below elo1"),
        ({"selfplay.pool_share": 1.5}, r"selfplay\.pool_share = 1\.5: must be at most 1"),
        ({"selfplay.pool_share": 0.5, "length.keep": 0}, "set length.keep to keep some"),
        ({"selfplay.curriculum": [[0, 9]]}, "more than search.simulations=8"),
        ({"selfplay.curriculum": [[0.5, 4], [0.2, 8]]}, "ascending"),
        ({"selfplay.curriculum": [4, 8]}, r"curriculum\[0\] = 4: must be a list"),
        ({"replay.disk_mb": -1}, "disk_mb = -1: must be at least 0"),
    ):
        with pytest.raises(BadParameter, match=problem):
            config(**changes)
    with pytest.raises(BadParameter, match=r"gate\.games=4: a gate is a match of two"):
        ZeroRun(tmp_path / "r", config(game="nim(heaps=(3, 4, 5), players=3)", **{"gate.games": 4}))
    with pytest.raises(BadParameter, match="2048 has no opponents"):
        ZeroRun(tmp_path / "r", config(game="2048", **{"selfplay.pool_share": 0.2}))
    with pytest.raises(BadParameter, match=r"selfplay\.dtype=int8 on device 'cpu': it needs a Hopper GPU"):
        ZeroRun(tmp_path / "r", config(**{"selfplay.dtype": "int8"}))
    assert not (tmp_path / "r").exists()


# ---- surprise ----


def test_positions_come_as_often_as_they_surprise() -> None:
    game = make(GAME)
    learner = Learner(net(1), TrainingConfig(surprise=0.5))
    data = Positions.empty(game, 9, 4000)
    data.surprise[:1000], data.surprise[1000:] = 1.0, 0.2  # a mean of 0.4
    counts = torch.bincount(torch.cat([learner._order(data) for _ in range(10)]), minlength=4000).float() / 10
    # 0.5 + 0.5 * 1.0 / 0.4 and 0.5 + 0.5 * 0.2 / 0.4; a false alarm is rarer than one in a million
    assert counts[:1000].mean().item() == pytest.approx(1.75, abs=0.03)
    assert counts[1000:].mean().item() == pytest.approx(0.75, abs=0.015)
    data.surprise[:] = 0  # games of others
    assert sorted(learner._order(data).tolist()) == list(range(4000))


# ---- validation ----


def test_nothing_is_set_aside_that_has_been_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = iterated(tmp_path / "r", 0, **{"training.validation": 30})
    learned: set[int] = set()
    fit, validate = run.learner.fit, run.learner.validate

    def fitted(data: list[Positions], *rest: Any) -> Any:
        learned.update(_keys(data[0]).tolist())
        return fit(data, *rest)

    def validated(data: list[Positions]) -> Any:
        aside = set(_keys(data[0]).tolist())
        assert 0 < len(aside) < 80 and not aside & learned
        return validate(data)

    monkeypatch.setattr(run.learner, "fit", fitted)
    monkeypatch.setattr(run.learner, "validate", validated)
    rows = [run.iterate() for _ in range(4)]
    run.close()
    assert all(row["validation_policy"] > 0 and 0 < row["validation_value"] < 4 for row in rows)


def test_a_smaller_share_sets_nothing_else_aside() -> None:
    data = imitated(make("connect_four"), [([at % 7, at // 7, 3], (1.0, -1.0), 0) for at in range(49)], 7)
    few, many = (set(_keys(set_aside(data, share)[1]).tolist()) for share in (0.1, 0.3))
    assert 0 < len(few) < len(many) < len(data) and few < many


# ---- variants ----

VARIANTS = {
    "game": "hex(size=4)",
    "variants": ["hex(size=3)", "hex(size=5)"],
    "net": {"size": "nano", "blocks": 2, "channels": 8, "pooling": True},
    "replay.window": 600,
}


def test_one_net_learns_a_game_and_its_variants(tmp_path: Path) -> None:
    run = iterated(tmp_path / "r", 4, **VARIANTS)
    totals = [buffer.total for buffer in run.window.buffers]
    assert min(totals) > 0 and sum(totals) == int(rows(tmp_path / "r")[-1]["positions"])
    cells = {buffer.latest(1).owners.shape[1] for buffer in run.window.buffers}
    nets = [lesson.net for lesson in run.learner.lessons]
    assert [len(each.game.board.cells) for each in nets] == [16, 9, 25] and cells == {0}
    # One set of weights: what is learned from one plays the others.
    assert all(
        mine is theirs for each in nets for mine, theirs in zip(each.parameters(), nets[0].parameters(), strict=True)
    )
    again = ZeroRun(tmp_path / "r", resume=True)
    assert [buffer.total for buffer in again.window.buffers] == totals
    kept = zip(run.window.buffers, again.window.buffers, strict=True)
    assert all(torch.equal(mine.latest(50).bits, theirs.latest(50).bits) for mine, theirs in kept)
    again.iterate()
    again.close()
    # Sizes that it has never seen, too.
    agent = build(f'zero("{tmp_path / "r"}", simulations=8)', make("hex(size=6)"), seed=1)
    assert State(make("hex(size=6)")).legal_moves[0] in [
        int(info.move) for info in agent.analyse(State(make("hex(size=6)"))).moves
    ]


def test_every_variant_has_its_share_of_the_steps(tmp_path: Path) -> None:
    run = ZeroRun(tmp_path / "r", config(**VARIANTS))
    data = [Positions.empty(game, 9, count) for game, count in zip(run.games, (300, 0, 100), strict=True)]
    drawn = [variant for variant, _ in run.learner._batches(data, 20)]
    assert [drawn.count(variant) for variant in range(3)] == [15, 0, 5] and drawn[:4].count(2) == 1
    run.close()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"net": {"size": "nano"}}, "variants: hex(size=3): without pooling a net knows one size only"),
        ({"variants": ["othello"]}, "variants: othello: it is another game"),
        ({"variants": ["hex(size=3)", "hex(size=4)"]}, "variants: hex(size=4) is there twice"),
        ({"variants": ["hex(size=3)"], "selfplay.games": 1}, "selfplay.games=1: 2 variants are to be played"),
    ],
)
def test_variants_that_cannot_be_learned_together_are_refused(
    changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(BadParameter, match=re.escape(says)):
        ZeroRun(tmp_path / "r", config(**{**VARIANTS, **changes}))
    assert not (tmp_path / "r").exists()


def test_variants_stay_and_are_learned_on_one_device(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="on one device"):
        ZeroRun(tmp_path / "r", config(**VARIANTS), selfplay_devices=("cpu", "cpu"))
    run = iterated(tmp_path / "r", 1, **VARIANTS)
    with pytest.raises(BadParameter, match="variants="):
        ZeroRun(tmp_path / "r", run.config.changed({"variants": []}), resume=True)
