"""Ratings: against other programs, against published numbers, and against truths that were planted."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from meijin.arena.ratings import (
    ELO,
    PRIOR,
    Z95,
    Fit,
    Glicko,
    Outcome,
    bradley_terry,
    glicko2,
    outcomes,
    plackett_luce,
    rate,
    rating_period,
)
from meijin.core.errors import BadParameter

RUNS = 500
#: Of 500 independent intervals at 95 %, four standard deviations: one of 16,000 right programs fails a comparison.
MARGIN = 4 * math.sqrt(0.95 * 0.05 / RUNS)


def results(strengths: np.ndarray, games: int, draws: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points and draws of a round robin between agents of known strength."""
    n = len(strengths)
    points, drawn = np.zeros((n, n)), np.zeros((n, n))
    for i, j in combinations(range(n), 2):
        p = 1 / (1 + math.exp(strengths[j] - strengths[i]))
        d = draws * 2 * min(p, 1 - p)  # any number of draws leaves the expected score alone
        won, drew, lost = rng.multinomial(games, [p - d / 2, d, 1 - p - d / 2])
        points[i, j], points[j, i] = won + drew / 2, lost + drew / 2
        drawn[i, j] = drawn[j, i] = drew
    return points, drawn


def placing(strengths: np.ndarray, agents: np.ndarray, rng: np.random.Generator) -> list[list[int]]:
    """One game of several agents by the Plackett-Luce model: the order of exponential arrival times."""
    times = rng.exponential(size=len(agents)) / np.exp(strengths[agents])
    return [[int(agent)] for agent in agents[np.argsort(times)]]


# ---- Bradley-Terry ----


@pytest.mark.parametrize("draws", [0.0, 0.5])
def test_bradley_terry_agrees_with_choix(draws: float) -> None:
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(4)
    points, drawn = results(np.linspace(-1, 1, 7), 20, draws, rng)
    # choix has no weights: everything twice, so that a draw is a win for either.
    data = [(i, j) for i in range(7) for j in range(7) for _ in range(round(2 * points[i, j]))]
    theirs = choix.opt_pairwise(7, data, alpha=0.0, tol=1e-13)
    ours = bradley_terry(points, drawn).strengths
    assert np.allclose(ours, theirs - theirs.mean(), atol=1e-6)
    spectral = choix.ilsr_pairwise(7, data, alpha=0.0, tol=1e-12)
    assert np.allclose(ours, spectral - spectral.mean(), atol=1e-6)


@pytest.mark.parametrize(("spread", "games", "draws"), [(300, 10, 0.0), (300, 40, 0.6), (800, 20, 0.0), (800, 40, 0.3)])
def test_intervals_cover_the_truth(spread: float, games: int, draws: float) -> None:
    """Of 500 tournaments, in 95 % an agent's true rating lies in its interval, and the ratings are not biased."""
    rng = np.random.default_rng(20)
    truth = np.linspace(-spread / 2, spread / 2, 6) / ELO
    fits = [bradley_terry(*results(truth, games, draws, rng), prior=PRIOR) for _ in range(RUNS)]
    inside = np.mean([np.abs(fit.strengths - truth) <= Z95 * fit.errors() for fit in fits], axis=0)
    assert np.all(inside > 0.95 - MARGIN)
    # Against an anchor too; the anchor itself is known exactly.
    ahead = [np.abs((fit.strengths - fit.strengths[0]) - (truth - truth[0])) <= Z95 * fit.errors(0) for fit in fits]
    anchored = np.mean(ahead, axis=0)
    assert anchored[0] == 1
    assert np.all(anchored[1:] > 0.95 - MARGIN)
    # Draws narrow the intervals, yet they are not wide for safety.
    assert inside.mean() < 0.98
    spread_of_mean = np.mean([fit.errors() for fit in fits], axis=0) / math.sqrt(RUNS)
    bias = np.mean([fit.strengths for fit in fits], axis=0) - truth
    assert np.all(np.abs(bias) < 4 * spread_of_mean + 6 / ELO)


def test_planted_strengths_are_ranked_right() -> None:
    rng = np.random.default_rng(0)
    names = ["weakest", "weak", "middle", "strong", "strongest"]
    truth = np.array([-500, -250, 0, 250, 500]) / ELO
    games = []
    for i, j in combinations(range(5), 2):
        for _ in range(100):
            won = rng.random() < 1 / (1 + math.exp(truth[j] - truth[i]))
            games.append(((names[i], names[j]), (1.0, -1.0) if won else (-1.0, 1.0)))
    ratings = rate(games)
    assert [rating.name for rating in ratings] == names[::-1]
    assert all(rating.low < ELO * truth[names.index(rating.name)] < rating.high for rating in ratings)
    assert all(rating.games == 400 for rating in ratings)
    assert sum(rating.elo for rating in ratings) == pytest.approx(0, abs=1e-6)
    anchored = {rating.name: rating for rating in rate(games, anchor="weak")}
    assert (anchored["weak"].elo, anchored["weak"].low, anchored["weak"].high) == (0, 0, 0)
    free = {rating.name: rating for rating in ratings}
    assert anchored["strong"].elo == pytest.approx(free["strong"].elo - free["weak"].elo)


def test_winning_everything_stays_finite_with_a_prior_and_is_an_error_without() -> None:
    points = np.array([[0, 10, 10], [0, 0, 5], [0, 5, 0]])
    with pytest.raises(BadParameter, match="use a prior"):
        bradley_terry(points)
    fit = bradley_terry(points, prior=PRIOR)
    assert np.all(np.isfinite(fit.strengths)) and np.all(np.isfinite(fit.errors()))
    assert fit.strengths[0] > fit.strengths[1] == pytest.approx(fit.strengths[2])
    more = bradley_terry(10 * points, prior=PRIOR)
    assert more.strengths[0] > fit.strengths[0]  # more wins, higher rating


@pytest.mark.parametrize("games", [[], [(("a", "b"), (0.0, 0.0))] * 5, [(("a",), (5.0,))], [(("a", "a"), (1.0, -1.0))]])
def test_little_to_go_by(games: list[tuple[tuple[str, ...], tuple[float, ...]]]) -> None:
    for rating in rate(games, ["a", "b"]):
        assert rating.elo == pytest.approx(0, abs=1e-9)
        assert rating.low < 0 < rating.high  # that all was drawn is no certainty


def test_an_unknown_anchor_is_an_error() -> None:
    with pytest.raises(BadParameter, match="anchor = nobody: not one of a, b"):
        rate([(("a", "b"), (1.0, -1.0))], anchor="nobody")


# ---- Plackett-Luce ----


def test_plackett_luce_agrees_with_choix() -> None:
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(7)
    truth = np.linspace(-1.2, 1.2, 6)
    games = [placing(truth, rng.permutation(6)[: 3 + k % 3], rng) for k in range(60)]
    theirs = choix.opt_rankings(6, [[place[0] for place in game] for game in games], alpha=0.0, tol=1e-13)
    assert np.allclose(plackett_luce(6, games).strengths, theirs - theirs.mean(), atol=1e-6)


def test_with_two_agents_both_models_are_one() -> None:
    points, _ = results(np.linspace(-1, 1, 5), 10, 0.0, np.random.default_rng(1))
    games = [[[i], [j]] for i in range(5) for j in range(5) for _ in range(int(points[i, j]))]
    one, other = bradley_terry(points, prior=1), plackett_luce(5, games, prior=1)
    assert np.allclose(one.strengths, other.strengths, atol=1e-9)
    assert np.allclose(one.covariance, other.covariance, atol=1e-9)
    drawn = plackett_luce(2, [[[0, 1]], [[0], [1]]], prior=1)
    assert np.allclose(drawn.strengths, bradley_terry([[0, 1.5], [0.5, 0]], prior=1).strengths, atol=1e-9)


@pytest.mark.parametrize("winner_only", [False, True])
def test_intervals_of_tables_cover_the_truth(winner_only: bool) -> None:
    """Games of three agents; also where the losers are not told apart, which must not draw them together."""
    rng = np.random.default_rng(5)
    truth = np.array([-1.2, -0.5, 0.0, 0.5, 1.2])
    fits: list[Fit] = []
    for _ in range(RUNS):
        games = [placing(truth, rng.permutation(5)[:3], rng) for _ in range(100)]
        if winner_only:
            games = [[game[0], [*game[1], *game[2]]] for game in games]
        fits.append(plackett_luce(5, games, prior=PRIOR))
    inside = np.mean([np.abs(fit.strengths - truth) <= Z95 * fit.errors() for fit in fits], axis=0)
    assert np.all(np.abs(inside - 0.95) < MARGIN)


def test_a_shared_place_is_the_mean_of_its_orders() -> None:
    """Three tied ahead of a fourth: the likelihood's maximum is that of all six orders, a sixth of a game each."""
    orders = [[[a], [b], [c], [3]] for a, b, c in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]]
    rest = [[[3], [0], [1], [2]], [[2], [3], [1], [0]]]
    shared = plackett_luce(4, [[[0, 1, 2], [3]], *rest])
    spelt = plackett_luce(4, [*orders, *rest * 6])
    assert np.allclose(shared.strengths, spelt.strengths, atol=1e-9)


def test_a_wide_tie_draws_everybody_alike() -> None:
    fit = plackett_luce(30, [[list(range(30))]] * 3, prior=PRIOR)
    assert np.allclose(fit.strengths, 0, atol=1e-9)


def test_order_agrees_with_openskill() -> None:
    """An online approximation of the same model: values differ, but the order of well separated agents may not."""
    models = pytest.importorskip("openskill.models")
    rng = np.random.default_rng(3)
    truth = np.array([-1.5, -0.5, 0.5, 1.5])
    model = models.PlackettLuce()
    players = [model.rating() for _ in truth]
    games = [placing(truth, rng.permutation(4)[:3], rng) for _ in range(400)]
    for game in games:
        seated = [agent for place in game for agent in place]
        rated = model.rate([[players[agent]] for agent in seated], ranks=list(range(len(seated))))
        for agent, (new,) in zip(seated, rated, strict=True):
            players[agent] = new
    ours = plackett_luce(4, games).strengths
    assert list(np.argsort(ours)) == list(np.argsort([player.mu for player in players])) == [0, 1, 2, 3]


# ---- Glicko-2 ----

PAPER = [(Glicko(1400, 30), 1.0, 1.0), (Glicko(1550, 100), 0.0, 1.0), (Glicko(1700, 300), 0.0, 1.0)]


def test_glicko2_gives_the_published_example() -> None:
    """Glickman's worked example, which prints 1464.06, 151.52, 0.05999; the digits are those of other programs that
    do not round on the way. (The package glicko2 2.1.0 has the rating where the deviation belongs in its f.)"""
    after = glicko2(Glicko(1500, 200, 0.06), PAPER)
    assert after.rating == pytest.approx(1464.0506705393013, abs=1e-6)
    assert after.deviation == pytest.approx(151.51652412385727, abs=1e-6)
    assert after.volatility == pytest.approx(0.059995984286488495, abs=1e-9)
    # Equal results may be given together.
    twice = glicko2(Glicko(), [*PAPER, *PAPER])
    together = glicko2(Glicko(), [(opponent, 2 * points, 2.0) for opponent, points, _ in PAPER])
    assert together.rating == pytest.approx(twice.rating, abs=1e-9)


def test_volatility_is_the_root_of_its_equation() -> None:
    """Against scipy's root finder, where results surprise and the volatility moves, and where they do not."""
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(2)
    branches = Counter[bool]()
    for case in range(200):
        player = Glicko(rng.uniform(1000, 2000), rng.uniform(30, 350), rng.uniform(0.03, 0.3))
        others = [Glicko(rng.uniform(800, 2200), rng.uniform(30, 350)) for _ in range(9)]
        if case % 2:  # as chance will have it
            met = [(other, float(rng.integers(2)), 1.0) for other in others]
        else:  # the weaker one wins, always
            met = [(other, float(other.rating > player.rating), 1.0) for other in others]
        after = glicko2(player, met)
        scale = 173.7178
        phi, mu = player.deviation / scale, (player.rating - 1500) / scale
        g = np.array([1 / math.sqrt(1 + 3 * (o.deviation / scale) ** 2 / math.pi**2) for o, _, _ in met])
        e = 1 / (1 + np.exp(-g * (mu - np.array([(o.rating - 1500) / scale for o, _, _ in met]))))
        v = 1 / float((g**2 * e * (1 - e)).sum())
        delta = v * float((g * (np.array([s for _, s, _ in met]) - e)).sum())
        a = math.log(player.volatility**2)

        def f(x: float, phi: float = phi, v: float = v, delta: float = delta, a: float = a) -> float:
            top = math.exp(x) * (delta**2 - phi**2 - v - math.exp(x))
            return top / (2 * (phi**2 + v + math.exp(x)) ** 2) - (x - a) / 0.25

        sigma = math.exp(optimize.brentq(f, a - 20, a + 20, xtol=1e-14) / 2)
        assert after.volatility == pytest.approx(sigma, abs=1e-9)
        deviation = 1 / math.sqrt(1 / (phi**2 + sigma**2) + 1 / v)
        assert after.rating == pytest.approx(1500 + scale * (mu + deviation**2 * delta / v), abs=1e-6)
        assert after.deviation == pytest.approx(scale * deviation, abs=1e-6)
        branches[delta**2 > phi**2 + v] += 1  # the two ways in which the search for the root begins
    assert min(branches.values()) > 20


def test_a_run_of_upsets_makes_an_agent_volatile() -> None:
    after = glicko2(Glicko(2000, 50), [(Glicko(1000, 50), 0.0, 30.0)])
    assert after.volatility > 0.1
    assert after.rating < 1900


def test_who_does_not_play_grows_uncertain() -> None:
    before = {"a": Glicko(1600, 50), "b": Glicko(1400, 50), "idle": Glicko(1500, 50)}
    after = rating_period(before, [Outcome("a", "b", 3, 4), Outcome("b", "a", 1, 4)])
    assert after["idle"].rating == 1500 and after["idle"].deviation > 50
    assert after["a"].deviation < 51


def test_games_of_several_agents_become_pairs() -> None:
    found = {(o.agent, o.other): (o.points, o.games) for o in outcomes([(("a", "b", "c"), (1.0, -0.5, -0.5))])}
    assert found[("a", "b")] == pytest.approx((2 / 3, 2 / 3))
    assert found[("c", "a")] == pytest.approx((0, 2 / 3))
    assert ("b", "c") not in found  # both lost, which does not make them equal
    drawn = {(o.agent, o.other): (o.points, o.games) for o in outcomes([(("a", "b"), (0.0, 0.0))])}
    assert drawn == {("a", "b"): (0.5, 1.0), ("b", "a"): (0.5, 1.0)}
