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
