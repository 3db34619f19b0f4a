"""Many games in worker processes, supervised from outside.

    for record in play_tasks(tasks, workers=2, rules=PlayRules(move_timeout=5)):
        ...

Each worker plays one game after another and writes to shared memory which seat is thinking since when. An agent that
hangs is killed, together with its process and all child processes; an agent that ends its process (a crash of native
code, `os._exit`) is noticed at once. Both are forfeits of the seat on move. The worker is replaced, and its waiting
games go to others. Games that it had finished but not yet sent, a few milliseconds of play, are played again with the
same result, because equal tasks give equal games.

What agents print is discarded. The clock of a move stands still while code is compiled, and the first move of an agent
in a process has `PlayRules.startup_grace` seconds more.

With `workers=0` games are played in this process: quick to start and good for debugging, but an agent that hangs or
ends the process affects the caller. Workers start by `forkserver` if possible, else by `spawn`, so that threads of this
process do no harm. They know the games and agents of installed packages, of files read by `load_file`, of imported
modules and, behind `if __name__ == "__main__":`, of the running script, but not those of a notebook.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import connection, resource_tracker
from multiprocessing.context import BaseContext
from types import TracebackType
from typing import Any

from meijin.agents.registrations import registrations
from meijin.arena.judges import PlayRules
from meijin.arena.play import NOBODY, Monitor, forfeit_record, no_answer, play_task
from meijin.arena.record import GameRecord, Task
from meijin.arena.worker import (
    ALLOWED,
    BEGAN,
    COMPILING,
    PLIES,
    SEAT,
    SERIAL,
    STARTED,
    Blackboard,
    Failure,
    WorkerSetup,
    work,
)
from meijin.core import compile as compiling
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game

GRACE = 0.25  # seconds that a worker has to end an overdue move itself, before it is killed
CHUNK_SECONDS = 0.05  # of play sent to a worker at a time
MAX_WORKERS = 1024
MAX_AT_ONCE = 64  # games sent to a worker at a time: they fit into the buffer of a pipe
LOOK = 0.5  # seconds between checks of the workers, at most
FROM_OUTSIDE = {"SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"}  # signals that end a process from outside

Numbered = tuple[int, Task]  # (serial number, task)
Stopping = Callable[[], bool]  # whether somebody wants no more games


def never() -> bool:
    return False


def play_tasks(
    tasks: Iterable[Task],
    *,
    workers: int = 0,
    rules: PlayRules = PlayRules(),  # noqa: B008 - frozen
    ordered: bool = False,
    game: Game | None = None,
    stopping: Stopping = never,
) -> Generator[GameRecord, None, None]:
    """Play tasks and yield their records as they finish, or with `ordered` in the order of the tasks.

    Tasks are taken as needed, so there may be any number. Closing the generator ends the workers. `game`: the game of
    all tasks; with `workers=0` it needs no name. `stopping` is asked often, and once it is true, no more games come.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or not 0 <= workers <= MAX_WORKERS:
        raise BadParameter(
            f"workers = {workers!r}: must be a number of processes, at most {MAX_WORKERS}, or 0 to play in this one"
        )
    if workers == 0:
        yield from _play_here(tasks, rules, game, stopping)
        return
    with WorkerPool(workers, rules, stopping) as pool:
        yield from pool.play(tasks, ordered=ordered)


def cores() -> int:
    """The number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _play_here(tasks: Iterable[Task], rules: PlayRules, game: Game | None, stopping: Stopping) -> Iterator[GameRecord]:
    monitor = _StoppingMonitor(stopping)
    known: dict[str, Game] = {}
    with contextlib.suppress(_Stopped):
        for task in tasks:
            if game is None and task.game not in known:
                known[task.game] = make(task.game)
            with monitor.installed():
                record = play_task(task, rules=rules, game=game or known[task.game], monitor=monitor)
            yield record


class _Stopped(Exception):
    """A game is not played to its end."""


class _StoppingMonitor(Monitor):
    """Ends a game between two moves."""

    def __init__(self, stopping: Stopping):
        super().__init__()
        self.stopping = stopping

    def moved(self, moves: Sequence[int]) -> None:
        if self.stopping():
            raise _Stopped


class WorkerPool:
    """Worker processes that play several rounds of tasks."""

    def __init__(self, workers: int, rules: PlayRules = PlayRules(), stopping: Stopping = never):  # noqa: B008
        self.size, self.rules, self.stopping = workers, rules, stopping
        self._context = _context()
        self._setup = WorkerSetup(
            rules, registrations(), {k: v for k, v in os.environ.items() if k.startswith("MEIJIN_")}
        )
        self._workers: list[_WorkerProcess] = []
        self._mean = 0.0  # seconds per game, recently
        self._deaths: dict[int, int] = {}  # serial -> workers that died during this game
        self._saying: contextlib.ExitStack | None = None  # the message that a worker compiles

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers, whatever they are doing."""
        self._say(None)
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    @property
    def processes(self) -> list[int]:
        """The process ids of the workers."""
        return [worker.process.pid or 0 for worker in self._workers]

    def start(self) -> None:
        """Start all workers and wait until they are ready; `play` also starts workers as needed."""
        while len(self._workers) < self.size:
            self._hire()
        for worker in self._workers:
            while not worker.ready:
                connection.wait([worker.pipe, worker.process.sentinel])
                worker.receive()
                if not worker.ready and worker.process.exitcode is not None:
                    raise worker.failed_to_start(worker.cause())

    def play(self, tasks: Iterable[Task], *, ordered: bool = False) -> Generator[GameRecord, None, None]:
        """Play tasks and yield their records as they finish, or in the order of the tasks."""
        return yielded(self._play(enumerate(tasks)), ordered)

    def _play(self, source: Iterator[Numbered]) -> Generator[tuple[int, GameRecord], None, None]:
        waiting: deque[Numbered] = deque()  # games of dead workers, to be played first
        self._deaths.clear()
        try:
            while not self.stopping() and self._feed(source, waiting):
                for worker in self._wait():
                    for serial, record in worker.receive():
                        self._mean += (record.seconds - self._mean) * (0.1 if self._mean else 1.0)
                        yield serial, record
                    if worker.process.exitcode is not None and not worker.pipe_holds_more():
                        yield from self._bury(worker, waiting)
        finally:
            if any(worker.queue for worker in self._workers):  # stopped early: their games are no longer needed
                self.close()

    def _feed(self, source: Iterator[Numbered], waiting: deque[Numbered]) -> bool:
        """Send games to workers; returns whether any is being played."""
        at_once = 1
        if self._mean:
            at_once = max(1, min(MAX_AT_ONCE, int(CHUNK_SECONDS / self._mean)))
        for place in range(self.size):
            held = len(self._workers[place].queue) if place < len(self._workers) else 0
            # Quick games are sent ahead, so that no worker waits; slow ones one at a time.
            if held > (at_once // 2 if at_once > 1 else 0):
                continue
            batch = [waiting.popleft() for _ in range(min(at_once, len(waiting)))]
            batch += itertools.islice(source, at_once - len(batch))
            if not batch:
                break
            if place == len(self._workers):
                self._hire()
            self._workers[place].give(batch)
        return any(worker.queue for worker in self._workers)

    def _hire(self) -> None:
        """Start a worker."""
        with _uninterrupted():
            self._workers.append(_WorkerProcess(self._context, self._setup))

    def _wait(self) -> list[_WorkerProcess]:
        """Workers that sent something or died; kills those that think for too long."""
        busy = [worker for worker in self._workers if worker.queue]
        step = LOOK if self.rules.move_timeout is None else min(LOOK, max(0.02, self.rules.move_timeout / 4))
        handles: list[Any] = [h for worker in busy for h in (worker.pipe, worker.process.sentinel)]
        ready = set(connection.wait(handles, step))
        self._say(next((worker.queue[0][1].game for worker in busy if worker.compiles), None))
        for worker in busy:
            if worker.overdue():
                worker.kill()
                worker.hung = True
        return [w for w in busy if w.pipe in ready or w.process.sentinel in ready or w.hung]

    def _say(self, game: str | None) -> None:
        """Announce that a worker compiles a game, or that none does."""
        if (game is not None) != (self._saying is not None):
            if self._saying is not None:
                self._saying.close()
            self._saying = None if game is None else contextlib.ExitStack()
            if self._saying is not None:
                self._saying.enter_context(compiling.on_compile(f"{game}-games"))

    def _bury(self, worker: _WorkerProcess, waiting: deque[Numbered]) -> Iterator[tuple[int, GameRecord]]:
        """Take back the games of a dead worker; yields the record of its current game if that is forfeited."""
        self._workers.remove(worker)
        cause, last = worker.cause(), worker.last_state()
        worker.end()
        serial, current = next((item for item in worker.queue if item[0] == last.serial), worker.queue[0])
        seat = last.seat if serial == last.serial else NOBODY  # between two games
        died = self._deaths[serial] = self._deaths.get(serial, 0) + 1
        again = died == 1 and not worker.hung and (cause in FROM_OUTSIDE or (seat == NOBODY and worker.ready))
        if not again and not worker.ready:
            raise worker.failed_to_start(cause)
        if not again and seat == NOBODY:
            raise MeijinError(
                f"game {current.number} of {current.game} ended its process twice ({cause}) with no agent on move; "
                "check the rules with `meijin check`"
            )
        waiting.extendleft(reversed([item for item in worker.queue if again or item[0] != serial]))
        if not again:
            reason = no_answer(self.rules) if worker.hung else f"ended its process ({cause})"
            record = forfeit_record(current, make(current.game), seat, reason, last.moves)
            yield serial, replace(record, began=last.began, seconds=last.seconds)


class _LastState:
    """The blackboard of a dead worker."""

    def __init__(self, board: Blackboard):
        fields, moves = board.views()
        self.serial, self.seat = int(fields[SERIAL]), int(fields[SEAT])
        self.moves: list[int] = moves[: int(fields[PLIES])].tolist()
        started = float(fields[STARTED])
        self.began = datetime.fromtimestamp(started, UTC).isoformat(timespec="milliseconds")
        self.seconds = max(0.0, time.time() - started)


class _WorkerProcess:
    """A worker as its parent sees it."""

    def __init__(self, context: BaseContext, setup: WorkerSetup):
        self.pipe, theirs = context.Pipe()
        self.board = Blackboard(context)
        self._fields = self.board.views()[0]
        # mypy does not know `context.Process`, but every context has it.
        process: Any = context.Process  # type: ignore[attr-defined]
        self.process = process(target=work, args=(theirs, self.board, setup), name="meijin-worker", daemon=True)
        self.process.start()
        theirs.close()
        self.queue: deque[Numbered] = deque()  # games sent and not finished, in order
        self.ready = self.hung = False
        self._broken = False  # nothing more can be read from the pipe

    def give(self, batch: list[Numbered]) -> None:
        self.queue.extend(batch)
        with contextlib.suppress(OSError):  # it died, which `_wait` notices
            self.pipe.send(batch)

    def receive(self) -> list[tuple[int, GameRecord]]:
        """All records that have arrived."""
        found: list[tuple[int, GameRecord]] = []
        while self.pipe_holds_more():
            try:
                message = self.pipe.recv()
            except (EOFError, OSError, pickle.UnpicklingError):  # it died while writing
                self._broken = True
                break
            if isinstance(message, Failure):
                message.throw()
            elif message is None:
                self.ready = True
            else:
                finished = {serial for serial, _ in message}
                self.queue = deque(item for item in self.queue if item[0] not in finished)
                found += message
        return found

    def pipe_holds_more(self) -> bool:
        try:
            return not self._broken and self.pipe.poll()
        except OSError:
            return False

    def overdue(self) -> bool:
        """Whether an agent is thinking for too long; checked twice, as the worker may be writing."""
        for _ in range(2):
            seat, began, allowed = (float(self._fields[k]) for k in (SEAT, BEGAN, ALLOWED))
            if seat == NOBODY or time.monotonic() - began <= allowed + GRACE:
                return False
        return True

    @property
    def compiles(self) -> bool:
        return bool(self._fields[ALLOWED] >= COMPILING)

    def last_state(self) -> _LastState:
        return _LastState(self.board)

    def cause(self) -> str:
        """How the process ended."""
        code = self.process.exitcode or 0
        if code >= 0:
            return f"exit status {code}"
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"

    def failed_to_start(self, cause: str) -> MeijinError:
        return MeijinError(
            f"a worker process ended before it could play ({cause}); a script that uses workers must do so "
            "behind `if __name__ == '__main__':`; workers=0 plays without them"
        )

    def kill(self) -> None:
        """Kill the process and its children."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(OSError):  # no group of its own yet
                os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.join()

    def end(self) -> None:
        self.kill()
        self.pipe.close()
        self.process.close()


def yielded(records: Generator[tuple[int, GameRecord], None, None], ordered: bool) -> Generator[GameRecord, None, None]:
    """Records as they come, or in the order of their serial numbers; whoever stops early also stops their source."""
    with contextlib.closing(records):
        yield from _in_order(records) if ordered else (record for _, record in records)


def _in_order(records: Iterable[tuple[int, GameRecord]]) -> Iterator[GameRecord]:
    early: dict[int, GameRecord] = {}
    turn = 0
    for serial, record in records:
        early[serial] = record
        while turn in early:
            yield early.pop(turn)
            turn += 1
    yield from (early[serial] for serial in sorted(early))  # it was stopped during a game before these


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of the block, and does not reach the processes that are started in it.

    A process that is half started would print a traceback, and so would the fork server. Both undo this once started.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not on every system
        yield
        return
    resource_tracker.ensure_running()  # first, as it unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context() -> BaseContext:
    """Processes that inherit no threads; the fork server has imported what takes long."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    heavy = ["numba", "numba.core.typing"] if compiling.JIT else []
    context.set_forkserver_preload(["meijin.arena.worker", "meijin.search.mcts.agent", *heavy, "meijin.arena.preload"])
    return context
