"""Elo, and the sequential probability ratio test: play until it is clear which of two Elo differences fits better.

    test = Sprt(elo0=0, elo1=10)          # "not stronger" against "10 Elo stronger", 5 % error either way
    progress = test.judge(counts)         # LLR, bounds, and "H0", "H1" or None: play on

Results are counted by pairs of games with the same opening and exchanged sides: a pair brings 0, 1/2, 1, 3/2 or 2
points (the pentanomial model). The games of a pair are not independent, and an opening that favours one side makes
pairs of one win and one loss, which say little: counting single games would take them for noise and play on too long.

The log-likelihood ratio is that of the generalised test: it uses the distributions nearest to the observed one whose
means are the expected scores of the hypotheses (M. Van den Bergh, "A practical introduction to the GSPRT"; the model
used for testing chess engines). Elo is logistic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.errors import BadParameter

PAIR = 2  # games in a pair
OUTCOMES = 2 * PAIR + 1  # points of a pair, by halves
UNSEEN = 1e-3  # count of an outcome that has not occurred, so that no hypothesis has probability 0
NEWTON = 60  # steps at most; about ten are needed

Counts = Sequence[int] | NDArray[Any]


def elo(share: float) -> float:
    """The logistic Elo difference at which this share of the points is expected."""
    if share <= 0:
        return -math.inf
    return math.inf if share >= 1 else 400 * math.log10(share / (1 - share))


def expected(difference: float) -> float:
    """The share of the points expected at an Elo difference: the inverse of `elo`."""
    return 1 / (1 + 10 ** (-difference / 400))


@dataclass(frozen=True, slots=True)
class SprtProgress:
    """The state of a test."""

    llr: float  # log-likelihood ratio of elo1 against elo0
    lower: float  # bound at which elo0 is accepted
    upper: float  # bound at which elo1 is accepted
    pairs: int
    decision: str | None  # "H0": elo0, "H1": elo1, None: not decided

    def __str__(self) -> str:
        said = {"H0": "H0 accepted", "H1": "H1 accepted", None: "undecided"}[self.decision]
        return f"LLR {self.llr:+.2f} [{self.lower:.2f}, {self.upper:.2f}] after {self.pairs:,} pairs: {said}"


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test of "the first agent is elo0 stronger" (H0) against "elo1 stronger" (H1)."""

    elo0: float
    elo1: float
    alpha: float = 0.05  # probability of H1 where elo0 is true
    beta: float = 0.05  # probability of H0 where elo1 is true

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1 or not math.isfinite(self.elo0) or not math.isfinite(self.elo1):
            raise BadParameter(f"elo0 = {self.elo0:g}, elo1 = {self.elo1:g}: elo0 must be below elo1, both finite")
        for name in ("alpha", "beta"):
            if not 0 < getattr(self, name) < 0.5:
                raise BadParameter(f"{name} = {getattr(self, name)!r}: must be an error rate between 0 and 0.5")

    @property
    def bounds(self) -> tuple[float, float]:
        """Wald's bounds of the log-likelihood ratio."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def judge(self, counts: Counts) -> SprtProgress:
        """The test, given the numbers of pairs with 0, 1/2, 1, 3/2 and 2 points."""
        lower, upper = self.bounds
        ratio = float(self.llr(np.asarray(counts, np.float64)))
        decision = "H1" if ratio >= upper else "H0" if ratio <= lower else None
        return SprtProgress(ratio, lower, upper, int(sum(counts)), decision)

    def llr(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The log-likelihood ratio of counts [..., outcome]: five outcomes of pairs, or three of single games."""
        counts = np.maximum(counts, UNSEEN)
        share = np.linspace(0.0, 1.0, counts.shape[-1])  # of the points that each outcome brings
        likelihoods = [_log_likelihood(counts, share - expected(elo)) for elo in (self.elo0, self.elo1)]
        seen = (counts > UNSEEN).any(axis=-1)
        return np.where(seen, likelihoods[1] - likelihoods[0], 0.0)


def _log_likelihood(counts: NDArray[np.float64], off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-likelihood of the most likely distribution whose mean of `off` is 0.

    The probability of an outcome is p / (1 + x * off), where p is its observed share and x is chosen for the mean to be
    0. The mean falls with x between two poles; Newton's method, with bisection at the bounds, finds x.
    """
    p = counts / counts.sum(axis=-1, keepdims=True)
    low = np.full(p.shape[:-1], -1 / off[-1])
    high = np.full(p.shape[:-1], -1 / off[0])
    x = np.zeros(p.shape[:-1])
    for _ in range(NEWTON):
        pull = off / (1 + x[..., None] * off)
        mean = (p * pull).sum(axis=-1)
        low, high = np.where(mean > 0, x, low), np.where(mean > 0, high, x)
        step = x + mean / (p * pull * pull).sum(axis=-1)
        new = np.where((step > low) & (step < high), step, (low + high) / 2)
        done = bool(np.all(np.abs(new - x) <= 1e-12 * (1 + np.abs(x))))
        x = new
        if done:
            break
    # The observed shares are the same under both hypotheses and cancel in the ratio.
    total: NDArray[np.float64] = np.sum(counts * np.log1p(x[..., None] * off), axis=-1)
    return -total


def pentanomial(pairs: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """The number of pairs of results (1, 1/2, 0 for the first agent) with 0, 1/2, 1, 3/2 and 2 points."""
    counts = [0] * OUTCOMES
    for pair in pairs:
        if len(pair) == PAIR:
            counts[round(2 * sum(pair))] += 1
    return tuple(counts)
