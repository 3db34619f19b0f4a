"""Long work in a process of its own: tournaments, training runs, checks of a game.

A job is a worker that is asked one thing and tells how it goes. Jobs that were running when the server ended, however
that happened, are resumed when it starts again: their files hold all that is done.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from meijin.web.server.errors import Refusal
from meijin.web.server.lanes import Child, Lost
from meijin.web.server.settings import Settings
from meijin.web.server.table_store import TableStore

MOST_EVENTS = 500  # of one job that are remembered
STOPPING = 60.0  # seconds that a job has to end by itself
LEAVING = 2.0  # the same when the server ends
NICE = 5

Event = dict[str, Any]
Listener = Callable[["Job", Event], None]


class Job:
    """One piece of long work."""

    def __init__(self, kind: str, name: str, args: dict[str, Any], keep: bool):
        self.kind, self.name, self.args, self.keep = kind, name, args, keep
        self.state = "stopped"  # or running, stopping, finished, failed
        self.message = ""  # why it failed
        self.began = self.ended = 0.0
        self.events: deque[Event] = deque(maxlen=MOST_EVENTS)
        self.progress: Event | None = None
        self.result: Any = None
        self.listeners: set[Listener] = set()
        self.task: asyncio.Task[None] | None = None
        self.child: Child | None = None
        self._serial = 0

    @property
    def running(self) -> bool:
        return self.state in ("running", "stopping")

    def public(self) -> dict[str, Any]:
        known = ("kind", "name", "state", "message", "began", "ended", "progress", "result")
        return {name: getattr(self, name) for name in known} | {"events": len(self.events)}

    def stored(self) -> dict[str, Any]:
        known = ("kind", "name", "args", "state", "message", "began", "ended", "result")
        return {name: getattr(self, name) for name in known}

    def tell(self, event: Event) -> None:
        self._serial += 1
        event = {"serial": self._serial, "at": time.time(), **event}
        if event.get("event") == "progress":
            self.progress = event
        else:
            self.events.append(event)
        for listener in list(self.listeners):
            listener(self, event)


class Jobs:
    def __init__(self, settings: Settings, store: TableStore):
        self._settings, self._store = settings, store
        self._jobs: dict[tuple[str, str], Job] = {}
        self.load: tuple[str, ...] = ()  # files of games and agents
        self._closing = False

    async def start(self) -> None:
        """Resume what was running when the server ended."""
        for body in await self._store.jobs():
            job = Job(body["kind"], body["name"], body["args"], keep=True)
            job.message, job.began, job.ended = body["message"], body["began"], body["ended"]
            job.state, job.result = body["state"], body["result"]
            self._jobs[job.kind, job.name] = job
            if job.running and job.kind == "train" and not self._settings.training:
                job.state = "stopped"  # the file still has it running, for a server that trains
            if job.running:
                job.args["resume"] = True
                self._run(job)

    def get(self, kind: str, name: str) -> Job | None:
        return self._jobs.get((kind, name))

    def of(self, kind: str) -> list[Job]:
        return [job for job in self._jobs.values() if job.kind == kind]

    async def begin(self, kind: str, name: str, args: dict[str, Any], keep: bool = True) -> Job:
        """Begin a job, or one of the same name again."""
        old = self._jobs.get((kind, name))
        if old is not None and old.running:
            raise Refusal("illegal", f"'{name}' is running already")
        if keep:
            self.expect_room()
        job = self._jobs[kind, name] = Job(kind, name, args, keep)
        if old is not None:
            job.listeners = old.listeners
        self._run(job)
        await self._save(job)
        return job

    def expect_room(self) -> None:
        """Raise if no more jobs may run."""
        if sum(job.running and job.keep for job in self._jobs.values()) >= self._settings.limits.jobs:
            raise Refusal("busy", f"{self._settings.limits.jobs} tournaments or runs at a time are enough; stop one")

    def _run(self, job: Job) -> None:
        job.state, job.message, job.began, job.ended = "running", "", time.time(), 0.0
        job.task = asyncio.create_task(self._work(job))

    async def _work(self, job: Job) -> None:
        child = job.child = Child(self._settings.worker(NICE, self.load))
        try:
            await child.start()
            job.tell({"event": "state", "state": "running"})
            asked = child.ask(job.kind, job.args, job.tell, None)
            job.result = await asked.answer
            job.state = "stopped" if job.state == "stopping" else "finished"
        except Refusal as error:
            job.state, job.message = ("stopped", "") if job.state == "stopping" else ("failed", error.message)
        except Lost:
            stopped = job.state == "stopping"
            job.state, job.message = ("stopped", "") if stopped else ("failed", "its process ended unexpectedly")
        finally:
            child.kill()
            await child.ended()
            job.child = None
        job.ended = time.time()
        if self._closing:  # it is resumed when the server starts again
            return
        await self._save(job)
        job.tell({"event": "state", "state": job.state, "message": job.message})

    async def stop(self, job: Job, seconds: float = STOPPING) -> None:
        """Ask a job to end, and see to it."""
        if not job.running or job.task is None:
            return
        job.state = "stopping"
        job.tell({"event": "state", "state": "stopping"})
        if job.child is not None:
            for asked in list(job.child.waiting.values()):
                asked.stop(seconds)
        await asyncio.wait([job.task], timeout=seconds)

    async def forget(self, job: Job) -> None:
        """Stop a job and remove it from the list."""
        await self.stop(job)
        self._jobs.pop((job.kind, job.name), None)
        await self._store.delete_job(job.kind, job.name)

    async def _save(self, job: Job) -> None:
        if job.keep:
            await self._store.save_job(job.kind, job.name, job.stored())

    def tend(self) -> None:
        for job in self._jobs.values():
            if job.child is not None and job.child.memory_mb() > self._settings.limits.job_mb:
                job.child.kill("needed too much memory")

    async def close(self) -> None:
        self._closing = True
        running = [job for job in self._jobs.values() if job.task is not None and not job.task.done()]
        for job in running:
            if job.child is not None:
                for asked in list(job.child.waiting.values()):
                    asked.stop(LEAVING)
        if running:
            await asyncio.wait([job.task for job in running if job.task is not None], timeout=LEAVING + 1)
        for job in running:
            if job.child is not None:
                job.child.kill()
        await asyncio.gather(*(job.task for job in running if job.task is not None), return_exceptions=True)
