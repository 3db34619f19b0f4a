"""Ways to end a game before its rules do: a cap on its length, agreement of the agents, or a solver.

Each judge has an expression for command lines and tournament files:

    cap(200)                a draw after 200 plies; cap(200, score=True): the scores at that point
    agree(0.9, plies=8)     a win when every agent that moved in the last 8 plies gave one seat 90 % of the way from the
                            middle to the best score; agree(0.9, draw=0.02) also ends games that all of them see drawn
    perfect                 the exact value, as soon as a solver of the game finds it; perfect(after=20, seconds=1)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta

from meijin.core import config
from meijin.core.agent import Limit
from meijin.core.errors import BadParameter, MeijinError, RuleError
from meijin.core.expression import Call, parse
from meijin.core.game import Game
from meijin.core.registry import Registry
from meijin.core.state import State
from meijin.search.solvers import Solver, solver_for, unsolved

Scores = tuple[float, ...]

Notes = Literal["none", "times", "analyses"]
NOTES: tuple[str, ...] = get_args(Notes)
Seconds = Annotated[float, Meta(gt=0)]
ROUNDING = 1e-9  # tolerance for scaled values


@dataclass(frozen=True, slots=True)
class Cap:
    """Ends a game after a number of plies, including the opening and chance outcomes."""

    plies: Annotated[int, Meta(ge=1)]
    score: bool = False  # with the scores at that point; else it is a draw, except in a game for one

    def __post_init__(self) -> None:
        config.check(self, "cap")

    def unfit(self, game: Game) -> str | None:
        return None

    def ruling(self, state: State) -> Scores:
        return state.scores if self.score or state.game.seats == 1 else drawn(state.game)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Ends a game that every agent sees as won by the same seat, or as drawn, for some plies in a row.

    Values come from `analyse`, so with this rule agents play the best move of an analysis; without it they are asked
    by the quicker `act`. Plies in which an agent gives no value break the row.
    """

    threshold: Annotated[float, Meta(gt=0, le=1)] = 0.9  # of the way from the middle to the best score
    plies: Annotated[int, Meta(ge=1)] = 8  # moves in a row; every seat must have made one of them
    draw: Annotated[float, Meta(ge=0)] | None = None  # values this close to the middle are a draw; None: play on

    def __post_init__(self) -> None:
        config.check(self, "agree")
        if self.draw is not None and self.draw >= self.threshold:
            raise BadParameter(f"agree: draw = {self.draw}: must be below the threshold, {self.threshold}")

    def unfit(self, game: Game) -> str | None:
        if game.seats < 2:
            return "agreement needs two seats or more"
        return None if game.bounded else "agreement needs a game whose scores have bounds"

    def ruling(self, game: Game, views: Sequence[tuple[int, Scores]]) -> tuple[Scores, str] | None:
        """Scores and reason, from the (mover, value) of every ply so far; None: play on."""
        last = views[-self.plies :]
        if len(last) < self.plies or len({mover for mover, _ in last}) < game.seats:
            return None
        low, high = game.score_range
        scaled = [[(2 * v - low - high) / (high - low) for v in value] for _, value in last]  # -1 to 1
        for seat in range(game.seats):
            if all(values[seat] >= self.threshold - ROUNDING for values in scaled):
                return won(game, seat), f"agreed: {game.seat_name(seat)} wins"
        if self.draw is not None and all(abs(v) <= self.draw + ROUNDING for values in scaled for v in values):
            return drawn(game), "agreed: a draw"
        return None


@dataclass(frozen=True, slots=True)
class PerfectJudge:
    """Ends a game with its exact value under best play, once a solver of the game finds it.

    With `seconds` the result may depend on the speed of the machine; without, the solver takes as long as it needs.
    """

    after: Annotated[int, Meta(ge=0)] = 0  # plies, including the opening; the agents make at least one move in any case
    seconds: Seconds | None = None  # for one position

    def __post_init__(self) -> None:
        config.check(self, "perfect")

    def unfit(self, game: Game) -> str | None:
        return unsolved(game)

    def ruling(self, state: State) -> tuple[Scores, str] | None:
        """The exact scores, or None if the solver does not find them in time."""
        try:
            found = _solver(state.game).analyse(state, Limit(seconds=self.seconds))
        except RuleError:
            raise
        except MeijinError:  # out of reach, or out of time
            return None
        if not found.proven or found.value is None:
            return None
        return tuple(float(v) for v in found.value), "solved"


@lru_cache(maxsize=4)
def _solver(game: Game) -> Solver:
    """Kept between games: a solver gets quicker, and its values are exact whatever it has seen."""
    return solver_for(game)


@dataclass(frozen=True, slots=True)
class PlayRules:
    """What the rules of a game leave open; the same for all games of a match."""

    cap: Cap | None = None
    agreement: Agreement | None = None
    perfect: PerfectJudge | None = None
    move_timeout: Seconds | None = 300.0  # after which an agent that has not moved forfeits; None: never
    startup_grace: Annotated[float, Meta(ge=0)] = 10.0  # seconds more to make an agent and for its first move
    notes: Notes = "none"  # what is kept of every ply

    def __post_init__(self) -> None:
        config.check(self, "rules")

    def check(self, game: Game) -> None:
        """Raise if a judge does not fit the game."""
        for judge in (self.cap, self.agreement, self.perfect):
            if judge is not None and (why := judge.unfit(game)):
                raise BadParameter(f"{game}: {why}")


judges: Registry[Cap | Agreement | PerfectJudge] = Registry("judge", "meijin.judges")
judges.register("cap", Cap)
judges.register("agree", Agreement)
judges.register("perfect", PerfectJudge)

_FIELDS: dict[type, str] = {Cap: "cap", Agreement: "agreement", PerfectJudge: "perfect"}


def play_rules(names: Iterable[str | Call] = (), **others: Any) -> PlayRules:
    """Rules with the judges of these expressions, as in `play_rules(["cap(200)", "perfect"], move_timeout=5)`."""
    found: dict[str, Any] = {}
    for name in names:
        call = parse(name) if isinstance(name, str) else name
        judge = judges.make(call)
        if (field := _FIELDS[type(judge)]) in found:
            raise BadParameter(f"{call}: there can be only one judge of this kind")
        found[field] = judge
    return PlayRules(**found, **others)


# ---- scores that do not come from the rules ----


def drawn(game: Game) -> Scores:
    """A draw: 0 for all if scores can be negative and positive, else the middle of their range."""
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

    In a game for one, the worst score is the lowest possible, or -1 if there is no lowest.
    """
    low, high = _ends(game)
    rest = high / max(1, game.seats - 1) if low <= 0 < high else high
    return tuple(low if k == seat else rest for k in range(game.seats))


def _ends(game: Game) -> tuple[float, float]:
    """The worst and the best score, with numbers in place of infinities."""
    low, high = game.score_range
    low = low if math.isfinite(low) else -1.0 if high > -1 else high - 1
    return low, (high if math.isfinite(high) else max(1.0, low + 1))
