"""The laws of interpreted play: what every rule answers at every position.

A law is one function in one list, and its docstring says the law; `run.LAWS` has them in the order in which they are
tried. A law of a whole game takes the `Evidence`. A law of positions (`POSITION_LAWS`) takes the game and one position,
and returns whether it applies there. Both raise a RuleError when the law is broken.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from meijin.core import rng
from meijin.core.check.diagnose import broken
from meijin.core.check.statistics import Statistics
from meijin.core.check.supervise import Watch
from meijin.core.check.trial import UNWRITTEN, UNWRITTEN_BYTE, TrialGame, TrialPosition, guarded_rules
from meijin.core.game import CHANCE, OVER, Game

_WORK = 20_000  # entries written by interpreted rules that one of `games` may cost; longer games are played less often


@dataclass
class Evidence:
    """What the laws are tried on: a game, and what the earlier laws leave for the later ones."""

    game: Game
    games: int
    seed: int
    watch: Watch
    trace: list[list[TrialPosition]] = field(default_factory=list)  # the interpreted games
    judged: Counter[Callable[[Game, TrialPosition], bool]] = field(default_factory=Counter)  # law -> positions
    statistics: Statistics | None = None  # of compiled random games

    @property
    def positions(self) -> list[TrialPosition]:
        return [position for game in self.trace for position in game]


@dataclass(frozen=True, slots=True)
class Tried:
    """How often a law was tried."""

    count: int
    unit: str
    note: str = ""  # what was seen, or why the law was left out


# ---- interpreted play ----


def interpreted_play(evidence: Evidence) -> Tried:
    """Interpreted random play ends within `longest`; only `start` and `play` write, and to the record alone."""
    game = evidence.game
    cost = len(game.board.cells) * (1 + (game.num_planes or 0)) + (game.branching or 0)
    budget = max(40, min(100 * evidence.games, _WORK * evidence.games // cost))
    played = 0

    def judge(position: TrialPosition) -> None:
        for law in _FIRST_LAWS if position.planes is None else _LAST_LAWS:
            evidence.judged[law] += law(game, position)

    guarded = guarded_rules(game)
    for number in range(evidence.games):
        # The first game is played out, so that its end is seen; a later one may be cut short.
        limit = max(budget, 1000) if number == 0 else budget - played
        if limit <= 0:
            break
        stream = rng.stream(evidence.seed, number)
        trial = TrialGame(game, guarded, stream, judge, evidence.watch, plain_ints=number % 2 == 0)
        positions = list(trial.positions(min(limit, game.longest + 1)))
        evidence.trace.append(positions)
        played += len(positions)
        if len(positions) > game.longest and positions[-1].turn != OVER:
            raise trial.broken("turn", *goes_on(game))
    ended = sum(positions[-1].turn == OVER for positions in evidence.trace)
    return Tried(len(evidence.trace), "games", f"{ended} to the end")


def goes_on(game: Game) -> tuple[str, str]:
    """The problem of a game that is too long, and the remedy."""
    problem = f"says the game goes on after longest={game.longest} plies"
    return problem, "end the game there, or declare a larger `longest`; does `play` record every move?"


def keys(evidence: Evidence) -> Tried:
    """`key` depends on the record alone, and positions with equal keys look alike and have equal moves."""
    game = evidence.game
    if game.key is None:
        return Tried(0, "positions", "left out: no `key`")
    by_record: dict[bytes, TrialPosition] = {}
    by_key: dict[int, TrialPosition] = {}
    for here in evidence.positions:
        assert here.key is not None
        same = by_record.setdefault(here.record.tobytes(), here)
        if same.key != here.key:
            problem = f"gives {same.key} and {here.key} for one position"
            raise broken(game, "key", problem, "let it depend on the record alone", here.line)
        other = by_key.setdefault(here.key, here)
        for what in ("turn", "listed", "scores", "cells"):
            if not np.array_equal(getattr(here, what), getattr(other, what)):
                problem = f"gives {here.key} for two positions that differ in `{_SAID_BY[what]}`"
                remedy = (
                    f"make the key of all that matters; the other position is: {' '.join(other.line) or 'the start'}"
                )
                raise broken(game, "key", problem, remedy, here.line)
    return Tried(len(evidence.positions), "positions", f"{len(by_key)} keys")


_SAID_BY = {"turn": "turn", "listed": "legal", "scores": "score", "cells": "cells"}  # part of a position -> its rule


# ---- at every position; the result says whether the law has anything to say there ----


def moves_listed(game: Game, position: TrialPosition) -> bool:
    """At a seat's turn `legal` lists at least one move, ascending, each once, in 0..num_moves-1."""
    if position.turn >= 0:
        _listing(game, "legal", position, game.num_moves, "num_moves")
    return position.turn >= 0


def outcomes_listed(game: Game, position: TrialPosition) -> bool:
    """At a chance turn `odds` lists outcomes, ascending, each once, with probabilities above 0 that sum to 1."""
    if position.turn != CHANCE:
        return False
    _listing(game, "odds", position, game.num_outcomes, "num_outcomes")
    probs = position.probs
    if not (np.isfinite(probs).all() and (probs > 0).all()):
        worst = position.listed[int(np.argmin(np.where(np.isfinite(probs), probs, -1.0)))]
        problem = f"gives outcome {worst} a probability that is not above 0: {probs.tolist()}"
        raise broken(game, "odds", problem, "write every probability, and leave impossible outcomes out", position.line)
    if abs(float(probs.sum()) - 1.0) > 1e-9:
        problem = f"gives probabilities that sum to {probs.sum():.12g}, not to 1"
        raise broken(game, "odds", problem, "divide each by their sum", position.line)
    return True


def _listing(game: Game, rule: str, position: TrialPosition, count: int, limit: str) -> None:
    listed = position.listed.tolist()
    if not listed:
        whose = "chance" if rule == "odds" else f"seat {position.turn}"
        remedy = "list one or more, such as a pass, or let `turn` say OVER; does `play` count every move?"
        raise broken(game, rule, f"lists nothing although it is {whose}'s turn", remedy, position.line)
    for entry in listed:
        if entry == UNWRITTEN:
            remedy = "return how many entries were written"
            raise broken(game, rule, f"says {len(listed)} but writes fewer entries", remedy, position.line)
        if not 0 <= entry < count:
            remedy = f"moves are 0 to {limit}-1 = {count - 1}"
            raise broken(game, rule, f"lists {entry}, outside 0..{count - 1}", remedy, position.line)
    for one, other in pairwise(listed):
        if one >= other:
            problem = f"lists {one} twice" if one == other else f"lists {one} before {other}"
            raise broken(game, rule, problem, "list in ascending order, each entry once", position.line)


def scores_in_range(game: Game, position: TrialPosition) -> bool:
    """`score` writes every seat's entry, finite and within `score_range`."""
    low, high = game.score_range
    for seat, value in enumerate(position.scores.tolist()):
        if math.isnan(value):
            problem = f"leaves seat {seat} unwritten, or writes nan"
            raise broken(game, "score", problem, "write every entry, every time", position.line)
        if not (math.isfinite(value) and low <= value <= high):
            problem = f"gives seat {seat} {value:g}, outside score_range={game.score_range}"
            raise broken(game, "score", problem, "declare a wider `score_range`, or scale the scores", position.line)
    return True


def cells_in_range(game: Game, position: TrialPosition) -> bool:
    """`cells` writes every cell, each an index into `pieces`."""
    for cell, value in enumerate(position.cells.tolist()):
        name = f"cell {cell} ('{game.board.cells[cell].name}')"
        if value == UNWRITTEN:
            raise broken(game, "cells", f"leaves {name} unwritten", "write every entry, every time", position.line)
        if not 0 <= value < len(game.pieces):
            remedy = f"values are 0 to {len(game.pieces) - 1}, indices into `pieces`"
            raise broken(game, "cells", f"writes {value} to {name}", remedy, position.line)
    return True


def planes_written(game: Game, position: TrialPosition) -> bool:
    """`planes` and `heuristic` write every entry, finite."""
    assert position.planes is not None  # judged last
    if not np.isfinite(position.planes).all():
        plane, cell = np.argwhere(~np.isfinite(position.planes))[0].tolist()
        problem = f"leaves plane {plane}, cell {cell} unwritten or not finite"
        raise broken(game, "planes", problem, "write every entry, every time", position.line)
    if game.heuristic is not None and not np.isfinite(position.guess).all():
        problem = f"gives {position.guess.tolist()}"
        raise broken(game, "heuristic", problem, "write a finite estimate for every seat", position.line)
    return True


def cells_owned(game: Game, position: TrialPosition) -> bool:
    """When the game is over, `owners` writes every cell, each a seat or -1."""
    if position.owners is None:
        return False
    for cell, value in enumerate(position.owners.tolist()):
        name = f"cell {cell} ('{game.board.cells[cell].name}')"
        if value == UNWRITTEN_BYTE:
            raise broken(game, "owners", f"leaves {name} unwritten", "write every entry, every time", position.line)
        if not -1 <= value < game.seats:
            remedy = f"owners are the seats 0 to {game.seats - 1}, and -1 for nobody"
            raise broken(game, "owners", f"writes {value} to {name}", remedy, position.line)
    return True


PositionLaw = Callable[[Game, TrialPosition], bool]

_FIRST_LAWS: tuple[PositionLaw, ...] = (moves_listed, outcomes_listed, scores_in_range, cells_in_range)
_LAST_LAWS: tuple[PositionLaw, ...] = (planes_written, cells_owned)  # their rules may build on the others
POSITION_LAWS = (*_FIRST_LAWS, *_LAST_LAWS)
