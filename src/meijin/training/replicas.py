"""One learner on several devices of a machine, by PyTorch's DistributedDataParallel.

The run's own process learns on the first device and deals every batch out: each device computes the gradients of its
share, all of them take the mean, and all make the same step. Batch norms count over all shares. So the global batch and
the learning rate are those of the config, and the gradients are those of one device, up to rounding. (The losses of
ownership and score are means over the games of a share that were played to the end, not of the whole batch.) The other
devices have a process each, which knows the net and the optimizer and nothing of the run.
"""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from meijin.agents.registrations import Registrations, register_again, registrations
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.learning.nets.config import NetConfig
from meijin.learning.zero.config import TrainingConfig
from meijin.learning.zero.inference import make_current
from meijin.learning.zero.learner import Learner
from meijin.learning.zero.nets import Net, Norm, Outputs
from meijin.learning.zero.positions import Positions

PATIENCE = timedelta(minutes=5)  # for the slowest of the processes, at the start or in a step


class _Forward(nn.Module):
    """What DistributedDataParallel wraps: a net that is asked for all its outputs."""

    def __init__(self, net: Net):
        super().__init__()
        self.net = net

    def forward(self, planes: Tensor) -> Outputs:
        return self.net.outputs(planes)


class Replicas:
    """The other devices of a learner. They begin with its weights and its optimizer as these are now."""

    def __init__(self, learner: Learner, devices: Sequence[str]):
        self.devices = tuple(devices)
        self.folder = tempfile.TemporaryDirectory()
        where = (Path(self.folder.name) / "meeting").as_uri()
        state = {name: tensor.detach().cpu().numpy() for name, tensor in learner.state().items()}
        given = (
            str(learner.net.game),
            learner.net.config.to_dict(),
            learner.config,
            state,
            learner.lessons[0].lists_all,
        )
        context = multiprocessing.get_context("spawn")
        self.pipes: list[Connection] = []
        self.processes: list[Any] = []
        learner.replicas = self
        for rank, device in enumerate(devices, 1):
            pipe, theirs = context.Pipe()
            arguments = (where, rank, len(devices) + 1, device, theirs, registrations(), *given)
            self.processes.append(context.Process(target=_work, args=arguments, daemon=True))
            self.processes[-1].start()
            theirs.close()
            self.pipes.append(pipe)
        _join(learner, where, 0, len(devices) + 1)

    def deal(self, batch: Positions, turns: Tensor | None, rate: float) -> tuple[Positions, Tensor | None, float]:
        """Hand out the shares of a batch; returns the learner's own, and its weight in the mean."""
        count, world = len(batch), len(self.pipes) + 1
        ends = [count * k // world for k in range(world + 1)]
        for pipe, first, end in zip(self.pipes, ends[1:], ends[2:], strict=False):
            arrays = [tensor[first:end].cpu().numpy() for tensor in batch]
            turned = None if turns is None else turns[first:end].cpu().numpy()
            pipe.send((arrays, turned, rate, (end - first) * world / count))
        mine = slice(ends[1])
        return batch[mine], None if turns is None else turns[mine], ends[1] * world / count

    def measure(self, units: Tensor) -> None:
        for pipe in self.pipes:
            pipe.send(units.cpu().numpy())

    def explained(self, error: BaseException) -> BaseException:
        """The error of a replica, if one has ended."""
        for device, process in zip(self.devices, self.processes, strict=True):
            process.join(timeout=1.0)
            if process.exitcode is not None:
                return MeijinError(
                    f"the learner's process on {device} ended with status {process.exitcode}; the last checkpoint is "
                    "intact, so --resume"
                )
        return error

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.join(timeout=10)
            process.kill()
        with suppress(Exception):  # after an error the group may be broken
            dist.destroy_process_group()
        self.folder.cleanup()


def _join(learner: Learner, where: str, rank: int, world: int) -> None:
    """Meet the other processes; from now on they compute the learner's gradients together."""
    on_gpu = learner.device.type == "cuda"
    backend = "nccl" if on_gpu else "gloo"
    dist.init_process_group(backend, init_method=where, rank=rank, world_size=world, timeout=PATIENCE)
    for module in learner.net.modules():
        if isinstance(module, Norm):
            module.together = True
    # Its constructor gives everybody the weights of the first process.
    forward = DistributedDataParallel(_Forward(learner.net), device_ids=[learner.device] if on_gpu else None)
    learner.lessons[0].forward = torch.compile(forward) if learner.config.compiled else forward


def _work(
    where: str,
    rank: int,
    world: int,
    device: str,
    pipe: Connection,
    registered: Registrations,
    game: str,
    shape: dict[str, Any],
    config: TrainingConfig,
    state: dict[str, Any],
    lists_all: bool,
) -> None:
    """The process of another device: learn what it is given, until there is nobody who gives."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    torch.set_num_threads(config.threads)
    register_again(registered)
    if device != "cpu":
        make_current(device)
    # Only the first process averages the weights.
    learner = Learner(Net(make(game), NetConfig.from_dict(shape)), replace(config, ema=0.0), device)
    learner.lessons[0].lists_all = lists_all
    learner.restore({name: torch.from_numpy(array) for name, array in state.items()})
    _join(learner, where, rank, world)
    with suppress(EOFError, OSError):  # the run has ended
        while True:
            given = pipe.recv()
            if not isinstance(given, tuple):
                learner.measure(torch.from_numpy(given).to(device))
                continue
            arrays, turns, rate, weight = given
            batch = Positions(*(torch.from_numpy(array).to(device) for array in arrays))
            learner.update(batch, None if turns is None else torch.from_numpy(turns).to(device), rate, weight)
