"""Where tables are kept: a SQLite file. What was answered is on the disk; a killed server loses nothing of it.

Changes that come at the same time share a transaction, in a thread of their own.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from meijin.core.errors import MeijinError
from meijin.core.sqlite import WAIT_SECONDS, patiently, remedy, transaction

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], Any]

VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS tables (
    id TEXT PRIMARY KEY,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    over INTEGER NOT NULL,
    body BLOB NOT NULL,
    notes BLOB);
CREATE INDEX IF NOT EXISTS recent ON tables (updated);
"""


class TableStore:
    def __init__(self, path: Path):
        self.path = path
        self._work: queue.SimpleQueue[tuple[Work, asyncio.Future[Any] | None] | None] = queue.SimpleQueue()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
            path.chmod(0o600)  # the keys of links are in it
            patiently(lambda: self._db.execute("PRAGMA journal_mode=WAL").fetchone())
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(SCHEMA)
            (found,) = self._db.execute("PRAGMA user_version").fetchone()
            if found not in (0, VERSION):
                raise MeijinError(f"'{path}' was written by a newer Meijin (version {found}); update, or move it away")
            self._db.execute(f"PRAGMA user_version={VERSION}")
        except sqlite3.Error as error:
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
        return await answer

    def _run(self) -> None:
        while True:
            batch = [self._work.get()]
            while not self._work.empty():
                batch.append(self._work.get())
            jobs = [job for job in batch if job is not None]
            answers: list[tuple[asyncio.Future[Any] | None, Any, Exception | None]] = []
            try:
                with transaction(self._db):
                    answers = [(answer, work(self._db), None) for work, answer in jobs]
            except sqlite3.Error as error:
                answers = [(answer, None, error) for _, answer in jobs]
            for answer, value, problem in answers:
                if answer is not None:
                    answer.get_loop().call_soon_threadsafe(_settle, answer, value, problem)
            if len(jobs) < len(batch):
                return

    # ---- tables ----

    async def save(self, id_: str, body: dict[str, Any], over: bool) -> None:
        data, now = msgspec.json.encode(body), time.time()
        await self._do(
            lambda db: db.execute(
                "INSERT INTO tables (id, created, updated, over, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) "
                "DO UPDATE SET updated = excluded.updated, over = excluded.over, body = excluded.body",
                (id_, now, now, over, data),
            )
        )

    async def load(self, id_: str) -> dict[str, Any] | None:
        row = await self._do(lambda db: db.execute("SELECT body FROM tables WHERE id = ?", (id_,)).fetchone())
        return None if row is None else msgspec.json.decode(row[0])

    async def recent(self, count: int, before: float | None = None) -> list[dict[str, Any]]:
        """The tables that changed last."""
        rows = await self._do(
            lambda db: db.execute(
                "SELECT body, updated FROM tables WHERE updated < ? ORDER BY updated DESC LIMIT ?",
                (1e18 if before is None else before, count),
            ).fetchall()
        )
        return [msgspec.json.decode(body) | {"updated": updated} for body, updated in rows]

    async def count(self) -> int:
        return int(await self._do(lambda db: db.execute("SELECT count(*) FROM tables").fetchone()[0]))

    async def delete(self, id_: str) -> None:
        await self._do(lambda db: db.execute("DELETE FROM tables WHERE id = ?", (id_,)))

    async def notes(self, id_: str) -> Any:
        row = await self._do(lambda db: db.execute("SELECT notes FROM tables WHERE id = ?", (id_,)).fetchone())
        return None if row is None or row[0] is None else msgspec.json.decode(row[0])

    async def save_notes(self, id_: str, notes: Any) -> None:
        data = msgspec.json.encode(notes)
        await self._do(lambda db: db.execute("UPDATE tables SET notes = ? WHERE id = ?", (data, id_)))


def _settle(answer: asyncio.Future[Any], value: Any, problem: Exception | None) -> None:
    if answer.done():
        return
    if problem is not None:
        answer.set_exception(problem)
    else:
        answer.set_result(value)
