"""`meijin replay`: step through a recorded game in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from meijin.agents.catalogue import build
from meijin.arena import formats
from meijin.arena.formats.header import describe, describe_note
from meijin.arena.play import plain
from meijin.arena.record import GameRecord, MoveNote
from meijin.arena.store import Store
from meijin.cli import words
from meijin.cli.common import limit, prepare
from meijin.cli.console import busy, out, print_json
from meijin.cli.inspect import figures, moves_table
from meijin.cli.program import interruptible
from meijin.cli.prompt import Command, Prompt, Then
from meijin.core.agent import Agent, Analysis, Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import parse

PROMPT = "replay (help for commands): "
SHOWN = 5  # moves of an analysis

HELPER = "mcts(seconds=1)"


def replay(
    path: Path,
    number: int,
    ply: int | None,
    agent: str | None,
    step: bool | None,
    seconds: float | None,
    simulations: int | None,
    seed: int,
    format_: str | None,
    load: Sequence[Path],
    as_json: bool,
) -> None:
    prepare(load)
    record = find(path, number, format_)
    if agent is not None and parse(agent).name == "human":
        raise BadParameter(f"--analyse {agent}: name an agent that searches")
    session = Replay(record, agent, limit(seconds, simulations), seed)
    if ply is not None and ply > record.plies:
        raise BadParameter(f"--ply {ply}: the game has {record.plies} plies")
    if as_json:
        print_json(session.as_json(ply))
    elif ply is not None:
        session.introduce()
        session.go(ply)
        session.show()
    elif step if step is not None else sys.stdin.isatty() and sys.stdout.isatty():
        session.run()
    else:
        session.introduce()
        for at in range(record.plies + 1):
            session.go(at)
            session.show()
        session.conclude()


def find(path: Path, number: int, format_: str | None) -> GameRecord:
    """A game of a database by the number in its list, or of a file by its position in the file."""
    if not path.is_file():
        raise MeijinError(formats.no_file(path))
    with path.open("rb") as file:
        database = file.read(15) == b"SQLite format 3"
    if database and format_ is None:
        with Store(path, create=False) as store:
            found = next(store.games(id=number), None)
        if found is None:
            raise BadParameter(f"--game {number}: '{path}' has no such game; 'meijin games-db list' shows the numbers")
        return found
    place = min(number - 1, sys.maxsize)
    read = interruptible(lambda: next(islice(formats.read(path, format_), place, None), None))
    if read is None:
        raise BadParameter(f"--game {number}: '{path}' has fewer games")
    return read


class Replay:
    """A record and the position that is shown."""

    def __init__(self, record: GameRecord, agent: str | None, limit: Limit, seed: int):
        self.record, self.game = record, make(record.task.game)
        self.state = record.task.begin(self.game).play_line(record.moves)  # checks every move
        self.turns = words.movers(self.state)
        self.names = [move.name for move in self.state.history]
        self.limit, self.seed = limit, seed
        self.agent: Agent | None = build(agent, self.game, seed=seed) if agent else None
        self.at = record.plies
        self.console = out()

    def go(self, ply: int) -> None:
        """Go to the position after that many plies, or the nearest one."""
        ply = min(max(ply, 0), self.record.plies)
        while self.at > ply:
            self.state.undo()
            self.at -= 1
        while self.at < ply:
            self.state.redo()
            self.at += 1

    # ---- showing ----

    def introduce(self) -> None:
        record, task = self.record, self.record.task
        event = f"{task.event} {task.number}" if task.event else ""
        about = "  ".join(part for part in (event, record.began[:16].replace("T", " "), str(self.game)) if part)
        self.console.print(Text.assemble((self.game.title, "bold"), (f"  {about}", "dim")))
        for seat, agent in enumerate(task.agents):
            score = words.number(record.scores[seat])
            self.say(Text.assemble(words.seat_name(self.game, seat), f"  {agent}  ", (score, "cyan")))
        for name, text in record.headers.items():
            self.say(Text(f"{name}: {text}", "dim"))

    def show(self) -> None:
        self.console.print()
        self.say(self.status())
        self.console.print(words.board(self.state))
        if self.agent is not None:
            self.opinion(self.agent)

    def status(self) -> Text:
        line = Text.assemble((f"ply {self.at} of {self.record.plies}", "bold"))
        if self.at:
            turn, note = self.turns[self.at - 1], self.note(self.at - 1)
            line.append_text(Text.assemble("   ", words.mover(self.game, turn), f" {self.names[self.at - 1]}"))
            if self.at <= len(self.record.task.opening):
                line.append("   opening", "dim")
            if note.value is not None:
                shown = note.value[turn : turn + 1] if turn >= 0 and self.game.seats == 2 else note.value
                line.append(f"   value {' '.join(words.value(self.game, v) for v in shown)}", "cyan")
            if note.seconds is not None:
                line.append(f"   {note.seconds:.2f} s", "dim")
            if note.analysis and note.analysis.get("random"):
                line.append("   a random move", "yellow")
        if not words.win_or_loss(self.game):
            line.append_text(Text.assemble("   ", words.scores(self.state)))
        return line

    def note(self, ply: int) -> MoveNote:
        return self.record.notes[ply] if self.record.notes else MoveNote()

    def opinion(self, agent: Agent) -> None:
        analysis = self.analyse(agent)
        if analysis is None:
            return
        self.say(moves_table(self.state, analysis, SHOWN))
        played = self.names[self.at] if self.at < self.record.plies else None
        rank = next((k for k, info in enumerate(analysis.moves, 1) if info.move.name == played), None)
        chosen = "" if played is None else f"; played: {played}" + (f", number {rank} of its choices" if rank else "")
        self.say(Text(f"{agent.name}: {figures(analysis)}{chosen}", "dim"))

    def analyse(self, agent: Agent) -> Analysis | None:
        """The analysis of an agent; None if no seat is to move."""
        if self.state.is_over or self.state.is_chance:
            return None
        with busy(f"{agent.name} analyses ply {self.at}"):
            return interruptible(lambda: agent.analyse(self.state, self.limit))

    def conclude(self) -> None:
        record, game = self.record, self.game
        ended = words.result(self.state) if record.ending == "rules" else Text(f"ended by {record.ending}", "bold")
        if record.forfeit is not None:
            ended = Text.assemble(words.seat_name(game, record.forfeit), (" forfeits", "bold"))
        self.console.print(Text.assemble("game over: ", ended, (f"  {record.reason}", "dim")))

    def say(self, what: Text | Table) -> None:
        self.console.print(Padding(what, (0, 0, 0, 2), expand=False))

    # ---- stepping ----

    def run(self) -> None:
        prompt = Prompt(
            [
                Command(
                    "next",
                    "go to the next position (or press Enter)",
                    lambda _: self.step(self.at + 1),
                    aliases=("", "n"),
                ),
                Command("back", "go to the previous position", lambda _: self.step(self.at - 1), aliases=("b", "p")),
                Command("start", "go to the first position", lambda _: self.step(0), aliases=("s",)),
                Command("end", "go to the last position", lambda _: self.step(self.record.plies), aliases=("e",)),
                Command("goto", "go to the position after N plies (or just N)", self.goto, "N"),
                Command("analyse", "ask an agent about this position; --analyse always does", self.ask),
                Command("quit", "leave", lambda _: Then.STOP, aliases=("q",)),
            ],
            otherwise=lambda text: self.goto(text) if text.isdecimal() else None,
        )
        self.introduce()
        self.go(0)
        self.show()
        while prompt.ask(PROMPT) is Then.GO_ON:
            self.show()
            if self.at == self.record.plies:
                self.conclude()

    def step(self, ply: int) -> Then:
        before = self.at
        self.go(ply)
        if self.at == before:
            self.say(Text("this is the first position" if self.at == 0 else "this is the last position", "dim"))
            return Then.ASK
        return Then.GO_ON

    def goto(self, text: str) -> Then:
        if not text.isdecimal() or len(text) > 9 or int(text) > self.record.plies:
            raise MeijinError(f"goto {text}: the game has {self.record.plies} plies")
        return self.step(int(text))

    def ask(self, _: str) -> Then:
        self.opinion(self.agent or build(HELPER, self.game, seed=self.seed))
        return Then.ASK

    # ---- JSON ----

    def as_json(self, ply: int | None) -> dict[str, Any]:
        positions = []
        for at in range(self.record.plies + 1) if ply is None else (ply,):
            self.go(at)
            said: dict[str, Any] = {
                "ply": at,
                "move": self.names[at - 1] if at else None,
                "by": (self.turns[at - 1] if self.turns[at - 1] >= 0 else "chance") if at else None,
                **(describe_note(self.note(at - 1)) if at else {}),
                "turn": None if self.state.is_over else "chance" if self.state.is_chance else self.state.turn,
                "scores": self.state.scores,
                "cells": [self.game.pieces[v].text for v in self.state.cells],
            }
            if self.agent is not None and (analysis := self.analyse(self.agent)) is not None:
                said["opinion"] = {"agent": self.agent.name, **plain(analysis)}
            positions.append(said)
        return {**describe(self.record), "plies": self.record.plies, "positions": positions}
