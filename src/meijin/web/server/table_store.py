"""Where tables are kept: a SQLite file. What was answered is on the disk; a killed server loses nothing of it.

Changes that come at the same time share a transaction, in a thread of their own.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from meijin.core.errors import MeijinError
from meijin.core.sqlite import remedy, transaction
from meijin.web.server.errors import Refusal

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], Any]
Job = tuple[Work, "asyncio.Future[Any]"]

VERSION = 1
LEAVING = 3.0  # seconds that a server which is ending may still hold the file
SCHEMA = """
CREATE TABLE IF NOT EXISTS tables (
    id TEXT PRIMARY KEY,
    game TEXT NOT NULL,
    updated REAL NOT NULL,
    body BLOB NOT NULL,
    notes BLOB);
CREATE INDEX IF NOT EXISTS recent ON tables (updated);
CREATE INDEX IF NOT EXISTS games ON tables (game);
CREATE TABLE IF NOT EXISTS jobs (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, name));
"""


class TableStore:
    def __init__(self, path: Path):
        self.path = path
        self._work: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=LEAVING, isolation_level=None, check_same_thread=False)
            path.chmod(0o600)  # the keys of links are in it
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")  # two servers would both resume what was going on
            self._db.execute("PRAGMA journal_mode=WAL").fetchone()
            self._db.execute("PRAGMA synchronous=NORMAL")
            (found,) = self._db.execute("PRAGMA user_version").fetchone()
            if found not in (0, VERSION):
                raise MeijinError(f"'{path}' was written by a newer Meijin (version {found}); update, or move it away")
            self._db.executescript(SCHEMA)
            self._db.execute(f"PRAGMA user_version={VERSION}")
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise MeijinError(
                    f"another server uses '{path.parent}'; end it, or give this one a folder of its own with --data"
                ) from None
            raise MeijinError(f"the tables in '{path}' cannot be opened: {error}; {remedy(error)}") from None
        except OSError as error:
            raise MeijinError(f"the tables in '{path}' cannot be opened: {error.strerror}") from None
        self._thread = threading.Thread(target=self._run, name="meijin-tables", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._work.put(None)
        self._thread.join()
        self._db.close()

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._work.put((work, answer))
        return await asyncio.shield(answer)  # whoever goes away meanwhile: it is written

    def _run(self) -> None:
        while (first := self._work.get()) is not None:
            jobs, last = [first], False
            while not self._work.empty() and not last:
                job = self._work.get()
                if job is None:
                    last = True
                else:
                    jobs.append(job)
            self._together(jobs)
            if last:
                return

    def _together(self, jobs: list[Job]) -> None:
        try:
            with transaction(self._db):
                values = [work(self._db) for work, _ in jobs]
        except sqlite3.Error as error:
            problem = Refusal("busy", f"this could not be saved: {error}; {remedy(error)}")
            for _, answer in jobs:
                answer.get_loop().call_soon_threadsafe(_settle, answer, None, problem)
            return
        for (_, answer), value in zip(jobs, values, strict=True):
            answer.get_loop().call_soon_threadsafe(_settle, answer, value, None)

    # ---- tables ----

    async def save(self, body: dict[str, Any]) -> None:
        values = body["id"], body["game"], body["updated"], msgspec.json.encode(body)
        await self._do(
            lambda db: db.execute(
                "INSERT INTO tables (id, game, updated, body) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (id) DO UPDATE SET updated = excluded.updated, body = excluded.body",
                values,
            )
        )

    async def load(self, id_: str) -> dict[str, Any] | None:
        row = await self._do(lambda db: db.execute("SELECT body FROM tables WHERE id = ?", (id_,)).fetchone())
        return None if row is None else msgspec.json.decode(row[0])

    async def recent(self, count: int, before: float | None = None) -> list[dict[str, Any]]:
        """The tables that changed last."""
        rows = await self._do(
            lambda db: db.execute(
                "SELECT body FROM tables WHERE updated < ? ORDER BY updated DESC LIMIT ?",
                (1e18 if before is None else before, count),
            ).fetchall()
        )
        return [msgspec.json.decode(body) for (body,) in rows]

    async def count(self) -> int:
        return int(await self._do(lambda db: db.execute("SELECT count(*) FROM tables").fetchone()[0]))

    async def plays(self, game: str) -> bool:
        """Whether there is a table of that game."""
        row = await self._do(lambda db: db.execute("SELECT 1 FROM tables WHERE game = ? LIMIT 1", (game,)).fetchone())
        return row is not None

    async def delete(self, id_: str) -> None:
        await self._do(lambda db: db.execute("DELETE FROM tables WHERE id = ?", (id_,)))

    async def notes(self, id_: str) -> Any:
        row = await self._do(lambda db: db.execute("SELECT notes FROM tables WHERE id = ?", (id_,)).fetchone())
        return None if row is None or row[0] is None else msgspec.json.decode(row[0])

    async def save_notes(self, id_: str, notes: Any) -> None:
        data = msgspec.json.encode(notes)
        await self._do(lambda db: db.execute("UPDATE tables SET notes = ? WHERE id = ?", (data, id_)))

    # ---- what goes on besides: tournaments and training runs ----

    async def jobs(self) -> list[dict[str, Any]]:
        rows = await self._do(lambda db: db.execute("SELECT body FROM jobs").fetchall())
        return [msgspec.json.decode(body) for (body,) in rows]

    async def save_job(self, kind: str, name: str, body: dict[str, Any]) -> None:
        data = msgspec.json.encode(body)
        await self._do(lambda db: db.execute("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?)", (kind, name, data)))

    async def delete_job(self, kind: str, name: str) -> None:
        await self._do(lambda db: db.execute("DELETE FROM jobs WHERE kind = ? AND name = ?", (kind, name)))


def _settle(answer: asyncio.Future[Any], value: Any, problem: Exception | None) -> None:
    if answer.done():
        return
    if problem is not None:
        answer.set_exception(problem)
    else:
        answer.set_result(value)
