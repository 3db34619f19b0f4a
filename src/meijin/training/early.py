"""Kernels of self-play on a GPU, compiled by another process while this one still loads PyTorch and makes its net.

What it compiles is on the disk then, where this process finds it. If anything goes wrong there, nothing is lost: the
kernels are compiled here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TypedDict

from meijin.agents.registrations import register_again, registrations
from meijin.core.catalogue import make

LEAST_CORES = 4  # of a machine on which it pays
PATIENCE = 60.0  # seconds to wait for it
CODE = "from meijin.training.early import compile_kernels; compile_kernels()"


class Order(TypedDict):
    """What to compile."""

    game: str
    gumbel: bool
    device: str
    registrations: Sequence[tuple[str, str]]


class Early:
    """Processes that compile the kernels of some games, one each."""

    def __init__(self, games: Sequence[str], gumbel: bool, device: str):
        self._children: list[subprocess.Popen[bytes]] = []
        if (os.cpu_count() or 1) < LEAST_CORES:
            return
        for game in games:
            order = Order(game=game, gumbel=gumbel, device=device, registrations=registrations())
            with suppress(OSError):
                null = subprocess.DEVNULL
                child = subprocess.Popen([sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=null, stderr=null)
                self._children.append(child)
                assert child.stdin is not None
                child.stdin.write(json.dumps(order).encode())
                child.stdin.close()

    def wait(self) -> None:
        """Until the kernels are there, or it takes too long."""
        for child in self._children:
            with suppress(subprocess.TimeoutExpired):
                child.wait(PATIENCE)
        self.close()

    def close(self) -> None:
        for child in self._children:
            child.kill()
            child.wait()
        self._children.clear()


def compile_kernels() -> None:
    """Do what the order says that comes by standard input."""
    from meijin.core import cuda
    from meijin.search.forest import Forest, Settings

    order: Order = json.load(sys.stdin)
    register_again(tuple((kind, name) for kind, name in order["registrations"]))
    cuda.use(order["device"])
    settings = Settings(simulations=1, gumbel=order["gumbel"])
    Forest(make(order["game"]), 1, settings, selfplay=True, gpu=True).step()
