"""Nets as two CUDA kernels: what they read and where, followed in NumPy, and on a GPU that they say the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from meijin.core.catalogue import make  # noqa: E402
from meijin.core.errors import BadParameter, MeijinError  # noqa: E402
from meijin.learning.nets.config import NetConfig  # noqa: E402
from meijin.learning.zero import fused  # noqa: E402
from meijin.learning.zero.fused_shape import SHARED, Shape  # noqa: E402
from meijin.learning.zero.fused_weights import head_weights, tower_weights  # noqa: E402
from meijin.learning.zero.inference import TorchEvaluator  # noqa: E402
from meijin.learning.zero.nets import Net  # noqa: E402

HOPPER = torch.cuda.is_available() and torch.cuda.get_device_capability() == fused.CAPABILITY
WITHIN = {False: 4e-3, True: 0.08}  # of the length of what it says, by `int8`
SMALL = NetConfig(blocks=2, channels=32, policy_channels=5, value_channels=2, value_hidden=8)


def lively(name, config=SMALL):
    """A net of which every weight counts, its norms knowing what they see."""
    torch.manual_seed(1)
    net = Net(make(name), config)
    for layer in net.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(layer.weight, 0.5, 1.2)
            torch.nn.init.normal_(layer.bias, std=0.2)
            layer.momentum = None
    for head in (net.policy.planes, net.policy.words, net.policy.flat, net.value.values):
        if head is not None:
            torch.nn.init.normal_(head.weight, std=0.3)
    with torch.no_grad():
        net.train()(planes(net, 64))
    return net.eval()


def planes(net, count):
    return (torch.rand(count, net.game.num_planes, len(net.game.board.cells)) < 0.3).float()


def off(found, wanted):
    return float((found.float().cpu() - wanted).norm() / wanted.norm())


def first_layers(net, x):
    """What the first layers of the heads say, [batch, place, channel]."""
    with torch.no_grad():
        y = net.stem.relu(net.place(x)[0], net.mask)
        for block in net.blocks:
            y = block(y, net.mask, net.layout.on_board)
        heads = net.policy.unit.relu(y, net.mask), net.value.unit.relu(y, net.mask)
    return [head.flatten(2).transpose(1, 2) for head in heads]


class Worker:
    """One of the kernel's workers in NumPy, address by address as `tower.cu` does it."""

    def __init__(self, net, shape, seen=None):
        weights, heads, numbers = tower_weights(net, shape, seen)
        self.shape, self.source = shape, net.layout.source
        self.weights, self.heads, self.numbers = weights.numpy(), heads.float().numpy(), numbers.numpy()
        self.act = np.zeros(shape.channels * shape.bytes * shape.rows, np.uint8)
        rows = np.arange(shape.tiles * 64)
        self.at = rows // 8 * shape.step + rows % 8
        self.y, self.x = self.at // shape.line, self.at % (shape.width + 1)
        self.board = self.at % shape.line // (shape.width + 1)
        inside = (self.y < shape.height) & (self.x < shape.width)
        self.place = np.where(inside, self.y * shape.width + self.x, 0)
        self.real = inside & (np.array(self.source)[self.place] >= 0)

    def read(self, x):
        s, half = self.shape, self.act.view(np.float16).reshape(-1, 8)
        for board in range(s.boards):
            for place, cell in enumerate(self.source):
                if cell >= 0:
                    row = s.first + place // s.width * s.line + board * (s.width + 1) + place % s.width
                    values = np.zeros(s.inputs, np.float16)
                    values[: s.planes], values[s.planes] = x[board, :, cell], 1
                    half[row :: s.rows][: s.inputs // 8] = values.reshape(-1, 8)

    def matrix(self, memory, at, rows, group, chunk, dtype):
        """What `wgmma` fetches through a descriptor."""
        r = np.arange(rows)
        starts = (at + r // 8 * group + r % 8 * 16)[:, None, None] + np.array([0, chunk])[:, None]
        return memory[starts + np.arange(16)].reshape(rows, 32).view(dtype).astype(np.float32)

    def convolve(self, at, stem):
        s = self.shape
        wide = stem or not s.int8
        left, right = (np.float16, np.float16) if wide else (np.uint8, np.int8)
        steps = s.inputs // 16 if stem else s.channels * s.bytes // 32
        sums = np.zeros((s.tiles * 64, s.channels), np.float32)
        for tap in range(9):
            for k in range(steps):
                b = self.matrix(self.weights, at, s.channels, 128, s.channels * 16, right)
                at += 2 * s.channels * 16
                for t in range(s.tiles):
                    place = s.first + (tap // 3 - 1) * s.line + tap % 3 - 1 + t * 8 * s.step + k * 2 * s.rows
                    a = self.matrix(self.act, place * 16, 64, s.step * 16, s.rows * 16, left)
                    sums[64 * t : 64 * t + 64] += a @ b.T
        return sums, at

    def store(self, values):
        s = self.shape
        rows = np.where(self.real, s.first + self.at, s.dump)
        if s.int8:
            order = [i // 2 % 2 * 8 + i // 4 * 2 + i % 2 for i in range(16)]
            values = np.clip(np.rint(values), 0, 255).reshape(len(rows), -1, 16)[:, :, order].astype(np.uint8)
        else:
            values = values.astype(np.float16).view(np.uint8).reshape(len(rows), -1, 16)
        self.act.reshape(-1, s.rows, 16)[:, rows] = values.transpose(1, 0, 2)

    def run(self, x):
        s, c = self.shape, self.shape.channels
        self.read(x)
        numbers = self.numbers[: len(self.numbers) - s.heads].reshape(s.layers, -1, c)
        at, rest = 0, None
        for layer, (bias, *more) in enumerate(numbers):
            factor, scale = more or (1, 1)
            sums, at = self.convolve(at, layer == 0)
            values, kept = sums * factor + bias, layer % 2 == 0
            if layer and kept:
                values += rest
            values = np.maximum(values, 0)
            if kept:
                rest = values.astype(np.float16).astype(np.float32)
            self.store(values * scale if kept else values)
        assert at == len(self.weights)
        heads = self.heads.transpose(1, 0, 2).reshape(s.heads, c)
        said = np.maximum(rest @ heads.T + self.numbers[-s.heads :], 0)
        found = np.zeros((s.boards, s.height * s.width, s.heads), np.float32)
        found[self.board[self.real], self.place[self.real]] = said[self.real]
        return torch.from_numpy(found)


@pytest.mark.parametrize("name", ["othello", "yavalath"])
def test_bytes_have_room_for_what_is_seen(name):
    """Channels of which the norm knows too little would be cut off."""
    net = lively(name)
    for norm in (net.stem.norm, net.blocks[0].first.norm, net.blocks[1].second.norm):
        norm.running_var[:4] /= 100
    shape = Shape.of(net.plan, True).for_batch(1, 1)
    x = planes(net, shape.boards)
    policy, _ = first_layers(net, x)
    found = [Worker(net, shape, seen).run(x.numpy())[:, :, : shape.policy] for seen in (None, planes(net, 64))]
    errors = [off(each, policy) for each in found]
    assert errors[1] < WITHIN[True] < errors[0]


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize(("name", "boards"), [("othello", 2), ("connect_four", 3), ("go(size=5)", 1), ("yavalath", 1)])
def test_kernel_addresses(name, boards, int8):
    net = lively(name)
    shape = replace(Shape.of(net.plan, int8), boards=boards)
    x = planes(net, boards)
    found = Worker(net, shape).run(x.numpy())
    policy, value = first_layers(net, x)
    assert off(found[:, :, : shape.policy], policy) < WITHIN[int8]
    assert off(found[:, :, shape.policy : shape.policy + shape.value], value) < WITHIN[int8]


@pytest.mark.parametrize("name", ["connect_four", "othello", "yavalath"])
def test_head_weights(name):
    net = lively(name)
    x = planes(net, 3)
    policy, value = first_layers(net, x)
    wide, narrow = (part.float() for part in head_weights(net))
    c, lay, cells = net.plan.policy_width, net.layout, net.layout.on_board

    def take(*shape):
        nonlocal narrow
        part, narrow = narrow.split([int(np.prod(shape)), len(narrow) - int(np.prod(shape))])
        return part.view(shape)

    bias = take(8)
    hidden = torch.relu(value.flatten(1) @ wide[: 8 * value[0].numel()].view(8, -1).T + bias)
    if net.plan.cells:
        weight, bias = take(len(lay.kinds), c), take(len(lay.kinds))
        logits = (policy @ weight.T + bias).flatten(1)
        if lay.words:
            weight, bias = take(len(lay.words), 2 * c), take(len(lay.words))
            seen = torch.cat([policy.sum(1), policy.amax(1)], 1)
            logits = torch.cat([logits, seen @ weight.T + bias], 1)
        logits = logits[:, list(lay.index)]
    else:
        bias = take(net.game.num_moves)
        logits = policy.flatten(1) @ wide[8 * value[0].numel() :].view(net.game.num_moves, -1).T + bias
    values = torch.tanh(hidden @ take(net.game.seats, 8).T + take(net.game.seats))
    assert cells <= lay.places and len(narrow) == 2
    wanted = net(x)
    assert off(logits, wanted[0].detach()) < 2e-3 and off(values, wanted[1].detach()) < 2e-3


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("name", ["connect_four", "othello", "go", "hex", "abalone"])
@pytest.mark.parametrize("size", ["nano", "tiny", "small"])
def test_shapes(name, size, int8):
    net = Net(make(name), NetConfig.sized(size))
    for batch in (1, 500, 2048):
        shape = Shape.of(net.plan, int8).for_batch(batch, 132)
        assert shape is not None and shape.shared <= SHARED and shape.stages >= 3
        assert shape.tiles * 64 >= shape.boards * shape.height * shape.width
        assert f"#define BOARDS {shape.boards}\n" in shape.source()
    assert "#define MOVES" in fused.head_source(net, fused.boards_together(net))


def test_what_it_cannot_do():
    large = Net(make("othello"), NetConfig.sized("large"))
    assert Shape.of(large.plan, False).for_batch(64, 132) is None
    net = Net(make("connect_four"), SMALL)
    with pytest.raises(BadParameter, match="dtype='int8': it needs a Hopper GPU"):
        TorchEvaluator(net, 4, dtype="int8")


def test_which_nets_it_can_run(monkeypatch):
    hopper = torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: fused.CAPABILITY)
    for name, size, why in (
        ("go", "medium", None),
        ("gomoku", "tiny", None),
        ("gomoku", "small", "a smaller net or board"),
        ("go(size=19)", "nano", None),
        ("go(size=19)", "tiny", "a smaller net or board"),
        ("othello", "large", "a smaller net or board"),
        ("minishogi", "nano", "without trays"),
        ("sim", "nano", "a tower"),
    ):
        found = fused.problem(Net(make(name), NetConfig.sized(size)), hopper, False)
        assert found is None if why is None else found is not None and why in found, name


def test_where_nothing_can_be_compiled(monkeypatch):
    net = lively("tic_tac_toe")
    monkeypatch.setattr(fused, "problem", lambda *args: None)
    monkeypatch.setattr("meijin.core.nvrtc.problem", lambda: "there is no NVRTC")
    with pytest.raises(MeijinError, match="there is no NVRTC"):
        TorchEvaluator(net, 4, dtype="int8")
    with pytest.warns(UserWarning, match="layer by layer, which is slower: there is no NVRTC"):
        evaluator = TorchEvaluator(net, 4, dtype="float16")
    assert evaluator.fused is None


@pytest.mark.gpu
@pytest.mark.skipif(not HOPPER, reason="no Hopper GPU")
@pytest.mark.parametrize("dtype", ["float16", "int8"])
@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("connect_four", NetConfig.sized("tiny")),
        ("othello", NetConfig.sized("small")),
        ("go", NetConfig.sized("small")),
        ("hex", NetConfig.sized("nano")),
        ("yavalath", SMALL),
        ("abalone", NetConfig.sized("tiny")),
        ("othello", NetConfig.sized("medium")),
    ],
)
def test_on_a_gpu(name, config, dtype):
    net = lively(name, config)
    newer = lively(name, config)
    torch.nn.init.uniform_(newer.blocks[0].first.norm.weight, 0.2, 0.4)
    x, within = planes(net, 401), 2 * WITHIN[dtype == "int8"]
    evaluator = TorchEvaluator(net, 300, device="cuda", dtype=dtype)
    assert evaluator.fused is not None
    for current in (net, newer):
        evaluator.load(current.cuda())
        with torch.no_grad():
            wanted = current.cpu()(x)
        for _ in range(2):
            evaluator.logits.fill_(np.nan)
            evaluator.values.fill_(np.nan)
            logits, values = map(torch.from_numpy, evaluator(x))
            assert off(logits, wanted[0]) < within and off(values, wanted[1]) < within
    part = TorchEvaluator(newer, 300, device="cuda", dtype=dtype, graph=False)
    logits, values = map(torch.from_numpy, part(x))
    assert off(logits, wanted[0]) < within and off(values, wanted[1]) < within
    with pytest.raises(BadParameter, match="does not fit here"):
        evaluator.load(Net(net.game, NetConfig(1, 32)))
