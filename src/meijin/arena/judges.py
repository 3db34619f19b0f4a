"""How a game may end before its rules end it: by a cap, by agreement of the agents, or by a solver that knows.

Each judge has an expression, as command lines and tournament files name it:

    cap(200)                a draw after 200 plies; cap(200, score=True): the scores as they stand
    agree(0.9, plies=8)     a win when every agent that moved in the last 8 plies gave one seat 90 % of the way from the
                            middle to the best score; agree(0.9, draw=0.02) also calls a draw that all of them see
    perfect                 the exact value, as soon as a solver of the game finds it; perfect(after=20, seconds=1)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from meijin.core.agent import Limit
from meijin.core.errors import BadParameter, MeijinError, RuleError
from meijin.core.expression import Call, parse
from meijin.core.game import Game
from meijin.core.registry import Registry
from meijin.core.state import State
from meijin.search.solvers import Solver, solver_for, unsolved

Scores = tuple[float, ...]

NOTES = ("none", "times", "analyses")
ROUNDING = 1e-9  # of a value that is scaled


@dataclass(frozen=True, slots=True)
class Cap:
    """Ends a game of so many plies, the opening and chance outcomes included."""

    plies: int
    score: bool = False  # by the scores as they stand; else it is a draw, where there is more than one seat

    def __post_init__(self) -> None:
        _whole("cap", "plies", self.plies, 1)

    def unfit(self, game: Game) -> str | None:
        return None

    def ruling(self, state: State) -> Scores:
        return state.scores if self.score or state.game.seats == 1 else drawn(state.game)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Ends a game that every agent sees as won by the same seat, or as drawn, for some plies in a row.

    Agents say their values in `analyse`, so a match with this rule plays the best move of an analysis; without it the
    quicker `act` is asked. Plies in which an agent gives no value break the row.
    """

    threshold: float = 0.9  # of the way from the middle to the best score
    plies: int = 8  # moves in a row; every seat must be among their movers
    draw: float | None = None  # as near to the middle as this is a draw; None: draws are played out

    def __post_init__(self) -> None:
        if not _number(self.threshold) or not 0 < self.threshold <= 1:
            raise BadParameter(f"agree: threshold={self.threshold!r}: give a share from 0 to 1, such as 0.9")
        if self.draw is not None and (not _number(self.draw) or not 0 <= self.draw < self.threshold):
            raise BadParameter(f"agree: draw={self.draw!r}: give a share below the threshold, such as 0.02")
        _whole("agree", "plies", self.plies, 1)

    def unfit(self, game: Game) -> str | None:
        if game.seats < 2:
            return "agreement needs two seats or more"
        return None if game.bounded else "agreement needs a game whose scores have bounds"

    def ruling(self, game: Game, views: Sequence[tuple[int, Scores]]) -> tuple[Scores, str] | None:
        """The scores and the reason, by the latest (mover, value) of every ply; None: play on."""
        last = views[-self.plies :]
        if len(last) < self.plies or len({mover for mover, _ in last}) < game.seats:
            return None
        low, high = game.score_range
        scaled = [[(2 * v - low - high) / (high - low) for v in value] for _, value in last]  # -1 to 1
        for seat in range(game.seats):
            if all(values[seat] >= self.threshold - ROUNDING for values in scaled):
                return won(game, seat), f"agreed: seat {seat} wins"
        if self.draw is not None and all(abs(v) <= self.draw + ROUNDING for values in scaled for v in values):
            return drawn(game), "agreed: a draw"
        return None


@dataclass(frozen=True, slots=True)
class PerfectJudge:
    """Ends a game with its exact value under best play, once a solver of the game finds it.

    With `seconds` that may depend on the speed of the machine; without, a solver takes what time it needs.
    """

    after: int = 0  # plies, the opening included; the agents make at least one move in any case
    seconds: float | None = None  # for one position

    def __post_init__(self) -> None:
        _whole("perfect", "after", self.after, 0)
        if self.seconds is not None and (not _number(self.seconds) or not self.seconds > 0):
            raise BadParameter(f"perfect: seconds={self.seconds!r}: give a time above zero, or leave it out")

    def unfit(self, game: Game) -> str | None:
        return unsolved(game)

    def ruling(self, state: State) -> tuple[Scores, str] | None:
        """The exact scores, or None where the solver cannot tell in time."""
        try:
            found = _solver(state.game).analyse(state, Limit(seconds=self.seconds))
        except RuleError:
            raise
        except MeijinError:  # out of reach yet, or out of time
            return None
        if not found.proven or found.value is None:
            return None
        return tuple(float(v) for v in found.value), "the value is known"


@lru_cache(maxsize=4)
def _solver(game: Game) -> Solver:
    """What a solver keeps makes it quicker, and its values are exact whatever it has seen."""
    return solver_for(game)


@dataclass(frozen=True, slots=True)
class PlayRules:
    """How games are played that is not in their rules; the same for all games of a match."""

    cap: Cap | None = None
    agreement: Agreement | None = None
    perfect: PerfectJudge | None = None
    patience: float | None = 300.0  # seconds a move may take, else its agent forfeits; None: for ever
    settle: float = 10.0  # seconds more to make an agent and for its first move in a process: imports, nets, tables
    notes: str = "none"  # what is kept of every ply: "none", "times" or "analyses"

    def __post_init__(self) -> None:
        if self.patience is not None and (not _number(self.patience) or not self.patience > 0):
            raise BadParameter(f"patience={self.patience!r}: give the seconds a move may take, above zero")
        if not _number(self.settle) or not 0 <= self.settle < math.inf:
            raise BadParameter(f"settle={self.settle!r}: give seconds, 0 or more")
        if self.notes not in NOTES:
            raise BadParameter(f"notes={self.notes!r}: choose from {', '.join(NOTES)}")

    def check(self, game: Game) -> None:
        """Raise where a judge cannot judge the game."""
        for judge in (self.cap, self.agreement, self.perfect):
            if judge is not None and (why := judge.unfit(game)):
                raise BadParameter(f"{game} cannot be judged so: {why}")


judges: Registry[Cap | Agreement | PerfectJudge] = Registry("judge", "meijin.judges")
judges.register("cap", Cap)
judges.register("agree", Agreement)
judges.register("perfect", PerfectJudge)

_FIELDS: dict[type, str] = {Cap: "cap", Agreement: "agreement", PerfectJudge: "perfect"}


def play_rules(names: Iterable[str | Call] = (), **others: Any) -> PlayRules:
    """Rules with the judges of these expressions, as in `play_rules(["cap(200)", "perfect"], patience=5)`."""
    found: dict[str, Any] = {}
    for name in names:
        call = parse(name) if isinstance(name, str) else name
        judge = judges.make(call)
        if (field := _FIELDS[type(judge)]) in found:
            raise BadParameter(f"{call}: one judge of this kind is enough")
        found[field] = judge
    return PlayRules(**found, **others)


# ---- scores that no rule of the game gives ----


def drawn(game: Game) -> Scores:
    """A draw: 0 for all where scores have a sign, else the middle of their range."""
    low, high = game.score_range
    level = 0.0 if low < 0 < high or not game.bounded else (low + high) / 2
    return (level,) * game.seats


def won(game: Game, seat: int) -> Scores:
    """A seat wins: it gets the best score, and the others share the worst."""
    low, high = _ends(game)
    rest = low / max(1, game.seats - 1) if low < 0 < high else low
    return tuple(high if k == seat else rest for k in range(game.seats))


def forfeited(game: Game, seat: int) -> Scores:
    """A seat forfeits: it gets the worst score, and the others share the best.

    In a game for one, the worst score is the lowest there is, or -1 where there is none.
    """
    low, high = _ends(game)
    rest = high / max(1, game.seats - 1) if low <= 0 < high else high
    return tuple(low if k == seat else rest for k in range(game.seats))


def _ends(game: Game) -> tuple[float, float]:
    """The worst and the best score, with numbers in place of infinities."""
    low, high = game.score_range
    low = low if math.isfinite(low) else -1.0 if high > -1 else high - 1
    return low, (high if math.isfinite(high) else max(1.0, low + 1))


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _whole(judge: str, name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadParameter(f"{judge}: {name}={value!r}: give a whole number, {least} or more")
