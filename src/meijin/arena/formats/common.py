"""What the formats share: errors that name file and line, and drafts that become records once the rules accept them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from meijin.arena import record_codec
from meijin.arena.formats import header
from meijin.arena.formats.header import Header, typed
from meijin.arena.record import GameRecord, MoveNote
from meijin.arena.stepper import Stepper
from meijin.core import config
from meijin.core.catalogue import make
from meijin.core.config import short
from meijin.core.errors import MeijinError
from meijin.core.game import CHANCE, OVER
from meijin.core.moves import Move

MAX_BYTES = 256 << 20  # of a file
MAX_GAMES = 50  # different games in one file: each is compiled


class FormatError(MeijinError):
    """A file of records that cannot be read; the message begins with the file and the line."""


class RecordFile:
    """A file of records that is being read."""

    def __init__(self, path: Path):
        self.path = path

    def fail(self, line: int, problem: str) -> NoReturn:
        raise FormatError(f"{self.path}, line {line}: {problem}")

    @contextmanager
    def at(self, line: int, what: str = "") -> Iterator[None]:
        """Errors inside the block are reported with this line."""
        try:
            yield
        except FormatError:
            raise
        except MeijinError as error:
            self.fail(line, f"{what}{error}")

    def data(self) -> bytes:
        """The whole file, if it is not too large."""
        try:
            with self.path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise FormatError(f"{self.path}: {error.strerror}; give the path of a file that can be read") from None
        if len(data) > MAX_BYTES:
            raise FormatError(f"{self.path}: larger than {MAX_BYTES >> 20} MiB; split it")
        return data

    def text(self) -> str:
        data = self.data()
        try:
            return data.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            self.fail(data.count(b"\n", 0, error.start) + 1, f"not valid UTF-8: {error.reason}")

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines of a text file, numbered from 1."""
        yield from enumerate(self.text().split("\n"), 1)

    def json(self, text: str | bytes, line: int) -> dict[str, Any]:
        """The JSON object that a line holds."""
        with self.at(line):
            fields = config.decode(text)
        if not isinstance(fields, dict):
            self.fail(line, f'{short(fields)} is not an object, as in {{"game": ...}}')
        return fields

    def note(self, fields: Any, line: int) -> MoveNote:
        with self.at(line, "notes: "):
            return header.read_note(fields)


def line_numbers(text: str) -> Callable[[int], int]:
    """The function that gives the line of a position in a text."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    return lambda at: bisect_right(starts, at)


class Steppers:
    """Steppers for the games of a file, each game made once."""

    def __init__(self) -> None:
        self._made: dict[str, Stepper] = {}

    def start(self, expression: str, position: str = "") -> Stepper:
        """A game at its start, or at a position."""
        if expression not in self._made:
            if len(self._made) >= MAX_GAMES:
                raise MeijinError(f"the file has more than {MAX_GAMES} different games; split it")
            self._made[expression] = Stepper(make(expression))
        return self._made[expression].restart(position)

    def replay(self, record: GameRecord) -> tuple[Stepper, list[tuple[int, Move]]]:
        """The end of a game, and (who moved, the move) of every ply; an illegal move is an error."""
        try:
            stepper = self.start(record.task.game)
            return stepper, stepper.line(record.moves, record.task.position)
        except MeijinError as error:
            task = record.task
            raise type(error)(f"game {task.number} of '{task.event}' ({task.game}): {error}") from None


@dataclass(slots=True)
class Ply:
    """One move as a file has it."""

    move: int | str
    line: int
    turn: int | None = None  # who made it, if the file says so
    note: MoveNote | None = None
    text: str = ""  # the move as the file has it, if `move` is not that


@dataclass(slots=True)
class Draft:
    """One game as a file has it, before the rules have checked it."""

    line: int  # where it begins
    fields: dict[str, Any]  # of `Header`, not checked yet
    plies: list[Ply] = field(default_factory=list)
    noted: bool = False  # whether each ply has a note, if only an empty one


def finish(draft: Draft, source: RecordFile, steppers: Steppers) -> GameRecord:
    """The record of a draft: every move legal, the scores those of the rules where these ended the game."""
    with source.at(draft.line):
        said = typed(Header, draft.fields)
        stepper = steppers.start(said.game, said.position)
        game = stepper.game
        if len(said.agents) != game.seats:
            raise MeijinError(f"{len(said.agents)} agents for the {game.seats} seats of {game}")
        moves, notes = follow(draft.plies, stepper, source)
        if said.ending == "rules":
            if stepper.turn != OVER:
                last = draft.plies[-1].line if draft.plies else draft.line
                source.fail(
                    last, f"the file says that the rules ended the game, but {game} is not over after its last move"
                )
            if tuple(map(float, said.scores)) != stepper.scores:
                raise MeijinError(f"scores {list(said.scores)}; by the rules they are {list(stepper.scores)}")
        if said.opening > len(moves):
            raise MeijinError(f"an opening of {said.opening} plies in a game of {len(moves)}")
        record = header.record(said, str(game), moves, notes if draft.noted else ())
        record_codec.check(record)
    return record


def follow(plies: Sequence[Ply], stepper: Stepper, source: RecordFile) -> tuple[list[int], tuple[MoveNote, ...]]:
    """Play the moves of a file; an illegal one is an error with its line."""
    moves: list[int] = []
    notes: list[MoveNote] = []
    for ply in plies:
        try:
            while ply.turn is not None and ply.turn != stepper.turn and stepper.turn >= 0 and len(stepper.legal) == 1:
                moves.append(int(stepper.play(stepper.legal[0])))  # a forced pass, which most files leave out
                notes.append(MoveNote())
            if ply.turn is not None and stepper.turn not in (ply.turn, OVER):
                due = "chance" if stepper.turn == CHANCE else stepper.game.seat_name(stepper.turn)
                raise MeijinError(f"it is the turn of {due}, and the file gives the move to another")
            moves.append(int(stepper.play(ply.move)))
        except MeijinError as error:
            source.fail(ply.line, f"ply {len(moves) + 1}, move {short(ply.text or str(ply.move))}: {error}")
        notes.append(ply.note or MoveNote())
    return moves, tuple(notes)
