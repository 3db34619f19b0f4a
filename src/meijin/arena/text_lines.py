"""Text files with one thing per line: openings, positions."""

from __future__ import annotations

from pathlib import Path

from meijin.core import config
from meijin.core.errors import BadParameter

MAX_BYTES = 256 << 20


def read_lines(path: Path, what: str) -> list[tuple[int, str]]:
    """The lines of a file with their numbers, without comments (after #) and blank lines; there is at least one."""
    text = config.read_text(path, f"a text file with one {what} per line", MAX_BYTES)
    lines = [(n, line.partition("#")[0].strip()) for n, line in enumerate(text.splitlines(), 1)]
    if found := [(n, line) for n, line in lines if line]:
        return found
    raise BadParameter(f"{path}: no {what}s; write the moves of one on each line")
