"""Ratings from results: Bradley-Terry, Plackett-Luce and Glicko-2.

The first two are one model. Agent i has a strength; of the agents that are still to be placed, i comes next with
probability exp(strength i) / sum of exp(strength j). With two seats that is Bradley-Terry, with more it is
Plackett-Luce. Strengths are fitted by maximum likelihood and reported on the Elo scale, where 400 points are odds of
10 to 1 for one agent to finish ahead of another.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meijin.core.errors import BadParameter

Name = TypeVar("Name", bound=Hashable)
Floats = NDArray[np.float64]

ELO = 400 / math.log(10)  # Elo points per unit of log-odds
Z95 = 1.959963984540054  # half the width of a 95 % interval, in standard errors
PRIOR = 1.0  # virtual draws: keeps ratings finite, and roughly corrects the bias of few games

_STEPS = 200  # Newton takes about ten
_ALL_ORDERS = 8  # if more agents share a place, only some of their orders are considered


# ---- maximum likelihood ----


@dataclass(frozen=True, slots=True)
class Fit:
    """Strengths in log-odds, which sum to zero, and their covariance."""

    strengths: Floats  # [agent]
    covariance: Floats  # [agent, agent], of the strengths less their mean

    def errors(self, anchor: int | None = None) -> Floats:
        """Standard errors of the strengths, [agent]; with an anchor, of their differences from that agent's."""
        spread = self.covariance.diagonal().copy()
        if anchor is not None:
            spread = spread + spread[anchor] - 2 * self.covariance[anchor]
            spread[anchor] = 0.0
        return np.sqrt(np.maximum(spread, 0.0))


def bradley_terry(points: ArrayLike, draws: ArrayLike | None = None, *, prior: float = 0.0) -> Fit:
    """Fit strengths to `points[i, j]`, the points of i against j: 1 for a win, 1/2 for a draw.

    `draws[i, j]` is the number of those games that were drawn (symmetric). Draws reduce the variance, so they narrow
    the errors: the variance of a game is (1 - c) p (1 - p), with the c that explains the number of draws. Without
    `draws` the errors are those of games that cannot be drawn, which are never too small.

    `prior` adds that many virtual draws of every agent against one of strength 0. Without a prior, an agent that won
    or lost everything has no finite strength, which is an error.
    """
    scored = np.asarray(points, np.float64)
    n = len(scored)
    if scored.shape != (n, n) or np.any(scored < 0):
        raise BadParameter(f"points of shape {scored.shape}: must be a square table of numbers, none below zero")
    games = scored + scored.T
    pairs = [(i, j) for i, j in combinations(range(n), 2) if games[i, j] > 0]
    sets = {frozenset(pair): float(games[pair]) for pair in pairs}
    np.fill_diagonal(scored := scored.copy(), 0.0)
    if prior == 0:
        _check_finite([(i, j) for i in range(n) for j in range(n) if scored[i, j] > 0], n)
    fit = _fit(scored.sum(1), sets, prior)
    if draws is None or not pairs:
        return fit
    first, second = np.array(pairs).T
    chance = 1 / (1 + np.exp(fit.strengths[second] - fit.strengths[first]))
    weight = float((4 * games[first, second] * chance * (1 - chance)).sum())  # the most draws there can be
    drawn = float(np.asarray(draws, np.float64)[first, second].sum())
    return Fit(fit.strengths, fit.covariance * max(0.0, 1 - drawn / (weight + 1)))  # +1: all drawn is not certainty


def plackett_luce(n: int, games: Iterable[Sequence[Sequence[int]]], *, prior: float = 0.0) -> Fit:
    """Fit strengths of agents 0..n-1 to games, each a list of places, best first, each the agents that share it.

    A shared place counts as the average of all its orders, so a draw of two is half a win for each. A shared last place
    says nothing about those who share it: the losers of a game with only one winner are not equal.
    """
    wins = np.zeros(n)
    sets: dict[frozenset[int], float] = {}
    ahead: set[tuple[int, int]] = set()
    for places, count in Counter(tuple(map(tuple, game)) for game in games).items():
        for k, tied in enumerate(places):
            rest = [agent for place in places[k + 1 :] for agent in place]
            if not rest and k > 0:
                break
            _add_place(tied, rest, count, wins, sets)
            # tied agents are ahead half of the time
            ahead.update((a, b) for a in tied for b in (*tied, *rest) if a != b)
    if prior == 0:
        _check_finite(ahead, n)
    return _fit(wins, sets, prior)


def _add_place(
    tied: Sequence[int], rest: Sequence[int], count: int, wins: Floats, sets: dict[frozenset[int], float]
) -> None:
    """Count the choices that a shared place stands for: every order of the tied agents equally."""
    t = len(tied)
    lefts: list[tuple[tuple[int, ...], float]] = []  # tied agents that are still to be placed, and how often
    for size in range(1, t + 1):
        if t <= _ALL_ORDERS:
            lefts += [(left, 1 / math.comb(t, size)) for left in combinations(tied, size)]
        else:  # a window on a ring: every agent has every place equally often
            ring = (*tied, *tied)
            lefts += [(ring[k : k + size], 1 / t) for k in range(t)]
    for left, share in lefts:
        group = frozenset((*left, *rest))
        if len(group) > 1:
            for agent in left:
                wins[agent] += count * share / len(left)
            sets[group] = sets.get(group, 0.0) + count * share


def _fit(wins: Floats, sets: dict[frozenset[int], float], prior: float) -> Fit:
    """Maximise sum wins[i] x[i] - sum over sets of weight * log(sum of exp(x) in the set), by Newton's method."""
    if prior < 0:
        raise BadParameter(f"prior = {prior}: must be at least 0")
    n = len(wins)
    member = np.zeros((len(sets), n), bool)  # [set, agent]
    for row, group in enumerate(sets):
        member[row, list(group)] = True
    weight = np.array(list(sets.values()))  # [set]
    flat = np.full((n, n), 1 / n)  # fixes the sum of the strengths, which the results do not determine

    def look(x: Floats) -> tuple[float, Floats, Floats]:
        """Log-likelihood, gradient and information."""
        shares = np.where(member, np.exp(x - x.max()), 0.0)  # [set, agent]
        sums = shares.sum(1, keepdims=True)
        shares = shares / sums
        half = 1 / (1 + np.exp(-x))
        likelihood = wins @ x - weight @ (np.log(sums[:, 0]) + x.max())
        likelihood += prior * float((x / 2 - np.logaddexp(0, x)).sum())
        gradient = wins - weight @ shares + prior * (0.5 - half)
        information = -(shares * weight[:, None]).T @ shares
        information[np.diag_indices(n)] += weight @ shares + prior * half * (1 - half)
        return float(likelihood), gradient, information

    x = np.zeros(n)
    likelihood, gradient, information = look(x)
    for _ in range(_STEPS):
        step = np.linalg.solve(information + (flat if prior == 0 else 0), gradient)
        scale = min(1.0, 5 / max(1e-12, float(np.abs(step).max())))
        tried = look(x + scale * step)
        while tried[0] < likelihood - 1e-12 * abs(likelihood) and scale > 1e-10:
            scale /= 2
            tried = look(x + scale * step)
        x = x + scale * step
        likelihood, gradient, information = tried
        if float(np.abs(step).max()) < 1e-11:
            break
    centre = np.eye(n) - flat
    inverse = np.linalg.inv(information + (flat if prior == 0 else 0))
    return Fit(x - x.mean(), centre @ inverse @ centre)


def _check_finite(ahead: Iterable[tuple[int, int]], n: int) -> None:
    """Strengths are finite if every agent is ahead of every other, directly or through others (Ford 1957)."""
    reach = np.eye(n, dtype=bool)
    for a, b in ahead:
        reach[a, b] = True
    for k in range(n):
        reach |= np.outer(reach[:, k], reach[k])
    if not reach.all():
        raise BadParameter(
            "these results have no finite ratings: some agents never lost or drew against the others; "
            f"use a prior, such as prior={PRIOR}"
        )


# ---- rating lists ----


@dataclass(frozen=True, slots=True)
class Rating(Generic[Name]):
    """One entry of a rating list, in Elo points."""

    name: Name
    elo: float
    low: float  # 95 % interval
    high: float
    games: int


def order(scores: Sequence[float]) -> list[list[int]]:
    """Places by score, best first: the indices that share each place."""
    return [[k for k, score in enumerate(scores) if score == at] for at in sorted(set(scores), reverse=True)]


def rate(
    games: Iterable[tuple[Sequence[Name], Sequence[float]]],
    names: Sequence[Name] = (),
    *,
    prior: float = PRIOR,
    anchor: Name | None = None,
) -> list[Rating[Name]]:
    """The rating list of games between any number of agents, each given as (agents, scores); best first.

    The mean rating is 0, or that of `anchor`. `names` adds agents that may not have played. Games of an agent against
    itself do not count.
    """
    index: dict[Name, int] = {name: k for k, name in enumerate(names)}
    places: list[list[list[int]]] = []
    played: Counter[int] = Counter()
    for agents, scores in games:
        numbers = [index.setdefault(agent, len(index)) for agent in agents]
        played.update(set(numbers))
        if len(set(numbers)) == len(numbers) > 1:
            places.append([[numbers[k] for k in place] for place in order(scores)])
    if anchor is not None and anchor not in index:
        raise BadParameter(f"anchor = {anchor}: not one of {', '.join(map(str, index))}")
    fit = _fit_places(len(index), places, prior)
    at = None if anchor is None else index[anchor]
    strengths = ELO * (fit.strengths - (0 if at is None else fit.strengths[at]))
    margins = ELO * Z95 * fit.errors(at)
    listed = [
        Rating(name, float(strengths[k]), float(strengths[k] - margins[k]), float(strengths[k] + margins[k]), played[k])
        for name, k in index.items()
    ]
    return sorted(listed, key=lambda rating: -rating.elo)  # stable: ties keep their order


def _fit_places(n: int, places: list[list[list[int]]], prior: float) -> Fit:
    if n == 0:
        return Fit(np.zeros(0), np.zeros((0, 0)))
    if any(sum(map(len, game)) > 2 for game in places):
        return plackett_luce(n, places, prior=prior)
    points, draws = np.zeros((n, n)), np.zeros((n, n))
    for game in places:
        a, b = (agent for place in game for agent in place)
        if len(game) == 1:
            points[a, b] += 0.5
            points[b, a] += 0.5
            draws[a, b] += 1
            draws[b, a] += 1
        else:
            points[a, b] += 1
    return bradley_terry(points, draws, prior=prior)


# ---- Glicko-2 ----

_GLICKO = 173.7178  # points per unit, as the paper rounds it
TAU = 0.5  # how much volatilities may change; the paper recommends 0.3 to 1.2


@dataclass(frozen=True, slots=True)
class Glicko:
    """A Glicko-2 rating: its value, its uncertainty, and how erratic the results are."""

    rating: float = 1500.0
    deviation: float = 350.0
    volatility: float = 0.06

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval."""
        return self.rating - Z95 * self.deviation, self.rating + Z95 * self.deviation


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Name]):
    """The result of one agent against another: `points` of `games`, which need not be whole numbers."""

    agent: Name
    other: Name
    points: float
    games: float


def glicko2(player: Glicko, results: Iterable[tuple[Glicko, float, float]], tau: float = TAU) -> Glicko:
    """The rating after one rating period, by Glickman's "Example of the Glicko-2 system" (2013).

    `results` are (opponent, points, games): the opponents as they were before the period.
    """
    mu, phi = (player.rating - 1500) / _GLICKO, player.deviation / _GLICKO
    information = gain = 0.0
    for opponent, points, games in results:
        other = opponent.deviation / _GLICKO
        g = 1 / math.sqrt(1 + 3 * other * other / math.pi**2)
        expected = 1 / (1 + math.exp(-g * (mu - (opponent.rating - 1500) / _GLICKO)))
        information += games * g * g * expected * (1 - expected)
        gain += g * (points - games * expected)
    if information == 0:  # it did not play: only the uncertainty grows
        return Glicko(player.rating, _GLICKO * math.hypot(phi, player.volatility), player.volatility)
    variance = 1 / information
    sigma = _volatility(phi, player.volatility, variance, variance * gain, tau)
    spread = 1 / math.sqrt(1 / (phi * phi + sigma * sigma) + information)
    return Glicko(1500 + _GLICKO * (mu + spread * spread * gain), _GLICKO * spread, sigma)


def _volatility(phi: float, sigma: float, variance: float, delta: float, tau: float) -> float:
    """Step 5 of the paper: the root of f, by the Illinois variant of regula falsi."""
    start = math.log(sigma * sigma)

    def f(x: float) -> float:
        total = phi * phi + variance + math.exp(x)
        return math.exp(x) * (delta * delta - total) / (2 * total * total) - (x - start) / (tau * tau)

    low = start
    if delta * delta > phi * phi + variance:
        high = math.log(delta * delta - phi * phi - variance)
    else:
        high = start - tau
        while f(high) < 0:
            high -= tau
    at_low, at_high = f(low), f(high)
    while abs(high - low) > 1e-12 and at_high != at_low:
        new = low + (low - high) * at_low / (at_high - at_low)
        at_new = f(new)
        if at_new * at_high <= 0:
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = new, at_new
    return math.exp(low / 2)


def outcomes(games: Iterable[tuple[Sequence[Name], Sequence[float]]]) -> list[Outcome[Name]]:
    """Games of any number of agents as total results of pairs, each pair in both directions.

    A game of N agents has many pairs but says less than as many games of two; each of its pairs counts as 2/N of a
    game. As in `plackett_luce`, agents that share the last place are not compared.
    """
    sums: dict[tuple[Name, Name], list[float]] = {}
    for agents, scores in games:
        weight = 2 / len(agents)
        lowest = min(scores)
        unranked = lowest if max(scores) > lowest else None
        for a, b in combinations(range(len(agents)), 2):
            if agents[a] == agents[b] or scores[a] == scores[b] == unranked:
                continue
            points = 0.5 if scores[a] == scores[b] else float(scores[a] > scores[b])
            for one, other, gained in ((a, b, points), (b, a, 1 - points)):
                total = sums.setdefault((agents[one], agents[other]), [0.0, 0.0])
                total[0] += weight * gained
                total[1] += weight
    return [Outcome(agent, other, points, played) for (agent, other), (points, played) in sums.items()]


def rating_period(
    ratings: dict[Name, Glicko], results: Sequence[Outcome[Name]], tau: float = TAU
) -> dict[Name, Glicko]:
    """The ratings after a period; new agents start at 1500, those who did not play become more uncertain."""
    before = dict(ratings)
    met: dict[Name, list[tuple[Any, float, float]]] = {}
    for result in results:
        met.setdefault(result.agent, []).append((result.other, result.points, result.games))
        before.setdefault(result.agent, Glicko())
        before.setdefault(result.other, Glicko())
    return {
        name: glicko2(player, [(before[other], points, games) for other, points, games in met.get(name, ())], tau)
        for name, player in before.items()
    }
