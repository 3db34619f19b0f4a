"""Worker processes as the server sees them: lanes of children that are started when needed and replaced when they die.

    rules      positions and moves: quick, for everybody, never behind anything slow
    own        the same for games of files that the server was started with: their rules may hang or crash
    chores     whatever may take a second: descriptions, records, pictures
    moves      agents that play at tables
    analysis   agents that are watched; with less of the processor where it is short

A child that ends, or that does not answer in time, takes only its own requests along; those that can be asked again
are asked again in its successor.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meijin
from meijin.web.server import wire
from meijin.web.server.errors import Refusal
from meijin.web.server.settings import Settings

PATIENCE = 60.0  # seconds for one answer; the first use of a game may have to compile its rules
STOPPING = 10.0  # seconds that an agent has to stop before its process is ended
LOOK = 2.0  # seconds between looks at how much memory children use
REST = 300.0  # seconds after which a child without work is ended

Part = Callable[[Any], None]


class Lost(Exception):
    """The child ended before it answered."""


class Asked:
    """A request that a child has not answered yet."""

    def __init__(self, child: Child, number: int, part: Part | None, patience: float | None):
        self.child, self.number, self.part = child, number, part
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._timer: asyncio.TimerHandle | None = None
        if patience is not None:
            self._end_after(patience, "gave no answer in time")

    def _end_after(self, seconds: float, cause: str) -> None:
        self.settle()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds, self.child.kill, cause, self.number)

    def stop(self, seconds: float = STOPPING) -> None:
        """Say that nobody wants the answer; it still comes, soon, or the process is ended."""
        if not self.answer.done() and self.child.alive:
            self.child.send({"id": self.number, "stop": True})
            self._end_after(seconds, "did not stop")

    def settle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Child:
    """A process and what it was asked."""

    def __init__(self, setup: dict[str, Any]):
        self._setup = setup
        self._process: Process | None = None
        self._numbers = 0
        self.waiting: dict[int, Asked] = {}
        self.alive = True
        self.guilty: int | None = None  # the request for which it was ended
        self.cause = "ended unexpectedly"
        self.idle_since = 0.0
        self._reader: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def load(self) -> int:
        return len(self.waiting)

    async def start(self) -> None:
        path = [str(Path(meijin.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # never import what lies about in the current folder
            "-m",
            "meijin.web.server.work.worker",
            stdin=PIPE,
            stdout=PIPE,
            limit=1 << 20,
            start_new_session=True,
            env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONPATH": os.pathsep.join(path)},
        )
        self.send(self._setup)
        self._reader = asyncio.create_task(self._read())

    def send(self, message: dict[str, Any]) -> None:
        if self._process is None or self._process.stdin is None:
            return
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._process.stdin.write(wire.pack(message))

    def ask(self, call: str, args: dict[str, Any], part: Part | None, patience: float | None) -> Asked:
        if not self.alive:
            raise Lost
        self._numbers += 1
        asked = self.waiting[self._numbers] = Asked(self, self._numbers, part, patience)
        self.send({"id": self._numbers, "call": call, "args": args})
        return asked

    async def _read(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        try:
            while True:
                self._take(await wire.receive(self._process.stdout))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._bury()

    def _take(self, message: dict[str, Any]) -> None:
        asked = self.waiting.get(message["id"])
        if asked is None:
            return
        if "part" in message:
            if asked.part is not None:
                asked.part(message["part"])
            return
        del self.waiting[asked.number]
        self.idle_since = asyncio.get_running_loop().time()
        asked.settle()
        if asked.answer.done():
            return
        if "error" in message:
            asked.answer.set_exception(Refusal(*message["error"]))
        else:
            asked.answer.set_result(message["done"])

    def kill(self, cause: str = "was ended", guilty: int | None = None) -> None:
        """End the process with whatever it has started."""
        if self.alive:
            self.alive, self.cause, self.guilty = False, cause, guilty
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()

    def _bury(self) -> None:
        self.alive = False
        for asked in self.waiting.values():
            asked.settle()
            if not asked.answer.done():
                blamed = self.guilty == asked.number
                asked.answer.set_exception(Refusal("refused", f"the engine {self.cause}") if blamed else Lost())
        self.waiting.clear()

    async def ended(self) -> None:
        """Wait until a killed process is gone."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOPPING):
                if self._reader is not None:
                    await asyncio.wait([self._reader])
                if self._process is not None:
                    await self._process.wait()

    def memory_mb(self) -> float:
        """What the process uses; 0 where the system does not say."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
        except (OSError, ValueError, IndexError):
            return 0.0


class Lane:
    """Children that do the same kind of work."""

    def __init__(self, settings: Settings, size: int, nice: int = 0, compile: bool = False):
        self._settings, self._size, self._nice, self._compile = settings, size, nice, compile
        self.load: tuple[str, ...] = ()  # files of games and agents
        self._children: list[Child] = []
        self._homes: dict[str, Child] = {}  # where an agent lives
        self._starting = asyncio.Lock()
        self._closed = False

    async def _child(self, home: str | None = None) -> Child:
        """The child with the least to do; a new one if all have something and there may be more."""
        if home is not None and (known := self._homes.get(home)) is not None and known.alive:
            return known
        async with self._starting:
            if self._closed:
                raise Refusal("closed", "the server is ending")
            self._children = [child for child in self._children if child.alive]
            free = min(self._children, key=lambda child: child.load, default=None)
            if free is None or (free.load > 0 and len(self._children) < self._size):
                free = Child(self._settings.worker(self._nice, self.load, self._compile))
                await free.start()
                self._children.append(free)
        if home is not None:
            self._homes[home] = free
        return free

    async def warm(self) -> None:
        """Have a child ready before anybody asks."""
        await self._child()

    async def call(
        self,
        name: str,
        args: dict[str, Any],
        *,
        home: str | None = None,
        part: Part | None = None,
        patience: float = PATIENCE,
        again: bool = True,
    ) -> Any:
        """What a child answers, or a `Refusal`. Cancelling the call stops the work."""
        for attempt in (1, 2, 3):
            try:
                asked = (await self._child(home)).ask(name, args, part, patience)
                try:
                    return await asyncio.shield(asked.answer)
                except asyncio.CancelledError:
                    asked.answer.add_done_callback(forget)
                    asked.stop()
                    raise
            except Lost:
                if attempt == 3 or not again:
                    break
        raise Refusal("refused", "the engine ended unexpectedly; if this happens again, check the game's rules")

    def forget(self, home: str) -> None:
        """Close the agents whose homes begin so; nobody will ask them again."""
        for each in [each for each in self._homes if each.startswith(home)]:
            child = self._homes.pop(each)
            if child.alive:
                child.ask("close", {"key": each}, None, PATIENCE).answer.add_done_callback(forget)

    def restart(self) -> None:
        """End all children: files that they have loaded have changed. What they were asked is asked again."""
        for child in self._children:
            child.kill("was restarted")

    def tend(self) -> None:
        """End children that use too much memory, and those that have had nothing to do for long."""
        now = asyncio.get_running_loop().time()
        for child in self._children:
            if child.memory_mb() > self._settings.limits.worker_mb:
                child.kill("needed too much memory")
            elif not child.load and self._nice and now - child.idle_since > REST:
                child.kill("was idle")
        self._homes = {home: child for home, child in self._homes.items() if child.alive}

    async def close(self) -> None:
        self._closed = True  # nothing is asked again
        async with self._starting:
            children, self._children = self._children, []
        for child in children:
            child.kill()
        for child in children:
            await child.ended()


def forget(answer: asyncio.Future[Any]) -> None:
    """Look at an answer that nobody waits for, so that asyncio does not complain about it."""
    if not answer.cancelled():
        answer.exception()


class Lanes:
    """All workers of a server."""

    def __init__(self, settings: Settings):
        cores = min(settings.cores, 8)
        self._rules = Lane(settings, 1, compile=True)
        self._own = Lane(settings, 1, compile=True)
        self.chores = Lane(settings, 1)
        self.moves = Lane(settings, cores, nice=1)
        self.analysis = Lane(settings, cores, nice=4)
        self.names: frozenset[str] = frozenset()  # of the games of the server's own files
        self._tending: asyncio.Task[None] | None = None

    def rules(self, game: str) -> Lane:
        """The lane that answers for a game."""
        return self._own if self.changes(game) else self._rules

    def changes(self, game: str) -> bool:
        """Whether a game is one of the server's own files, which may be edited at any time."""
        return game.partition("(")[0].strip() in self.names

    @property
    def _all(self) -> tuple[Lane, ...]:
        return self._rules, self._own, self.chores, self.moves, self.analysis

    async def start(self) -> None:
        await asyncio.gather(self._rules.warm(), self.chores.warm())
        self._tending = asyncio.create_task(self._tend())

    async def _tend(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            for lane in self._all:
                lane.tend()

    def reload(self, files: tuple[str, ...], names: frozenset[str]) -> None:
        """Load the server's own files again, those of them that can be loaded."""
        self.names = names
        for lane in (self._own, self.chores, self.moves, self.analysis):
            lane.load = files
            lane.restart()

    async def close(self) -> None:
        if self._tending is not None:
            self._tending.cancel()
        for lane in self._all:
            await lane.close()
