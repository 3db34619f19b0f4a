"""Tallies of results, and confidence intervals.

Intervals are 95 % intervals unless stated otherwise. A result is a share of the points of one game: 1 for a win, 1/2
for a draw, 0 for a loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from meijin.core.statistics import elo

Interval = tuple[float, float]

Z = 1.96  # standard deviations of a normal that leave out 5 %
LARGE = 2000  # samples from which on the bootstrap and the standard error of a mean agree
FEW = 10  # samples, or groups of games, too few for their own spread to be trusted


@dataclass(slots=True)
class Tally:
    """Results of one agent, in all seats or in one. The highest score alone wins, the highest score shared draws."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    scores: list[float] = field(default_factory=list)  # the game's own score of every game

    def add(self, score: float, others: Sequence[float]) -> None:
        self.scores.append(score)
        won = result(score, others)
        if won == 0.0:
            self.losses += 1
        elif won == 0.5:
            self.draws += 1
        else:
            self.wins += 1

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @classmethod
    def total(cls, tallies: Iterable[Tally]) -> Tally:
        """Several tallies together."""
        together = cls()
        for tally in tallies:
            together.wins += tally.wins
            together.draws += tally.draws
            together.losses += tally.losses
            together.scores += tally.scores
        return together

    @property
    def share(self) -> float:
        """Share of the points: a win counts 1, a draw 1/2."""
        return (self.wins + self.draws / 2) / self.games if self.games else math.nan

    @property
    def interval(self) -> Interval:
        """95 % Wilson interval of `share`; with draws it is a little wide, never narrow."""
        return wilson(self.share, self.games)

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores)) if self.scores else math.nan

    @property
    def mean_interval(self) -> Interval:
        """95 % interval of the mean score: bootstrapped, as scores may be skewed; by the standard error if there are
        too few scores for that, or so many that both agree."""
        if len(self.scores) < 2:
            return (math.nan, math.nan)
        if FEW <= len(self.scores) < LARGE:
            return bootstrap(self.scores)
        margin = Z * float(np.std(self.scores, ddof=1)) / math.sqrt(len(self.scores))
        return self.mean - margin, self.mean + margin


def result(score: float, others: Sequence[float]) -> float:
    """1 for the highest score alone, 1/2 for the highest shared, else 0; 1 in a game for one."""
    best = max(others, default=-math.inf)
    return 1.0 if score > best or not others else 0.5 if score == best else 0.0


def wilson(share: float, n: float, z: float = Z) -> Interval:
    """Wilson's score interval of a share observed over n trials."""
    if n == 0:
        return (0.0, 1.0)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    margin = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # The share lies inside; rounding must not exclude it when it is 0 or 1.
    return max(0.0, min(share, centre - margin)), min(1.0, max(share, centre + margin))


def bootstrap(
    samples: Sequence[float] | NDArray[np.float64],
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda drawn: drawn.mean(axis=-1),
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The percentile interval of a statistic, which maps an array [resample, sample] to one number per resample.

    For games that are not independent, such as both sides of an opening, use the mean of a group as a sample.
    """
    values = np.asarray(samples, np.float64)
    if values.size == 0:
        return (math.nan, math.nan)
    rng = np.random.default_rng(seed)
    block = max(1, 4_000_000 // values.size)  # resamples at a time: bounds memory
    drawn = [
        statistic(values[rng.integers(0, values.size, (min(block, resamples - done), values.size))])
        for done in range(0, resamples, block)
    ]
    low, high = np.quantile(np.concatenate(drawn), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


# ---- Elo ----


@dataclass(frozen=True, slots=True)
class EloDifference:
    """How much stronger one agent is than another, in Elo, with its 95 % interval."""

    value: float
    interval: Interval
    superiority: float  # probability that the first is the stronger one, by the normal approximation


def elo_difference(groups: Sequence[Sequence[float]]) -> EloDifference:
    """The Elo difference from the results of one agent in groups of games that depend on each other (same opening).

    The interval is Wilson's for as many independent games as would have the variance of the groups: draws and paired
    openings make it narrower, openings that decide games make it wider.
    """
    games = sum(map(len, groups))
    if games == 0:
        return EloDifference(math.nan, (-math.inf, math.inf), 0.5)
    share = sum(map(sum, groups)) / games
    worth = effective_games(groups)
    low, high = wilson(share, worth)
    # As in Wilson's interval, the deviation is the one that equal strength would show.
    superiority = NormalDist().cdf((share - 0.5) / (0.5 / math.sqrt(worth)))
    return EloDifference(elo(share), (elo(low), elo(high)), superiority)


def effective_games(groups: Sequence[Sequence[float]]) -> float:
    """How many independent games without draws would tell as much about the share of the points.

    At least one per group; at most four times the games, so that a run of draws is not taken for certainty.
    """
    games = sum(map(len, groups))
    size = max(map(len, groups))
    whole = [group for group in groups if len(group) == size]  # others are unfinished
    share = sum(map(sum, groups)) / games
    if len(whole) < FEW:
        return float(games)
    variance = float(np.var([np.mean(group) for group in whole], ddof=1)) * size  # of a game
    at_most = 4.0 * games
    worth = games * share * (1 - share) / variance if variance > 0 else (at_most if 0 < share < 1 else games)
    return min(max(worth, games / size), at_most)
