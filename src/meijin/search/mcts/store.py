"""Visit and value statistics of positions in a SQLite file, shared by searches, processes and matches.

One file holds any number of games. Each game, with its parameters, its rules and the search's playout policy, has a
table of its own: one row per position with its visits and the sum of its scores, one column per seat. A game whose
rules were edited begins with an empty table; its latest few older tables are kept in case the edit is undone. Writers
only ever add, in one transaction per search, so any number of processes may write at once; a process that is killed
loses only what it had not yet committed (write-ahead log).
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from meijin.core.errors import MeijinError
from meijin.core.sqlite import WAIT_SECONDS, patiently, remedy, transaction

APPLICATION = 0x4D454A4E  # "MEJN" in the header of the file: it is ours
VERSION = 2  # of the tables; 1 did not record to which rules its statistics belong
OLDER = 3  # tables kept of a game under other rules
TRIM = 0.9  # share of the limit that stays when the table has outgrown it
_CHUNK = 500  # keys in one question; SQLite takes at least 999 values

Stats = tuple[int, tuple[float, ...]]  # visits, sum of scores [seat]


class StatisticsFile:
    """The statistics of one game in a file, which is made if there is none.

    `rules` is any text that changes with the game's rules, such as a digest of them. Keys are 64-bit numbers that tell
    positions apart. At most `limit` positions are kept: those visited least are dropped, and of these those that were
    not seen for longest.
    """

    def __init__(self, path: str | Path, game: str, seats: int, limit: int = 1_000_000, rules: str = ""):
        self.path, self.game, self.seats, self.limit, self.rules = Path(path), game, seats, limit, rules
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._owner = -1  # process that opened it: a connection must not be carried through a fork
        self._number = -1
        with self._use():
            pass

    # ---- what it knows ----

    def look_up(self, keys: Sequence[int]) -> dict[int, Stats]:
        """The statistics of those positions that are known."""
        found: dict[int, Stats] = {}
        columns = ", ".join(self._columns)
        with self._use() as db:
            for at in range(0, len(keys), _CHUNK):
                chunk = keys[at : at + _CHUNK]
                marks = ", ".join("?" * len(chunk))
                for key, visits, *totals in db.execute(
                    f"SELECT key, visits, {columns} FROM {self._table} WHERE key IN ({marks})", chunk
                ):
                    found[key] = visits, tuple(totals)
        return found

    def add(self, news: Mapping[int, Stats] | Iterable[tuple[int, Stats]]) -> None:
        """Add visits and scores to what is known of these positions; all of them, or none if it fails."""
        rows = [(key, visits, *totals) for key, (visits, totals) in dict(news).items()]
        if not rows:
            return
        names = ("visits", *self._columns)
        sums = ", ".join(f"{name} = {name} + excluded.{name}" for name in names)
        marks = ", ".join("?" * (1 + len(names)))
        with self._use() as db, transaction(db):
            number = self._number
            db.execute("UPDATE games SET saves = saves + 1 WHERE number = ?", (number,))
            seen, positions = db.execute("SELECT saves, positions FROM games WHERE number = ?", (number,)).fetchone()
            db.executemany(
                f"INSERT INTO {self._table} (key, {', '.join(names)}, seen) VALUES ({marks}, {seen}) "
                f"ON CONFLICT (key) DO UPDATE SET {sums}, seen = excluded.seen",
                rows,
            )
            (positions,) = db.execute("SELECT positions FROM games WHERE number = ?", (number,)).fetchone()
            if positions > self.limit:
                db.execute(
                    f"DELETE FROM {self._table} WHERE key IN "
                    f"(SELECT key FROM {self._table} ORDER BY visits, seen LIMIT ?)",
                    (positions - int(self.limit * TRIM),),
                )

    def __len__(self) -> int:
        """How many positions of the game are known."""
        with self._use() as db:
            return int(db.execute("SELECT positions FROM games WHERE number = ?", (self._number,)).fetchone()[0])

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
            self._connection = None

    @property
    def _columns(self) -> tuple[str, ...]:
        return tuple(f"total_{seat}" for seat in range(self.seats))

    # ---- the file ----

    @contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        """The open file; its errors become messages for the user."""
        with self._lock:
            try:
                if self._connection is None or self._owner != os.getpid():
                    self._connection = self._open()
                    self._owner = os.getpid()
                yield self._connection
            except sqlite3.Error as error:
                raise MeijinError(f"memory '{self.path}': {error}; {remedy(error)}") from error

    def _open(self) -> sqlite3.Connection:
        if self.path.is_dir():
            raise MeijinError(f"memory '{self.path}' is a folder; give the path of a file in it")
        db = sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            db.execute("BEGIN")  # so that all it reads is of one moment, while others may be making the file
            try:
                blank = self._is_blank(db)
            finally:
                db.execute("COMMIT")
            if blank:
                patiently(lambda: db.execute("PRAGMA journal_mode = WAL").fetchone())
                with transaction(db):
                    if self._is_blank(db):  # nobody else was faster
                        db.execute(f"PRAGMA application_id = {APPLICATION}")
                        db.execute(f"PRAGMA user_version = {VERSION}")
                        db.execute(
                            "CREATE TABLE games (number INTEGER PRIMARY KEY, id TEXT NOT NULL, rules TEXT NOT NULL, "
                            "seats INTEGER NOT NULL, positions INTEGER NOT NULL DEFAULT 0, "
                            "saves INTEGER NOT NULL DEFAULT 0, UNIQUE (id, rules))"
                        )
            problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if problem != "ok":
                raise sqlite3.DatabaseError(problem)
            db.execute("PRAGMA synchronous = NORMAL")  # a killed process loses no commit; a power cut may, the latest
            self._find_table(db)
        except BaseException:
            db.close()
            raise
        return db

    def _is_blank(self, db: sqlite3.Connection) -> bool:
        """Whether nothing was ever written to the file; raises when what is there is not ours to use."""
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if application == APPLICATION:
            if version != VERSION:
                raise MeijinError(
                    f"memory '{self.path}' has format {version}, this program reads format {VERSION}; "
                    f"give another path, or {'move it away' if version < VERSION else 'use the program that wrote it'}"
                )
            return False
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables or application or version:
            raise MeijinError(
                f"'{self.path}' is a database of another program, not a memory of searches; give another path"
            )
        return True

    def _find_table(self, db: sqlite3.Connection) -> None:
        """The game's table, made on its first use. A trigger counts the rows, as SQLite itself would read them all."""
        question, named = "SELECT number, seats FROM games WHERE id = ? AND rules = ?", (self.game, self.rules)
        found = db.execute(question, named).fetchone()
        if found is None:
            with transaction(db):
                found = db.execute(question, named).fetchone()
                if found is None:
                    self._drop_oldest(db)
                    db.execute("INSERT INTO games (id, rules, seats) VALUES (?, ?, ?)", (*named, self.seats))
                    found = db.execute(question, named).fetchone()
                    table = f"stats_{found[0]}"
                    totals = ", ".join(f"{name} REAL NOT NULL" for name in self._columns)
                    db.execute(
                        f"CREATE TABLE {table} (key INTEGER PRIMARY KEY, visits INTEGER NOT NULL, {totals}, "
                        "seen INTEGER NOT NULL)"
                    )
                    for event, step in (("INSERT", "+ 1"), ("DELETE", "- 1")):
                        db.execute(
                            f"CREATE TRIGGER {table}_{event.lower()} AFTER {event} ON {table} BEGIN "
                            f"UPDATE games SET positions = positions {step} WHERE number = {found[0]}; END"
                        )
        if found[1] != self.seats:
            raise MeijinError(
                f"memory '{self.path}' knows {self.game} with {found[1]} seats, not {self.seats}; give another path"
            )
        self._number = int(found[0])

    def _drop_oldest(self, db: sqlite3.Connection) -> None:
        """Forget the game under rules older than the latest `OLDER` sets."""
        old = db.execute("SELECT number FROM games WHERE id = ? ORDER BY number DESC", (self.game,)).fetchall()
        for (number,) in old[OLDER:]:
            db.execute(f"DROP TABLE stats_{number}")  # with its triggers
            db.execute("DELETE FROM games WHERE number = ?", (number,))

    @property
    def _table(self) -> str:
        return f"stats_{self._number}"
