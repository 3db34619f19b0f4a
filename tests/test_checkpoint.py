"""Checkpoints: what is saved comes back, and a file that is not what it should be is named with the remedy."""

from __future__ import annotations

import json
import pickle
import random
import struct

import numpy as np
import pytest

torch = pytest.importorskip("torch")
library = pytest.importorskip("safetensors.numpy")

from meijin.core.catalogue import make  # noqa: E402
from meijin.core.errors import MeijinError  # noqa: E402
from meijin.learning.nets import weights  # noqa: E402
from meijin.learning.nets.config import NetConfig  # noqa: E402
from meijin.learning.nets.safetensors import pack  # noqa: E402
from meijin.learning.zero import checkpoint  # noqa: E402
from meijin.learning.zero.checkpoint import describe, load, save  # noqa: E402
from meijin.learning.zero.nets import Net  # noqa: E402

SMALL = NetConfig(blocks=2, channels=8, policy_channels=8, value_channels=2, value_hidden=8)


#: With PyTorch and without: both read the same files and refuse the same ones.
BOTH = pytest.mark.parametrize("load", [checkpoint.load, weights.load], ids=["torch", "numpy"])


@pytest.fixture
def net():
    torch.manual_seed(2)
    net = Net(make("othello(size=6)"), SMALL).train()
    net(torch.rand(8, net.game.num_planes, 36))  # so that the running statistics are worth keeping
    return net.eval()


@pytest.fixture
def path(net, tmp_path):
    return save(tmp_path / "run" / "net.safetensors", net, iteration=7, games=1200, rating=None)


def rewritten(path, change):
    """The same file with its description changed."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    about = json.loads(header["__metadata__"]["meijin"])
    change(about)
    header["__metadata__"]["meijin"] = json.dumps(about)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])


def test_round_trip(net, path):
    found = load(path)
    assert found.game is net.game and found.net.config == SMALL and not found.net.training
    assert found.facts == {"iteration": 7, "games": 1200, "rating": None}
    for name, tensor in net.state_dict().items():
        assert torch.equal(tensor, found.net.state_dict()[name]), name
    assert load(path, net.game).game is net.game
    assert describe(path)["game"] == "othello(size=6)"
    assert [file.name for file in path.parent.iterdir()] == ["net.safetensors"]  # nothing temporary is left


@pytest.mark.parametrize("half", [False, True])
def test_without_torch_the_same_comes_back(net, tmp_path, half):
    path = save(tmp_path / "a.safetensors", net, half=half, extra={"step": torch.tensor(3)}, iteration=7)
    found, expected = weights.load(path), load(path)
    assert found.game is net.game and found.config == SMALL and found.facts == {"iteration": 7}
    assert found.tensors.keys() == net.state_dict().keys()
    for name, tensor in expected.net.state_dict().items():
        assert (found.tensors[name].astype(tensor.numpy().dtype) == tensor.numpy()).all(), name
    assert weights.load(path) is found  # read once


def test_the_format_is_that_of_the_library():
    tensors = {
        "scalar": np.array(3, np.int8),
        "empty": np.zeros((0, 4), np.float16),
        "wide": np.arange(6, dtype=np.uint64).reshape(2, 3).T,
        "flags": np.array([True, False]),
    }
    read = library.load(pack(tensors, {"kind": "test"}))
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert read[name].dtype == tensor.dtype and (read[name] == tensor).all() and read[name].shape == tensor.shape


def test_half_precision_halves_the_file(net, path, tmp_path):
    small = save(tmp_path / "half.safetensors", net, half=True)
    weights = 2 * net.num_weights
    assert path.stat().st_size - small.stat().st_size > 0.9 * weights
    x = torch.rand(4, net.game.num_planes, 36)
    found = load(small).net
    assert next(found.parameters()).dtype is torch.float32
    for a, b in zip(net(x), found(x), strict=True):
        assert (a - b).abs().max() < 1e-2  # 11 bits a weight


def test_extra_tensors_travel_along(net, tmp_path):
    extra = {"adam/0": torch.arange(5.0), "step": torch.tensor(3)}
    found = load(save(tmp_path / "a.safetensors", net, extra=extra))
    assert found.extra.keys() == extra.keys()
    assert all(torch.equal(found.extra[name], extra[name]) for name in extra)


def test_saving_again_replaces(net, path):
    save(path, net, iteration=8)
    assert load(path).facts == {"iteration": 8}


@BOTH
def test_truncated(path, load):
    data = path.read_bytes()
    for size in (0, 5, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(MeijinError, match=r"net\.safetensors is damaged .*another checkpoint"):
            load(path)


@BOTH
def test_flipped_bits(path, load):
    data = bytearray(path.read_bytes())
    data[-100] ^= 16
    path.write_bytes(data)
    with pytest.raises(MeijinError, match="not those that were saved"):
        load(path)


@BOTH
def test_foreign(tmp_path, load):
    from safetensors.torch import save_file

    file = tmp_path / "other.safetensors"
    save_file({"weight": torch.zeros(3)}, file)
    with pytest.raises(MeijinError, match="not a checkpoint of Meijin"):
        load(file)
    file.write_bytes(pickle.dumps({"weight": 1}))
    with pytest.raises(MeijinError, match="not a safetensors file"):
        load(file)
    with pytest.raises(MeijinError, match="not there"):
        load(tmp_path / "none.safetensors")
    with pytest.raises(MeijinError, match="a directory"):
        load(tmp_path)


def test_another_game(path):
    with pytest.raises(MeijinError, match=r"is for othello\(size=6\), not for othello;"):
        load(path, make("othello"))
    with pytest.raises(MeijinError, match="not for hex"):
        load(path, make("hex"))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda about: about.update(format=99), "format 99, this Meijin reads up to 1; use a newer"),
        (lambda about: about.update(format="x"), "cannot be read"),
        (lambda about: about.pop("net"), "cannot be read"),
        (lambda about: about["net"].update(colour=1), "unknown setting 'colour'.*newer Meijin"),
        (lambda about: about["net"].update(blocks=3), "do not fit (its own|the) net: blocks.2"),
        (lambda about: about["net"].update(channels=4096), "do not fit (its own|the) net"),
        (lambda about: about.update(game="chess960(boards=3)"), "cannot be made here.*--load"),
        (lambda about: about["shape"].update(planes=9), "had 9 planes.*now it has 4 planes"),
        (lambda about: about.update(digest="0"), "not those that were saved"),
    ],
)
@BOTH
def test_a_description_that_does_not_fit(path, change, message, load):
    rewritten(path, change)
    with pytest.raises(MeijinError, match=message):
        load(path)


def test_weights_that_are_not_numbers_are_not_saved(net, path):
    before = path.read_bytes()
    with torch.no_grad():
        net.value.values.weight[0, 0] = float("nan")
    with pytest.raises(MeijinError, match=r"value\.values\.weight .*undefined numbers"):
        save(path, net)
    assert path.read_bytes() == before


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_weights_that_are_not_numbers_are_not_played(net, path, number, monkeypatch):
    with torch.no_grad():
        net.value.values.weight[0, 0] = number
    monkeypatch.setattr(torch, "isfinite", torch.ones_like)  # whoever wrote the file did not look
    save(path, net)
    with pytest.raises(
        MeijinError, match=r"net\.safetensors: value\.values\.weight holds .* undefined numbers.*another"
    ):
        weights.load(path)


def test_whatever_a_header_says_there_is_an_error_for_it(path):
    """No byte of a header, changed, leads to anything but an error for users, or changes nothing."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    rng = random.Random(1)
    for _ in range(400):
        broken = bytearray(data)
        for _ in range(rng.choice((1, 1, 3))):
            broken[rng.randrange(8 + size)] = rng.choice((*b'0123456789[]{}",:-e.', rng.randrange(256)))
        path.write_bytes(broken)
        try:
            found = weights.load(path)
        except MeijinError as error:
            assert str(path) in str(error)
        else:
            assert found.game.name == "othello"


def test_a_failed_write_leaves_the_old_file(net, path, monkeypatch):
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(MeijinError, match="No space left on device; the old file is intact"):
        save(path, net)
    assert path.read_bytes() == before and len(list(path.parent.iterdir())) == 1


def test_facts_are_json(net, tmp_path):
    with pytest.raises(MeijinError, match="plain JSON values"):
        save(tmp_path / "a.safetensors", net, when=object())
