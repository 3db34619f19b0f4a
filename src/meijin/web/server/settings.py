"""What the person who starts the server decides. Nothing a client sends changes it."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meijin.core.folders import data_folder


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _most_memory() -> float:
    """Most of what this machine has, in MiB."""
    try:
        return 0.8 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (ValueError, OSError, AttributeError):  # not on every system
        return 1e9


@dataclass(frozen=True)
class Limits:
    """How much clients may ask for."""

    body: int = 1 << 20  # bytes of a request
    message: int = 1 << 17  # bytes of a message over the socket
    sockets: int = 2000
    tables: int = 20_000  # kept in the file
    analyses: int = 32  # that run at the same time
    analyses_each: int = 6  # of one socket, running or waiting
    moves_at_once: int = 32  # agents that think about a move at the same time
    think_seconds: float = 300.0  # of one analysis or one move
    memory_mb: float = 256.0  # of one agent's tree or table
    worker_mb: float = 4096.0  # of one worker process
    jobs: int = 2  # tournaments and training runs at the same time
    job_mb: float = field(default_factory=_most_memory)  # of one of them
    check_games: int = 60  # that searches play in each match of a check; 0: games are checked only when asked for
    send_seconds: float = 15.0  # that a client may take to read a message
    requests_burst: int = 400  # a client may ask so often at once,
    requests_rate: float = 200.0  # and so often per second in the long run
    nodes: int = 5000  # of a tree of variations


@dataclass(frozen=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None  # what full access needs; None: nothing, on loopback only
    hosts: tuple[str, ...] = ()  # further names under which the server may be addressed
    load: tuple[Path, ...] = ()
    data: Path = field(default_factory=data_folder)  # of tables and tournaments
    runs: Path = Path("runs")
    training: bool = True  # whether runs may be started, stopped and resumed; they are shown in any case
    agents: tuple[str, ...] = ()  # expressions that clients may use although they name files or programs
    warm: str = "connect_four"  # a game that an agent can play as soon as somebody wants it; "": none
    modules: bool = True  # whether games are compiled for the engine in the page, where there is a linker
    cores: int = field(default_factory=_cores)
    limits: Limits = field(default_factory=Limits)

    def worker(self, nice: int = 0, load: tuple[str, ...] = (), compile: bool = False) -> dict[str, Any]:
        """What a worker process is told when it starts; with `compile` it compiles rules beside its requests."""
        return {
            "nice": nice,
            "compile": compile and bool(self.warm),
            "load": load,
            "runs": str(self.runs),
            "data": str(self.data),
            "agents": self.agents,
            "memory_mb": self.limits.memory_mb,
            "cores": self.cores,
        }

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
