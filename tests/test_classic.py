"""The classic policy and value nets: data, training, checkpoints and the agents that play them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from meijin import State, build, make
from meijin.core.errors import BadParameter, MeijinError

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from meijin.learning.classic import ClassicConfig, Progress, checkpoint, examples, fitting, train  # noqa: E402
from meijin.learning.classic.choice import any_legal, chooser, draw, probabilities  # noqa: E402
from meijin.learning.classic.encoding import Encoder  # noqa: E402
from meijin.learning.classic.matches import play  # noqa: E402
from meijin.learning.classic.nets import PolicyNet, ValueNet  # noqa: E402
from meijin.learning.classic.nets import build as build_net  # noqa: E402
from meijin.learning.classic.run import model_path  # noqa: E402

QUICK = {"relu": True, "kernel": 5, "features": 32, "batch": 64, "optimizer": "adam", "learning_rate": 0.003}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A policy and a value net of tic-tac-toe, trained on exact data in seconds."""
    folder, game = tmp_path_factory.mktemp("runs"), make("tic_tac_toe")
    for net in ("policy", "value"):
        config = ClassicConfig(net=net, learn="exact", iterations=1, epochs=25, **QUICK)
        train(game, config, folder / net)
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
        torch.optim.Adam(net.parameters()),
        ClassicConfig(epochs=1),
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
def test_masked_logits_never_choose_illegal_moves(name: str) -> None:
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
    config = ClassicConfig(iterations=12, matches=500, epochs=1, learning_rate=0.003, entropy=0.05, relu=True)
    train(game, config, tmp_path)

    def losses(model: str) -> int:
        net = checkpoint.load(tmp_path / "checkpoints" / f"{model}.safetensors").net
        return play(game, chooser(net), any_legal, 4000, 1)[1].total[2]

    # A share of 4000 games has a standard error below 0.8 points; the gap asked for is over ten of them.
    assert losses("0011") < losses("start") - 400


def test_value_net_learns_from_games(tmp_path: Path) -> None:
    game = make("tic_tac_toe")
    config = ClassicConfig(net="value", iterations=8, matches=500, epochs=3, optimizer="adam", learning_rate=0.003)
    train(game, config, tmp_path)
    losses = [
        play(game, chooser(checkpoint.load(file).net), any_legal, 2000, 1)[1].total[2]
        for file in (tmp_path / "checkpoints" / "start.safetensors", tmp_path)
    ]
    assert losses[1] < losses[0] - 200


def test_a_stopped_run_resumes_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    game = make("tic_tac_toe")
    config = ClassicConfig(iterations=5, matches=60, epochs=2, refresh=2, window=2, opponent="pool")
    train(game, config, tmp_path / "whole")

    class Stop(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.iteration == 2:
            raise Stop

    with pytest.raises(Stop):
        train(game, config, tmp_path / "parts", stop)
    # Killed between the model and the trainer's state: the model is there, but the iteration counts as unfinished.
    model_path(tmp_path / "parts", 3).write_bytes(b"half")
    told: list[Progress] = []
    train(game, config, tmp_path / "parts", told.append, resume=True)
    assert [progress.iteration for progress in told] == [3, 4]
    for k in range(5):
        (one, about), (other, same) = (checkpoint.load_tensors(model_path(tmp_path / r, k)) for r in ("whole", "parts"))
        assert about == same and all(torch.equal(one[key], other[key]) for key in one)
    lines = [
        [line.rsplit(",", 1)[0] for line in (tmp_path / run / "metrics.csv").read_text().splitlines()]
        for run in ("whole", "parts")
    ]
    assert lines[0] == lines[1]  # all but the seconds
    assert len(lines[0]) == 6

    with pytest.raises(BadParameter, match="already; add --resume"):
        train(game, config, tmp_path / "whole")
    with pytest.raises(BadParameter, match=r"matches=60 \(now 70\)"):
        train(game, ClassicConfig(**{**config.as_dict(), "matches": 70}), tmp_path / "whole", resume=True)
    with pytest.raises(BadParameter, match="is for tic_tac_toe"):
        train(make("othello(size=4)"), config, tmp_path / "whole", resume=True)


@pytest.mark.parametrize("name", ["sim", "othello(size=6)", "einstein", "nim(heaps=(2, 2, 2), players=3)"])
def test_other_games_train_through_the_same_loop(name: str, tmp_path: Path) -> None:
    game = make(name)
    for net in ("policy", "value"):
        for iterations in (1, 2):  # the second time resumed, with the first one's games in the window
            config = ClassicConfig(net=net, iterations=iterations, matches=6, epochs=1, window=2)
            train(game, config, tmp_path / net, resume=iterations > 1)
        build(f"{net}({str(tmp_path / net)!r})", game, seed=1).act(State(game).roll(np.array([1], np.uint64)))


def test_tree_search_teaches_both_nets(tmp_path: Path) -> None:
    game = make("othello(size=4)")
    for net in ("policy", "value"):
        config = ClassicConfig(net=net, learn="mcts", iterations=2, epochs=20, positions=30, simulations=50, **QUICK)
        told: list[Progress] = []
        train(game, config, tmp_path / net, told.append)
        assert told[-1].loss < told[0].first_loss and told[-1].positions == 30 and told[-1].keeps is None


def test_games_without_bounds_and_without_a_solver_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="bounded score"):
        train(make("2048"), ClassicConfig(iterations=1), tmp_path / "a")
    with pytest.raises(BadParameter, match="learn=mcts needs no solver"):
        train(make("go(size=5)"), ClassicConfig(learn="exact"), tmp_path / "b")


def test_a_loss_that_is_no_number_stops_and_says_so(tmp_path: Path) -> None:
    config = ClassicConfig(net="value", iterations=1, matches=50, epochs=200, learning_rate=1e6)
    with pytest.raises(MeijinError, match=r"iteration 0: the loss became .*lower learning_rate"):
        train(make("tic_tac_toe"), config, tmp_path)


# ---- config ----


def test_config_rejects_what_it_does_not_know(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    for text, problem in (
        ('{"epoch": 3}', "unknown key 'epoch'; did you mean 'epochs'"),
        ('{"epochs": "3"}', "epochs='3': give a value of type int"),
        ('{"net": "polcy"}', "did you mean 'policy'"),
        ('{"method": "zero"}', "is for 'zero'"),
        ('{"alpha": 2}', "alpha=2: the discount"),
        ("[]", "a JSON object"),
        ("{", "is not JSON"),
    ):
        file.write_text(text)
        with pytest.raises(BadParameter, match=problem):
            ClassicConfig.read(file)
    with pytest.raises(BadParameter, match="cannot read"):
        ClassicConfig.read(tmp_path / "none.json")


def test_published_configs_are_readable() -> None:
    folder = Path(__file__).parent.parent / "experiments" / "classic"
    assert len(list(folder.glob("*.json"))) >= 5
    for file in folder.glob("*.json"):
        assert make(json.loads(file.read_text())["game"]) and ClassicConfig.read(file)


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
    explored = sum(bool(value.analyse(state).note) for _ in range(400))
    assert abs(explored - 200) < 4 * 10  # 4 sigma
    first = [build(f"policy({str(runs['policy'])!r})", game, seed=7).act(state) for _ in range(2)]
    assert first[0] == first[1]


def test_errors_of_checkpoints_say_the_remedy(runs: dict[str, Path], tmp_path: Path) -> None:
    good = model_path(runs["policy"], 0)
    with pytest.raises(BadParameter, match="there is no checkpoint"):
        build("policy('nowhere.safetensors')")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadParameter, match="train first"):
        build(f"policy({str(tmp_path / 'empty')!r})")
    broken = tmp_path / "broken.safetensors"
    for data in (b"", b"not a checkpoint at all", good.read_bytes()[:-40]):
        broken.write_bytes(data)
        with pytest.raises(BadParameter, match="not a whole safetensors file"):
            build(f"policy({str(broken)!r})")
    with pytest.raises(BadParameter, match="holds a policy net, not a value net: play it as policy"):
        build(f"value({str(good)!r})")
    with pytest.raises(BadParameter, match="trained for tic_tac_toe; train one with"):
        build(f"policy({str(good)!r})", make("othello(size=6)"))
    tensors, about = checkpoint.load_tensors(good)
    for change, problem in (
        ({"kind": "someone-else"}, "its kind is 'someone-else'"),
        ({"format": "9"}, "this version of Meijin reads '1'"),
        ({"shape": '{"net": "policy", "features": 3}'}, "do not fit the net it describes"),
        ({"shape": "{"}, "do not fit the net it describes"),
    ):
        checkpoint.save_tensors(broken, tensors, {**about, **change})
        with pytest.raises(BadParameter, match=problem):
            build(f"policy({str(broken)!r})")


def test_nothing_imports_torch_before_it_is_needed() -> None:
    code = (
        "import sys; import meijin; from meijin.agents.catalogue import agents; agents.names();"
        "from meijin.learning.classic import ClassicConfig, train; ClassicConfig();"
        "assert 'torch' not in sys.modules; sys.modules['torch'] = None\n"
        "try: train(meijin.make('tic_tac_toe'), ClassicConfig(), 'x')\n"
        "except meijin.MeijinError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install torch safetensors" in done.stdout, done.stderr


def test_a_net_with_the_shape_of_its_config() -> None:
    net = build_net(make("tic_tac_toe"), ClassicConfig().shape)
    assert isinstance(net, PolicyNet) and not net.relu and net.decide.bias is None
    assert net.board.look.out_channels == 20
    assert isinstance(build_net(make("tic_tac_toe"), ClassicConfig(net="value").shape), ValueNet)
