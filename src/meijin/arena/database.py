"""One SQLite file: created if missing, updated if old, refused if another program made it.

The file keeps a write-ahead log, so any number of processes may read while one writes; writers wait for each other.
Every write is one transaction: a process that is killed leaves all of it or nothing.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from meijin.core.errors import MeijinError
from meijin.core.sqlite import WAIT_SECONDS, patiently, remedy, transaction

APPLICATION = 0x4D4A4752  # "MJGR" in the header of the file: it belongs to Meijin
CHECK_BYTES = 64 << 20  # files up to this size are checked for damage when they are opened

_MAGIC = b"SQLite format 3\0"

#: One step from a version of the tables to the next: SQL statements.
Migration = Sequence[str]


class Database:
    """The file and its connection. Version n of the tables is what the first n of `migrations` make."""

    def __init__(self, path: str | Path, migrations: Sequence[Migration], *, create: bool = True):
        self.path = Path(path)
        self._migrations = migrations
        self._create = create
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._owner = -1  # process that opened it: a connection must not be carried through a fork
        with self.use():
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection]:
        """The open file, for this thread alone; errors of SQLite become `MeijinError`."""
        with self._lock:
            try:
                if self._connection is None or self._owner != os.getpid():
                    self._connection = self._open()
                    self._owner = os.getpid()
                yield self._connection
            except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's own messages quote damaged texts
                raise MeijinError(f"games database '{self.path}': {error}; {remedy(error)}") from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything written inside is kept, or nothing; there is one writer at a time."""
        with self.use() as db, transaction(db):
            yield db

    def part(self, name: str, migrations: Sequence[Migration]) -> None:
        """Create or update the tables of another module in the same file, which have their own version."""
        with self.use() as db:
            question = "SELECT version FROM parts WHERE name = ?"
            found = db.execute(question, (name,)).fetchone()
            if found is None or found[0] != len(migrations):
                with transaction(db):
                    found = db.execute(question, (name,)).fetchone()
                    version = found[0] if found else 0
                    if version > len(migrations):
                        raise self._newer(version, len(migrations), f"{name} ")
                    _run(db, migrations[version:])
                    db.execute("INSERT OR REPLACE INTO parts VALUES (?, ?)", (name, len(migrations)))

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
            self._connection = None

    # ---- opening ----

    def _open(self) -> sqlite3.Connection:
        known = self._known()
        if not known and not self._create:
            raise MeijinError(f"there is no games database '{self.path}'; give the path of one that exists")
        db = sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            if not known:
                patiently(lambda: db.execute("PRAGMA journal_mode = WAL").fetchone())
            if self._version(db) < len(self._migrations):
                with transaction(db):
                    version = self._version(db)  # another process may have been faster
                    if version == 0:
                        db.execute(f"PRAGMA application_id = {APPLICATION}")
                        db.execute("CREATE TABLE parts (name TEXT PRIMARY KEY, version INTEGER NOT NULL)")
                    _run(db, self._migrations[version:])
                    db.execute(f"PRAGMA user_version = {len(self._migrations)}")
            db.execute("PRAGMA synchronous = NORMAL")  # a killed process loses no commit; a power cut may, the latest
            db.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            db.close()
            raise
        return db

    def _known(self) -> bool:
        """Whether the file is a database of Meijin; False if nothing was ever written to it, else an error.

        It is opened read-only, so that files of other programs and damaged files stay as they are.
        """
        if self.path.is_dir():
            raise MeijinError(f"'{self.path}' is a folder; give the path of a file in it")
        if not self.path.exists() or self.path.stat().st_size == 0:
            return False
        with self.path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise MeijinError(f"'{self.path}' is not a database of games; give another path")
        while True:
            seen = self._traces()
            try:
                return self._looks_known(logged=seen[0])
            except (sqlite3.DatabaseError, UnicodeDecodeError):
                if self._traces() == seen:  # else another process wrote meanwhile
                    raise

    def _traces(self) -> tuple[bool, int, int]:
        """What changes when the file is used: whether there is a log beside it, its size and its time."""
        stat = self.path.stat()
        return Path(f"{self.path}-wal").exists(), stat.st_size, stat.st_mtime_ns

    def _looks_known(self, logged: bool) -> bool:
        # Without a log beside it the file is complete in itself; SQLite would make one only to read it.
        uri = f"{self.path.absolute().as_uri()}?mode=ro{'' if logged else '&immutable=1'}"
        with closing(sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS, isolation_level=None)) as db:
            db.execute("BEGIN")  # one snapshot, while other processes may be creating the file
            known = self._version(db) > 0
            if known and self.path.stat().st_size <= CHECK_BYTES:
                problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
                if problem != "ok":
                    raise sqlite3.DatabaseError(problem)
            return known

    def _version(self, db: sqlite3.Connection) -> int:
        """The version of the tables, 0 if there are none; raises for databases of other programs."""
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables or application or version:
                raise MeijinError(f"'{self.path}' is a database of another program; give another path")
        if version > len(self._migrations):
            raise self._newer(version, len(self._migrations))
        return int(version)

    def _newer(self, version: int, known: int, what: str = "") -> MeijinError:
        return MeijinError(
            f"games database '{self.path}' has {what}format {version}, this version of Meijin reads up to {known}; "
            "use the newer version that wrote it, or give another path"
        )


def _run(db: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    for statements in migrations:
        for statement in statements:
            db.execute(statement)
