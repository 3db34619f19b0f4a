"""Files of games: JSON lines, SGF, PGN-like, GGF for Othello, and USI, KIF and CSA for minishogi. Tables of moves: CSV.

    for record in read("games.sgf"): ...
    write(store.games(event="cup"), "cup.jsonl")

Every game that is read has been replayed by its rules; a file that is damaged, truncated or wrong raises `FormatError`
with its name and line. Writing replaces a file as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from meijin.arena.formats import csa, csv, ggf, jsonl, kif, pgn, sgf, usi
from meijin.arena.formats.common import FormatError, RecordFile, Steppers
from meijin.arena.record import GameRecord
from meijin.core.errors import BadParameter, MeijinError, suggest
from meijin.core.game import Game

__all__ = [
    "FORMATS",
    "READABLE",
    "FormatError",
    "format_of",
    "no_file",
    "read",
    "suffixes_for",
    "under",
    "verified",
    "write",
    "write_to",
]


@dataclass(frozen=True, slots=True)
class Format:
    read: Callable[[RecordFile], Iterator[GameRecord]] | None  # None: it is only written
    write: Callable[[Iterable[GameRecord], TextIO], int]
    suffixes: tuple[str, ...]
    game: str | None  # the only game it is for; None: all


ONLY = {ggf: ggf.GAME, usi: usi.GAME, kif: usi.GAME, csa: usi.GAME}
FORMATS = {
    module.__name__.rpartition(".")[2]: Format(module.read, module.write, module.SUFFIXES, ONLY.get(module))
    for module in (jsonl, sgf, pgn, ggf, usi, kif, csa, csv)
}
#: Names of the formats that can be read.
READABLE = tuple(name for name, found in FORMATS.items() if found.read)


def format_of(path: Path, name: str | None = None) -> Format:
    """The format of that name, or else the one that the file's name suggests."""
    if name is not None:
        if name not in FORMATS:
            raise BadParameter(f"unknown format '{name}'{suggest(name, FORMATS)}; known: {', '.join(FORMATS)}")
        return FORMATS[name]
    for found in FORMATS.values():
        if path.suffix.lower() in found.suffixes:
            return found
    endings = ", ".join(ending for found in FORMATS.values() for ending in found.suffixes)
    raise BadParameter(f"'{path}' does not end in one of {endings}; name its format: {', '.join(FORMATS)}")


def suffixes_for(game: Game) -> list[str]:
    """The usual endings of the files that can hold games of this kind."""
    return [each.suffixes[0] for each in FORMATS.values() if each.game in (None, game.name)]


def no_file(path: Path) -> str:
    """Why a path cannot be read."""
    return f"'{path}' is a folder; name a file of games in it" if path.is_dir() else f"there is no file '{path}'"


def read(path: str | Path, format: str | None = None) -> Iterator[GameRecord]:
    """The games of a file, one after the other, each replayed by its rules."""
    path = Path(path)
    try:
        if not path.is_file():
            raise MeijinError(no_file(path))
    except OSError as error:  # a name that the system does not accept
        raise MeijinError(f"'{path}': {error.strerror}") from None
    chosen = format_of(path, format)
    if chosen.read is None:
        raise MeijinError(f"'{path}': a table of moves is not read back as games; for that, export them as .jsonl")
    return _with_file_name(chosen.read(RecordFile(path)), path)


def _with_file_name(records: Iterator[GameRecord], path: Path) -> Iterator[GameRecord]:
    try:
        yield from records
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from None


def write(records: Iterable[GameRecord], path: str | Path, format: str | None = None) -> int:
    """Write games to a file, which replaces what was there once all are written; returns how many."""
    path = Path(path)
    chosen = format_of(path, format)
    if not path.absolute().parent.is_dir():
        raise MeijinError(f"there is no folder '{path.parent}' for '{path.name}'")
    handle, part = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:  # noqa: PTH123 - a handle
            count = chosen.write(records, file)
            file.flush()
            os.fsync(file.fileno())
        Path(part).chmod(0o666 & ~_umask())
        Path(part).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(part).unlink()
        raise
    return count


def write_to(records: Iterable[GameRecord], file: TextIO, format: str) -> int:
    """Write games to an open text file, such as the standard output."""
    return format_of(Path(), format).write(records, file)


def under(event: str, records: Iterable[GameRecord]) -> Iterator[GameRecord]:
    """Put games without an event under this one, numbered in order; other games stay as they are."""
    number = 0
    for record in records:
        if record.task.event:
            yield record
        else:
            yield replace(record, task=replace(record.task, event=event, number=number))
            number += 1


def verified(records: Iterable[GameRecord]) -> Iterator[GameRecord]:
    """The same records, each after its moves were replayed by the rules.

    For records of a database, which are as they were stored: the file may be damaged or come from elsewhere.
    """
    steppers = Steppers()
    for record in records:
        steppers.replay(record)
        yield record


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
