"""Atomic writes: the old file or the new one, never half of one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from meijin.core.errors import MeijinError


def write_file(path: Path, data: bytes) -> None:
    """Write a file so that, whatever happens, the old or the new one is there: temporary name, flush, rename."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise MeijinError(f"{path} could not be written: {error.strerror or error}; the old file is intact") from None
    with contextlib.suppress(OSError):  # flush the new name too; some systems cannot
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
