"""What the formats share: errors that name file and line, and drafts that become records once the rules accept them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from meijin.arena import packing
from meijin.arena.formats import fields as header
from meijin.arena.record import GameRecord, MoveNote, Task
from meijin.arena.walk import Walk
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.game import CHANCE, OVER
from meijin.core.moves import Move

MOST_BYTES = 256 << 20  # of a file that is read
MOST_RULES = 50  # different games in one file: each is compiled


class FormatError(MeijinError):
    """A file of records that cannot be read; the message begins with the file and the line."""


def no_file(path: Path) -> str:
    """Why a path cannot be read."""
    return f"'{path}' is a folder; name a file of games in it" if path.is_dir() else f"there is no file '{path}'"


class Source:
    """The file that is read, for errors."""

    def __init__(self, path: Path):
        self.path = path

    def fail(self, line: int, problem: str) -> NoReturn:
        raise FormatError(f"{self.path}, line {line}: {problem}")

    def text(self) -> str:
        """The whole file, if it is not too large and is text."""
        data = self.data()
        try:
            return data.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            self.fail(data.count(b"\n", 0, error.start) + 1, f"not UTF-8 text: {error.reason}")

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines of the file, numbered from 1."""
        for number, line in enumerate(self.text().split("\n"), 1):
            yield number, line.removesuffix("\r")

    def data(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise FormatError(f"{self.path}: {error.strerror}; give the path of a file that can be read") from None
        if len(data) > MOST_BYTES:
            raise FormatError(f"{self.path}: it has more than {MOST_BYTES >> 20} MiB; split it")
        return data


class Rules:
    """The games of a file, made once each."""

    def __init__(self) -> None:
        self._walks: dict[str, Walk] = {}

    def walk(self, expression: str) -> Walk:
        """The game at its start."""
        if expression not in self._walks:
            if len(self._walks) >= MOST_RULES:
                raise MeijinError(f"the file has more than {MOST_RULES} different games; split it")
            self._walks[expression] = Walk(make(expression))
        return self._walks[expression].restart()

    def line(self, record: GameRecord) -> list[tuple[int, Move]]:
        """(who moved, the move) of every ply."""
        try:
            return self.walk(record.task.game).line(record.moves)
        except MeijinError as error:
            task = record.task
            raise type(error)(f"game {task.number} of '{task.event}' ({task.game}): {error}") from None


@dataclass(slots=True)
class Ply:
    """One move as a file has it."""

    move: int | str
    line: int
    turn: int | None = None  # who made it, where the file says so
    note: MoveNote | None = None
    text: str = ""  # the move as the file has it, if `move` is not that


@dataclass(slots=True)
class Draft:
    """What a file says of one game, before the rules have seen it."""

    line: int  # where it begins
    said: dict[str, Any]  # `fields`, not checked yet
    plies: list[Ply] = field(default_factory=list)
    noted: bool = False  # whether each ply has a note, if only an empty one


def finish(draft: Draft, source: Source, rules: Rules) -> GameRecord:
    """The record of a draft: every move legal, the scores those of the rules where these ended the game."""
    try:
        said = header.checked(draft.said)
        for name in ("game", "agents", "scores", "ending"):
            if name not in said:
                raise MeijinError(f"'{name}' is missing")
        walk = rules.walk(said["game"])
    except MeijinError as error:
        source.fail(draft.line, str(error))
    if len(said["agents"]) != walk.game.seats:
        source.fail(draft.line, f"{len(said['agents'])} agents for the {walk.game.seats} seats of {walk.game}")
    moves, notes = follow(draft.plies, walk, source)
    if said["ending"] == "rules":
        last = draft.plies[-1].line if draft.plies else draft.line
        if walk.turn != OVER:
            source.fail(last, f"ended by the rules, it says, but {walk.game} goes on after ply {len(moves)}")
        if said["scores"] != walk.scores:
            source.fail(draft.line, f"scores {list(said['scores'])}; by the rules they are {list(walk.scores)}")
    record = assemble(said, str(walk.game), moves, notes if draft.noted else ())
    try:
        packing.check(record)
        if len(record.task.opening) != said.get("opening", 0):
            raise MeijinError(f"an opening of {said['opening']} plies in a game of {len(moves)}")
    except MeijinError as error:
        source.fail(draft.line, str(error))
    return record


def follow(plies: Sequence[Ply], walk: Walk, source: Source) -> tuple[list[int], tuple[MoveNote, ...]]:
    """Play the moves of a file; an illegal one is an error with its line."""
    moves: list[int] = []
    notes: list[MoveNote] = []
    for ply in plies:
        try:
            while ply.turn is not None and ply.turn != walk.turn and walk.turn >= 0 and len(walk.legal) == 1:
                moves.append(int(walk.play(walk.legal[0])))  # a pass that had to be, and that most files leave out
                notes.append(MoveNote())
            if ply.turn is not None and walk.turn not in (ply.turn, OVER):
                whose = "chance moves" if walk.turn == CHANCE else f"seat {walk.turn} is to move"
                raise MeijinError(f"it is made by seat {ply.turn}, but {whose}")
            moves.append(int(walk.play(ply.move)))
        except MeijinError as error:
            source.fail(
                ply.line, f"ply {len(moves) + 1}, move '{header.short(ply.text or str(ply.move))[1:-1]}': {error}"
            )
        notes.append(ply.note or MoveNote())
    return moves, tuple(notes)


def assemble(said: dict[str, Any], game: str, moves: Sequence[int], notes: Sequence[MoveNote]) -> GameRecord:
    """A record of checked fields."""
    line = tuple(moves)
    task = Task(
        game=game,
        agents=said["agents"],
        opening=line[: said.get("opening", 0)],
        seed=said.get("seed", 0),
        limits=said.get("limits", ()),
        event=said.get("event", ""),
        number=said.get("number", 0),
        round=said.get("round", 0),
    )
    return GameRecord(
        task=task,
        moves=line,
        scores=said["scores"],
        ending=said["ending"],
        forfeit=said.get("forfeit"),
        reason=said.get("reason", ""),
        notes=tuple(notes),
        began=said.get("began", ""),
        seconds=said.get("seconds", 0.0),
        headers=said.get("headers", {}),
    )
