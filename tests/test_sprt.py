"""The sequential test and the statistics of results: figures against published ones, error rates by simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from meijin.arena.stats import bootstrap, effective_games, elo_difference, wilson
from meijin.core.errors import BadParameter
from meijin.core.statistics import Sprt, elo, expected, pentanomial

# ---- Elo ----


def test_elo_and_expected_score() -> None:
    assert expected(0) == 0.5 and expected(400) == pytest.approx(10 / 11)
    for share in (0.01, 0.3, 0.5, 0.99):
        assert expected(elo(share)) == pytest.approx(share)
    assert elo(0.75) == pytest.approx(190.8485)  # 400 * log10(3)
    assert (elo(0), elo(1)) == (-math.inf, math.inf)


def test_elo_difference() -> None:
    none = elo_difference([])
    assert math.isnan(none.value) and none.interval == (-math.inf, math.inf)
    won = elo_difference([[1.0, 1.0]] * 5)
    assert won.value == math.inf and 0 < won.interval[0] < math.inf and won.superiority > 0.99
    even = elo_difference([[1.0, 0.0]] * 3)
    assert even.value == 0 and even.superiority == 0.5
    assert even.interval == tuple(elo(end) for end in wilson(0.5, 6))  # too few pairs to know their spread
    swapped = elo_difference([[0.0, 0.5], [1.0, 0.5], [0.0, 0.0]])
    mirrored = elo_difference([[1.0, 0.5], [0.0, 0.5], [1.0, 1.0]])
    assert swapped.value == pytest.approx(-mirrored.value)
    assert swapped.interval == pytest.approx((-mirrored.interval[1], -mirrored.interval[0]))


def test_effective_games() -> None:
    rng = np.random.default_rng(1)
    alone = [[float(x), float(y)] for x, y in rng.integers(0, 2, (4000, 2))]
    assert effective_games(alone) == pytest.approx(8000, rel=0.1)
    twice = [[float(x)] * 2 for x in rng.integers(0, 2, 4000)]  # the second game says nothing new
    assert effective_games(twice) == pytest.approx(4000, rel=0.01)
    drawish = [[0.5, 0.5]] * 900 + [[1.0, 0.5]] * 50 + [[0.5, 0.0]] * 50
    assert effective_games(drawish) == 4 * 2000  # as much as is believed


@pytest.mark.parametrize("shares", [(0.3, 0.4, 0.3), (0.5, 0.1, 0.4), (0.02, 0.9, 0.08), (0.05, 0.0, 0.95)])
@pytest.mark.parametrize("same", [0.0, 0.6])  # how often an opening decides both games alike for the seats
def test_the_interval_of_the_elo_difference_covers_the_truth(shares: tuple[float, ...], same: float) -> None:
    """Of 1000 matches of 200 games, 950 intervals should hold the truth, with a deviation of 6.9; fewer than 930 would
    come by chance once in 500."""
    rng = np.random.default_rng(2)
    results = np.array([1.0, 0.5, 0.0])
    truth = float(np.dot(shares, results))
    matches, pairs = 1000, 100
    first = rng.choice(results, (matches, pairs), p=shares)
    second = np.where(rng.random((matches, pairs)) < same, first, rng.choice(results, (matches, pairs), p=shares))
    hits = 0
    for one, other in zip(first, second, strict=True):
        low, high = elo_difference(np.stack([one, other], axis=1).tolist()).interval
        hits += low <= elo(truth) <= high
    assert hits >= 930


# ---- bootstrap ----


def test_bootstrap() -> None:
    rng = np.random.default_rng(3)
    samples = rng.normal(10, 2, 400)
    low, high = bootstrap(samples)
    margin = 1.96 * float(samples.std(ddof=1)) / 20
    # 2000 resamples place a quantile to within 6 % of the half-width or so.
    assert (low, high) == pytest.approx((samples.mean() - margin, samples.mean() + margin), abs=0.15 * margin)
    assert bootstrap(samples) == (low, high)  # the same every time
    assert bootstrap([3.0, 3.0, 3.0]) == (3.0, 3.0)
    assert all(map(math.isnan, bootstrap([])))

    def median(drawn: Any) -> Any:
        return np.median(drawn, axis=-1)

    low, high = bootstrap(samples, median, level=0.5)
    assert low < float(np.median(samples)) < high and high - low < 2 * margin


# ---- the test ----


def test_bounds_and_decisions() -> None:
    test = Sprt(0, 10, alpha=0.05, beta=0.1)
    assert test.bounds == pytest.approx((math.log(0.1 / 0.95), math.log(0.9 / 0.05)))
    nothing = test.judge([0] * 5)
    assert (nothing.llr, nothing.pairs, nothing.decision) == (0.0, 0, None)
    assert test.judge([0, 0, 0, 0, 200]).decision == "H1"
    assert test.judge([200, 0, 0, 0, 0]).decision == "H0"
    assert "H1 accepted" in str(test.judge([0, 0, 0, 0, 200]))
    assert pentanomial([[0, 0], [0.5, 0], [1, 0], [0.5, 0.5], [1, 0.5], [1, 1], [1]]) == (1, 1, 2, 1, 1)


def test_the_likelihood_ratio_of_coins() -> None:
    """Without draws the model is a coin, whose ratio is a formula."""
    test = Sprt(0, 50)
    wins, losses = 130, 100
    p0, p1 = 0.5, expected(50)
    exact = wins * math.log(p1 / p0) + losses * math.log((1 - p1) / (1 - p0))
    assert float(test.llr(np.array([losses, wins], float))) == pytest.approx(exact, abs=1e-9)
    # Outcomes that never occur count a thousandth, which hardly matters.
    assert float(test.llr(np.array([losses, 0, wins], float))) == pytest.approx(exact, abs=0.01)


def test_the_likelihood_ratio_is_that_of_the_best_fits() -> None:
    """With three outcomes a mean leaves one thing open, the share of draws: here the best of a million is taken."""
    losses, draws, wins = 40, 70, 55
    test = Sprt(-5, 30)

    def likelihood(mean: float) -> float:
        drawn = np.linspace(0, 2 * min(mean, 1 - mean), 1_000_002)[1:-1]
        fits = losses * np.log(1 - mean - drawn / 2) + draws * np.log(drawn) + wins * np.log(mean - drawn / 2)
        return float(fits.max())

    ratio = likelihood(expected(30)) - likelihood(expected(-5))
    assert float(test.llr(np.array([losses, draws, wins], float))) == pytest.approx(ratio, abs=1e-6)


def test_many_at_once_come_to_the_same() -> None:
    counts = np.random.default_rng(5).integers(0, 40, (50, 5)).astype(float)
    test = Sprt(0, 20)
    assert test.llr(counts) == pytest.approx([test.judge(row).llr for row in counts], abs=1e-9)
    assert np.isfinite(test.llr(np.array([[0, 0, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 9, 0, 0]], float))).all()


def rates(test: Sprt, shares: np.ndarray[Any, Any], runs: int, seed: int) -> tuple[float, float]:
    """How often H1 and H0 are accepted where pairs bring 0 to 2 points with these probabilities."""
    rng, (lower, upper) = np.random.default_rng(seed), test.bounds
    counts, accepted, rejected = np.zeros((runs, 5)), 0, 0
    while len(counts):
        counts[np.arange(len(counts)), rng.choice(5, len(counts), p=shares)] += 1
        llr = test.llr(counts)
        accepted += int((llr >= upper).sum())
        rejected += int((llr <= lower).sum())
        counts = counts[(llr > lower) & (llr < upper)]
    return accepted / runs, rejected / runs


def tilted(shape: tuple[float, ...], difference: float) -> np.ndarray[Any, Any]:
    """Probabilities of such a shape whose mean is the score expected at an Elo difference."""
    values, low, high = np.linspace(0, 1, 5), -50.0, 50.0
    p = np.array(shape)
    for _ in range(100):
        tilt = (low + high) / 2
        p = np.array(shape) * np.exp(tilt * values)
        p /= p.sum()
        low, high = (tilt, high) if p @ values < expected(difference) else (low, tilt)
    return p


@pytest.mark.parametrize(
    ("shape", "alpha", "beta", "runs"),
    [
        pytest.param((1, 4, 6, 4, 1), 0.05, 0.05, 3000, marks=pytest.mark.soak),  # independent games with few draws
        pytest.param((0.03, 0.2, 0.54, 0.2, 0.03), 0.05, 0.1, 3000, marks=pytest.mark.soak),  # many draws
        ((0.2, 0.05, 0.5, 0.05, 0.2), 0.1, 0.05, 1000),  # an opening decides both games
        pytest.param((0.2, 0.05, 0.5, 0.05, 0.2), 0.1, 0.05, 3000, marks=pytest.mark.soak),
    ],
)
def test_error_rates_are_the_nominal_ones(shape: tuple[float, ...], alpha: float, beta: float, runs: int) -> None:
    """Wald: at most about alpha and beta, a little less as the last step overshoots. 1000 runs place a rate of 5 % to
    0.7 %, one of 10 % to 0.95 %; the bounds are three such deviations above, and half the nominal rate below."""
    test = Sprt(0, 60, alpha, beta)
    wrong = rates(test, tilted(shape, 0), runs, 6)[0], rates(test, tilted(shape, 60), runs, 7)[1]
    for rate, nominal in zip(wrong, (alpha, beta), strict=True):
        assert nominal / 2 < rate < nominal + 3 * math.sqrt(nominal * (1 - nominal) / runs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 0), "elo0 must be below elo1"),
        ((0, 0), "elo0 must be below elo1"),
        ((0, math.inf), "elo0 must be below elo1"),
        ((0, 10, 0), "alpha = 0: must be an error rate"),
        ((0, 10, 0.05, 0.5), "beta = 0.5: must be an error rate"),
    ],
)
def test_wrong_tests(arguments: tuple[float, ...], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        Sprt(*arguments)
