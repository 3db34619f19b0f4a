"""A worker process: plays games and writes on a blackboard what it is doing. See `pool`."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from meijin.agents.registrations import Registrations, register_again
from meijin.arena.judges import PlayRules
from meijin.arena.play import NOBODY, Monitor, play_task
from meijin.arena.record import GameRecord, Task
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError, UnknownName
from meijin.core.game import Game

#: Fields of a blackboard: the current game, when it began (time of day), the seat that is thinking, since when
#: (monotonic), for how long it may, and the number of moves played.
SERIAL, STARTED, SEAT, BEGAN, ALLOWED, PLIES = range(6)
FIELDS = 6
MAX_PLIES = 1 << 16  # moves on a blackboard; of longer games the first ones
COMPILING = 3600.0  # seconds that compiling may take
SEND_SECONDS = 0.02  # of play after which finished games are sent


class Blackboard:
    """Shared memory, written by a worker and read by its parent."""

    def __init__(self, context: BaseContext):
        self._fields = context.RawArray(ctypes.c_double, FIELDS)
        self._moves = context.RawArray(ctypes.c_int32, MAX_PLIES)
        fields, _ = self.views()
        fields[SERIAL] = fields[SEAT] = -1

    def views(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        fields: Any = self._fields  # a buffer, but numpy's types do not say so
        moves: Any = self._moves
        return np.frombuffer(fields, np.float64), np.frombuffer(moves, np.int32)


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker needs to start."""

    rules: PlayRules
    registrations: Registrations
    environment: dict[str, str]  # variables of Meijin: the fork server may be older than they are


@dataclass(frozen=True)
class Failure:
    """An error that is not an agent's fault, on its way to the parent."""

    error: BaseException | None  # None: it cannot be pickled
    text: str  # traceback

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        from multiprocessing.reduction import ForkingPickler

        text = "".join(traceback.format_exception(error))
        try:
            ForkingPickler.loads(ForkingPickler.dumps(error))
        except Exception:
            return cls(None, text)
        return cls(error, text)

    def throw(self) -> NoReturn:
        error = self.error or RuntimeError("a worker process failed")
        if not isinstance(error, MeijinError):  # Meijin's own messages are complete
            error.add_note(f"In a worker process:\n{self.text}")
        raise error


class SharedMonitor(Monitor):
    """A clock that the parent process can read."""

    def __init__(self, board: Blackboard):
        super().__init__()
        self._fields, self._moves = board.views()

    def task(self, serial: int) -> None:
        """A game begins."""
        fields = self._fields
        fields[PLIES] = 0
        fields[STARTED] = time.time()
        fields[SERIAL] = serial

    def start(self, seat: int, allowed: float) -> None:
        super().start(seat, allowed)
        fields = self._fields
        fields[ALLOWED] = allowed
        fields[BEGAN] = self.began
        fields[SEAT] = seat  # last: the other fields are valid once it is set

    def stop(self) -> float:
        self._fields[SEAT] = NOBODY
        return super().stop()

    def moved(self, moves: Sequence[int]) -> None:
        count = min(len(moves), MAX_PLIES)
        known = int(self._fields[PLIES])
        if count > known:
            self._moves[known:count] = moves[known:count]
            self._fields[PLIES] = count

    @contextmanager
    def compiling(self) -> Iterator[None]:
        self._fields[ALLOWED] += COMPILING
        try:
            with super().compiling():
                yield
        finally:
            self._fields[BEGAN] = self.began  # first: the move must never look overdue
            self._fields[ALLOWED] -= COMPILING


def work(pipe: Connection, board: Blackboard, setup: WorkerSetup) -> None:
    """The main function of a worker."""
    _detach()
    monitor = SharedMonitor(board)
    known: dict[str, Game] = {}
    try:
        os.environ.update(setup.environment)
        register_again(setup.registrations)
        pipe.send(None)  # ready
        with monitor.installed():
            while True:
                done: list[tuple[int, GameRecord]] = []
                handed = time.monotonic()
                for serial, task in pipe.recv():
                    monitor.task(serial)
                    done.append((serial, _play(task, setup.rules, known, monitor)))
                    if time.monotonic() - handed > SEND_SECONDS:
                        pipe.send(done)
                        done, handed = [], time.monotonic()
                monitor.task(-1)
                if done:
                    pipe.send(done)
    except (EOFError, BrokenPipeError, ConnectionResetError):  # the parent is gone or closed the pool
        pass
    except BaseException as error:
        with suppress(OSError):
            pipe.send(Failure.of(error))
    finally:
        os._exit(0)  # without waiting for threads that agents left behind


def _play(task: Task, rules: PlayRules, known: dict[str, Game], monitor: Monitor) -> GameRecord:
    try:
        if task.game not in known:
            known[task.game] = make(task.game)
        return play_task(task, rules=rules, game=known[task.game], monitor=monitor)
    except UnknownName as error:
        raise UnknownName(
            f"{error}\nworker processes know what installed packages, modules and files given by --load or `load_file` "
            "register; put it into such a file, or use workers=0"
        ) from None


def heed_interrupts() -> None:
    """No longer block Ctrl-C, as the parent did; one that came since is forgotten."""
    if hasattr(signal, "pthread_sigmask"):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGINT, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _detach() -> None:
    """Detach from the terminal, Ctrl-C and all output, and end with the parent."""
    if hasattr(os, "setsid"):
        with suppress(OSError):
            os.setsid()
    heed_interrupts()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 - for good
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8", errors="replace")  # noqa: SIM115, PTH123
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_exit_with_parent, args=(parent.sentinel,), daemon=True).start()


def _exit_with_parent(sentinel: Any) -> None:
    connection.wait([sentinel])
    os._exit(1)
