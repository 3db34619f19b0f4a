"""What random play shows about a game: how long it lasts, how much choice there is, who moves and who wins."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core import kernels, rng
from meijin.core.compile import Function
from meijin.core.errors import BadParameter
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.moves import Move

PLIES = 20_000  # games stop here, whatever `longest` says
_BATCH = 0.1  # seconds that one call of the kernel should take
_NAMES = 8  # names shown as examples


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean of some numbers, and their range."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SeatStatistics:
    """What one seat does in random games."""

    name: str  # as people read it
    moves: float  # per game
    forced: float  # share of its turns with one legal move only
    wins: float  # share of games in which it alone has the highest score
    score: Spread  # at the end of a game


@dataclass(frozen=True, slots=True)
class Statistics:
    """What random games of one seed show. Shares are 0 to 1."""

    games: int
    seed: int
    unfinished: int  # games that were still going after `longest` plies, or after PLIES
    length: Spread  # plies of a game: moves and chance outcomes together
    branching: Spread  # legal moves at a seat's turn
    last_branching: Spread  # legal moves at the last turn of a game
    forced: float  # share of turns with one legal move only
    chance: float  # share of plies that are chance outcomes
    draws: float  # share of games in which several seats share the highest score
    first_seat: float  # points of seat 0 per game: 1 for a win, 1/k where k seats share the highest score
    first_seat_margin: float  # half the width of its 95 % confidence interval
    seats: tuple[SeatStatistics, ...]
    results: int  # how many different final scores there were
    played: tuple[int, ...]  # [move] -> how often it was played
    unused_moves: float  # share of moves that were never played
    move_names: tuple[str, ...]  # some that were played
    occurred: tuple[int, ...]  # [outcome] -> how often it occurred
    unused_outcomes: float  # share of outcomes that never occurred
    outcome_names: tuple[str, ...]  # some that occurred

    def __str__(self) -> str:
        wins = f"; wins by seat {' '.join(f'{seat.wins:.1%}' for seat in self.seats)}" if len(self.seats) > 1 else ""
        means = f"{self.length.mean:,.1f} plies and {self.branching.mean:,.1f} legal moves on average"
        return f"{self.games:,} random games: {means}{wins}"


def _survey(game: Game) -> Function:
    """Plays one random game in each record and tallies it; game i uses stream i."""
    begin, turn, legal, play, score = game.start, game.turn, game.legal, game.play, game.score
    odds, below, choose = game.odds or kernels.no_odds, rng.below, rng.choose

    def kernel(
        states: Any,
        plies: int,
        rngs: Any,
        moves: Any,
        probs: Any,
        scores: Any,
        tallies: Any,
        played: Any,
        occurred: Any,
    ) -> None:
        for i in range(states.shape[0]):
            s, tally, random = states[i], tallies[i], rngs[i]
            begin(s)
            n = 0
            t = turn(s)
            while t != OVER and n < plies:
                if t == CHANCE:
                    move = moves[choose(random, probs, odds(s, moves, probs))]
                    occurred[move] += 1
                else:
                    count = legal(s, moves)
                    move = moves[below(random, count)]
                    played[move] += 1
                    tally.turns[t] += 1
                    tally.choices += count
                    tally.last = count
                    if count == 1:
                        tally.forced[t] += 1
                    if count < tally.fewest or tally.fewest == 0:
                        tally.fewest = count
                    if count > tally.most:
                        tally.most = count
                play(s, move)
                n += 1
                t = turn(s)
            tally.plies = n
            tally.over = t == OVER
            score(s, scores[i])

    return kernel


def _tallies(game: Game, count: int) -> NDArray[Any]:
    numbers = [(name, "i8") for name in ("plies", "over", "choices", "fewest", "most", "last")]
    fields: Any = [*numbers, ("turns", "i8", (game.seats,)), ("forced", "i8", (game.seats,))]
    return np.zeros(count, np.dtype((np.record, fields)))


def play_statistics(
    game: Game,
    *,
    games: int = 400,
    seconds: float = 3.0,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Statistics:
    """Play random games, up to a number and for about a given time, and count.

    The games depend on the seed alone, their number on the speed of the machine. Before each batch, `progress` is
    called with the number of games played so far.
    """
    if games < 1:
        raise BadParameter(f"games={games} must be at least 1")
    if not seconds > 0:
        raise BadParameter(f"seconds={seconds} must be above 0")
    play = game.kernel(_survey)
    moves, probs = kernels.buffers(game)
    played, occurred = np.zeros(game.num_moves, np.int64), np.zeros(game.num_outcomes, np.int64)
    tallies, scores = _tallies(game, games), np.zeros((games, game.seats))
    streams, plies = rng.streams(seed, games), min(game.longest, PLIES)
    done, batch, stop = 0, 1, math.inf
    while done < games and (now := time.monotonic()) < stop:
        if progress is not None:
            progress(done)
        end = min(games, done + batch)
        states = game.states(end - done)
        play(states, plies, streams[done:end], moves, probs, scores[done:end], tallies[done:end], played, occurred)
        spent = time.monotonic() - now
        if done == 0:  # the first call may have compiled the kernel
            stop = time.monotonic() + seconds
        else:
            batch = max(1, min(2 * batch, int(batch * _BATCH / max(spent, 1e-9))))
        done = end
    return _statistics(game, seed, tallies[:done], scores[:done], played, occurred)


def _statistics(game: Game, seed: int, tallies: Any, scores: Any, played: Any, occurred: Any) -> Statistics:
    games, seats = scores.shape
    turns, forced = tallies["turns"].sum(axis=0), tallies["forced"].sum(axis=0)  # [seat]
    plies, made = int(tallies["plies"].sum()), int(turns.sum())
    best = np.isclose(scores, scores.max(axis=1, keepdims=True))  # [game, seat]
    alone = best & (best.sum(axis=1, keepdims=True) == 1)
    points = best[:, 0] / best.sum(axis=1)  # [game]
    chosen = tallies[tallies["most"] > 0]
    return Statistics(
        games=games,
        seed=seed,
        unfinished=int((tallies["over"] == 0).sum()),
        length=_spread(tallies["plies"]),
        branching=Spread(
            _ratio(tallies["choices"].sum(), made),
            int(chosen["fewest"].min(initial=game.num_moves)),
            int(chosen["most"].max(initial=0)),
        ),
        last_branching=_spread(tallies["last"]),
        forced=_ratio(forced.sum(), made),
        chance=_ratio(occurred.sum(), plies),
        draws=float(1 - alone.any(axis=1).mean()) if seats > 1 else 0.0,
        first_seat=float(points.mean()),
        first_seat_margin=float(1.96 * points.std() / math.sqrt(games)),
        seats=tuple(
            SeatStatistics(
                name=game.seat_name(k),
                moves=float(turns[k] / games),
                forced=_ratio(forced[k], turns[k]),
                wins=float(alone[:, k].mean()) if seats > 1 else 0.0,
                score=_spread(scores[:, k]),
            )
            for k in range(seats)
        ),
        results=len(np.unique(scores.round(9), axis=0)),
        played=tuple(played.tolist()),
        unused_moves=float((played == 0).mean()),
        move_names=_examples(game.moves, played),
        occurred=tuple(occurred.tolist()),
        unused_outcomes=float((occurred == 0).mean()) if len(occurred) else 0.0,
        outcome_names=_examples(game.outcomes, occurred),
    )


def _spread(numbers: Any) -> Spread:
    return Spread(float(numbers.mean()), numbers.min().item(), numbers.max().item())


def _ratio(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else 0.0


def _examples(moves: Sequence[Move], counts: Any) -> tuple[str, ...]:
    """The names of some moves that occurred, from the first to the last."""
    seen = np.flatnonzero(counts)
    picked = seen[np.linspace(0, len(seen) - 1, min(_NAMES, len(seen))).round().astype(int)] if len(seen) else seen
    return tuple(moves[i].name for i in picked.tolist())
