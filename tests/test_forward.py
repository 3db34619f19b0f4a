"""The forward pass without PyTorch says what the PyTorch net says: every game, every option, every vector width."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from meijin.core.catalogue import make  # noqa: E402
from meijin.core.errors import BadParameter, MeijinError  # noqa: E402
from meijin.learning.classic.encoding import Encoder  # noqa: E402
from meijin.learning.classic.nets import build  # noqa: E402
from meijin.learning.nets import classic, forward, tower, winograd  # noqa: E402
from meijin.learning.nets.config import NetConfig  # noqa: E402
from meijin.learning.nets.evaluator import CpuEvaluator, Runner  # noqa: E402
from meijin.learning.nets.program import Assembler  # noqa: E402
from meijin.learning.nets.weights import Weights  # noqa: E402
from meijin.learning.zero.nets import Net  # noqa: E402
from test_nets import GAMES, POOLED, SMALL, answers, lively, one_thread_one_seed, planes_of  # noqa: E402, F401

# What float32 keeps of sums of a few hundred terms, with what Winograd's transforms take away from it: seven digits and
# a bit, of which two are lost in the worst case. Measured: below 1e-5 for all games.
NEAR = 5e-5


def agree(one, other):
    for a, b in zip(one, other, strict=True):
        assert np.abs(a - b).max() <= NEAR * (1 + np.abs(a).max())


ODD = NetConfig(blocks=3, channels=20, policy_channels=5, value_channels=3, value_hidden=17)


@pytest.mark.parametrize("name", GAMES)
def test_every_game_agrees(name):
    game = make(name)
    for config in (ODD, POOLED):
        net = lively(Net(game, config))
        x = planes_of(game, 5)
        agree(answers(net, x), CpuEvaluator(net, 4)(x))  # a whole batch, and a part of one


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("tic_tac_toe", {"kind": "mlp"}),
        ("go(size=9)", {"policy": "flat"}),
        ("yavalath", {"policy": "flat", "pooling": True}),
        ("minishogi", {"channels": 8}),  # more kinds of moves than channels, and trays
        ("connect_four", {"channels": 96, "blocks": 6}),
        ("nim", {"channels": 7}),
    ],
)
def test_options_agree(name, changes):
    net = lively(Net(make(name), dataclasses.replace(SMALL, **changes)))
    x = planes_of(net.game, 9)
    agree(answers(net, x), CpuEvaluator(net, 9)(x))


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7, 10, 13])
def test_boards_of_every_size(size):
    """Tiles cover boards that are not a multiple of theirs."""
    net = lively(Net(make(f"hex(size={size})"), SMALL))
    x = planes_of(net.game, 3)
    agree(answers(net, x), CpuEvaluator(net, 3)(x))


def test_one_net_on_several_sizes():
    weights = lively(Net(make("go(size=5)"), POOLED)).weights()
    for size in (5, 7, 9):
        game = make(f"go(size={size})")
        x = planes_of(game, 3)
        agree(answers(Net.of(weights).for_game(game), x), CpuEvaluator(weights.for_game(game), 3)(x))
    with pytest.raises(MeijinError, match="another game"):
        weights.for_game(make("hex"))


@pytest.mark.parametrize(
    ("name", "heads"),
    [
        ("othello(size=6)", ("moves_left", "ownership", "score")),
        ("go(size=5)", ("ownership",)),
        ("nim", ("moves_left",)),
    ],
)
def test_auxiliary_heads_agree(name, heads):
    net = lively(Net(make(name), dataclasses.replace(SMALL, **dict.fromkeys(heads, True))))
    x = planes_of(net.game, 5)
    with torch.no_grad():
        expected = net.outputs(x)
    evaluator = CpuEvaluator(net, 5, auxiliary=True)
    evaluator(x)
    for head in ("moves_left", "ownership", "score"):
        found = getattr(evaluator, head)
        assert (found is not None) == (head in heads)
        if found is not None:
            agree([getattr(expected, head).numpy()], [found])
    plain = CpuEvaluator(net, 5)
    assert plain.moves_left is plain.ownership is plain.score is None
    agree(answers(net, x), plain(x))


@pytest.mark.parametrize("lanes", [4, 16])
def test_every_width_of_vectors_agrees(lanes):
    """Those of other processors too; this one splits vectors that are wider than its own."""
    for name in ("abalone", "connect_four"):
        net = lively(Net(make(name), ODD))
        weights = net.weights()
        weights.__dict__["program"] = tower.assemble(weights.plan, weights.tensors, Assembler(lanes))
        x = planes_of(net.game, 5)
        evaluator = CpuEvaluator(weights, 5)
        assert weights.program.lanes == lanes
        agree(answers(net, x), evaluator(x))


def test_values_without_bounds():
    net = lively(Net(make("2048"), SMALL))
    net.value.measure_in(torch.tensor([0.7, 0.05]))
    x = planes_of(net.game, 4)
    agree(answers(net, x), CpuEvaluator(net, 4)(x))


def test_a_net_comes_back_from_its_weights():
    net = lively(Net(make("othello(size=6)"), SMALL))
    x = planes_of(net.game, 3)
    for a, b in zip(answers(net, x), answers(Net.of(net.weights()), x), strict=True):
        assert np.array_equal(a, b)


def test_weights_that_do_not_fit_or_are_no_numbers():
    weights = Net(make("tic_tac_toe"), SMALL).weights()

    def changed(**tensors):
        return Weights(weights.plan, {**weights.tensors, **tensors})

    with pytest.raises(MeijinError, match=r"value\.hidden\.bias is \[3\], but should be \[8\]"):
        CpuEvaluator(changed(**{"value.hidden.bias": np.zeros(3)}), 1)
    with pytest.raises(MeijinError, match=r"surplus is there, but should not be"):
        CpuEvaluator(changed(surplus=np.zeros(3)), 1)
    for value in (np.nan, np.inf):
        with pytest.raises(MeijinError, match=r"value\.hidden\.bias holds infinite or undefined numbers"):
            CpuEvaluator(changed(**{"value.hidden.bias": np.full(8, value)}), 1)
    with pytest.raises(MeijinError, match="infinite or undefined"):  # what follows from finite ones
        CpuEvaluator(changed(**{"stem.norm.running_var": np.full(8, -2.0)}), 1)
    with pytest.raises(BadParameter, match="does not fit here"):
        CpuEvaluator(weights, 1).load(Net(make("tic_tac_toe"), POOLED))


# ---- classic nets ----


@pytest.mark.parametrize("name", ["tic_tac_toe", "minishogi", "yavalath", "nim"])
@pytest.mark.parametrize("kind", ["policy", "value"])
def test_classic_nets_agree(name, kind):
    game = make(name)
    shape = {"net": kind, "features": 6, "kernel": 3 if kind == "policy" else 5, "relu": kind == "value"}
    net = build(game, shape).eval()
    encoder = Encoder(game)
    program = classic.assemble(encoder, shape, {key: part.numpy() for key, part in net.state_dict().items()})
    runner = Runner(program, 3)
    inputs = np.random.default_rng(1).normal(size=(3, encoder.channels, encoder.cells)).astype(np.float32)
    runner.region(forward.X)[:] = inputs.reshape(3, -1)
    runner.run(3)
    with torch.no_grad():
        agree([net.raw(torch.from_numpy(inputs)).numpy()], [runner.region(forward.LOGITS)])


# ---- Winograd ----


@pytest.mark.parametrize("m", winograd.SIZES)
def test_minimal_filtering_is_filtering(m):
    rng, parts = np.random.default_rng(1), winograd.matrices(m)
    row, taps = rng.normal(size=m + 2), rng.normal(size=3)
    found = parts.output @ ((parts.weight @ taps) * (parts.input @ row))
    np.testing.assert_allclose(found, np.correlate(row, taps), atol=1e-12)
