"""Games of a person at the terminal, saved after every move, so that whatever ends the program loses nothing.

Each game has a file of its own in `unfinished` of the data folder, until the person leaves it finished.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.core.agent import Limit
from meijin.core.errors import MeijinError
from meijin.core.folders import data_folder

if TYPE_CHECKING:
    from meijin.arena.record import GameRecord
    from meijin.core.game import Game
    from meijin.core.state import State

VERSION = 1
KEPT = 50  # files; the oldest go


@dataclass(frozen=True, slots=True)
class SavedGame:
    """Everything needed to continue a game."""

    game: str  # expression
    seats: tuple[str, ...]  # [seat] -> expression; "human" for a person
    moves: tuple[str, ...] = ()  # and chance outcomes, by name
    opening: int = 0  # plies that were given and not played
    seconds: float | None = None  # limit of the agents
    simulations: int | None = None
    seed: int = 0
    load: tuple[str, ...] = ()  # Python files that define the game or its agents
    resigned: int | None = None  # the seat that gave up
    began: str = ""  # UTC, ISO 8601
    position: str = ""  # where it began, if not at the start

    @property
    def limit(self) -> Limit:
        return Limit(seconds=self.seconds, simulations=self.simulations)

    def beginning(self, game: Game) -> State:
        """The position before the first move."""
        from meijin.core.state import State

        return State.from_position(game, self.position) if self.position else State(game)

    def after(self, state: State, resigned: int | None) -> SavedGame:
        return replace(self, moves=tuple(move.name for move in state.history), resigned=resigned)

    def record(self, state: State) -> GameRecord:
        """The game as the arena keeps games. An unfinished one counts as cut off."""
        from meijin.arena.judges import forfeited
        from meijin.arena.record import GameRecord, Task

        ending, reason, scores = "cap", "unfinished", state.scores
        if state.is_over:
            ending, reason = "rules", ""
        elif self.resigned is not None:
            ending, reason, scores = "forfeit", "resigned", forfeited(state.game, self.resigned)
        limits = (self.limit,) * len(self.seats) if self.limit else ()
        moves = tuple(int(move) for move in state.history)
        return GameRecord(
            Task(self.game, self.seats, moves[: self.opening], self.seed, limits, position=self.position),
            moves,
            scores,
            ending,
            self.resigned if ending == "forfeit" else None,
            reason,
            began=self.began,
        )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def folder() -> Path:
    return data_folder() / "unfinished"


def new_file(game: str) -> Path:
    """Where a new game is saved; it appears with its first move."""
    name = "".join(c if c.isalnum() else "-" for c in game)[:60].strip("-")
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    return folder() / f"{name}-{stamp}-{os.getpid()}.json"


def write(path: Path, saved: SavedGame) -> None:
    """Write a file; it holds all of this game or all of what it held before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        for old in _newest_first()[KEPT - 1 :]:
            old.unlink(missing_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".saving-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"version": VERSION, **asdict(saved)}, file, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        Path(part).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(part).unlink()
        raise


def read(path: Path) -> SavedGame:
    """The game in a file. Its moves are only names: the rules must still accept them."""

    def bad(problem: str) -> MeijinError:
        return MeijinError(f"{path} is not a saved game: {problem}; delete it to be rid of it")

    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MeijinError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise bad(str(error)) from None
    if not isinstance(said, dict) or said.pop("version", None) != VERSION:
        raise bad(f"it does not say version {VERSION}")
    if unknown := sorted(set(said) - {field.name for field in fields(SavedGame)}):
        raise bad(f"unknown field '{unknown[0]}'")
    said = {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}
    for name, value in said.items():
        if not _right(name, value):
            raise bad(f"{name}={value!r}")
    if "game" not in said or "seats" not in said:
        raise bad("it names no game or no seats")
    return SavedGame(**said)


def _right(name: str, value: Any) -> bool:
    if name in ("seats", "moves", "load"):
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    if name in ("game", "position", "began"):
        return isinstance(value, str)
    if name in ("seconds", "simulations", "resigned") and value is None:
        return True
    numbers = int | float if name == "seconds" else int
    return isinstance(value, numbers) and not isinstance(value, bool)


def newest(game: str | None = None) -> tuple[Path, SavedGame] | None:
    """The game saved last: of that expression, or of any."""
    for path in _newest_first():
        with contextlib.suppress(MeijinError):
            saved = read(path)
            if game is None or saved.game == game:
                return path, saved
    return None


def _newest_first() -> list[Path]:
    try:
        found = [(path.stat().st_mtime_ns, path) for path in folder().glob("*.json")]
    except OSError:
        return []
    return [path for _, path in sorted(found, reverse=True)]
