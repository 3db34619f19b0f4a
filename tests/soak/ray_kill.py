"""Training and a tournament on a Ray cluster whose actors, nodes and drivers are killed and whose store is filled.

    python tests/soak/ray_kill.py [--kills 50] [--seed 1] [actor] [node] [driver] [store] [tournament]

Laws: a run goes on, or resumes after its driver was killed; every iteration is there once; no chunk of positions is
counted twice, and the positions on disk are those of the chunks; the actors of a dead driver end. A tournament ends
with the records of one that nobody disturbed.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.cluster_utils import Cluster
from safetensors import safe_open

from meijin.arena.store import Store
from meijin.core.errors import MeijinError

PATIENCE = 180.0  # seconds for anything to happen
STORE = 80 * 2**20  # bytes of a node's object store, the least that Ray takes
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


class Driver:
    """`meijin train` in a process of its own; its events are read as they come."""

    def __init__(self, address: str, folder: Path):
        self.address, self.folder, self.process = address, folder, None
        self.warnings: list[str] = []

    def start(self) -> None:
        command = [sys.executable, "-m", "meijin", "train", GAME, "zero", "--json", "--ray", self.address]
        command += ["--out", str(self.folder), "--iterations", "1000000", "--set", "length.positions=200"]
        command += ["--set", "selfplay.threads=1", "--set", "length.evaluate=0", "--set", "search.simulations=8"]
        resumed = (self.folder / "config.json").exists()
        self.process: Any = subprocess.Popen(
            command + (["--resume"] if resumed else ["--preset", "tiny"]), stdout=subprocess.PIPE, text=True
        )

    def iterations(self, count: int) -> None:
        """Wait for so many more iterations."""
        until = time.monotonic() + PATIENCE
        while count:
            line = self.process.stdout.readline()
            assert line and time.monotonic() < until, "the run stands still or has ended"
            try:
                event = json.loads(line)
            except ValueError:
                raise AssertionError(f"not an event: {line!r}") from None
            if event["event"] == "warned":
                self.warnings.append(event["text"])
            count -= event["event"] == "iteration_done"

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.stdout.read()
        self.process.wait(PATIENCE)

    def check(self) -> str:
        """The laws of the run's directory."""
        numbers, positions = [], 0
        for path in sorted((self.folder / "games").glob("*.safetensors")):
            with safe_open(path, framework="np") as file:
                chunks = json.loads(file.metadata()["chunks"])
                rows = file.get_slice("bits").get_shape()[0]
            assert rows == sum(chunk["positions"] for chunk in chunks), path
            numbers += [chunk["chunk"] for chunk in chunks]
            positions += rows
        assert len(set(numbers)) == len(numbers), "a chunk is counted twice"
        with (self.folder / "metrics.csv").open(newline="") as file:
            table = list(csv.DictReader(file))
        assert [int(row["iteration"]) for row in table] == list(range(1, len(table) + 1))
        lost = sum(float(row["chunks_lost"] or 0) for row in table)
        return f"{len(table)} iterations, {len(numbers)} chunks, {positions} positions on disk, {lost:.0f} chunks lost"


def processes(name: str) -> list[int]:
    """Processes whose title begins like that."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cmdline").read_bytes().startswith(name.encode()):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def wait(done: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until, f"not in time: {what}"
        time.sleep(0.1)


def nodes(count: int) -> Cluster:
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": STORE}
    made: Cluster = patient(lambda: Cluster(initialize_head=True, head_node_args=head))
    for _ in range(count - 1):
        add_node(made)
    return made


def add_node(cluster: Cluster) -> None:
    patient(lambda: cluster.add_node(num_cpus=1, object_store_memory=STORE))


def patient(start: Callable[[], Any]) -> Any:
    """On a very busy machine Ray gives up on a node after half a minute, and may succeed the next time."""
    for _ in range(4):
        with suppress(Exception):
            return start()
    return start()


def train(kills: int, rng: random.Random, strike: Callable[[Cluster, Driver, random.Random], None]) -> str:
    """A run that is struck so many times, and makes progress after each."""
    cluster = nodes(2)
    try:
        with tempfile.TemporaryDirectory() as folder:
            driver = Driver(cluster.address, Path(folder) / "run")
            driver.start()
            driver.iterations(2)
            for _ in range(kills):
                strike(cluster, driver, rng)
                driver.iterations(2)
            driver.end(signal.SIGINT)
            wait(lambda: not processes("ray::Player"), "the actors end")
            return driver.check()
    finally:
        cluster.shutdown()


def kill_actor(cluster: Cluster, driver: Driver, rng: random.Random) -> None:
    wait(lambda: bool(processes("ray::Player")), "there are actors")
    os.kill(rng.choice(processes("ray::Player")), signal.SIGKILL)


def kill_node(cluster: Cluster, driver: Driver, rng: random.Random) -> None:
    others = [node for node in cluster.list_all_nodes() if node is not cluster.head_node]
    cluster.remove_node(rng.choice(others), allow_graceful=rng.random() < 0.5)
    driver.iterations(1)
    add_node(cluster)


def kill_driver(cluster: Cluster, driver: Driver, rng: random.Random) -> None:
    time.sleep(rng.random())
    driver.end(signal.SIGKILL)
    wait(lambda: not processes("ray::Player"), "the actors of a dead driver end")
    driver.check()
    driver.start()


def fill_store(cluster: Cluster, driver: Driver, rng: random.Random) -> None:
    """Fill the object store of the head's node, wait for the run to go on, and free it."""
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    held = [ray.put(np.zeros(STORE // 4, np.uint8)) for _ in range(6)]  # more than there is: the rest is spilled
    views = ray.get(held[-2:])  # in use: cannot be spilled
    driver.iterations(3)
    del views, held
    ray.shutdown()


def tournament(kills: int, rng: random.Random) -> str:
    """A tournament whose actors, node and driver are killed again and again has the records of an undisturbed one."""
    cluster = nodes(2)
    try:
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder) / "plan.toml"
            plan.write_text(PLAN.format(rounds=40 * kills))
            command = [sys.executable, "-m", "meijin", "tournament", str(plan), "--json", "--db"]
            subprocess.run([*command, f"{folder}/alone.db"], check=True, stdout=subprocess.DEVNULL)
            disturbed = [*command, f"{folder}/killed.db", "--ray", cluster.address]
            done = 0
            while True:
                process = subprocess.Popen(disturbed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                while process.poll() is None and done < kills:
                    before = count(f"{folder}/killed.db")
                    wait(lambda: process.poll() is not None or count(f"{folder}/killed.db") > before + 20, "games")  # noqa: B023
                    if process.poll() is not None:
                        break
                    done += 1
                    match rng.choice(["actor", "actor", "node", "driver"]):
                        case "actor" if victims := processes("ray::Table"):
                            os.kill(rng.choice(victims), signal.SIGKILL)
                        case "node":
                            cluster.remove_node(next(n for n in cluster.list_all_nodes() if n is not cluster.head_node))
                            add_node(cluster)
                        case "driver":
                            process.kill()
                            process.wait()
                if process.wait() == 0:
                    break
            one, other = (records(f"{folder}/{name}.db") for name in ("alone", "killed"))
            assert one == other, "the records differ"
            return f"{len(one)} games, {done} kills"
    finally:
        cluster.shutdown()


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


SCENES: dict[str, Callable[[int, random.Random], str]] = {
    "actor": lambda kills, rng: train(kills, rng, kill_actor),
    "node": lambda kills, rng: train(kills, rng, kill_node),
    "driver": lambda kills, rng: train(kills, rng, kill_driver),
    "store": lambda kills, rng: train(kills, rng, fill_store),
    "tournament": tournament,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", help=", ".join(SCENES))
    parser.add_argument("--kills", type=int, default=50, help="in each scene (default 50)")
    parser.add_argument("--seed", type=int, default=1)
    options, _ = parser.parse_known_args()
    for name in options.scenes or SCENES:
        began = time.monotonic()
        said = SCENES[name](options.kills, random.Random(options.seed))
        print(f"ray_kill {name}: {options.kills} kills, {time.monotonic() - began:.0f} s: {said}", flush=True)


if __name__ == "__main__":
    main()
