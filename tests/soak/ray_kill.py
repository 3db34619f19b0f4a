"""Training and a tournament on a Ray cluster of two nodes that is disturbed in every way, again and again.

    python tests/soak/ray_kill.py [--kills 50] [--seconds 900] [--seed 1] [--keep FOLDER] [SCENE...]

The scenes `actor`, `node` and `driver` kill one of those, and `store` fills the object store of the head's node.
`network` cuts the nodes off from each other for 20 seconds, `outage` until Ray gives the other node up. In `tournament`
actors, nodes and drivers are killed. Each scene has one cluster. `network` and `outage` give each node a network
namespace of its own; they need Linux, root and `ip`, and are skipped without them.

Laws: a run continues, or resumes after its driver was killed; every iteration is recorded once; no chunk of positions
is counted twice, the positions counted are those on disk, and a kill costs at most the chunk in flight; the actors of a
dead driver end; after a cut, both nodes hand over chunks again. A tournament ends with the records of an undisturbed
one.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import ray
from clusters import PATIENCE, STORE, Apart, Nodes, processes, wait
from safetensors import safe_open

import meijin
from meijin.arena.store import Store
from meijin.core.errors import MeijinError

CUT = 20.0  # seconds without a network
GAME = "tic_tac_toe"

PLAN = """
[tournament]
name = "killed"
games = ["tic_tac_toe"]
rounds = {rounds}
openings = "random(plies=2)"

[[agents]]
name = "a"
expression = "mcts(simulations=100)"

[[agents]]
name = "b"
expression = "mcts(simulations=60)"

[[agents]]
name = "c"
expression = "random"
"""


class Kills:
    """How many there may be in a scene, for how long, and the folder of its files."""

    def __init__(self, most: int, seconds: float, folder: Path):
        self.most, self.seconds, self.folder, self.began = most, seconds, folder, time.monotonic()

    def more(self, done: int) -> bool:
        return done < self.most and time.monotonic() - self.began < self.seconds


class Driver:
    """`meijin train` in a process of its own; its events are read as they come, and kept in `events.jsonl`."""

    def __init__(self, cluster: Nodes, folder: Path):
        self.cluster, self.folder, self.events = cluster, folder / "run", folder / "events.jsonl"
        self.done = 0  # the last iteration
        self.actors = 0  # at its end
        self.warned = ""  # the last warning

    def start(self) -> None:
        command = [
            *self.cluster.inside,
            sys.executable,
            "-m",
            "meijin",
            "train",
            GAME,
            "zero",
            "--json",
            "--ray",
            self.cluster.address,
        ]
        command += ["--out", str(self.folder), "--iterations", "1000000", "--set", "length.positions=200"]
        command += ["--set", "selfplay.threads=1", "--set", "length.evaluate=0", "--set", "search.simulations=8"]
        # Every position stays on disk; little is learned.
        command += ["--set", "replay.window=100000000", "--set", "training.reuse=0.2"]
        resumed = (self.folder / "config.json").exists()
        self.process = subprocess.Popen(
            command + (["--resume"] if resumed else ["--preset", "tiny"]),
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.cluster.variables},
        )
        self.reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self.reader.start()

    def _read(self, pipe: Any) -> None:
        with self.events.open("a") as log:
            for line in pipe:
                log.write(line)
                log.flush()
                event = json.loads(line)  # nothing else may be there
                if event["event"] == "iteration_done":
                    self.actors = event["metrics"]["actors"]
                    self.done = event["iteration"]
                elif event["event"] == "warned":
                    self.warned = event["text"]

    def iterations(self, count: int) -> None:
        """Wait for so many iterations from now on."""
        goal = self.done + count
        wait(lambda: self.done >= goal or not self.reader.is_alive(), f"iteration {goal}")
        assert self.done >= goal, f"the run has ended; its last events are in {self.events}"

    def both(self) -> None:
        """Wait until two actors have handed over chunks, not counting those that may have arrived before."""
        self.iterations(1)
        until, players = time.monotonic() + PATIENCE, set[str]()
        while len(players) < 2:
            assert time.monotonic() < until, f"only the actors {players} hand over chunks"
            self.cluster.revive()
            self.iterations(1)
            players |= {chunk["chunk"].split("-")[1] for chunk in self.chunks(self.done)[0]}

    def chunks(self, iteration: int) -> tuple[list[dict[str, Any]], int]:
        """The chunks of an iteration, and how many positions are on disk."""
        path = self.folder / "games" / f"{iteration:06d}.safetensors"
        with safe_open(path, framework="np") as file:
            return json.loads(file.metadata()["chunks"]), file.get_slice("bits").get_shape()[0]

    def kill(self) -> None:
        self.process.kill()

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        self.reader.join()

    def check(self, may_lose: int) -> str:
        """The laws of the run's directory."""
        with (self.folder / "metrics.csv").open(newline="") as file:
            table = list(csv.DictReader(file))
        assert [int(row["iteration"]) for row in table] == list(range(1, len(table) + 1))
        numbers, positions = [], 0
        for row in table:
            chunks, rows = self.chunks(int(row["iteration"]))
            assert rows == sum(chunk["positions"] for chunk in chunks), row
            numbers += [chunk["chunk"] for chunk in chunks]
            positions += rows
            assert positions == int(row["positions"]), row
        assert len(set(numbers)) == len(numbers), "a chunk is counted twice"
        lost = sum(float(row["chunks_lost"] or 0) for row in table)
        assert lost <= may_lose, f"{lost:.0f} chunks are lost, and only {may_lose} could be in flight"
        return f"{len(table)} iterations, {len(numbers)} chunks, {positions} positions, {lost:.0f} chunks lost"


Strike = Callable[[Any, Driver, random.Random], None]


def train(kills: Kills, rng: random.Random, strike: Strike, costs: int, kind: type[Nodes] = Nodes) -> str:
    """A run that is struck so many times, makes progress after each, and loses at most `costs` chunks by each."""
    cluster, number = kind(), 0
    driver = Driver(cluster, kills.folder)
    try:
        with ExitStack() as ending:
            driver.start()
            ending.callback(driver.kill)
            driver.iterations(2)
            while kills.more(number):
                number += 1
                strike(cluster, driver, rng)
                driver.iterations(2)
                if number % 10 == 0:
                    print(f"{strike.__name__} {number}: {driver.check(costs * number)}", flush=True)
            driver.end(signal.SIGINT)
            wait(lambda: not processes("ray::Player"), "the actors end")
            return f"{number} kills, {driver.check(costs * number)}"
    except AssertionError as error:
        error.add_note(f"After {number} kills. The run's last warning: {driver.warned or 'none'}")
        raise
    finally:
        cluster.close()


def kill_actor(cluster: Nodes, driver: Driver, rng: random.Random) -> None:
    """At any time: while it compiles, plays or waits."""
    wait(lambda: bool(processes("ray::Player")), "there are actors")
    os.kill(rng.choice(processes("ray::Player")), signal.SIGKILL)


def kill_node(cluster: Nodes, driver: Driver, rng: random.Random) -> None:
    if rng.random() < 0.5:  # else at any time: while the node or its actor starts
        wait(lambda: len(processes("ray::Player")) == 2, "there is an actor on each node")
        driver.iterations(rng.randrange(3))
    cluster.remove(graceful=rng.random() < 0.5)
    driver.iterations(1)
    cluster.add()


def kill_driver(cluster: Nodes, driver: Driver, rng: random.Random) -> None:
    time.sleep(rng.random())
    driver.end(signal.SIGKILL)
    wait(lambda: not processes("ray::Player"), "the actors of a dead driver end")
    driver.check(0)
    driver.start()


def cut_network(cluster: Apart, driver: Driver, rng: random.Random) -> None:
    """Too short a time for Ray to give the other node up."""
    _cut(cluster, driver, rng, lambda seconds: seconds > CUT)


def cut_off(cluster: Apart, driver: Driver, rng: random.Random) -> None:
    """Until Ray gives the other node up, which then ends and is started again."""
    _cut(cluster, driver, rng, lambda seconds: driver.actors == 1 and seconds > CUT)


def _cut(cluster: Apart, driver: Driver, rng: random.Random, over: Callable[[float], bool]) -> None:
    """The head's actor plays on alone; afterwards the other node plays again."""
    driver.both()
    driver.iterations(rng.randrange(3))
    began = time.monotonic()
    cluster.cut()
    while not over(time.monotonic() - began):
        driver.iterations(1)
    cluster.mend()
    driver.both()


def fill_store(cluster: Nodes, driver: Driver, rng: random.Random) -> None:
    """Fill the object store of the head's node, wait for the run to go on, and free it."""
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        held = [ray.put(np.zeros(STORE // 4, np.uint8)) for _ in range(6)]  # more than there is
        views = ray.get(held)  # in use: none of them can be spilled
        driver.iterations(3)
        del views, held
    finally:
        ray.shutdown()


def tournament(kills: Kills, rng: random.Random) -> str:
    """A tournament whose actors, node and driver are killed again and again has the records of an undisturbed one."""
    folder, cluster, struck = kills.folder, Nodes(), Counter[str]()
    try:
        plan = folder / "plan.toml"
        plan.write_text(PLAN.format(rounds=40 * kills.most))
        command = [sys.executable, "-m", "meijin", "tournament", str(plan), "--json", "--db"]
        subprocess.run([*command, f"{folder}/alone.db"], check=True, stdout=subprocess.DEVNULL)
        disturbed = [*command, f"{folder}/killed.db", "--ray", cluster.address]
        while True:
            with (folder / "tournament.log").open("a") as log:
                process = subprocess.Popen(disturbed, stdout=subprocess.DEVNULL, stderr=log)
            while process.poll() is None and kills.more(struck.total()):
                before = count(f"{folder}/killed.db")
                wait(lambda: process.poll() is not None or count(f"{folder}/killed.db") > before + 20, "games")  # noqa: B023
                if process.poll() is not None:
                    break
                what = rng.choice(["actor", "actor", "node", "driver"])
                match what:
                    case "actor":
                        with suppress(IndexError, ProcessLookupError):  # none at this moment
                            os.kill(rng.choice(processes("ray::Table")), signal.SIGKILL)
                            struck[what] += 1
                        continue
                    case "node":
                        cluster.remove(graceful=rng.random() < 0.5)
                        cluster.add()
                    case "driver":
                        process.kill()
                        process.wait()
                struck[what] += 1
            if process.wait() == 0:
                break
            assert process.returncode == -signal.SIGKILL, f"the tournament has ended: {folder}/tournament.log"
        one, other = (records(f"{folder}/{name}.db") for name in ("alone", "killed"))
        assert one == other, "the records differ"
        assert not kills.more(struck.total()), f"over after {struck}: the plan is too short"
        return f"{struck.total()} kills {dict(struck)}, {len(one)} games"
    finally:
        cluster.close()


def count(path: str) -> int:
    try:
        with Store(Path(path), create=False) as store:
            return store.count(event="killed")
    except MeijinError:  # not there yet, or just being made
        return 0


def records(path: str) -> list[Any]:
    with Store(Path(path), create=False) as store:
        found = [(r.task.number, r.task.agents, r.moves, r.scores, r.ending) for r in store.games(event="killed")]
    assert len({number for number, *_ in found}) == len(found), "a game is stored twice"
    return sorted(found)


SCENES: dict[str, Callable[[Kills, random.Random], str]] = {
    "actor": lambda kills, rng: train(kills, rng, kill_actor, costs=1),
    "node": lambda kills, rng: train(kills, rng, kill_node, costs=1),
    "driver": lambda kills, rng: train(kills, rng, kill_driver, costs=0),
    "store": lambda kills, rng: train(kills, rng, fill_store, costs=0),
    "network": lambda kills, rng: train(kills, rng, cut_network, costs=1, kind=Apart),
    "outage": lambda kills, rng: train(kills, rng, cut_off, costs=1, kind=Apart),
    "tournament": tournament,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", help=", ".join(SCENES))
    parser.add_argument("--kills", type=int, default=50, help="in each scene (default 50)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which a scene kills no more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for run directories, events and databases")
    options, _ = parser.parse_known_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # by way of `finally`: nothing is left running
    os.environ.setdefault("RAY_worker_niceness", "0")  # else actors hardly start on a machine that is busy otherwise
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")
    os.environ.setdefault("RAY_max_direct_call_object_size", "1000")  # small chunks go through the object store, too
    with tempfile.TemporaryDirectory(prefix="meijin-") as sources:
        # A copy: were they edited meanwhile, every node that joins from then on would be refused.
        shutil.copytree(Path(meijin.__file__).parent, f"{sources}/meijin")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sources, os.environ.get("PYTHONPATH")]))
        for name in options.scenes or SCENES:
            if name in ("network", "outage") and (os.name != "posix" or os.geteuid() or shutil.which("ip") is None):
                print(f"ray_kill {name}: skipped; it needs root and `ip`")
                continue
            with ExitStack() as ending:
                if options.keep is not None:
                    options.keep.mkdir(parents=True, exist_ok=True)
                folder = tempfile.mkdtemp(prefix=f"{name}-", dir=options.keep)
                if options.keep is None:
                    ending.callback(shutil.rmtree, folder)
                kills = Kills(options.kills, options.seconds, Path(folder))
                said = SCENES[name](kills, random.Random(options.seed))
            print(f"ray_kill {name}: {time.monotonic() - kills.began:.0f} s: {said}", flush=True)


if __name__ == "__main__":
    main()
