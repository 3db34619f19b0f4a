"""Nets: shapes for every game, boards with holes, other sizes, folding, learning, and evaluators."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from meijin.core.catalogue import games, make  # noqa: E402
from meijin.core.errors import BadParameter, MeijinError, NoDevice, UnknownName  # noqa: E402
from meijin.core.state import State  # noqa: E402
from meijin.learning import optimizers  # noqa: E402
from meijin.learning.nets.config import SIZES, NetConfig  # noqa: E402
from meijin.learning.nets.evaluator import CpuEvaluator  # noqa: E402
from meijin.learning.nets.layout import layout  # noqa: E402
from meijin.learning.zero import checkpoint  # noqa: E402
from meijin.learning.zero.config import TrainingConfig  # noqa: E402
from meijin.learning.zero.inference import InferenceNet, TorchEvaluator  # noqa: E402
from meijin.learning.zero.learner import Learner  # noqa: E402
from meijin.learning.zero.nets import Net, pool  # noqa: E402
from meijin.learning.zero.positions import Positions  # noqa: E402

GAMES = [*games.names(), "yavalath(players=3)", "nim(players=3)", "connect_four(width=5, height=4)"]
SMALL = NetConfig(blocks=2, channels=8, policy_channels=8, value_channels=2, value_hidden=8)
POOLED = NetConfig(blocks=2, channels=8, policy_channels=8, value_channels=2, value_hidden=8, pooling=True)


@pytest.fixture(autouse=True)
def one_thread_one_seed():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    yield
    torch.set_num_threads(threads)


def planes_of(game, count=4):
    return (torch.rand(count, game.num_planes, len(game.board.cells)) > 0.6).float()


def lively(net):
    """The net with every weight random and its batch norms used, as after training."""
    with torch.no_grad():
        for weight in net.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
        net.train()
        for _ in range(20):
            net(planes_of(net.game, 16))
    return net.eval()


def answers(net, x):
    with torch.no_grad():
        return [part.numpy() for part in net(x)]


def close(one, other, within=1e-4):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=within)


# ---- every game ----


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("config", [SMALL, POOLED], ids=["plain", "pooling"])
def test_shapes_and_folding_for_every_game(name, config):
    game = make(name)
    net = lively(Net(game, config))
    x = planes_of(game, 5)
    logits, values = answers(net, x)
    assert logits.shape == (5, game.num_moves) and values.shape == (5, game.seats)
    assert np.isfinite(logits).all()
    if game.bounded:
        assert (np.abs(values) <= 1).all()
    # No sum of a few hundred float32 terms of size 1 is off by more than about 1e-5.
    close((logits, values), answers(InferenceNet(net), x))


def test_planes_of_a_state_are_an_input():
    state = State(make("othello"))
    logits, values = Net(state.game, SMALL).eval()(torch.from_numpy(state.planes)[None])
    assert logits.shape == (1, 65) and values.shape == (1, 2)


@pytest.mark.parametrize("name", ["connect_four", "othello"])
def test_a_champion_of_six_blocks_stays_below_three_megabytes(name):
    assert 2 * Net(make(name), NetConfig.sized("small")).num_weights < 2.5e6


# ---- where things lie ----


def test_cells_stand_at_their_grid_index():
    game = make("yavalath")
    board, net = game.board, Net(game, SMALL)
    x = torch.zeros(len(board.cells), game.num_planes, len(board.cells))
    x[torch.arange(len(board.cells)), 2, torch.arange(len(board.cells))] = 1
    grid, side = net.place(x)
    assert side is None
    for cell, place in enumerate(board.grid_index):
        row, column = divmod(place, board.grid[1])
        assert grid[cell, 2, row, column] == 1
        assert grid[cell, :-1].sum() == 1
    # neighbours on the board are neighbours in the matrix, so that a 3x3 convolution sees them
    for cell, near in enumerate(board.neighbours):
        for other in near:
            a, b = (divmod(board.grid_index[c], board.grid[1]) for c in (cell, other))
            assert max(abs(a[0] - b[0]), abs(a[1] - b[1])) == 1


def test_trays_are_seen_everywhere_and_nowhere_on_the_grid():
    game = make("einstein")
    net = lively(Net(game, SMALL))
    tray = len(game.board.grid_index)
    x = planes_of(game, 1).repeat(2, 1, 1)
    x[1, :, tray] = 1 - x[0, :, tray]
    grid, side = net.place(x)
    assert torch.equal(grid[0], grid[1]) and not torch.equal(side[0], side[1])
    logits, _ = answers(net, x)
    assert np.abs(logits[0] - logits[1]).max() > 1e-3


@pytest.mark.parametrize("name, kinds, words", [("go", 1, 1), ("breakthrough", 6, 0), ("minishogi", 69, 0)])
def test_moves_of_a_kind_share_a_plane(name, kinds, words):
    game = make(name)
    found = layout(game)
    assert (len(found.kinds), len(found.words)) == (kinds, words)
    assert len(set(found.index)) == game.num_moves


def test_a_move_of_one_kind_on_another_cell_is_one_place_on():
    """What a tower sees shifted, it answers shifted: far from the edges, with a kernel's reach in between."""
    game = make("gomoku")
    net = lively(Net(game, NetConfig(blocks=1, channels=8, policy_channels=8)))
    x = torch.zeros(2, game.num_planes, 225)
    x[0, 0, 7 * 15 + 7] = 1
    x[1, 0, 8 * 15 + 8] = 1
    logits, _ = answers(net, x)
    boards = logits.reshape(2, 15, 15)
    np.testing.assert_allclose(boards[0, 5:10, 5:10], boards[1, 6:11, 6:11], atol=1e-5)


# ---- off the board ----


def holes(game):
    board = game.board
    return [place for place in range(board.grid[0] * board.grid[1]) if place not in board.grid_index]


@pytest.mark.parametrize("config", [SMALL, POOLED], ids=["plain", "pooling"])
@pytest.mark.parametrize("train", [False, True])
def test_off_the_board_nothing_leaks(config, train):
    """Whatever a convolution writes off the board, the answers are the same."""
    game = make("abalone")
    net = lively(Net(game, config))
    x = planes_of(game, 6)
    places = holes(game)
    assert len(places) == 20
    net.train(train)
    before = answers(net, x)

    def garbage(module, inputs, output):
        dirty = output.clone()
        dirty.flatten(2)[:, :, places] = 1e3 * torch.randn(*output.shape[:2], len(places))
        return dirty

    for module in net.modules():
        if isinstance(module, torch.nn.Conv2d) and module is not net.policy.planes:
            module.register_forward_hook(garbage)
    close(before, answers(net, x))


def test_batch_norm_counts_the_board_only():
    """On the board of a hexagon, statistics are those of its cells: the same as PyTorch's own over them alone."""
    game = make("yavalath")
    net = Net(game, SMALL).train()
    norm, cells = net.stem.norm, list(game.board.grid_index)
    other = torch.nn.BatchNorm1d(8)
    x = torch.randn(3, 8, 9, 9, requires_grad=True)
    ours = norm(x, net.mask).flatten(2)[:, :, cells]
    theirs = other(x.flatten(2)[:, :, cells])
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(norm.running_mean, other.running_mean)
    torch.testing.assert_close(norm.running_var, other.running_var)
    weights = torch.randn_like(ours)
    grads = [torch.autograd.grad((y * weights).sum(), x, retain_graph=True)[0] for y in (ours, theirs)]
    torch.testing.assert_close(*grads)


# ---- other sizes ----


@pytest.mark.parametrize(
    "name, other", [("go(size=5)", "go(size=9)"), ("hex(size=4)", "hex(size=7)"), ("othello(size=6)", "othello")]
)
def test_one_net_on_another_size(name, other):
    net = lively(Net(make(name), POOLED))
    larger = net.for_game(make(other))
    logits, values = answers(larger, planes_of(larger.game, 3))
    assert logits.shape == (3, larger.game.num_moves) and values.shape == (3, 2)
    assert all(a is b for a, b in zip(net.parameters(), larger.parameters(), strict=True))
    close(answers(larger, x := planes_of(larger.game)), answers(InferenceNet(larger), x))
    again = larger.for_game(net.game)
    close(answers(net, x := planes_of(net.game)), answers(again, x), within=0)


@pytest.mark.parametrize(
    "name, config, other, reason",
    [
        ("go(size=5)", SMALL, "go(size=9)", "pooling"),
        ("connect_four", POOLED, "connect_four(width=8)", "differ in more than size"),
        ("hex", POOLED, "go", "another game"),
        ("yavalath", POOLED, "yavalath(players=3)", "planes"),
        ("nim", POOLED, "nim(heaps=(1, 2))", "differ in more than size"),
    ],
)
def test_a_net_that_does_not_fit_says_why(name, config, other, reason):
    with pytest.raises(MeijinError, match=reason):
        Net(make(name), config).for_game(make(other))


# ---- config and scale ----


def test_config():
    assert NetConfig.from_dict(SMALL.to_dict()) == SMALL
    assert all(NetConfig.sized(name).blocks > 0 for name in SIZES)
    with pytest.raises(UnknownName, match="did you mean 'small'"):
        NetConfig.sized("smal")
    with pytest.raises(UnknownName, match="did you mean 'channels'"):
        NetConfig.from_dict({"chanels": 3})
    with pytest.raises(BadParameter, match="blocks=0"):
        NetConfig(blocks=0)
    with pytest.raises(BadParameter, match="no grid"):
        Net(make("nim"), NetConfig(kind="tower"))
    with pytest.raises(BadParameter, match="do not belong to cells"):
        Net(make("connect_four"), NetConfig(policy="cells"))
    assert Net(make("tic_tac_toe"), NetConfig(kind="mlp")).layout.kind == "mlp"
    assert Net(make("go"), NetConfig(policy="flat")).policy.flat is not None


# ---- learning ----


@pytest.mark.parametrize("name", ["connect_four", "yavalath", "nim"])
def test_learns_a_few_positions_by_heart(name):
    game = make(name)
    net = Net(game, NetConfig(blocks=2, channels=16, moves_left=True)).train()
    x = planes_of(game, 12)
    moves = torch.randint(game.num_moves, (12,))
    values = torch.rand(12, game.seats) * 1.6 - 0.8
    plies = torch.log1p(torch.arange(12.0))
    optimiser = optimizers.Adam(net.parameters(), 3e-3)
    for _ in range(120):
        found = net.outputs(x)
        loss = torch.nn.functional.cross_entropy(found.logits, moves)
        loss = loss + (found.values - values).square().mean() + 0.1 * (found.moves_left - plies).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert torch.equal(found.logits.argmax(1), moves)
    assert (found.values - values).abs().max() < 0.2
    assert (found.moves_left - plies).abs().mean() < 0.5


def test_a_new_net_has_no_opinion():
    logits, values = answers(Net(make("othello")).eval(), planes_of(make("othello")))
    assert np.abs(logits).max() < 0.5 and np.abs(values).max() < 0.5


# ---- scores without a bound ----


def positions(game, spread):
    """Positions whose worth is told by one plane: 0.6 on average, and `spread` around it."""
    found = Positions.empty(game, 4, 64)
    found.bits[:] = torch.randint(256, found.bits.shape, dtype=torch.uint8)
    found.moves[:] = torch.arange(4)
    found.probs[:] = 0.25
    seen = (found.bits[:, :1] & 1).half()
    found.outcomes[:] = 0.6 + spread * (2 * seen - 1)
    found.values[:] = found.outcomes
    return found


def test_values_without_bounds_are_learned_in_units_of_their_spread():
    net = Net(make("2048"), SMALL)
    learner = Learner(net, TrainingConfig(batch=64, rate=0.01, warmup=0, ema=0.9, symmetries=False, mixed=False))
    data = positions(net.game, 0.02)
    for part in (net, learner.averaged):
        part.value.units.copy_(torch.tensor([0.6, 0.1]))
    first = learner.fit(data, 1, 0.0)
    assert first["value"] == pytest.approx(1, abs=0.3)  # in the middle, so the error is the spread
    assert learner.averaged.value.units.tolist() == pytest.approx([0.6, 0.02], rel=0.2)
    later = learner.fit(data, 150, 0.0)
    assert later["value"] < 0.3
    again = Learner(Net(net.game, SMALL), learner.config)
    again.restore(learner.state())
    x = planes_of(net.game, 4)
    close(answers(again.net.eval(), x), answers(net.eval(), x))


def test_half_a_checkpoint_keeps_the_units(tmp_path):
    net = Net(make("2048"), SMALL)
    net.value.units.copy_(torch.tensor([0.6171875, 0.0051]))
    path = checkpoint.save(tmp_path / "net.safetensors", net, half=True)
    assert torch.equal(checkpoint.load(path).net.value.units, net.value.units)


def test_other_units_say_the_same():
    net = lively(Net(make("2048"), SMALL))
    x = planes_of(net.game, 8)
    before, evaluator = answers(net, x), TorchEvaluator(net, 8, dtype="float16")
    net.value.measure_in(torch.tensor([0.7, 0.05]))
    close(answers(net, x), before)
    evaluator.load(net)  # the units stay fine where the weights are coarse
    assert np.abs(evaluator(x)[1] - before[1]).max() < 0.05 * before[1].std()
    assert evaluator.inference.net.value.units.dtype is torch.float32
    assert Net(make("othello"), SMALL).value.units is None


# ---- evaluators ----


@pytest.mark.parametrize("kind", [CpuEvaluator, partial(TorchEvaluator, dtype="float32", threads=1)])
def test_evaluator_in_place(kind):
    game = make("othello(size=6)")
    net, newer = lively(Net(game, SMALL)), lively(Net(game, SMALL))
    evaluator = kind(net, 8)
    x, logits, values = evaluator.arrays
    planes = planes_of(game, 8)
    x[:] = planes.numpy()
    evaluator.run()
    close((logits, values), answers(net, planes))
    evaluator.load(newer)
    values[:] = 9
    evaluator.run(5)  # the last three rows are left alone
    close((logits[:5], values[:5]), answers(newer, planes[:5]))
    assert (values[5:] == 9).all()
    many = planes_of(game, 21)
    close(evaluator(many), answers(newer, many))
    with pytest.raises(BadParameter, match="does not fit"):
        evaluator.load(Net(make("othello"), SMALL))


def test_evaluator_in_bfloat16_is_near():
    game = make("go(size=5)")
    net = lively(Net(game, POOLED))
    x = planes_of(game, 16)
    exact, coarse = answers(net, x), TorchEvaluator(net, 16, dtype="bfloat16")(x)
    # 8 bits a number, a few roundings that add up as a random walk: well below a tenth of the spread of the answers
    for a, b in zip(exact, coarse, strict=True):
        assert np.abs(a - b).mean() < 0.1 * a.std()


def test_evaluator_errors():
    net = Net(make("tic_tac_toe"), SMALL)
    for kind in (CpuEvaluator, TorchEvaluator):
        with pytest.raises(BadParameter, match="batch=0"):
            kind(net, 0)
    with pytest.raises(BadParameter, match="float8"):
        TorchEvaluator(net, 1, dtype="float8")
    if not torch.cuda.is_available():
        with pytest.raises(NoDevice, match="finds no GPU"):
            TorchEvaluator(net, 1, device="cuda")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("name", ["connect_four", "abalone", "einstein", "nim"])
@pytest.mark.parametrize("graph", [True, False])
def test_evaluator_on_a_gpu(name, graph):
    game = make(name)
    net, newer = lively(Net(game, SMALL)), lively(Net(game, SMALL))
    evaluator = TorchEvaluator(net, 64, device="cuda", dtype="float32", graph=graph)
    where = evaluator.x.data_ptr(), evaluator.logits.data_ptr(), evaluator.values.data_ptr()
    planes = planes_of(game, 100)
    close(evaluator(planes), answers(net, planes), within=1e-2)  # TF32 keeps 10 bits
    evaluator.load(newer.cuda())
    close(evaluator(planes), answers(newer.cpu(), planes), within=1e-2)
    assert where == (evaluator.x.data_ptr(), evaluator.logits.data_ptr(), evaluator.values.data_ptr())


@pytest.mark.parametrize(("name", "config"), [("yavalath", POOLED), ("2048", SMALL)])
def test_onnx_says_the_same(name, config, tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from meijin.learning.zero.onnx import OnnxEvaluator, export

    net = lively(Net(make(name), config))
    if net.value.units is not None:
        net.value.measure_in(torch.tensor([0.5, 0.1]))
    path = export(net, tmp_path / "net.onnx")
    evaluator = OnnxEvaluator(path, 8, threads=1)
    assert evaluator.game is net.game
    x = planes_of(net.game, 11)
    close(evaluator(x), answers(net, x))
    with pytest.raises(MeijinError, match="does not fit"):
        OnnxEvaluator(path, 8, game=make("hex"))
    (tmp_path / "bad.onnx").write_bytes(path.read_bytes()[:500])
    with pytest.raises(MeijinError, match=r"bad\.onnx is damaged"):
        OnnxEvaluator(tmp_path / "bad.onnx", 8)
    with pytest.raises(MeijinError, match="there is no file"):
        OnnxEvaluator(tmp_path / "none.onnx", 8)


def test_meijin_itself_needs_no_torch():
    code = "import meijin, meijin.cli, meijin.learning.zero, sys; meijin.make('go'); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_to_compile_ahead_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(torch, "compile", lambda run, **options: lambda planes: seen.append(len(planes)) or run(planes))
    learner = Learner(Net(make("tic_tac_toe"), NetConfig(blocks=1, channels=8)), TrainingConfig(compiled=True, batch=8))
    before = {name: tensor.clone() for name, tensor in learner.net.state_dict().items()}
    learner.prepare()
    assert seen == [8]
    assert all(torch.equal(before[name], tensor) for name, tensor in learner.net.state_dict().items())
    assert all(weight.grad is None for weight in learner.net.parameters())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="PyTorch compiles with g++")
def test_compiled_gradients_of_pooling_are_numbers() -> None:
    def look(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return pool(torch.relu(x * scale).bfloat16(), 36).float().sum()

    x, scale = torch.randn(4, 8, 6, 6, requires_grad=True), torch.full((8, 1, 1), 1.2345, requires_grad=True)
    torch.compile(look)(x, scale).backward()
    assert x.grad is not None and x.grad.isfinite().all()
