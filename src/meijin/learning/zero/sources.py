"""Where positions come from: self-play in this process, before or beside training, or in processes on any devices."""

from __future__ import annotations

import copy
import multiprocessing
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.rng import below, stream
from meijin.learning.zero import checkpoint
from meijin.learning.zero.config import ZeroConfig
from meijin.learning.zero.inference import make_current
from meijin.learning.zero.nets import Net
from meijin.learning.zero.positions import Positions
from meijin.learning.zero.selfplay import SelfPlay
from meijin.search.forest import Settings

Progress = Callable[[int, int], None]

CHUNK = 2_000  # positions a worker process hands over at a time
DEATHS = 5  # of workers, within one iteration, after which something must be wrong


class Source(ABC):
    @abstractmethod
    def load(self, net: Net, latest: Path, progress: float) -> None:
        """Play on with this net, which is also the one in the file `latest`, at that share of the run."""

    @abstractmethod
    def collect(self, positions: int, progress: Progress) -> tuple[Positions, dict[str, float]]:
        """At least so many new positions, and what there is to say about their games.

        Its `playing_seconds` are those that self-play was at work for them.
        """

    def close(self) -> None: ...


def _selfplay(net: Net, config: ZeroConfig, device: str, seed: int, games: int) -> SelfPlay:
    own = config.selfplay
    return SelfPlay(
        net,
        games,
        config.search,
        device=device,
        threads=own.threads,
        dtype=own.dtype,
        width=config.replay.policy_width,
        seed=seed,
        pool_share=own.pool_share,
    )


class Pool:
    """The past nets of a run that the present one plays against: the latest of those that were kept."""

    def __init__(self, config: ZeroConfig, seed: int):
        self.config, self.rng = config, stream(seed, 0x9001)

    def draw(self, folder: Path) -> Net | None:
        """One of them by chance; None where none is wanted, or none is there yet."""
        own = self.config.selfplay
        kept = sorted(path for path in folder.glob("*.safetensors") if path.stem.isdigit())[-own.pool_size :]
        if not own.pool_share or not kept:
            return None
        with np.errstate(over="ignore"):
            at = below(self.rng, len(kept))
        return checkpoint.load(kept[at], make(self.config.game)).net


class Local(Source):
    """Self-play in this process; while it plays, nothing else happens."""

    def __init__(self, net: Net, config: ZeroConfig, device: str, seed: int):
        self.config, self.pool = config, Pool(config, seed)
        self.play = _selfplay(net, config, device, seed, config.selfplay.games)

    def load(self, net: Net, latest: Path, progress: float) -> None:
        self.play.load(net, self.config.search_at(progress), self.pool.draw(latest.parent))

    def collect(self, positions: int, progress: Progress) -> tuple[Positions, dict[str, float]]:
        began = time.perf_counter()
        found = self.play.play(positions, progress)
        return found, {**self.play.stats(), "playing_seconds": time.perf_counter() - began}


class Background(Source):
    """Self-play in threads of this process that go on while the net learns; at most one iteration ahead of it.

    On a GPU it has a stream of its own, so that neither waits for the other; what passes between them is synchronised.
    """

    def __init__(self, net: Net, config: ZeroConfig, device: str, seed: int):
        self.config, self.pool = config, Pool(config, seed)
        self.play = _selfplay(net, config, device, seed, config.selfplay.games)
        self.most = config.length.positions  # that wait for the learner
        self.playing = 0.0  # seconds since they were last taken
        self.parts: list[Positions] = []
        self.newer: tuple[Net, Settings, Net | None] | None = None  # until it is taken up
        self.error: BaseException | None = None
        self.closed = False
        self.changed = threading.Condition()
        self.stream: Any = torch.cuda.Stream(device) if device != "cpu" else None  # type: ignore[no-untyped-call]
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _count(self) -> int:
        return sum(map(len, self.parts))

    def _run(self) -> None:
        try:
            with torch.cuda.stream(self.stream):  # None: nothing changes
                while self._advance():
                    pass
        except BaseException as error:  # for the thread that waits for us
            with self.changed:
                self.error = error
                self.changed.notify_all()

    def _advance(self) -> bool:
        with self.changed:
            self.changed.wait_for(lambda: self.closed or self._count() < self.most)
            if self.closed:
                return False
            newer, self.newer = self.newer, None
        began = time.perf_counter()
        if newer is not None:
            self.play.load(*newer)
        part = self.play.advance(self.play.stride)
        if self.stream:
            self.stream.synchronize()
        with self.changed:
            self.playing += time.perf_counter() - began
            self.parts.append(part)
            self.changed.notify_all()
        return True

    def load(self, net: Net, latest: Path, progress: float) -> None:
        own = copy.deepcopy(net)  # the learner goes on changing its own
        if self.stream:
            torch.cuda.current_stream(self.stream.device).synchronize()
        newer = own, self.config.search_at(progress), self.pool.draw(latest.parent)
        with self.changed:
            self.newer = newer

    def collect(self, positions: int, progress: Progress) -> tuple[Positions, dict[str, float]]:
        with self.changed:
            while self._count() < positions:
                progress(self._count(), positions)
                if self.error is not None:
                    raise self.error
                self.changed.wait()
            parts, self.parts = self.parts, []
            playing, self.playing = self.playing, 0.0
            self.changed.notify_all()
        if self.stream:  # their memory goes back to self-play, but not before the learner has read it
            for tensor in (tensor for part in parts for tensor in part):
                tensor.record_stream(torch.cuda.current_stream(self.stream.device))
        self.play.check()
        return Positions.cat(parts), {**self.play.stats(), "playing_seconds": playing}

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.thread.join()


class Processes(Source):
    """A worker process a device. New weights reach them between two chunks; they are at most two iterations ahead."""

    def __init__(
        self,
        folder: Path,
        config: ZeroConfig,
        devices: tuple[str, ...],
        latest: Path,
        seed: int,
        report: Callable[[dict[str, Any]], None],
    ):
        self.inbox, self.config, self.devices, self.latest = folder / "inbox", config, devices, latest
        self.seed, self.report, self.deaths, self.taken = seed, report, 0, time.perf_counter()
        self.inbox.mkdir(exist_ok=True)
        for left in self.inbox.iterdir():  # of a run that was killed
            left.unlink()
        self.context = multiprocessing.get_context("spawn")
        self.generation = 0
        self.workers = [self._start(k) for k in range(len(devices))]

    def _start(self, k: int) -> Any:
        self.generation += 1
        share = self.config.selfplay.games // len(self.devices)
        name, seed = f"{self.generation:04d}-{k}", self.seed + 7919 * self.generation
        arguments = (self.inbox, asdict(self.config), self.devices[k], self.latest, name, seed, max(1, share))
        worker = self.context.Process(target=_work, args=arguments, daemon=True)
        worker.start()
        return worker

    def load(self, net: Net, latest: Path, progress: float) -> None:
        self.deaths = 0  # the workers look at the file themselves

    def collect(self, positions: int, progress: Progress) -> tuple[Positions, dict[str, float]]:
        game = make(self.config.game)
        parts: list[Positions] = []
        totals: dict[str, float] = {}
        count = 0
        while count < positions:
            self._revive()
            arrived = sorted(self.inbox.glob("*.safetensors"))
            if not arrived:
                time.sleep(0.05)
            for path in arrived:
                part = Positions.load(path, game)
                stats = _stats(path)
                for name, value in stats.items():
                    totals[name] = totals.get(name, 0.0) + value * (stats["games"] if _is_mean(name) else 1.0)
                path.unlink()
                parts.append(part)
                count += len(part)
                progress(min(count, positions), positions)
        for name in totals:
            if _is_mean(name):
                totals[name] /= max(1.0, totals["games"])
        before, self.taken = self.taken, time.perf_counter()
        totals["playing_seconds"] = self.taken - before
        return Positions.cat(parts), totals

    def _revive(self) -> None:
        for k, worker in enumerate(self.workers):
            if not worker.is_alive():
                self.deaths += 1
                what = f"self-play worker {k} on {self.devices[k]} ended with status {worker.exitcode}"
                if self.deaths > DEATHS:
                    raise MeijinError(f"{what}, the {self.deaths}th to do so; the run is saved up to here")
                self.report({"what": "warning", "text": f"{what}; another one takes its place"})
                self.workers[k] = self._start(k)

    def close(self) -> None:
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.join(timeout=10)


def _is_mean(name: str) -> bool:
    return name.startswith(("score_seat", "game_length", "resign_wrong"))


def _stats(path: Path) -> dict[str, float]:
    import json

    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        return {name: float(value) for name, value in json.loads((file.metadata() or {})["stats"]).items()}


def _work(inbox: Path, config: dict[str, Any], device: str, latest: Path, name: str, seed: int, games: int) -> None:
    """A worker process: play with the newest weights for ever, and hand over a chunk at a time."""
    import json

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    torch.set_num_threads(1)
    if device != "cpu":
        make_current(device)
    parent, own = os.getppid(), ZeroConfig.from_dict(config)
    seen = 0
    play, pool = _selfplay(checkpoint.load(latest).net.to(device), own, device, seed, games), Pool(own, seed)
    number, most = 0, max(2, 2 * own.length.positions // CHUNK)
    while os.getppid() == parent:
        if sum(1 for _ in inbox.iterdir()) >= most:  # the learner is behind: its disk is not ours to fill
            time.sleep(0.05)
            continue
        changed = latest.stat().st_mtime_ns
        if changed != seen:
            seen, found = changed, checkpoint.load(latest)
            play.load(found.net.to(device), own.search_at(found.facts["progress"]), pool.draw(latest.parent))
        new = play.play(CHUNK)
        number += 1
        stats = json.dumps(play.stats(), default=float)
        new.save(inbox / f"{name}-{number:08d}.safetensors", stats=stats)
