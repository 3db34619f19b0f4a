"""The classic policy and value nets: data, training, checkpoints and the agents that play them."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meijin import State, build, make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from meijin.learning import optimizers  # noqa: E402
from meijin.learning.checkpoint import read, write  # noqa: E402
from meijin.learning.classic import checkpoint, examples, fitting  # noqa: E402
from meijin.learning.classic.choice import any_legal, chooser, draw, probabilities  # noqa: E402
from meijin.learning.classic.config import ClassicConfig  # noqa: E402
from meijin.learning.classic.encoding import Encoder  # noqa: E402
from meijin.learning.classic.episodes import play  # noqa: E402
from meijin.learning.classic.nets import PolicyNet, ValueNet  # noqa: E402
from meijin.learning.classic.nets import build as build_net  # noqa: E402
from meijin.training import classic  # noqa: E402
from meijin.training.classic_run import ClassicRun  # noqa: E402
from meijin.training.events import Event, Finished, IterationDone, Progress, Stopped  # noqa: E402
from meijin.training.folder import RunFolder  # noqa: E402

QUICK = {"relu": True, "kernel": 5, "features": 32, "batch": 64, "optimizer": "adam", "learning_rate": 0.003}


def train(game: Game, folder: Path, iterations: int, **settings: Any) -> list[Event]:
    """Train to the end; returns all events."""
    told: list[Event] = []
    classic(game, config=settings, out=folder, iterations=iterations).go(told.append)
    return told


def rows(told: list[Event]) -> list[Mapping[str, float]]:
    return [event.metrics for event in told if isinstance(event, IterationDone)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A policy and a value net of tic-tac-toe, trained on exact data in seconds."""
    folder, game = tmp_path_factory.mktemp("runs"), make("tic_tac_toe")
    for net in ("policy", "value"):
        train(game, folder / net, 1, net=net, learn="exact", epochs=15, **QUICK)
    return {net: folder / net for net in ("policy", "value")}


# ---- data ----


def test_moves_written_down_are_not_changed_by_what_is_played_later() -> None:
    game = make("tic_tac_toe")
    moves, _ = play(game, any_legal, any_legal, 200, 3)
    before = moves.states.tobytes()
    stones = [sum(v > 0 for v in State(game, record).cells) for record in moves.states]
    # Rows come ply by ply: had all of a game's rows been one state, they would all be full boards.
    assert stones == sorted(stones) and stones[0] == 0 and max(stones) <= 8
    for record, move in zip(moves.states, moves.moves, strict=True):
        state = State(game, record)
        assert state.turn >= 0 and move in state.legal_moves
        state.play(int(move))
    play(game, any_legal, any_legal, 200, 4)
    net = PolicyNet(game)
    fitting.fit(
        fitting.move_loss(game, net, moves),
        len(moves),
        optimizers.Adam(net.parameters()),
        ClassicConfig("tic_tac_toe", epochs=1),
        (0,),
    )
    assert moves.states.tobytes() == before


def test_reward_is_e_alpha_to_the_moves_left() -> None:
    game = make("tic_tac_toe")
    moves, results = play(game, any_legal, any_legal, 1, 5, seats=[0], alpha=0.5)
    wins, draws, losses = results.total
    e = wins - losses
    assert wins + draws + losses == 1 and len(moves) >= 3
    # The learner has the first seat: its moves are 0, 2, 4, ... of the game.
    length = 2 * len(moves) - (1 if e >= 0 else 0)
    expected = [[e * 0.5 ** (length - 2 * k), -e * 0.5 ** (length - 2 * k)] for k in range(len(moves))]
    np.testing.assert_allclose(moves.rewards, expected)


def test_exact_examples_agree_with_the_solver() -> None:
    game = make("tic_tac_toe")
    states = examples.all_positions(game, 5000)
    assert states is not None and len(states) == 4520  # the positions of tic-tac-toe that are not over
    assert examples.all_positions(game, 4519) is None
    state = State(game).play_line("a1 b1 a2 b2")  # X wins at a3 at once, O threatens b3
    found = examples.exact(game, state.records, 0.9)
    a3 = game.find("a3")
    assert found.policy[0, a3] == 1
    np.testing.assert_allclose(found.rewards[0, a3], [0.9, -0.9], rtol=1e-6)
    assert found.known.sum() == 5


def test_searched_examples_are_visits_and_means() -> None:
    game = make("othello(size=4)")
    states = examples.random_positions(game, 8, 1)
    assert len({state.tobytes() for state in states}) == 8
    found = examples.searched(game, states, 50, 1)
    _, legal = Encoder(game)(states)
    np.testing.assert_allclose(found.policy.sum(1), 1, rtol=1e-5)
    assert not found.policy[~legal].any() and not found.known[~legal].any()
    assert np.abs(found.rewards).max() <= 1


# ---- nets ----


@pytest.mark.parametrize("name", ["tic_tac_toe", "othello(size=6)", "go(size=5)", "sim", "einstein"])
def test_masked_logits_never_choose_illegal_moves(name: str, compiled_in_soak: None) -> None:
    game = make(name)
    torch.manual_seed(1)
    for net in (PolicyNet(game), ValueNet(game)):
        with torch.no_grad():
            for weight in net.parameters():
                weight.mul_(300)  # logits far below the -1000 that would do as a mask for small ones
        moves, _ = play(game, chooser(net, 0.5), any_legal, 12, 1)
        _, legal = Encoder(game)(moves.states)
        assert legal[np.arange(len(moves)), moves.moves].all()
        if isinstance(net, PolicyNet):
            inputs, legal = Encoder(game)(moves.states)
            probs = probabilities(net, inputs, legal)
            assert (probs[~legal] == 0).all()
            np.testing.assert_allclose(probs.sum(1), 1, rtol=1e-4)


def test_every_row_of_a_batch_has_its_own_mask() -> None:
    game = make("tic_tac_toe")
    one, other = State(game).play_line("a1 b1"), State(game).play_line("c3 b3")
    inputs, legal = Encoder(game)(np.concatenate([one.records, other.records]))
    probs = probabilities(PolicyNet(game), inputs, legal)
    for row, state in enumerate((one, other)):
        assert set(np.flatnonzero(probs[row])) == set(map(int, state.legal_moves))


def test_draw_follows_the_probabilities() -> None:
    probs = np.tile([0.0, 0.25, 0.0, 0.75, 0.0], (20_000, 1)).astype(np.float32)
    counts = np.bincount(draw(probs, np.random.default_rng(0)), minlength=5)
    assert counts[[0, 2, 4]].sum() == 0
    assert abs(counts[1] / 20_000 - 0.25) < 4 * (0.25 * 0.75 / 20_000) ** 0.5  # 4 sigma: 1 in 16,000


def test_inputs_hold_the_reports_channels() -> None:
    game = make("othello(size=6)")
    state = State(game)
    inputs, legal = Encoder(game)(state.records)
    mover, other, empty, may = inputs[0, 0], inputs[0, 1], inputs[0, -2], inputs[0, -1]
    np.testing.assert_array_equal(mover + other + empty, 1)
    assert set(np.flatnonzero(may)) == set(map(int, state.legal_moves)) == set(np.flatnonzero(legal[0]))


# ---- training ----


def test_supervised_training_nearly_agrees_with_perfect_play(runs: dict[str, Path]) -> None:
    game = make("tic_tac_toe")
    data = examples.exact(game, examples.positions(game, 5000, 0), 0.99)
    for net, least in (("policy", 0.99), ("value", 0.97)):
        _, keeps = fitting.agreement(game, checkpoint.load(runs[net], net, game).net, data)
        assert keeps > least


def test_reinforce_improves_against_random_play(tmp_path: Path) -> None:
    game = make("tic_tac_toe")
    train(game, tmp_path, 12, matches=500, epochs=1, learning_rate=0.003, entropy=0.05, relu=True)

    def losses(iteration: int) -> int:
        net = checkpoint.load(RunFolder(tmp_path).numbered(iteration)).net
        return play(game, chooser(net), any_legal, 4000, 1)[1].total[2]

    # A share of 4000 games has a standard error below 0.8 points; the gap asked for is over ten of them.
    assert losses(12) < losses(0) - 400


def test_value_net_learns_from_games(tmp_path: Path) -> None:
    game = make("tic_tac_toe")
    train(game, tmp_path, 8, net="value", matches=500, epochs=3, optimizer="adam", learning_rate=0.003)
    losses = [
        play(game, chooser(checkpoint.load(file).net), any_legal, 2000, 1)[1].total[2]
        for file in (RunFolder(tmp_path).numbered(0), tmp_path)
    ]
    assert losses[1] < losses[0] - 200


POOL = {"matches": 60, "epochs": 2, "refresh": 2, "window": 2, "opponent": "pool"}


def test_a_stopped_run_resumes_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    game = make("tic_tac_toe")
    train(game, tmp_path / "whole", 5, **POOL)
    parts = classic(game, config=POOL, out=tmp_path / "parts", iterations=5)

    def stop(event: Event) -> None:  # in the middle of the fourth iteration
        if parts.iteration == 3 and isinstance(event, Progress) and event.phase == "training" and event.done == 1:
            parts.stop()

    assert parts.go(stop) == Stopped(3, tmp_path / "parts")
    # Killed between the model and the latest checkpoint: the model is there, but the iteration counts as unfinished.
    RunFolder(tmp_path / "parts").numbered(4).write_bytes(b"half")
    told: list[Event] = []
    classic(game, out=tmp_path / "parts", resume=True).go(told.append)
    assert [row["iteration"] for row in rows(told)] == [4, 5]
    for k in range(6):
        (one, weights), (other, same) = (
            read(RunFolder(tmp_path / run).numbered(k), checkpoint.KINDS) for run in ("whole", "parts")
        )
        assert all(np.array_equal(weights[key], same[key]) for key in weights)
        assert {**one.facts, "seconds": 0} == {**other.facts, "seconds": 0}
    whole, parts_ = ((tmp_path / run / "metrics.csv").read_text().splitlines() for run in ("whole", "parts"))
    without_seconds = [[re.sub(r"^(\d+),[^,]*", r"\1", line) for line in lines] for lines in (whole, parts_)]
    assert without_seconds[0] == without_seconds[1] and len(whole) == 6

    with pytest.raises(BadParameter, match="already holds a run; add --resume"):
        train(game, tmp_path / "whole", 5, **POOL)
    with pytest.raises(BadParameter, match=r"matches=60 \(now 70\), which cannot be changed"):
        classic(game, changes={"matches": 70}, out=tmp_path / "whole", resume=True)
    with pytest.raises(BadParameter, match="is for tic_tac_toe, not for othello"):
        classic("othello(size=4)", out=tmp_path / "whole", resume=True)


def test_out_of_time_an_iteration_is_cut_short_and_kept(tmp_path: Path) -> None:
    """The clock ticks once per question: after 40 of them, epochs are left out, and the model is saved."""
    ticks = itertools.count()
    config = ClassicConfig("tic_tac_toe", learn="exact", positions=50, epochs=1000, batch=50)
    told: list[Event] = []
    run = ClassicRun(tmp_path, config.finish_in(500, None), now=lambda: float(next(ticks)), handlers=[told.append])
    last = run.go()
    assert last.iteration == 1 and isinstance(last, Finished) and last.reason == "the time is up"
    epochs = [event.done for event in told if isinstance(event, Progress) and event.phase == "training"]
    assert 10 < len(epochs) < 500 and epochs == list(range(len(epochs)))
    assert next(ticks) < 600  # all in all, saving included
    assert checkpoint.load(tmp_path).facts["iteration"] == 1


@pytest.mark.parametrize("name", ["sim", "othello(size=6)", "einstein", "nim(heaps=(2, 2, 2), players=3)"])
def test_other_games_train_through_the_same_loop(name: str, tmp_path: Path, interpreted: None) -> None:
    game = make(name)
    for net in ("policy", "value"):
        train(game, tmp_path / net, 1, net=net, matches=6, epochs=1, window=2)
        classic(game, out=tmp_path / net, resume=True, iterations=2).go()  # with the first one's games in the window
        build(f"{net}({str(tmp_path / net)!r})", game, seed=1).act(State(game).roll(np.array([1], np.uint64)))


def test_tree_search_teaches_both_nets(tmp_path: Path) -> None:
    game = make("othello(size=4)")
    for net in ("policy", "value"):
        told = rows(
            train(game, tmp_path / net, 2, net=net, learn="mcts", epochs=20, positions=30, simulations=50, **QUICK)
        )
        assert told[-1]["loss"] < told[0]["first_loss"] and told[-1]["positions"] == 30 and "keeps" not in told[-1]


def test_evaluators_measure_the_net_of_the_iteration(tmp_path: Path) -> None:
    run = classic(
        "tic_tac_toe", out=tmp_path, iterations=5, evaluate=["vs(random, games=4, goal=0)"],
        config={"learn": "exact", "positions": 50, "epochs": 1, "evaluation": {"times": 2}, "length": {"evaluate": 1}},
    )  # fmt: skip
    last = run.go()
    assert isinstance(last, Finished) and last.reason == "all goals are reached" and last.iteration == 2
    assert not (tmp_path / "checkpoints" / "evaluated.safetensors").exists()


def test_games_without_bounds_and_without_a_solver_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="bounded score"):
        train(make("2048"), tmp_path / "a", 1)
    with pytest.raises(BadParameter, match="learn=mcts needs no solver"):
        train(make("go(size=5)"), tmp_path / "b", 1, learn="exact")
    assert not list(tmp_path.iterdir())


def test_a_loss_that_is_no_number_stops_and_says_so(tmp_path: Path) -> None:
    with pytest.raises(MeijinError, match=r"iteration 1: the loss became .*lower learning_rate"):
        train(make("tic_tac_toe"), tmp_path, 1, net="value", matches=50, epochs=200, learning_rate=1e6)


# ---- config ----


def test_config_rejects_what_it_does_not_know(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    for text, problem in (
        ('{"epoch": 3}', "unknown key 'epoch'; did you mean 'epochs'"),
        ('{"epochs": "3"}', "epochs = '3': must be a whole number"),
        ('{"iterations": 3}', "unknown key 'iterations'; it is now called 'length.iterations'"),
        ('{"net": "polcy"}', "did you mean 'policy'"),
        ('{"method": "zero"}', "is for 'zero'"),
        ('{"alpha": 2}', "alpha = 2: must be at most 1"),
        ('{"kernel": 2}', "kernel=2: must be odd"),
        ('{"seed": 1' + "0" * 5000 + "}", "config.json"),
        ('{"alpha": 1e999}', "config.json"),
        ("[]", "must be a table"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
    ):
        file.write_text(text)
        with pytest.raises(BadParameter, match=problem):
            classic("tic_tac_toe", config=file, out=tmp_path / "run")
    with pytest.raises(BadParameter, match="cannot read"):
        classic("tic_tac_toe", config=tmp_path / "none.json", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_published_configs_are_readable() -> None:
    folder = Path(__file__).parent.parent / "experiments" / "classic"
    assert len(list(folder.glob("*.json"))) >= 5
    for file in folder.glob("*.json"):
        assert make(ClassicConfig.load(file).game)


# ---- agents ----


def test_agents_say_what_they_know(runs: dict[str, Path]) -> None:
    game = make("tic_tac_toe")
    state = State(game).play_line("a1 b1 a2 b2")  # X wins at a3
    policy = build(f"policy({str(runs['policy'])!r}, sample=False)", game)
    analysis = policy.analyse(state)
    assert analysis.best.name == "a3" and policy.deterministic and analysis.turn == 0
    assert sum(info.prior or 0 for info in analysis.moves) == pytest.approx(1)
    assert len(analysis.moves) == 5

    value = build(f"value({str(runs['value'])!r}, epsilon=0)", game)
    analysis = value.analyse(state)
    assert analysis.best.name == "a3" and analysis.value is not None
    assert analysis.value[0] > 0.6 and analysis.value[1] < -0.6 and analysis.value == analysis.moves[0].value
    assert value.value(state) == analysis.value
    # Seat 1 to move: values still are seat 0's first.
    state = State(game).play_line("a1 b1 a2 b2 c3")  # O wins at b3
    analysis = value.analyse(state)
    assert (
        analysis.best.name == "b3" and analysis.value is not None and analysis.value[0] < -0.6 < 0.6 < analysis.value[1]
    )
    assert value.value(state.play("b3")) == (-1, 1)

    both = build(f"policy_value({str(runs['policy'])!r}, {str(runs['value'])!r}, simulations=60)", game, seed=1)
    state = State(game)
    analysis = both.analyse(state)
    assert analysis.simulations == 60 and sum(info.visits or 0 for info in analysis.moves) >= 59
    assert sum(info.prior or 0 for info in analysis.moves) == pytest.approx(1)
    priors = {info.move: info.prior for info in policy.analyse(state).moves}
    for info in analysis.moves:  # the search has the policy net's own priors
        assert info.prior == pytest.approx(priors[info.move])
    assert all(info.value is not None for info in analysis.moves if info.visits)


def test_policy_is_sampled_and_value_explores(runs: dict[str, Path]) -> None:
    game = make("tic_tac_toe")
    state = State(game).play("a1")
    sampled = build(f"policy({str(runs['policy'])!r}, temperature=3.0)", game, seed=1)
    assert len({sampled.act(state) for _ in range(60)}) > 1
    value = build(f"value({str(runs['value'])!r}, epsilon=0.5)", game, seed=1)
    best = build(f"value({str(runs['value'])!r}, epsilon=0)", game).analyse(state)
    found = [value.analyse(state) for _ in range(400)]
    assert all(each.random == (each.best != best.best) for each in found) and not best.random
    assert abs(sum(each.random for each in found) - 175) < 4 * 10  # 4 sigma: half of the moves, and 1 of 8 is the best
    likeliest = build(f"policy({str(runs['policy'])!r}, sample=False)", game).analyse(state)
    drawn = [sampled.analyse(state) for _ in range(60)]
    assert all(each.random == (each.best != likeliest.best) for each in drawn) and not likeliest.random
    first = [build(f"policy({str(runs['policy'])!r})", game, seed=7).act(state) for _ in range(2)]
    assert first[0] == first[1]


def test_errors_of_checkpoints_say_the_remedy(runs: dict[str, Path], tmp_path: Path) -> None:
    good = RunFolder(runs["policy"]).numbered(1)
    with pytest.raises(MeijinError, match="there is no 'nowhere"):
        build("policy('nowhere.safetensors')")
    (tmp_path / "empty").mkdir()
    with pytest.raises(MeijinError, match="holds no checkpoint yet"):
        build(f"policy({str(tmp_path / 'empty')!r})")
    broken = tmp_path / "broken.safetensors"
    for data in (b"", b"not a checkpoint at all", good.read_bytes()[:-40]):
        broken.write_bytes(data)
        with pytest.raises(MeijinError, match="damaged or not a safetensors file"):
            build(f"policy({str(broken)!r})")
    with pytest.raises(BadParameter, match="holds a policy net, not a value net: play it as policy"):
        build(f"value({str(good)!r})")
    with pytest.raises(BadParameter, match="trained for tic_tac_toe; train one with"):
        build(f"policy({str(good)!r})", make("othello(size=6)"))
    found, weights = read(good, checkpoint.KINDS)
    for kind, shape, problem in (
        ("someone-else", found.net, "holds a net of kind 'someone-else'"),
        (found.kind, {"net": "policy", "features": 3}, "do not fit its own net"),
        (found.kind, {}, "do not fit its own net"),
    ):
        write(broken, kind, found.game, shape, weights, {})
        with pytest.raises(MeijinError, match=problem):
            build(f"policy({str(broken)!r})")


def test_nothing_imports_torch_before_it_is_needed() -> None:
    code = (
        "import sys; import meijin; from meijin.agents.catalogue import agents; agents.names();"
        "from meijin import training; from meijin.learning.classic.config import ClassicConfig; ClassicConfig('x');"
        "assert 'torch' not in sys.modules; sys.modules['torch'] = None\n"
        "try: training.classic('tic_tac_toe')\n"
        "except meijin.MeijinError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install torch safetensors" in done.stdout, done.stderr


def test_a_net_with_the_shape_of_its_config() -> None:
    net = build_net(make("tic_tac_toe"), ClassicConfig("tic_tac_toe").shape)
    assert isinstance(net, PolicyNet) and not net.relu and net.decide.bias is None
    assert net.board.look.out_channels == 20
    assert isinstance(build_net(make("tic_tac_toe"), ClassicConfig("tic_tac_toe", net="value").shape), ValueNet)
