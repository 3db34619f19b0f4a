"""Positions from a Ray cluster: self-play actors on every node and GPU that it has.

Each actor plays with the newest weights and hands over a chunk of positions at a time, through the object store.
Weights are put there once per version, whatever the number of actors. A thread of this process hands out the work, so
that actors play on while the net learns, at most `AHEAD` iterations ahead of it. A chunk has a number that is never
used again; it is counted when it arrives here, once, and what an actor had not handed over when it died is lost.
"""

from __future__ import annotations

import itertools
import json
import queue
import secrets
import threading
import time
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from meijin.cluster import luggage
from meijin.cluster.connection import Cluster, Node, Warn
from meijin.cluster.crew import Answer, Crew, Place
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.learning.nets.config import NetConfig
from meijin.learning.zero.config import ZeroConfig
from meijin.learning.zero.inference import make_current
from meijin.learning.zero.nets import Net
from meijin.learning.zero.positions import Positions, policy_width
from meijin.training.sources import CHUNK, LOOK, OnSlice, PastNets, Source, Stats, make_selfplay, merged

AHEAD = 2  # iterations that self-play may be ahead of the learner, as with worker processes
LEAST_CHUNK = 64  # positions: less is not worth a message
CPU_GAMES = 128  # that an actor without a GPU plays at once, at most, for each of its cores

Weights = dict[str, NDArray[Any]]


class Player:
    """The actor: plays a chunk at a time."""

    def __init__(self, config: dict[str, Any], cpus: int, gpu: bool, seed: int, items: Any, node: str):
        self.given, self.cpus, self.seed, self.items, self.node = config, cpus, seed, items, node
        self.device = "cuda" if gpu else "cpu"  # the one that Ray lets it see
        self.version = -1
        self.play: Any = None

    def chunk(self, positions: int, version: int, box: list[Any]) -> tuple[list[NDArray[Any]], Stats]:
        """At least so many positions, played with these weights from now on, and figures about their games."""
        began = time.perf_counter()
        if version != self.version:
            self._load(box[0])
            self.version = version
        new = self.play.play(positions)
        stats = {**self.play.stats(), "playing_seconds": time.perf_counter() - began}
        return [tensor.cpu().numpy() for tensor in new], stats

    def _set_up(self) -> None:
        torch.set_num_threads(1)
        luggage.unpack(self.items, self.node)
        self.config = ZeroConfig.from_dict(self.given)
        self.games = self.config.selfplay.games
        if self.device == "cpu":
            self.games = min(self.games, CPU_GAMES * self.cpus)
        else:
            make_current(self.device)

    def _load(self, ref: Any) -> None:
        import ray

        shape, weights, past, progress, iteration = ray.get(ref)
        if self.play is None:
            self._set_up()
        game, search = make(self.config.game), self.config.search_at(progress)
        net = _net(game, shape, weights).to(self.device)
        rival = None if past is None else _net(game, shape, past).to(self.device)
        if self.play is not None:
            self.play.load(net, search, rival, iteration)
            return
        with luggage.one_at_a_time(f"self-play of {self.config.game} on {self.device}"):
            self.play = make_selfplay(net, self.config, self.device, self.seed, self.games, self.cpus)
            self.play.load(net, search, rival, iteration)
            self.play.advance(1)  # compiles


def _net(game: Any, shape: dict[str, Any], weights: Weights) -> Net:
    net = Net(game, NetConfig.from_dict(shape))
    net.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
    return net.eval()


def _arrays(net: Net) -> Weights:
    return {name: tensor.detach().cpu().numpy() for name, tensor in net.state_dict().items()}


class RaySource(Source):
    """Self-play actors on a cluster, whatever nodes it has from time to time."""

    def __init__(
        self,
        cluster: Cluster,
        config: ZeroConfig,
        devices: tuple[str, ...] = (),
        seed: int = 0,
        most: int | None = None,
        warn: Warn = lambda text: None,
    ):
        """`devices`: "cpu", "cuda" or both; empty for all there are. `most`: actors at most.

        `warn` is called in the thread that collects.
        """
        import ray

        self.cluster, self.config, self.devices, self.seed = cluster, config, devices, seed
        self.warn, self.said = warn, queue.SimpleQueue[str]()
        cluster.warn = self.said.put
        self.past = PastNets(config, seed)
        self.session = secrets.token_hex(4)
        self.changed = threading.Condition()
        self.arrived: list[tuple[str, int, Positions, Stats]] = []  # number of the chunk, version, positions, figures
        self.counted: set[str] = set()  # numbers of chunks
        self.lost = 0  # chunks, since the last `collect`
        self.taken: list[dict[str, Any]] = []  # chunks of the last `collect`
        self.last = time.perf_counter()
        self.weights: tuple[int, list[Any]] | None = None  # version, and a box with the weights of that version
        self.error: BaseException | None = None
        self.closed = False
        self.numbers = itertools.count(1)
        self.items = ray.put(luggage.pack())
        self.crew = Crew(cluster, self._places, self._make, most, "self-play actor")
        self.crew.open()
        self.thread = threading.Thread(target=self._run, name="meijin-ray", daemon=True)

    # ---- actors ----

    def _places(self, node: Node) -> list[Place]:
        """A GPU each with a core beside it, and the other cores in groups of `selfplay.threads`."""
        free, places = node.cpus, []
        if "cuda" in self.devices or not self.devices:
            places = [Place(min(1, free), 1)] * node.gpus
            free -= sum(place.cpus for place in places)
        if "cpu" in self.devices or not self.devices:
            threads = self.config.selfplay.threads
            places += [Place(threads)] * (free // threads) + [Place(free % threads)] * (free % threads > 0)
        return places

    def _make(self, node: Node, place: Place, number: int) -> tuple[type, tuple[Any, ...]]:
        seed = self.seed + 7919 * number
        return Player, (self.config.to_dict(), place.cpus or 1, place.gpus > 0, seed, self.items, node.name)

    @property
    def chunk(self) -> int:
        """Positions to ask an actor for: many actors hand over less at a time, or an iteration would wait for all."""
        share = self.config.length.positions // max(1, len(self.crew.members))
        return max(LEAST_CHUNK, min(CHUNK, share))

    def _run(self) -> None:
        try:
            while not self.closed:
                self._advance()
        except BaseException as error:  # for the thread that waits for us
            with self.changed:
                self.error = error
                self.changed.notify_all()

    def _advance(self) -> None:
        self.crew.look()
        self._hand_out()
        for answer in self.crew.wait(LOOK):
            if answer.member in self.crew.members:  # first: it should not wait until its chunk has been copied
                self._hand_out()
            self._receive(answer)

    def _hand_out(self) -> None:
        with self.changed:
            weights = self.weights
            ahead = self._count()
        if weights is None:
            return
        size = self.chunk
        room = AHEAD * self.config.length.positions - ahead - size * len(self.crew.busy)
        for member in self.crew.idle:
            if room <= 0:
                return
            room -= size
            number = f"{self.session}-{member.number}-{next(self.numbers)}"
            self.crew.give(member, "chunk", size, *weights, load=(number, weights[0]))

    def _count(self) -> int:
        return sum(len(positions) for _, _, positions, _ in self.arrived)

    def _receive(self, answer: Answer) -> None:
        number, version = answer.load
        with self.changed:
            if answer.lost:
                self.lost += 1
            elif number not in self.counted:
                arrays, stats = answer.result
                answer.result = None
                positions = Positions(*(torch.tensor(array) for array in arrays))  # a copy: theirs is freed
                self.counted.add(number)
                self.arrived.append((number, version, positions, stats))
            self.changed.notify_all()

    # ---- the learner's side ----

    def load(self, net: Net, latest: Path, progress: float, iteration: int) -> None:
        import ray

        past = self.past.draw(latest.parent)
        payload = (net.config.to_dict(), _arrays(net), None if past is None else _arrays(past), progress, iteration)
        try:
            box = [ray.put(payload)]
        except ray.exceptions.RayError as error:
            if self.weights is None:
                raise MeijinError(f"the weights do not fit into Ray's object store ({error})") from None
            self.cluster.warn(f"iteration {iteration}: the object store takes no new weights; the old ones play on")
            return
        with self.changed:
            self.weights = iteration, box
        if not self.thread.is_alive():
            self.thread.start()

    def collect(self, positions: int, on_slice: OnSlice) -> tuple[list[Positions], Stats]:
        game = make(self.config.game)
        empty = Positions.empty(game, policy_width(game, self.config.replay.policy_width))
        with self.changed:
            waiting = self._count()
            while self._count() < positions and on_slice(self._count(), positions):
                self._say()
                if self.error is not None:
                    raise self.error
                self.changed.wait(timeout=LOOK)
            arrived, self.arrived = self.arrived, []
            lost, self.lost = self.lost, 0
        self._say()
        before, self.last = self.last, time.perf_counter()
        self.taken = [{"chunk": n, "version": v, "positions": len(p)} for n, v, p, _ in arrived]
        stats = merged(each for *_, each in arrived)
        playing = stats.pop("playing_seconds", 0.0)
        members = list(self.crew.members)
        figures = {
            "playing_seconds": self.last - before,
            "actors": len(members),
            "actors_busy": playing / max(1e-9, (self.last - before) * max(1, len(members))),
            "nodes": len({member.node.id for member in members}),
            "queue": waiting,  # positions that had arrived before the learner asked for them
            "in_flight": sum(member.task is not None for member in members),  # chunks
            "chunks": len(arrived),
            "chunks_lost": lost,
        }
        return [Positions.cat([empty, *(each for _, _, each, _ in arrived)])], {**stats, **figures}

    def _say(self) -> None:
        """Pass on what the other thread has to say."""
        while not self.said.empty():
            self.warn(self.said.get())

    def account(self) -> dict[str, str]:
        return {"chunks": json.dumps(self.taken)}

    def close(self) -> None:
        self.closed = True
        if self.thread.is_alive():
            self.thread.join()
        self._say()
        self.crew.close()


def check_gpus(devices: tuple[str, ...]) -> None:
    """Raise if GPUs are asked for and the cluster has none to give."""
    import ray

    if "cuda" not in devices:
        return
    total, free = (resources().get("GPU", 0) for resources in (ray.cluster_resources, ray.available_resources))
    if not total:
        raise MeijinError("--selfplay-device cuda: no node of the Ray cluster has a GPU; leave it out to play on cores")
    if not free and devices == ("cuda",):
        raise MeijinError(
            f"--selfplay-device cuda: all {total:.0f} GPUs of the Ray cluster are in use; free one, or leave it out to "
            "play on cores"
        )
