"""What Ray costs, and where a run on a large cluster would be limited.

    python benchmarks/cluster.py sources [--game connect_four] [--rounds 3] [--seconds 15]
    python benchmarks/cluster.py traffic [--game connect_four] [--workers 1000] [--senders 4]
    python benchmarks/cluster.py scaling [--game connect_four] [--rounds 3] [--seconds 15]
    python benchmarks/cluster.py mixed [--game connect_four] [--seconds 15] [--actors 1,2,4]
    python benchmarks/cluster.py strength [--game connect_four] [--seeds 3] [--out DIR] [--only local]

`sources` compares worker processes with actors of a local Ray cluster, one per core, in turns: seconds until the first
chunk of positions, simulations per second, simulations per second of processor time (which other load on the machine
disturbs less), and the memory of all processes besides the learner's.

`traffic` plays nothing: a few processes answer for many self-play workers, each with a chunk of real size every so many
seconds, through the same code of the learner's side and the same object store. The interval is halved until the
learner's side no longer keeps up.

`scaling` plays with 1, 2 and 4 actors (`--actors`) of one core each, in turns: positions per second, the cores that
they got, and positions per second of their processor time, which should not depend on the number of actors; besides,
the cores that all other processes took, Ray's and the learner's side.

`mixed` trains on the GPU of this machine while actors play on the GPU and on cores, and says what each kind of actor
handed over; `--actors 8` is the most that play on cores.

`strength` trains with the same settings here and on Ray, once per seed, and lets the last nets play each other and
plain tree search. Runs that are already in `--out` are not repeated; `--only local` or `--only ray` makes only those.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import human, machine, table

from meijin import make
from meijin.arena.match import match
from meijin.arena.stats import elo_difference
from meijin.cluster.connection import Cluster, Node
from meijin.cluster.crew import Crew, Member, Place
from meijin.learning.nets.config import NetConfig
from meijin.learning.zero import checkpoint
from meijin.learning.zero.config import ZeroConfig
from meijin.learning.zero.nets import Net
from meijin.learning.zero.presets import preset
from meijin.learning.zero.selfplay import SelfPlay
from meijin.training.events import Event, IterationDone
from meijin.training.ray_source import RaySource, _arrays
from meijin.training.sources import Processes, Source
from meijin.training.zero_run import ZeroRun

STEADY = 6  # chunks after which an actor's games begin and end at an even rate
TICK = os.sysconf("SC_CLK_TCK")


def descendants() -> list[int]:
    """The processes that this one has started, and theirs."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, more = [], [os.getpid()]
    while more:
        more = [pid for pid, parent in parents.items() if parent in more]
        found += more
    return found


def cpu_seconds(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def memory(pids: list[int]) -> float:
    """MiB that these processes hold, shared pages divided among those who share them."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return total / 1024


# ---- worker processes and actors ----


def measured(source: Source, net: Net, latest: Path, seconds: float, began: float) -> list[float]:
    """Seconds to the first chunk, simulations/s, simulations per CPU second, MiB."""
    source.load(net, latest, 0.0, 0)
    on = lambda done, total: True  # noqa: E731
    source.collect(1, on)
    start = time.perf_counter() - began
    waited = 0.0
    while waited < 0.1:  # what had been played ahead comes at once
        asked = time.perf_counter()
        source.collect(1, on)
        waited = time.perf_counter() - asked
    pids = descendants()
    began, used, simulations = time.perf_counter(), cpu_seconds([*pids, os.getpid()]), 0.0
    while time.perf_counter() - began < seconds:
        simulations += source.collect(1, on)[1]["simulations"]
    spent = time.perf_counter() - began
    used = cpu_seconds([*pids, os.getpid()]) - used
    return [start, simulations / spent, simulations / max(used, 1e-9), memory(pids)]


def sources(options: argparse.Namespace) -> None:
    game = make(options.game)
    config = preset("quick", game).changed({"selfplay.threads": 1, "length.positions": 400})
    cores = len(os.sched_getaffinity(0))
    net = Net(game, NetConfig.sized("nano"))
    seen: dict[str, list[list[float]]] = {"worker processes": [], "Ray": []}
    with tempfile.TemporaryDirectory() as folder:
        latest = checkpoint.save(Path(folder) / "latest.safetensors", net, progress=0.0, iteration=0)
        SelfPlay(net, 8, config.search, seed=1).advance(20)  # compiled once for all
        for round_ in range(options.rounds):
            for name, times in seen.items():
                began = time.perf_counter()
                if name == "Ray":
                    cluster = Cluster("local")
                    source: Source = RaySource(cluster, config.changed({"selfplay.games": 64}), ("cpu",), round_)
                else:
                    shared = config.changed({"selfplay.games": 64 * cores})
                    source = Processes(Path(folder) / "inbox", shared, ("cpu",) * cores, latest, round_)
                times.append(measured(source, net, latest, options.seconds, began))
                source.close()
                if name == "Ray":
                    cluster.close()
                print(name, [round(value, 1) for value in times[-1]], flush=True)
    rows = []
    for name, found in seen.items():
        start, rate, efficiency, mib = (float(np.median(column)) for column in zip(*found, strict=True))
        rows.append([name, f"{start:.1f} s", human(rate), human(efficiency), f"{mib:,.0f} MiB"])
    print(f"{options.game}, {cores} workers of one core, medians of {options.rounds}; {machine()}")
    print(table(["", "to the first chunk", "simulations/s", "per CPU second", "memory"], rows))


# ---- more actors ----


def scaling(options: argparse.Namespace) -> None:
    import ray

    game = make(options.game)
    config = preset("quick", game).changed({"selfplay": {"threads": 1, "games": 16}, "length.positions": 400})
    net, counts = Net(game, NetConfig.sized("nano")), tuple(map(int, options.actors.split(",")))
    SelfPlay(net, 8, config.search, seed=1).advance(20)  # compiled once for all
    seen: dict[int, list[list[float]]] = {count: [] for count in counts}
    os.environ.setdefault("RAY_worker_niceness", "0")  # actors hold their own beside whatever else the machine does
    # More than there may be: what matters is how many positions a second of a core gives.
    ray.init(address="local", num_cpus=max(counts), include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    with contextlib.closing(Cluster()) as cluster:
        for round_ in range(options.rounds):
            for count, times in seen.items():
                source = RaySource(cluster, config, ("cpu",), round_, most=count)
                source.load(net, Path("none"), 0.0, 0)
                while len(source.crew.members) < count or any(m.done < STEADY for m in source.crew.members):
                    source.collect(1, lambda done, total: True)
                times.append(_rates(source, options.seconds))
                source.close()
                print(count, [round(value, 2) for value in times[-1]], flush=True)
    ray.shutdown()
    rows = []
    for count, found in seen.items():
        rate, cores, efficiency, others = (float(np.median(column)) for column in zip(*found, strict=True))
        rows.append([f"{count}", human(rate), f"{cores:.2f}", human(efficiency), f"{others:.2f}"])
    print(f"{options.game}, actors of one core, medians of {options.rounds}; {machine()}")
    print(table(["actors", "positions/s", "cores they got", "positions per CPU second", "cores of others"], rows))


def _rates(source: RaySource, seconds: float) -> list[float]:
    """Positions/s, cores of the actors, positions per CPU second of the actors, and cores of all other processes."""
    mine = [os.getpid(), *descendants()]
    players = [pid for pid in mine if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::Player")]
    began, used, all_used, count = time.perf_counter(), cpu_seconds(players), cpu_seconds(mine), 0
    while time.perf_counter() - began < seconds:
        count += len(source.collect(1, lambda done, total: True)[0][0])
    spent, used, all_used = time.perf_counter() - began, cpu_seconds(players) - used, cpu_seconds(mine) - all_used
    return [count / spent, used / spent, count / max(used, 1e-9), (all_used - used) / spent]


# ---- cores and GPUs together ----


def mixed(options: argparse.Namespace) -> None:
    """Counts begin when every kind of actor has handed over something: a GPU's kernels take a minute to compile."""
    actors = max(map(int, options.actors.split(","))) + 1
    config = preset("quick", make(options.game)).changed(
        {
            "selfplay": {"games": 4096, "threads": 1},
            "training": {"batch": 2048},
            "length": {"iterations": 10**6, "seconds": 0.0, "positions": 50_000, "evaluate": 0, "keep": 0},
        }
    )
    kinds: dict[int, str] = {}  # number of the actor -> what it has reserved
    rows: list[tuple[float, dict[str, int], dict[str, float]]] = []

    def seen(event: Event) -> None:
        source = run.source
        if not isinstance(event, IterationDone) or not isinstance(source, RaySource):
            return
        kinds.update({member.number: str(member.place) for member in source.crew.members})
        counts = dict.fromkeys(kinds.values(), 0)
        for chunk in source.taken:
            counts[kinds[int(chunk["chunk"].split("-")[1])]] += chunk["positions"]
        if rows or (len(counts) > 1 and all(counts.values())):
            rows.append((time.perf_counter(), counts, dict(event.metrics)))
            print(event.iteration, counts, flush=True)
            if rows[-1][0] - rows[0][0] > options.seconds:
                run.stop()

    with tempfile.TemporaryDirectory() as folder:
        devices = ("cpu", "cuda")
        run = ZeroRun(folder, config, device="cuda", selfplay_devices=devices, ray="local", actors=actors)
        run.go(seen)
        run.close()
    (began, *_), *later = rows
    spent = later[-1][0] - began
    found = []
    for kind in sorted(set(kinds.values())):
        count, number = sum(counts.get(kind, 0) for _, counts, _ in later), sum(k == kind for k in kinds.values())
        found.append([f"{number} with {kind}", human(count / spent), human(count / spent / number)])
    idle, stale = (np.mean([row[name] for *_, row in later]) for name in ("learner_idle", "staleness"))
    print(f"{options.game}, one learner on the GPU, {len(later)} iterations in {spent:.0f} s; {machine()}")
    print(f"the learner waited {idle:.0%} of the time; positions were {stale:.2f} iterations old on average")
    print(table(["actors", "positions/s", "each"], found))


# ---- strength ----


def strength(options: argparse.Namespace) -> None:
    game = make(options.game)
    config = preset("quick", game).changed(
        {
            "search.simulations": 24,
            "selfplay": {"games": 32, "threads": 1},
            "replay": {"start": 2_000},
            "training": {"batch": 128, "ema": 0.98, "reuse": 4.0},
            "length": {"iterations": options.iterations, "seconds": 0.0, "positions": 2_000, "evaluate": 0, "keep": 0},
        }
    )
    folder = Path(options.out or tempfile.mkdtemp())
    places = [options.only] if options.only else ["local", "ray"]
    for seed in range(1, options.seeds + 1):
        for place in places:
            out = folder / f"{place}-{seed}"
            if (out / "config.json").exists():
                continue
            began, seeds = time.perf_counter(), {"selfplay.seed": seed, "training.seed": seed}
            run = ZeroRun(out, config.changed(seeds), ray="local" if place == "ray" else None)
            run.go()
            print(f"{out.name}: {run.positions:,} positions, {time.perf_counter() - began:.0f} s", flush=True)
    if options.only:
        return
    rows, all_pairs = [], []
    for seed in range(1, options.seeds + 1):
        nets = [f'zero("{folder / f"{place}-{seed}"}", simulations=32)' for place in ("ray", "local")]
        found = match(game, nets, options.games, seed, openings="random(plies=4)")
        all_pairs += found.pairs
        rivals = [match(game, [net, "mcts(simulations=200)"], options.games, seed, plies=4) for net in nets]
        shares = [f"{rival.standings[0].total.share:.2f}" for rival in rivals]
        rows.append([f"{seed}", _elo(found.pairs), *shares])
        print(rows[-1], flush=True)
    rows.append(["all", _elo(all_pairs), "", ""])
    print(f"{options.game}, {options.iterations} iterations of 2,000 positions, {options.games} games; {machine()}")
    print(table(["seed", "Elo of Ray over local (95 %)", "Ray against mcts(200)", "local against mcts(200)"], rows))


def _elo(pairs: list[list[float]]) -> str:
    found = elo_difference(pairs)
    return f"{found.value:+.0f} ({found.interval[0]:+.0f} to {found.interval[1]:+.0f})"


# ---- traffic ----


class Sender:
    """Answers for many workers that only send."""

    def __init__(self, arrays: list[Any]):
        self.arrays, self.versions, self.fetched = arrays, set[int](), 0.0

    async def chunk(
        self, positions: int, version: int, box: list[Any], pause: float
    ) -> tuple[list[Any], dict[str, float]]:
        await asyncio.sleep(pause)
        if version not in self.versions:
            self.versions.add(version)
            await box[0]
        return [np.array(array) for array in self.arrays], {"games": 1, "simulations": 0, "playing_seconds": pause}


class Shared(Crew):
    """A crew whose members share a few processes."""

    actors: list[Any]

    def _start(self, node: Node, place: Place, at: int) -> None:
        self.started += 1
        self.members.append(Member(self.started, node, place, at, self.actors[self.started % len(self.actors)]))

    def give(self, member: Member, method: str, *arguments: Any, load: Any = None) -> None:
        super().give(member, method, *arguments, self.pause, load=load)

    pause: float = 0.0


class Sparse(RaySource):
    """Positions in chunks of one size."""

    size: int

    @property
    def chunk(self) -> int:
        return self.size


def traffic(options: argparse.Namespace) -> None:
    import ray

    game = make(options.game)
    config: ZeroConfig = preset("quick", game).changed({"length.positions": options.workers * options.chunk // 2})
    net = Net(game, NetConfig.sized(options.net))
    play = SelfPlay(Net(game, NetConfig.sized("nano")), 32, config.search, seed=1)
    found = play.play(options.chunk)[: options.chunk]
    arrays, size = [tensor.numpy() for tensor in found], found.nbytes
    weights = sum(array.nbytes for array in _arrays(net).values())
    each = size / options.chunk
    print(f"{options.game}: {each:.0f} bytes per position, {size / 1024:.0f} KiB per chunk of {options.chunk};")
    print(f"weights ({options.net}) {weights / 2**20:.2f} MiB; {options.workers} workers; {machine()}")
    rows, pause = [], options.pause
    with Cluster("local") as cluster:
        stored = ray.put(arrays)
        kind = ray.remote(Sender)
        actors = [kind.options(num_cpus=0, max_concurrency=2000).remote(stored) for _ in range(options.senders)]
        while True:
            source = Sparse(cluster, config, most=0)  # no actors of its own
            source.size = options.chunk
            crew = Shared(cluster, lambda node: [Place(0)] * options.workers, lambda *_: (Sender, ()))
            crew.actors, crew.pause = actors, pause
            source.crew = crew
            crew.open()
            source.load(net, Path("none"), 0.0, int(pause * 1e6))
            source.collect(config.length.positions, lambda done, total: True)
            began, used, count = time.perf_counter(), time.process_time(), 0
            while time.perf_counter() - began < options.seconds:
                count += len(source.collect(config.length.positions // 4, lambda done, total: True)[0][0])
            spent, used = time.perf_counter() - began, time.process_time() - used
            source.closed = True
            source.thread.join()
            crew.members.clear()
            offered, served = options.workers / pause, count / options.chunk / spent
            mib, cost = served * size / 2**20, 1000 * used / max(1, count / options.chunk)
            rows.append(
                [f"{pause:.2f} s", f"{offered:,.0f}", f"{served:,.0f}", human(served * options.chunk), f"{mib:,.1f}",
                 f"{used / spent:.0%}", f"{cost:.2f}"]
            )  # fmt: skip
            print(rows[-1], flush=True)
            if served < 0.6 * offered:
                break
            pause /= 2
    names = ["a chunk every", "chunks/s offered", "taken", "positions/s", "MiB/s", "learner's CPU", "ms per chunk"]
    print(table(names, rows))


WHAT = {"sources": sources, "traffic": traffic, "scaling": scaling, "mixed": mixed, "strength": strength}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(WHAT))
    parser.add_argument("--game", default="connect_four")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--actors", default="1,2,4", help="how many, of `scaling` and `mixed`")
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--senders", type=int, default=4)
    parser.add_argument("--chunk", type=int, default=2000)
    parser.add_argument("--pause", type=float, default=16.0, help="seconds between a worker's chunks, at first")
    parser.add_argument("--net", default="small")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--games", type=int, default=200, help="of each match")
    parser.add_argument("--out", help="folder of the runs of `strength`")
    parser.add_argument("--only", choices=["local", "ray"])
    options = parser.parse_args()
    WHAT[options.what](options)


if __name__ == "__main__":
    main()
