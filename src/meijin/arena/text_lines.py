"""Text files with one thing per line: openings, positions."""

from __future__ import annotations

from pathlib import Path

from meijin.core.errors import BadParameter

MAX_BYTES = 256 << 20


def read_lines(path: Path, what: str) -> list[tuple[int, str]]:
    """The lines of a file with their numbers, without comments (after #) and blank lines; there is at least one."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise BadParameter(f"{path}: larger than {MAX_BYTES >> 20} MiB; split it")
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        if isinstance(error, BadParameter):
            raise
        problem = getattr(error, "strerror", None) or error
        if isinstance(error, UnicodeDecodeError):
            problem = f"not valid UTF-8 (byte {error.start})"
        raise BadParameter(f"cannot read '{path}': {problem}; give a text file with one {what} per line") from None
    found = [(n, line.partition("#")[0].strip()) for n, line in enumerate(text.splitlines(), 1)]
    found = [(n, line) for n, line in found if line]
    if not found:
        raise BadParameter(f"{path}: no {what}s; write the moves of one on each line")
    return found
