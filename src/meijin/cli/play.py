"""`meijin play`: a game in the terminal."""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Callable, Sequence
from enum import Enum, auto
from pathlib import Path

from rich.columns import Columns
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from meijin.agents.catalogue import build
from meijin.cli import words
from meijin.cli.common import limit, position, prepare
from meijin.cli.console import busy, out, typed
from meijin.cli.inspect import figures, moves_table
from meijin.cli.program import interruptible
from meijin.core.agent import Agent, Limit
from meijin.core.catalogue import games, make
from meijin.core.errors import BadParameter, IllegalMove, suggest
from meijin.core.expression import parse
from meijin.core.game import CHANCE, Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.learning import files

PROMPT = "your move (help for commands): "
OPPONENT = "mcts(seconds=1)"
CHAMPION = "champion(simulations=400)"
HINTS = 5  # moves that `hint` shows

HELP = (
    ("MOVE", "play it, by its name (`moves` lists them)"),
    ("undo", "take back your last move and what followed"),
    ("redo", "play again what was taken back"),
    ("hint", "think for a second and show the best moves"),
    ("moves", "list the legal moves and mark them on the board"),
    ("history", "list the moves so far"),
    ("resign", "give up"),
    ("quit", "leave the game unfinished"),
)


def play(
    name: str,
    seats: Sequence[str],
    moves: str,
    seconds: float | None,
    simulations: int | None,
    seed: int | None,
    load: Sequence[Path],
) -> None:
    prepare(load)
    game = make(name)
    start = secrets.randbits(48) if seed is None else seed
    players = seated(game, seats, start)
    _Session(position(game, moves), players, limit(seconds, simulations), start).run()


def opponent(game: Game) -> str:
    """Who plays against a person, and gives hints: the game's champion where it can, else a tree search."""
    return OPPONENT if files.champion(game) is None else CHAMPION


def seated(game: Game, seats: Sequence[str], seed: int) -> list[Agent | None]:
    """Who plays each seat; None is the person at the keyboard."""
    chosen = dict.fromkeys(range(game.seats), opponent(game)) | {0: "human"}
    given: set[int] = set()
    for text in seats:
        seat, equals, agent = text.partition("=")
        if not equals or not seat.strip().isdecimal() or not agent.strip():
            raise BadParameter(f"--seat '{text}': write SEAT=AGENT, as in --seat 1=random")
        number = int(seat)
        if number >= game.seats:
            known = ", ".join(map(str, range(game.seats)))
            raise BadParameter(f"--seat '{text}': {game} has no seat {number}; its seats are {known}")
        if number in given:
            raise BadParameter(f"--seat '{text}': seat {number} is given twice; name one agent a seat")
        given.add(number)
        chosen[number] = agent
    calls = [parse(chosen[seat]) for seat in range(game.seats)]
    return [None if call.name == "human" else build(call, game, seed + k) for k, call in enumerate(calls)]


class _Then(Enum):
    """What follows a command."""

    ASK = auto()  # the same question again
    GO_ON = auto()  # the position has changed
    STOP = auto()


class _Session:
    """One game at the keyboard."""

    def __init__(self, state: State, players: list[Agent | None], limit: Limit, seed: int) -> None:
        self.state, self.game, self.players, self.limit = state, state.game, players, limit
        self.people = [seat for seat, player in enumerate(players) if player is None]
        self.rng = stream(seed, self.game.seats)
        self.console = out()
        self.commands: dict[str, Callable[[], _Then]] = {
            "undo": self.undo,
            "redo": self.redo,
            "hint": self.hint,
            "moves": self.moves,
            "history": self.history,
            "resign": self.resign,
            "quit": lambda: _Then.STOP,
            "help": self.help,
        }

    def run(self) -> None:
        if sys.stdin.isatty():
            with contextlib.suppress(ImportError):  # not on every system
                import readline  # noqa: F401 - line editing and the history of what was typed
        self.introduce()
        if not self.people:
            self.show()
        state = self.state
        while not state.is_over:
            if state.is_chance:
                before = len(state.history)
                state.roll(self.rng)
                rolled = " ".join(move.name for move in state.history[before:])
                self.say(Text(f"chance: {rolled}", "dim"))
                if not self.people:
                    self.show()
            elif state.turn in self.people:
                if self.ask() is _Then.STOP:
                    return
            else:
                self.reply()
        if self.people:
            self.show()
        you = self.people[0] if len(self.people) == 1 else None
        plies = Text(f"  ({len(state.history)} plies)", "dim")
        self.console.print(Text.assemble("game over: ", words.result(state, you), plies))

    # ---- showing ----

    def introduce(self) -> None:
        summary = games.get(self.game.name).summary
        self.console.print(Text(self.game.title, "bold"))
        if summary:
            self.console.print(Text(words.prose(summary), "dim"))
        if self.game.seats > 1:
            self.console.print()
        for seat, player in enumerate(self.players if self.game.seats > 1 else ()):
            who = Text("you", "bold") if player is None else Text(player.name)
            self.say(Text.assemble(words.seat_name(self.game, seat), "  ", who))

    def show(self, marks: Sequence[int] = ()) -> None:
        self.console.print(words.board(self.state, marks))

    def say(self, what: Text | Table) -> None:
        """Print something a little to the right."""
        self.console.print(Padding(what, (0, 0, 0, 2), expand=False))

    def name(self, seat: int) -> Text:
        return words.mover(self.game, seat)

    # ---- moving ----

    def reply(self) -> None:
        """Let the agent whose turn it is move."""
        seat = self.state.turn
        player = self.players[seat]
        assert player is not None
        with busy(f"{words.plain_seat(self.game, seat)} is thinking: {player.name}"):
            move = interruptible(lambda: player.act(self.state, self.limit))
        self.state.play(move)
        self.say(Text.assemble(self.name(seat), f" plays {move.name}"))
        if not self.people:
            self.show()

    def ask(self) -> _Then:
        """Have a person move, or do something else that changes the position."""
        self.show()
        self.say(self.status())
        while True:
            text = typed(PROMPT)
            if text is None:
                self.console.print(Text("no more input: the game stays unfinished", "dim"))
                return _Then.STOP
            then = self.obey(text)
            if then is not _Then.ASK:
                return then

    def status(self) -> Text:
        turn = self.state.turn
        line = Text.assemble(self.name(turn), " ") if self.game.seats > 1 else Text()
        line.append("your turn" if len(self.people) == 1 else "to move", "bold")
        mover = words.movers(self.state)[-1] if self.state.history else CHANCE
        if mover != CHANCE:  # what chance did stands right above the board
            last = self.state.history[-1].name
            line.append_text(Text.assemble(("   last move ", "dim"), self.name(mover), f" {last}"))
        if not words.win_or_loss(self.game):
            line.append_text(Text.assemble("   ", words.scores(self.state)))
        return line

    def obey(self, text: str) -> _Then:
        if not text:
            return _Then.ASK
        legal = {move.name.lower() for move in self.state.legal_moves}
        word = text.lower()
        command = self.commands.get({"?": "help", "exit": "quit", "q": "quit"}.get(word, word))
        try:
            if command is not None and word not in legal:
                return command()
            self.state.play(text)
            return _Then.GO_ON
        except IllegalMove as error:
            near = suggest(word, self.commands) if command is None else ""
            message = f"'{text}' is neither a move nor a command{near}" if near else str(error)
            self.say(Text(message, "red"))
            return _Then.ASK

    # ---- commands ----

    def undo(self) -> _Then:
        """Back to the last position in which a person was to move."""
        walk, steps = self.state.copy(), 0
        while walk.history:
            walk.undo()
            steps += 1
            if walk.turn in self.people:
                for _ in range(steps):
                    self.state.undo()
                return _Then.GO_ON
        raise IllegalMove("nothing to undo: you have not moved yet")

    def redo(self) -> _Then:
        self.state.redo()
        while self.state.turn not in self.people:
            try:
                self.state.redo()
            except IllegalMove:
                break
        return _Then.GO_ON

    def hint(self) -> _Then:
        name = opponent(self.game)
        helper = build(name, self.game)
        with busy(f"thinking: {name}"):
            analysis = interruptible(lambda: helper.analyse(self.state))
        self.say(moves_table(self.state, analysis, HINTS))
        self.say(Text(f"{name}: {figures(analysis)}", "dim"))
        return _Then.ASK

    def moves(self) -> _Then:
        paths = [self.game.paths[move] for move in self.state.legal_moves]
        self.show([path[0] for path in paths if path and isinstance(path[0], int)])
        names = " ".join(move.name for move in self.state.legal_moves)
        self.say(Text(names))
        return _Then.ASK

    def history(self) -> _Then:
        if not self.state.history:
            self.say(Text("no move has been made", "dim"))
            return _Then.ASK
        steps = zip(words.movers(self.state), self.state.history, strict=True)
        rows = [
            Text.assemble((f"{ply:>3} ", "dim"), self.name(turn), f" {move.name}")
            for ply, (turn, move) in enumerate(steps, 1)
        ]
        self.console.print(Columns(rows, padding=(0, 2)))
        return _Then.ASK

    def resign(self) -> _Then:
        seat, game = self.state.turn, self.game
        if game.seats == 1:
            self.console.print(Text(f"you stop with a score of {words.number(self.state.scores[0])}", "bold"))
            return _Then.STOP
        who = "you resign" if len(self.people) == 1 else f"{words.plain_seat(game, seat)} resigns"
        winner = Text.assemble("; ", self.name(1 - seat), (" wins", "bold")) if game.seats == 2 else Text()
        self.console.print(Text.assemble("game over: ", (who, "bold"), winner))
        return _Then.STOP

    def help(self) -> _Then:
        for word, meaning in HELP:
            self.say(Text.assemble((f"{word:<8}", "cyan"), f" {meaning}"))
        return _Then.ASK
