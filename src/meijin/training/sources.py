"""Where positions come from: self-play in this process, before or beside training, or in processes on any devices.

`ray_source` has one more: the actors of a Ray cluster.
"""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open

from meijin.agents.registrations import register_again, registrations
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.rng import below, stream
from meijin.learning.files import numbered
from meijin.learning.zero import checkpoint
from meijin.learning.zero.config import ZeroConfig
from meijin.learning.zero.inference import make_current
from meijin.learning.zero.nets import Net
from meijin.learning.zero.positions import Positions, policy_width
from meijin.learning.zero.selfplay import SelfPlay
from meijin.search.forest import Settings

OnSlice = Callable[[int, int], bool]
Stats = dict[str, float]

CHUNK = 2_000  # positions that a worker process hands over at a time, at most
DEATHS = 5  # workers that may die in one iteration before something must be wrong
LOOK = 0.05  # seconds between two looks at what has arrived


class Source(ABC):
    @abstractmethod
    def load(self, net: Net, latest: Path, progress: float, iteration: int) -> None:
        """Play on with this net of that iteration, which is also in the file `latest`, at that share of the run."""

    @abstractmethod
    def collect(self, positions: int, on_slice: OnSlice) -> tuple[list[Positions], Stats]:
        """At least that many new positions, and figures about their games; `playing_seconds` is how long they took.

        The positions are a list with those of the game and of each of its variants. `on_slice(positions so far,
        positions)` is called between slices; once it says no, what there is is returned.
        """

    def wait(self, seconds: float) -> int:
        """Until games have ended, but at most so long; returns how many positions there are.

        Where games are played elsewhere, nobody waits.
        """
        return 0

    def account(self) -> dict[str, str]:
        """What to write down beside the positions of the last `collect`."""
        return {}

    def close(self) -> None: ...


def make_selfplay(
    net: Net, config: ZeroConfig, device: str, seed: int, games: int, threads: int | None = None
) -> SelfPlay:
    own = config.selfplay
    return SelfPlay(
        net,
        games,
        config.search,
        device=device,
        threads=threads or own.threads,
        dtype=own.dtype,
        width=config.replay.policy_width,
        seed=seed,
        pool_share=own.pool_share,
    )


class Players:
    """Self-play on one device, of the game and of its variants; each has its share of the games."""

    def __init__(self, net: Net, config: ZeroConfig, device: str, seed: int):
        nets = [net, *(net.for_game(make(name)) for name in config.variants)]
        shares = [(config.selfplay.games + k) // len(nets) or 1 for k in reversed(range(len(nets)))]
        self.plays = [
            make_selfplay(each, config, device, seed + k, share)
            for k, (each, share) in enumerate(zip(nets, shares, strict=True))
        ]

    def load(self, net: Net, settings: Settings, past: Net | None, number: int) -> None:
        self.plays[0].load(net, settings, past, number)
        for play in self.plays[1:]:
            play.load(net.for_game(play.game), settings, past and past.for_game(play.game), number)

    def advance(self) -> list[Positions]:
        """A slice of all games: the positions of those that ended, by variant."""
        return [play.advance(play.stride) for play in self.plays]

    def joined(self, slices: list[list[Positions]]) -> list[Positions]:
        """The positions of several slices, by variant."""
        if not slices:
            return [Positions.empty(play.game, play.width) for play in self.plays]
        return [Positions.cat(list(parts)) for parts in zip(*slices, strict=True)]

    def check(self) -> None:
        for play in self.plays:
            play.check()

    def stats(self) -> Stats:
        found = [play.stats() for play in self.plays]
        return found[0] if len(found) == 1 else merged(found)


class PastNets:
    """The past nets of a run that the present one plays against: the latest of those that were kept."""

    def __init__(self, config: ZeroConfig, seed: int):
        self.config, self.rng = config, stream(seed, 0x9001)

    def draw(self, folder: Path) -> Net | None:
        """A random one of them; None if none is wanted or there is none yet."""
        own = self.config.selfplay
        kept = numbered(folder)[-own.pool_size :]
        if not own.pool_share or not kept:
            return None
        with np.errstate(over="ignore"):
            at = below(self.rng, len(kept))
        return checkpoint.load(kept[at], make(self.config.game)).net


class Local(Source):
    """Self-play in this process; while it plays, nothing else happens."""

    def __init__(self, net: Net, config: ZeroConfig, device: str, seed: int):
        self.config, self.past = config, PastNets(config, seed)
        self.players = Players(net, config, device, seed)

    def load(self, net: Net, latest: Path, progress: float, iteration: int) -> None:
        self.players.load(net, self.config.search_at(progress), self.past.draw(latest.parent), iteration)

    def collect(self, positions: int, on_slice: OnSlice) -> tuple[list[Positions], Stats]:
        began, count = time.perf_counter(), 0
        slices: list[list[Positions]] = []
        while count < positions:
            slices.append(self.players.advance())
            count += sum(map(len, slices[-1]))
            if not on_slice(min(count, positions), positions):
                break
        self.players.check()
        return self.players.joined(slices), {**self.players.stats(), "playing_seconds": time.perf_counter() - began}


class Background(Source):
    """Self-play in threads of this process that continues while the net learns, at most one iteration ahead.

    While so many positions are `missing` that nothing can be learned, it goes on.
    On a GPU it has a stream of its own, so that neither waits for the other; what passes between them is synchronised.
    """

    def __init__(self, net: Net, config: ZeroConfig, device: str, seed: int, missing: int = 0):
        self.config, self.past = config, PastNets(config, seed)
        self.players = Players(net, config, device, seed)
        self.most = max(config.length.positions, missing)  # that wait for the learner
        self.playing = 0.0  # seconds since they were last taken
        self.slices: list[list[Positions]] = []
        self.newer: tuple[Net, Settings, Net | None, int] | None = None  # until self-play takes it up
        self.error: BaseException | None = None
        self.closed = False
        self.changed = threading.Condition()
        self.stream: Any = torch.cuda.Stream(device) if device != "cpu" else None  # type: ignore[no-untyped-call]
        self.thread = threading.Thread(target=self._run, name="meijin-self-play", daemon=True)
        self.thread.start()

    def _count(self) -> int:
        return sum(len(part) for parts in self.slices for part in parts)

    def _run(self) -> None:
        try:
            with torch.cuda.stream(self.stream):  # None: changes nothing
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
            self.players.load(*newer)
        parts = self.players.advance()
        if self.stream:
            self.stream.synchronize()
        with self.changed:
            self.playing += time.perf_counter() - began
            self.slices.append(parts)
            self.changed.notify_all()
        return True

    def load(self, net: Net, latest: Path, progress: float, iteration: int) -> None:
        own = copy.deepcopy(net)  # the learner goes on changing its own
        if self.stream:
            torch.cuda.current_stream(self.stream.device).synchronize()
        newer = own, self.config.search_at(progress), self.past.draw(latest.parent), iteration
        with self.changed:
            self.newer = newer

    def wait(self, seconds: float) -> int:
        with self.changed:
            self.changed.wait_for(lambda: self._count() > 0 or self.error is not None, timeout=seconds)
            return self._count()

    def collect(self, positions: int, on_slice: OnSlice) -> tuple[list[Positions], Stats]:
        with self.changed:
            while self._count() < positions and on_slice(self._count(), positions):
                if self.error is not None:
                    raise self.error
                self.changed.wait(timeout=LOOK)
            slices, self.slices = self.slices, []
            self.most = self.config.length.positions
            playing, self.playing = self.playing, 0.0
            self.changed.notify_all()
        if self.stream:  # their memory goes back to self-play, but not before the learner has read it
            for tensor in (tensor for parts in slices for part in parts for tensor in part):
                tensor.record_stream(torch.cuda.current_stream(self.stream.device))
        self.players.check()
        return self.players.joined(slices), {**self.players.stats(), "playing_seconds": playing}

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.thread.join()


class Processes(Source):
    """One worker process per device. New weights reach them between chunks; they are at most two iterations ahead."""

    def __init__(
        self,
        inbox: Path,
        config: ZeroConfig,
        devices: tuple[str, ...],
        latest: Path,
        seed: int,
        warn: Callable[[str], None] = lambda text: None,
    ):
        self.inbox, self.config, self.devices, self.latest = inbox, config, devices, latest
        self.seed, self.warn, self.deaths, self.taken = seed, warn, 0, time.perf_counter()
        self.inbox.mkdir(exist_ok=True)
        for left in self.inbox.iterdir():  # by a run that was killed
            left.unlink()
        self.context = multiprocessing.get_context("spawn")
        self.registrations = registrations()
        self.generation = 0
        self.workers = [self._start(k) for k in range(len(devices))]

    def _start(self, k: int) -> Any:
        self.generation += 1
        share = self.config.selfplay.games // len(self.devices)
        name, seed = f"{self.generation:04d}-{k}", self.seed + 7919 * self.generation
        arguments = (
            self.inbox, self.config.to_dict(), self.devices[k], self.latest, name, seed, max(1, share),
            self.registrations,
        )  # fmt: skip
        worker = self.context.Process(target=_work, args=arguments, daemon=True)
        worker.start()
        return worker

    def load(self, net: Net, latest: Path, progress: float, iteration: int) -> None:
        self.deaths = 0  # the workers look at the file themselves

    def collect(self, positions: int, on_slice: OnSlice) -> tuple[list[Positions], Stats]:
        game = make(self.config.game)
        parts = [Positions.empty(game, policy_width(game, self.config.replay.policy_width))]
        stats: list[Stats] = []
        count = 0
        while count < positions and on_slice(count, positions):
            self._revive()
            arrived = sorted(self.inbox.glob("*.safetensors"))
            if not arrived:
                time.sleep(LOOK)
            for path in arrived:
                parts.append(Positions.load(path, game))
                count += len(parts[-1])
                stats.append(_stats(path))
                path.unlink()
        before, self.taken = self.taken, time.perf_counter()
        return [Positions.cat(parts)], {**merged(stats), "playing_seconds": self.taken - before}

    def _revive(self) -> None:
        for k, worker in enumerate(self.workers):
            if not worker.is_alive():
                self.deaths += 1
                what = f"self-play worker {k} on {self.devices[k]} ended with status {worker.exitcode}"
                if self.deaths > DEATHS:
                    raise MeijinError(f"{what}, as did {DEATHS} before it; the run is saved up to here")
                self.warn(f"{what}; another one takes its place")
                self.workers[k] = self._start(k)

    def close(self) -> None:
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            worker.join(timeout=10)


def merged(stats: Iterable[Stats]) -> Stats:
    """The figures of several players together: sums, or means weighted by games."""
    totals: Stats = {}
    for each in stats:
        for name, value in each.items():
            totals[name] = totals.get(name, 0.0) + value * (each["games"] if _is_mean(name) else 1.0)
    return {name: value / max(1.0, totals["games"]) if _is_mean(name) else value for name, value in totals.items()}


def _is_mean(name: str) -> bool:
    return name.startswith(("score_seat", "game_length", "resign_wrong"))


def _stats(path: Path) -> Stats:
    with safe_open(path, framework="np") as file:
        return {name: float(value) for name, value in json.loads((file.metadata() or {})["stats"]).items()}


def _work(
    inbox: Path,
    config: dict[str, Any],
    device: str,
    latest: Path,
    name: str,
    seed: int,
    games: int,
    registered: tuple[tuple[str, str], ...],
) -> None:
    """A worker process: play with the newest weights for ever, and hand over a chunk at a time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    torch.set_num_threads(1)
    if device != "cpu":
        make_current(device)
    register_again(registered)
    parent, own = os.getppid(), ZeroConfig.from_dict(config)
    seen = 0
    net, past = checkpoint.load(latest).net.to(device), PastNets(own, seed)
    play = make_selfplay(net, own, device, seed, games)
    chunk = min(CHUNK, own.length.positions)
    number, most = 0, max(2, 2 * own.length.positions // chunk)
    while os.getppid() == parent:
        if sum(1 for _ in inbox.iterdir()) >= most:  # the learner is behind: do not fill its disk
            time.sleep(LOOK)
            continue
        changed = latest.stat().st_mtime_ns
        if changed != seen:
            seen, found = changed, checkpoint.load(latest)
            progress, iteration = found.facts["progress"], found.facts["iteration"]
            play.load(found.net.to(device), own.search_at(progress), past.draw(latest.parent), iteration)
        new = play.play(chunk)
        number += 1
        new.save(inbox / f"{name}-{number:08d}.safetensors", stats=json.dumps(play.stats(), default=float))
