"""Clusters of two nodes on this machine for tests that disturb them, and the processes that belong to them."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster

PATIENCE = 180.0  # seconds for anything to happen
STORE = 80 * 2**20  # bytes of a node's object store, the least that Ray takes
RAYLET = str(Path(ray.__file__).parent / "core/src/ray/raylet/raylet")


def processes(name: str) -> list[int]:
    """Processes of our own nodes whose title begins like that."""
    parents, named = {}, []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if (entry / "cmdline").read_bytes().startswith(name.encode()):
                    named.append(int(entry.name))
    return [pid for pid in named if os.getpid() in _ancestors(pid, parents)]


def _ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    found = []
    while pid := parents.get(pid, 0):
        found.append(pid)
    return found


def wait(done: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until, f"not in time: {what}"
        time.sleep(0.1)


class Nodes:
    """A head and another node, of one core each, on the network of this machine."""

    inside: tuple[str, ...] = ()  # the command that runs a command on the head's machine
    variables: dict[str, str] = {}  # noqa: RUF012 - of the environment there

    def __init__(self) -> None:
        head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": STORE}
        self.made: Cluster = patient(lambda: Cluster(initialize_head=True, head_node_args=head))
        self.address = str(self.made.address)
        self.add()

    def add(self) -> None:
        patient(self._add)

    def _add(self) -> None:
        before = processes(RAYLET)
        try:
            self.made.add_node(wait=False, num_cpus=1, object_store_memory=STORE)  # Ray waits for it in any case
        except Exception:
            for pid in set(processes(RAYLET)) - set(before):  # given up, but not ended: it would be a third node
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)  # its workers live as long as a zombie
            raise

    def remove(self, graceful: bool) -> None:
        other = next(node for node in self.made.list_all_nodes() if node is not self.made.head_node)
        self.made.remove_node(other, allow_graceful=graceful)

    def revive(self) -> None:
        """Start the other node again if it has ended by itself, as a service manager would."""

    def close(self) -> None:
        self.made.shutdown()


class Apart(Nodes):
    """The same in two network namespaces that share a switch."""

    def __init__(self) -> None:
        self.address, names = "10.77.0.1:6379", [f"meijin-{os.getpid()}-{role}" for role in ("switch", "head", "other")]
        self.switch, *self.hosts = self.names = names
        self.inside = ("ip", "netns", "exec", self.hosts[0])
        self.variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        try:
            for name in names:
                _ip(f"netns add {name}")
                _ip(f"-n {name} link set lo up")
            _ip(f"-n {self.switch} link add name bridge0 type bridge")
            _ip(f"-n {self.switch} link set bridge0 up")
            for number, name in enumerate(self.hosts, 1):
                _ip(f"-n {self.switch} link add port{number} type veth peer name eth0 netns {name}")
                _ip(f"-n {self.switch} link set port{number} master bridge0 up")
                _ip(f"-n {name} addr add 10.77.0.{number}/24 dev eth0")
                _ip(f"-n {name} link set eth0 up")
                _ip(f"-n {name} route add default dev eth0")  # Ray asks for the way out to learn its own address
                self._start(number)
        except BaseException:
            self.close()
            raise

    def _start(self, number: int) -> None:
        how = ["--head", "--port=6379", "--include-dashboard=false"] if number == 1 else [f"--address={self.address}"]
        command = ["ip", "netns", "exec", self.hosts[number - 1], sys.executable, "-m", "ray.scripts.scripts", "start"]
        command += ["--block", *how]
        command += ["--num-cpus=1", f"--object-store-memory={STORE}", f"--node-ip-address=10.77.0.{number}"]
        environment = {**os.environ, **self.variables}
        quiet = subprocess.DEVNULL
        self.processes[number] = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)
        wait(lambda: len(processes(RAYLET)) == number, "a node starts")

    def cut(self) -> None:
        """No packet passes between the nodes, and no one is told."""
        _ip(f"-n {self.switch} link set port2 nomaster")

    def mend(self) -> None:
        _ip(f"-n {self.switch} link set port2 master bridge0")

    def revive(self) -> None:
        if self.processes[2].poll() is not None:
            self._start(2)

    def close(self) -> None:
        for process in reversed(self.processes.values()):
            process.terminate()
            process.wait(PATIENCE)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def _ip(command: str) -> None:
    subprocess.run(["ip", *command.split()], check=True)


def patient(start: Callable[[], Any]) -> Any:
    """On a very busy machine Ray gives up on a node after half a minute, and may succeed the next time."""
    for _ in range(4):
        with suppress(Exception):
            return start()
    return start()
