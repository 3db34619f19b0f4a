"""The page of people who write games: files given by --load are watched, loaded again when saved, and checked.

A file is first tried in a process of its own; only if it loads there do the other workers get it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

from meijin.web.server.catalogue import Catalogue
from meijin.web.server.errors import Refusal
from meijin.web.server.jobs import Event, Job, Jobs
from meijin.web.server.lanes import Child, Lost
from meijin.web.server.settings import Settings
from meijin.web.server.tables import Tables

LOOK = 0.4  # seconds between looks at the files
TRIAL = 30.0  # seconds that loading a file may take

Listener = Callable[[Event], None]


class Designer:
    def __init__(self, settings: Settings, catalogue: Catalogue, tables: Tables, jobs: Jobs):
        self._settings, self._catalogue, self._tables, self._jobs = settings, catalogue, tables, jobs
        self._stamps: dict[str, Any] = {}
        self._tried: dict[str, dict[str, Any]] = {}  # file -> what its trial found
        self.versions = 0  # grows when something was loaded
        self.listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._settings.load:
            await self._look()
            self._task = asyncio.create_task(self._watch())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def public(self) -> dict[str, Any]:
        """The files, their games, and the newest results of their checks."""
        files = [{"file": os.path.basename(file), **found} for file, found in self._tried.items()]  # noqa: PTH119
        return {"version": self.versions, "files": files, "checks": [_check(job) for job in self._jobs.of("check")]}

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            await self._look()

    async def _look(self) -> None:
        """Load what has changed, once it has stopped changing."""
        changed = [file for file in map(str, self._settings.load) if _stamp(file) != self._stamps.get(file)]
        if not changed:
            return
        for file in changed:
            stamp = _stamp(file)
            while True:
                await asyncio.sleep(LOOK / 4 if self._stamps else 0)
                if (now := _stamp(file)) == stamp:
                    break
                stamp = now
            self._stamps[file] = stamp
            self._tried[file] = await self._trial(file)
        good = {file: found for file, found in self._tried.items() if found["problem"] is None}
        names = frozenset(name for found in good.values() for name in found["games"])
        self._tables.lanes.reload(tuple(good), names)
        self._jobs.load = tuple(good)
        self._catalogue.forget()
        self._tables.forget()
        self.versions += 1
        self._tell({"event": "loaded", **self.public()})
        if self._settings.limits.check_games:
            for name in (name for file in changed for name in self._tried[file]["games"]):
                await self.check(name)

    async def _trial(self, file: str) -> dict[str, Any]:
        child = Child(self._settings.worker())
        try:
            await child.start()
            found: dict[str, Any] = await child.ask("trial", {"file": file}, None, TRIAL).answer
            return found
        except (Refusal, Lost) as error:
            return {"games": [], "agents": [], "problem": f"loading it failed: {error or 'the process ended'}"}
        finally:
            child.kill()
            await child.ended()

    async def again(self, game: str) -> None:
        """Check a game once more."""
        if not any(game in found["games"] for found in self._tried.values()):
            raise Refusal("unknown", f"no file that the server watches has a game '{game}'")
        await self.check(game)

    async def check(self, game: str) -> None:
        """Check a game, from the start if it is being checked."""
        if (old := self._jobs.get("check", game)) is not None and old.running:
            await self._jobs.stop(old, 0.1)
        asked = {"game": game, "games": self._settings.limits.check_games}
        job = await self._jobs.begin("check", game, asked, keep=False)
        job.listeners = {self._checked}

    def _checked(self, job: Job, event: Event) -> None:
        self._tell({"event": "check", "game": job.name, "step": event, "check": _check(job)})

    def _tell(self, event: Event) -> None:
        for listener in list(self.listeners):
            listener(event)


def _check(job: Job) -> dict[str, Any]:
    """What is known of a game."""
    found = job.public()
    for event in job.events:
        if event["event"] in ("report", "search"):
            found[event["event"]] = event[event["event"]]
    return {"game": job.name, "report": None, "search": None} | found


def _stamp(file: str) -> Any:
    try:
        found = os.stat(file)  # noqa: PTH116
        return found.st_mtime_ns, found.st_size, found.st_ino
    except OSError:
        return None
