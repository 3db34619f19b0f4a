"""Optimizers without PyTorch's compiler: the same steps, and the compiler stays where it is."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from meijin.learning import optimizers  # noqa: E402

KINDS: dict[str, dict[str, Any]] = {"SGD": {"momentum": 0.9, "nesterov": True}, "Adam": {}, "AdamW": {}}


def learned(maker: Any, options: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 2)
    groups = [{"params": [net.weight], "weight_decay": 0.1}, {"params": [net.bias], "weight_decay": 0.0}]
    optimizer = maker(groups, lr=0.1, **options)
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.ones(3, 4)).square().sum().backward()
        optimizer.step()
    return torch.cat([part.detach().flatten() for part in net.parameters()])


@pytest.mark.parametrize("name", KINDS)
def test_steps_are_those_of_pytorch(name: str) -> None:
    makers = getattr(optimizers, name), getattr(torch.optim, name)
    ours, theirs = (learned(maker, KINDS[name]) for maker in makers)
    assert torch.equal(ours, theirs)


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this PyTorch has no Muon to compare with")
def test_muon_steps_as_pytorch_does() -> None:
    def learned(make: Any) -> Any:
        torch.manual_seed(0)
        net, x, y = torch.nn.Linear(20, 30, bias=False), torch.randn(64, 20), torch.randn(64, 30)
        before, optimizer = net.weight.detach().clone(), make(list(net.parameters()))
        for _ in range(5):
            optimizer.zero_grad()
            (net(x) - y).square().mean().backward()
            optimizer.step()
        return net.weight.detach() - before

    ours = learned(
        lambda own: optimizers.Muon([{"params": own, "matrix": True}], lr=0.01, weight_decay=0.1),
    )
    theirs = learned(
        lambda own: torch.optim.Muon(own, lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
    )
    assert torch.allclose(ours, theirs, atol=0.02 * float(theirs.abs().max()))  # theirs computes in bfloat16


def test_muon_steps_as_adamw_where_there_is_no_matrix() -> None:
    def learned(make: Any, **options: Any) -> Any:
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(7))
        optimizer = make([{"params": [weight], **options}], lr=0.1, weight_decay=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            weight.square().sum().backward()
            optimizer.step()
        return weight.detach()

    assert torch.equal(learned(optimizers.Muon, matrix=False), learned(torch.optim.AdamW))


@pytest.mark.parametrize("shape", [(3, 16, 40), (2, 40, 16), (1, 24, 24)])
def test_orthogonal_matrices_keep_their_directions(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    given = torch.randn(shape)
    found = optimizers.orthogonal(given)
    sizes = torch.linalg.svdvals(found)
    assert sizes.min() > 0.6 and sizes.max() < 1.3
    u, _, v = torch.linalg.svd(given, full_matrices=False)
    assert torch.cosine_similarity(found.flatten(1), (u @ v).flatten(1)).min() > 0.95


def test_the_compiler_is_not_loaded() -> None:
    code = (
        "import sys, torch; from meijin.learning import optimizers\n"
        "for kind in (optimizers.SGD, optimizers.Adam, optimizers.AdamW):\n"
        "    net = torch.nn.Linear(2, 1)\n"
        "    optimizer = kind(net.parameters(), lr=0.1)\n"
        "    optimizer.zero_grad(); net(torch.ones(1, 2)).sum().backward(); optimizer.step()\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
