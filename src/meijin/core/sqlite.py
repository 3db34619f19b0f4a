"""What SQLite files need: transactions, waiting for other processes, and remedies for errors."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WAIT_SECONDS = 60.0  # for other processes that write


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; one writer at a time, from the first statement on."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def patiently(step: Callable[[], object]) -> None:
    """Repeat a step that another process may block and for which SQLite does not wait: enabling the write-ahead log."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            step()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def remedy(error: Exception) -> str:
    """What a person can do about an error."""
    text = str(error)
    if "unable to open" in text or "readonly" in text:
        return "give a path in a folder that exists and may be written"
    if "locked" in text:
        return "another program keeps it locked"
    if "disk" in text and "malformed" not in text:
        return "make room on the disk"
    return "the file is damaged or of another program, and is left as it is: give another path, or move it away"
