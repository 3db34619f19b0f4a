"""One game at the terminal."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from rich.columns import Columns
from rich.text import Text

from meijin.arena import formats
from meijin.cli import saved, words
from meijin.cli.advisor import Advisor
from meijin.cli.common import shown
from meijin.cli.console import busy, out, say
from meijin.cli.inspect import figures, moves_table
from meijin.cli.program import interruptible
from meijin.cli.prompt import Command, Prompt, Then
from meijin.cli.saved import SavedGame
from meijin.core.agent import Agent
from meijin.core.errors import BadParameter, IllegalMove, MeijinError, suggest
from meijin.core.game import CHANCE
from meijin.core.moves import Move
from meijin.core.options import at_least
from meijin.core.rng import stream
from meijin.core.state import State

HUMAN = "human"
HINT = 1.0  # seconds
HINTS = 5  # moves that `hint` shows
FEW = 10  # legal moves that an error lists

Found = tuple[Path, SavedGame]


class Session:
    """A game between people at the keyboard (None in `players`) and agents, or one of agents to watch."""

    def __init__(
        self,
        state: State,
        players: list[Agent | None],
        begun: SavedGame,
        *,
        path: Path | None = None,
        offer: Found | None = None,
    ):
        """`path`: where a resumed game is saved. `offer`: another saved game of a person, who may prefer that one."""
        self.state, self.game, self.players, self.begun = state, state.game, players, begun
        self.people = [seat for seat, player in enumerate(players) if player is None]
        self.path, self.offer = path or saved.new_file(begun.game), offer if self.people else None
        self.touched = path is not None  # whether a person has moved: then it is worth saving
        self.saving = bool(self.people)  # whether that can be done
        self.limit, self.resigned = begun.limit, begun.resigned
        self.rng = stream(begun.seed, self.game.seats + len(state.history))
        self.yields: int | None = None  # the seat of an agent that would resign
        self.drawn: tuple[Move, ...] | None = None  # the history of the board on the screen
        self.next: Found | None = None
        self.advisor: Advisor | None = None
        self.prompt = Prompt(
            self.commands(),
            words=lambda: () if self.over else [move.name for move in self.state.legal_moves],
            otherwise=self.move,
            keys=lambda: {} if self.over else words.arrows(self.state),
            about="play a move by its name",
        )

    def commands(self) -> list[Command]:
        def during() -> str:
            return "the game is over" if self.over else ""

        def after() -> str:
            return "" if self.over else "the game is not over; `resign` ends it"

        def yielding() -> str:
            return "" if self.yields is not None and not self.over else "nobody offers to resign"

        def offered() -> str:
            return "" if self.offer else "there is no other saved game"

        *most, last = formats.suffixes_for(self.game)
        endings = f"{', '.join(most)} or {last}"
        return [
            Command("undo", "take back your last move and what followed", self.undo),
            Command("redo", "play again what was taken back", self.redo),
            Command("hint", "show the best moves", self.hint, unavailable=during),
            Command("moves", "list the legal moves and mark them on the board", self.moves, unavailable=during),
            Command("history", "list the moves so far", self.history),
            Command("rules", "show the rules", self.rules),
            Command("save", f"write the game to a {endings} file", self.save, "FILE"),
            Command("accept", "let the other side resign", self.accept, unavailable=yielding),
            Command("resign", "give up", self.resign, unavailable=during),
            Command("review", "show the mistakes that 20 seconds find", self.review, "[SECONDS]", unavailable=after),
            Command("rematch", "play again, with `swap` in exchanged seats", self.rematch, "[swap]", unavailable=after),
            Command("resume", "continue the saved game", self.resume, unavailable=offered),
            Command("quit", "leave; an unfinished game can be resumed", lambda _: Then.STOP, aliases=("q", "exit")),
        ]  # fmt: skip

    # ---- the course of the game ----

    def run(self) -> Found | None:
        """Play until somebody leaves; returns the saved game to continue instead, if that was asked for."""
        self.introduce()
        try:
            then = Then.GO_ON
            while then is Then.GO_ON and self.next is None:
                then = self.finish() if self.over else self.step()
        except KeyboardInterrupt:
            if not self.state.is_chance and self.state.turn not in self.people:
                out().print()  # the terminal has shown ^C while an agent was thinking
            self.leave()
            raise
        if then is Then.END and not self.over:
            out().print(Text("end of input: the game is unfinished", "dim"))
        self.leave()
        if self.over:
            self.path.unlink(missing_ok=True)
        return self.next

    @property
    def over(self) -> bool:
        return self.state.is_over or self.resigned is not None

    def step(self) -> Then:
        """One turn, of whoever has it."""
        state = self.state
        if state.is_chance:
            before = len(state.history)
            state.roll(self.rng)
            say(Text(f"chance: {' '.join(move.name for move in state.history[before:])}", "dim"))
        elif state.turn in self.people:
            self.show()
            self.status()
            keys = "arrow keys, or " if words.arrows(state) and sys.stdin.isatty() else ""
            then = self.prompt.ask(f"your move ({keys}help for commands): ")
            if then is not Then.GO_ON:
                return then
        else:
            self.reply()
        self.keep()
        return Then.GO_ON

    def reply(self) -> None:
        """Let the agent whose turn it is move. Whatever happened before is drawn first."""
        seat, state = self.state.turn, self.state
        player = self.players[seat]
        assert player is not None
        if self.drawn != state.history:
            self.show()
        with busy(f"{self.game.seat_name(seat)} is thinking: {shown(player, self.limit)}"):
            move, advice = interruptible(lambda: self.think(player), player.stop)
        state.play(move)
        say(Text.assemble(self.name(seat), f" plays {move.name}"))
        if advice == "resign" and self.yields is None:
            say(Text.assemble(self.name(seat), " would resign: type accept, or play on"))
        self.yields = seat if advice == "resign" else None

    def think(self, player: Agent) -> tuple[Move, str]:
        """An agent's move, and its advice where a person can use it."""
        if self.people and self.game.seats == 2 and len(self.state.legal_moves) > 1:
            analysis = player.chosen(self.state, player.analyse(self.state, self.limit))
            return analysis.best, analysis.advice
        return player.act(self.state, self.limit), ""

    def finish(self) -> Then:
        """Say how the game ended, and what a person may do now."""
        if self.drawn != self.state.history:
            self.show()
        plies = Text(f"  ({len(self.state.history)} plies)", "dim")
        out().print(Text.assemble("game over: ", self.result(), plies))
        if count := words.scores(self.state):
            say(count)
        return self.prompt.ask("game over (help for commands): ", optional=True) if self.people else Then.STOP

    def result(self) -> Text:
        you = self.people[0] if len(self.people) == 1 else None
        if self.resigned is None:
            return words.result(self.state, you)
        if self.game.seats == 1:
            return Text(f"you stop with a score of {words.number(self.state.scores[0])}", "bold")
        who = (
            Text("you resign", "bold") if self.resigned == you else Text.assemble(self.name(self.resigned), " resigns")
        )
        if self.game.seats > 2:
            return who
        return Text.assemble(who, "; ", self.name(1 - self.resigned), (" wins", "bold"))

    # ---- saving ----

    def keep(self) -> None:
        """Save the game as it stands, once a person has moved."""
        if not self.touched or not self.saving:
            return
        try:
            saved.write(self.path, self.begun.after(self.state, self.resigned))
        except OSError as error:
            self.saving = False
            say(Text(f"the game cannot be saved in {self.path.parent}: {error.strerror}", "red"))

    def leave(self) -> None:
        """Free the agents, and say how to come back."""
        for player in self.players:
            if player is not None:
                player.close()
        if self.touched and self.saving and not self.over and self.next is None:
            name = "" if self.begun.load else f" {shlex.quote(self.begun.game)}"
            out().print(Text.assemble(("saved; to continue: ", "dim"), (f"meijin play{name} --resume", "cyan")))

    # ---- showing ----

    def introduce(self) -> None:
        out().print(Text(self.game.title, "bold"))
        if self.game.help:
            out().print(Text(words.prose(self.game.help.splitlines()[0]), "dim"))
        if self.game.seats > 1:
            out().print()
        for seat, player in enumerate(self.players if self.game.seats > 1 else ()):
            who = Text("you", "bold") if player is None else Text(shown(player, self.limit))
            say(Text.assemble(self.name(seat), "  ", who))
        if self.offer is not None:
            game = self.offer[1]
            when = datetime.fromisoformat(game.began).astimezone().strftime(" of %Y-%m-%d %H:%M") if game.began else ""
            say(Text(f"your game{when} ({len(game.moves)} plies) is saved: type resume to continue it", "dim"))

    def show(self, marks: Sequence[int] = ()) -> None:
        out().print(words.board(self.state, marks), crop=False)
        self.drawn = self.state.history

    def status(self) -> None:
        turn = self.state.turn
        line = Text()
        if self.game.seats > 1:
            line.append_text(self.name(turn))
            line.append(" your turn" if len(self.people) == 1 else " to move", "bold")
            mover = words.last_mover(self.state)
            if mover != CHANCE:  # what chance did stands right above the board
                last = self.state.history[-1].name
                line.append_text(Text.assemble(("   last move ", "dim"), self.name(mover), f" {last}"))
        for part in (line, words.scores(self.state)):
            if part:
                say(part)

    def name(self, seat: int) -> Text:
        return words.mover(self.game, seat)

    # ---- moves and commands ----

    def move(self, text: str) -> Then | None:
        legal = {move.name.lower(): move for move in self.state.legal_moves}
        if text.lower() in legal and not self.over:
            self.state.play(legal[text.lower()])
            self.touched = True
            return Then.GO_ON
        try:
            self.game.find(text)
        except IllegalMove:
            return None
        if self.over:
            raise IllegalMove("the game is over")
        few = f"; legal: {', '.join(move.name for move in legal.values())}" if len(legal) <= FEW else ""
        raise IllegalMove(f"'{text}' is not legal here{few or suggest(text, legal) or '; moves lists the legal ones'}")

    def undo(self, rest: str) -> Then:
        """Back to the last position in which a person was to move; first of all, take back a resignation."""
        if self.resigned is not None:
            self.resigned = None
            return self.changed()
        walk = self.state.copy()
        while walk.history:
            walk.undo()
            if walk.turn in self.people:
                while len(self.state.history) > len(walk.history):
                    self.state.undo()
                return self.changed()
        raise IllegalMove("nothing to undo: you have not moved yet")

    def redo(self, rest: str) -> Then:
        self.state.redo()
        while self.state.turn not in self.people:
            try:
                self.state.redo()
            except IllegalMove:
                break
        return self.changed()

    def changed(self) -> Then:
        self.yields = None
        self.keep()
        return Then.GO_ON

    def hint(self, rest: str) -> Then:
        advisor = self._advisor()
        with busy("looking for the best moves"):
            agent, analysis = interruptible(lambda: advisor.analyse(self.state, HINT), advisor.stop)
        say(moves_table(self.state, analysis, HINTS, out().width - 2))
        say(Text(f"{agent}: {figures(analysis)}", "dim"))
        if analysis.advice == "resign":
            say(Text("this looks lost: you may resign", "yellow"))
        return Then.ASK

    def moves(self, rest: str) -> Then:
        marks: list[int] = []
        for move in self.state.legal_moves:
            first = (self.game.paths[move] or ("",))[0]
            if isinstance(first, int):
                marks.append(first)
            elif isinstance(first, frozenset):  # any of these cells is clicked: mark the one that changes
                marks += self.state.copy().play(move).last_cells
        self.show(marks)
        say(Text(" ".join(move.name for move in self.state.legal_moves)))
        return Then.ASK

    def history(self, rest: str) -> Then:
        if not self.state.history:
            say(Text("no move has been made", "dim"))
            return Then.ASK
        steps = zip(words.movers(self.state), self.state.history, strict=True)
        rows = [
            Text.assemble((f"{ply:>3} ", "dim"), self.name(turn), f" {move.name}")
            for ply, (turn, move) in enumerate(steps, 1)
        ]
        out().print(Columns(rows, padding=(0, 2)))
        return Then.ASK

    def rules(self, rest: str) -> Then:
        from meijin.cli.rules import print_rules

        print_rules(self.game)
        return Then.ASK

    def save(self, rest: str) -> Then:
        path = Path(rest).expanduser()
        if path.exists():
            raise BadParameter(f"'{path}' exists; choose another name")
        try:
            formats.write([self.begun.after(self.state, self.resigned).record(self.state)], path)
        except OSError as error:
            raise MeijinError(f"cannot write '{path}': {error.strerror}") from None
        look = [("; to look at it: ", "dim"), (f"meijin replay {path}", "cyan")] if formats.format_of(path).read else []
        say(Text.assemble("wrote ", (str(path), "bold"), *look))
        return Then.ASK

    def accept(self, rest: str) -> Then:
        self.resigned = self.yields
        return self.changed()

    def resign(self, rest: str) -> Then:
        self.resigned = self.state.turn
        self.touched = True
        return self.changed()

    def review(self, rest: str) -> Then:
        from meijin.cli import review

        try:
            seconds = float(rest) if rest else review.SECONDS
        except ValueError:
            raise BadParameter(f"review {rest}: give the seconds it may take, as in review 60") from None
        at_least("seconds", seconds, 0.1)
        again = review.review(self.state, self._advisor(), seconds)
        return Then.ASK if again is None else self.rematch(again)

    def rematch(self, rest: str) -> Then:
        """The same game again, from where it began."""
        if rest not in ("", "swap"):
            raise BadParameter(f"rematch {rest}: write rematch, or rematch swap")
        shift = int(rest == "swap")
        self.players = self.players[shift:] + self.players[:shift]
        self.people = [seat for seat, player in enumerate(self.players) if player is None]
        self.path.unlink(missing_ok=True)
        seats = self.begun.seats[shift:] + self.begun.seats[:shift]
        self.begun = replace(
            self.begun, seats=seats, seed=self.begun.seed + self.game.seats, resigned=None, began=saved.now()
        )
        for seat, player in enumerate(self.players):
            if player is not None:
                player.seed(self.begun.seed + seat)
        self.rng = stream(self.begun.seed, self.game.seats + self.begun.opening)
        self.state = self.begun.beginning(self.game).play_line(self.state.history[: self.begun.opening])
        self.path, self.touched, self.resigned, self.yields = saved.new_file(self.begun.game), False, None, None
        self.introduce()
        return Then.GO_ON

    def resume(self, rest: str) -> Then:
        self.next = self.offer
        return Then.GO_ON

    def _advisor(self) -> Advisor:
        if self.advisor is None:
            self.advisor = Advisor(self.game)
        return self.advisor
