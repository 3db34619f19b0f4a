"""The review of a game: an agent looks at every move, and the mistakes are shown one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.text import Text

from meijin.cli import words
from meijin.cli.advisor import Advisor
from meijin.cli.console import counting, out, say, table
from meijin.cli.inspect import figures, moves_table
from meijin.cli.program import interruptible
from meijin.cli.prompt import Command, Prompt, Then
from meijin.core.agent import Analysis, MoveInfo
from meijin.core.errors import MeijinError
from meijin.core.moves import Move
from meijin.core.state import State

SECONDS = 20.0  # for a whole game
LONGEST = 1.0  # for one move
SHORTEST = 0.02
MISTAKE, BLUNDER = 0.1, 0.25  # of the score range
SHOWN = 5  # moves of an analysis


@dataclass(frozen=True, slots=True)
class Judgement:
    """One move and what it cost its seat."""

    ply: int  # of the move, from 1
    seat: int
    played: Move
    better: Move
    before: MoveInfo  # the better move
    after: MoveInfo  # the move played, with the value that the position after it turned out to have
    lost: float  # in the game's scores
    agent: str
    analysis: Analysis
    share: float = 0.0  # lost, of the score range

    @property
    def mark(self) -> str:
        return "??" if self.share >= BLUNDER else "?" if self.share >= MISTAKE else ""


def judge(state: State, advisor: Advisor, seconds: float, step: Callable[[], None]) -> list[Judgement]:
    """Look at every move of a game, the last one first, so that a search can build on what follows.

    Ctrl-C ends it early; the moves looked at so far count.
    """
    walk = state.copy()
    each = min(LONGEST, max(SHORTEST, seconds / max(1, len(state.history))))
    after = state.scores if state.is_over else None  # value of the position after the move, where it is known
    found: list[Judgement] = []
    for ply in range(len(state.history), 0, -1):
        played = walk.undo()
        if walk.is_chance:
            after = None
        else:
            try:
                agent, analysis = interruptible(lambda: advisor.analyse(walk, each), advisor.stop)
            except KeyboardInterrupt:
                break
            found.append(_judged(ply, played, agent, analysis, after))
            after = analysis.moves[0].value or analysis.value
        step()
    return _scaled(state, found[::-1])


def _judged(ply: int, played: Move, agent: str, analysis: Analysis, after: tuple[float, ...] | None) -> Judgement:
    """What a move lost: the value of the best one, less that of the position it led to."""
    seat = analysis.turn
    best = analysis.moves[0]
    own = next((info for info in analysis.moves if info.move == played), MoveInfo(played))
    if after is not None and not own.proven:  # chance has no part in it, and a search from there sees more
        own = replace(own, value=after)
    top, mine = best.value or analysis.value, own.value
    lost = 0.0
    if top is not None and mine is not None and played != best.move:
        lost = max(0.0, top[seat] - mine[seat])
    return Judgement(ply, seat, played, best.move, replace(best, value=top), own, lost, agent, analysis)


def _scaled(state: State, found: Sequence[Judgement]) -> list[Judgement]:
    """The same with their shares of the score range; where that has no end, of the largest value in the game."""
    low, high = state.game.score_range
    values = [abs(value) for each in found for value in each.before.value or ()]
    scale = high - low if state.game.bounded else max([1.0, *values])
    return [replace(each, share=each.lost / scale) for each in found]


class Review:
    """The mistakes of a game at the prompt."""

    def __init__(self, state: State, judgements: Sequence[Judgement]):
        self.state, self.game, self.judgements = state, state.game, judgements
        self.mistakes = [each for each in judgements if each.mark]
        self.at = -1
        self.again: str | None = None  # what followed `rematch`
        self.prompt = Prompt(
            [
                Command("next", "show the next mistake", lambda _: self.go(self.at + 1), aliases=("", "n")),
                Command("back", "show the mistake before", lambda _: self.go(self.at - 1), aliases=("b",)),
                Command("list", "list the mistakes", self.list, aliases=("l",)),
                Command("show", "show the position before ply N", self.show_ply, "N"),
                Command("rematch", "play again, with `swap` in exchanged seats", self.rematch, "[swap]"),
                Command("quit", "leave the review", lambda _: Then.STOP, aliases=("q", "exit")),
            ]
        )  # fmt: skip

    def run(self) -> None:
        self.list("")
        if self.mistakes:
            self.prompt.ask("review (Enter for the next, help for commands): ", optional=True)

    def rematch(self, rest: str) -> Then:
        self.again = rest
        return Then.STOP

    def list(self, rest: str) -> Then:
        seats = range(self.game.seats) if self.game.seats > 1 else ()
        for seat in seats:
            own = [each.mark for each in self.judgements if each.seat == seat]
            small, large = _count(own.count("?"), "mistake"), _count(own.count("??"), "blunder")
            counts = f"  {small} (?) and {large} (??) in {_count(len(own), 'move')}"
            say(Text.assemble(words.seat_name(self.game, seat), counts))
        if not self.mistakes:
            say(Text("no mistakes were found", "bold green"))
            return Then.ASK
        numbers = ("ply", "value", "then")
        shown = table("ply", "", "played", "", "better", "value", "then", right=numbers)
        for each in self.mistakes:
            who = words.seat_name(self.game, each.seat) if self.game.seats > 1 else Text()
            before, after = (words.worth(self.game, info, each.seat) for info in (each.before, each.after))
            mark = Text(each.mark, "bold red" if each.mark == "??" else "bold yellow")
            shown.add_row(str(each.ply), who, each.played.name, mark, Text(each.better.name, "green"), before, after)
        say(shown)
        return Then.ASK

    def go(self, to: int) -> Then:
        if not 0 <= to < len(self.mistakes):
            say(Text("there is no mistake before this one" if to < 0 else "that was the last mistake", "dim"))
            self.at = min(max(self.at, 0), len(self.mistakes) - 1)
            return Then.ASK
        self.at = to
        return self.show(self.mistakes[to])

    def show_ply(self, rest: str) -> Then:
        found = next((each for each in self.judgements if str(each.ply) == rest), None)
        if found is None:
            raise MeijinError(f"ply {rest}: no seat moved there; the game has plies 1 to {len(self.state.history)}")
        return self.show(found)

    def show(self, each: Judgement) -> Then:
        walk = self.state.copy()
        for _ in range(len(walk.history) - each.ply + 1):
            walk.undo()
        out().print(words.board(walk), crop=False)
        who = Text.assemble(words.seat_name(self.game, each.seat), " ") if self.game.seats > 1 else Text("you ")
        line = Text.assemble((f"ply {each.ply}  ", "dim"), who, f"played {each.played.name}{each.mark}")
        if each.mark:
            before, after = (words.worth(self.game, info, each.seat) for info in (each.before, each.after))
            line.append_text(Text.assemble("   better: ", (each.better.name, "bold green")))
            line.append_text(Text.assemble("   value ", before, " became ", after))
        say(line)
        say(moves_table(walk, each.analysis, SHOWN, out().width - 2))
        say(Text(f"{each.agent}: {figures(each.analysis)}", "dim"))
        return Then.ASK


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def review(state: State, advisor: Advisor, seconds: float = SECONDS) -> str | None:
    """Look at a game and go through its mistakes. Returns what `rematch` is to do, if that is how it was left."""
    with counting("looking at the game", len(state.history)) as step:
        judgements = judge(state, advisor, seconds, step)
    made = Review(state, judgements)
    made.run()
    return made.again
