"""Schedules: everybody meets whom they should, in every seat, and a game's number says all about it."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import combinations, permutations

import pytest

from meijin.arena.schedule import KINDS, Fixture, Schedule, matching, sampled, seatings
from meijin.core.errors import BadParameter

Results = list[tuple[Fixture, tuple[float, float]]]


def play_swiss(schedule: Schedule, rounds: int, rng: random.Random) -> tuple[list[list[frozenset[int]]], Results]:
    """Rounds of pairs, with results drawn by lot; stronger numbers win more often."""
    results: Results = []
    pairs = []
    for number in range(rounds):
        fixtures = schedule.round(number, results)
        pairs.append(list(dict.fromkeys(frozenset(fixture.agents) for fixture in fixtures)))
        for fixture in fixtures:
            a, b = fixture.agents
            won = rng.random() < 1 / (1 + math.exp((b - a) / 3))
            results.append((fixture, (0.0, 0.0) if rng.random() < 0.2 else (1.0, -1.0) if won else (-1.0, 1.0)))
    return pairs, results


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seats", [1, 2, 3])
def test_rounds_are_alike_and_numbered_through(kind: str, seats: int) -> None:
    if kind == "swiss" and seats != 2:
        pytest.skip("Swiss is for two seats")
    schedule = Schedule(kind, 6, seats, seed=5, repeats=2, challengers=(4,), tables=4)
    results: Results = []
    seen: list[int] = []
    for number in range(3):
        fixtures = schedule.round(number, results)
        assert len(fixtures) == schedule.games_a_round
        assert {fixture.round for fixture in fixtures} == {number}
        assert {fixture.opening for fixture in fixtures} == {2 * number, 2 * number + 1}
        for fixture in fixtures:
            assert len(set(fixture.agents)) == seats
        seen += [fixture.number for fixture in fixtures]
        results += [(fixture, (1.0, -1.0)) for fixture in fixtures] if seats == 2 else []
        assert fixtures == schedule.round(number, results if kind != "swiss" else results[: -len(fixtures)])
    assert seen == list(range(len(seen)))


def test_round_robin_is_everybody_against_everybody_in_both_seats() -> None:
    fixtures = Schedule("round_robin", 5, 2).round(0)
    assert sorted(fixture.agents for fixture in fixtures) == sorted(permutations(range(5), 2))
    pairs = {}
    for fixture in fixtures:
        pairs.setdefault(frozenset(fixture.agents), set()).add(fixture.seed)
    assert all(len(seeds) == 1 for seeds in pairs.values())  # the same luck for both sides
    assert len(set.union(*pairs.values())) == 10  # and another for every pair
    other = Schedule("round_robin", 5, 2, seed=1).round(0)
    assert {fixture.seed for fixture in fixtures}.isdisjoint(fixture.seed for fixture in other)


def test_a_gauntlet_is_the_challengers_against_the_field() -> None:
    fixtures = Schedule("gauntlet", 6, 2, challengers=(1, 4)).round(0)
    met = Counter(frozenset(fixture.agents) for fixture in fixtures)
    assert met == {frozenset((one, other)): 2 for one in (1, 4) for other in (0, 2, 3, 5)}


def test_alone_everybody_meets_the_same_luck() -> None:
    schedule = Schedule("round_robin", 3, 1, repeats=4)
    fixtures = schedule.round(0)
    for opening in range(4):
        here = [fixture for fixture in fixtures if fixture.opening == opening]
        assert sorted(fixture.agents for fixture in here) == [(0,), (1,), (2,)]
        assert len({fixture.seed for fixture in here}) == 1
    assert len({fixture.seed for fixture in fixtures}) == 4


def test_tables_of_three_sit_in_every_order_or_rotate() -> None:
    groups = list(combinations(range(4), 3))
    every = Schedule("round_robin", 4, 3, seating="all").round(0)
    assert sorted(f.agents for f in every) == sorted(order for group in groups for order in permutations(group))
    rotated = Schedule("round_robin", 4, 3).round(0)
    assert Counter((seat, agent) for f in rotated for seat, agent in enumerate(f.agents)) == {
        (seat, agent): 3 for seat in range(3) for agent in range(4)
    }
    assert seatings((7, 8, 9)) == [(7, 8, 9), (8, 9, 7), (9, 7, 8)]


@pytest.mark.parametrize(("agents", "seats", "tables"), [(7, 3, 14), (10, 4, 25), (5, 3, 4), (3, 3, 5)])
def test_sampled_tables_are_balanced(agents: int, seats: int, tables: int) -> None:
    groups = sampled(agents, seats, tables, seed=3)
    assert all(len(set(group)) == seats for group in groups)
    played = Counter(agent for group in groups for agent in group)
    assert max(played.values()) - min(played[agent] for agent in range(agents)) <= 1
    met = Counter(pair for group in groups for pair in combinations(sorted(group), 2))
    mean = tables * math.comb(seats, 2) / math.comb(agents, 2)
    assert max(met.values()) <= mean + 3
    assert sampled(agents, seats, tables, seed=3) == groups
    fixtures = Schedule("sampled", agents, seats, tables=tables).round(0)
    in_seat = Counter((seat, agent) for f in fixtures for seat, agent in enumerate(f.agents))
    assert all(in_seat[0, agent] == in_seat[seats - 1, agent] for agent in range(agents))


# ---- Swiss ----


@pytest.mark.parametrize("agents", [2, 5, 8, 13, 20])
def test_swiss_avoids_rematches_and_shares_byes(agents: int) -> None:
    for seed in range(5):
        rounds = agents // 2 + 1
        pairs, _ = play_swiss(Schedule("swiss", agents, 2), rounds, random.Random(seed))
        seen: set[frozenset[int]] = set()
        byes: Counter[int] = Counter()
        for round_ in pairs:
            there = [agent for pair in round_ for agent in pair]
            assert len(there) == len(set(there)) == agents - agents % 2
            byes.update(set(range(agents)) - set(there))
            fresh = [pair for pair in combinations(range(agents), 2) if frozenset(pair) not in seen]
            possible = matching([[b if a == v else a for a, b in fresh if v in (a, b)] for v in range(agents)])
            assert sum(pair not in seen for pair in round_) == min(possible, agents // 2)
            seen.update(round_)
        assert max(byes.values(), default=0) <= 1


def test_swiss_pairs_by_points() -> None:
    """After a round, winners meet winners; within equals the top half meets the bottom half."""
    schedule = Schedule("swiss", 8, 2)
    first = schedule.round(0)
    assert list(dict.fromkeys(frozenset(f.agents) for f in first)) == [frozenset((k, k + 4)) for k in range(4)]
    results = [(f, (1.0, -1.0) if f.agents[0] < f.agents[1] else (-1.0, 1.0)) for f in first]
    second = list(dict.fromkeys(frozenset(f.agents) for f in schedule.round(1, results)))
    assert set(second) == {frozenset(pair) for pair in [(0, 2), (1, 3), (4, 6), (5, 7)]}


def test_swiss_leaves_one_unbeaten() -> None:
    """Where the stronger always wins, 16 agents have one unbeaten after 4 rounds, and it is the strongest."""
    schedule = Schedule("swiss", 16, 2)
    results: Results = []
    for number in range(4):
        fixtures = schedule.round(number, results)
        results += [(f, (1.0, -1.0) if f.agents[0] > f.agents[1] else (-1.0, 1.0)) for f in fixtures]
    beaten = {agent for f, scores in results for agent, score in zip(f.agents, scores, strict=True) if score < 0}
    assert set(range(16)) - beaten == {15}


def test_matching_is_maximum() -> None:
    """Edmonds' algorithm against trying everything, on small random graphs with odd cycles."""

    def brute(left: tuple[int, ...], edges: set[frozenset[int]]) -> int:
        if not left:
            return 0
        first, *rest = left
        best = brute(tuple(rest), edges)
        for other in rest:
            if frozenset((first, other)) in edges:
                best = max(best, 1 + brute(tuple(v for v in rest if v != other), edges))
        return best

    rng = random.Random(8)
    for _ in range(400):
        n, density = rng.randint(1, 8), rng.choice((0.2, 0.4, 0.7))
        edges = {frozenset(pair) for pair in combinations(range(n), 2) if rng.random() < density}
        neighbours = [[w for w in range(n) if frozenset((v, w)) in edges] for v in range(n)]
        for listed in neighbours:
            rng.shuffle(listed)
        assert matching(neighbours) == brute(tuple(range(n)), edges)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "robin", "agents": 4, "seats": 2}, "kind = 'robin'"),
        ({"kind": "swis", "agents": 4, "seats": 2}, "did you mean 'swiss'"),
        ({"kind": "swiss", "agents": 4, "seats": 3}, "two seats, not 3"),
        ({"kind": "round_robin", "agents": 2, "seats": 3}, "needs at least 3"),
        ({"kind": "gauntlet", "agents": 4, "seats": 2}, "needs challengers"),
        ({"kind": "gauntlet", "agents": 2, "seats": 2, "challengers": (0, 1)}, "0 others"),
        ({"kind": "sampled", "agents": 4, "seats": 3}, "needs tables"),
        ({"kind": "round_robin", "agents": 4, "seats": 2, "repeats": 0}, "repeats = 0"),
        ({"kind": "round_robin", "agents": 4, "seats": 2, "seating": "some"}, "rotations, all"),
    ],
)
def test_schedules_that_cannot_be(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        Schedule(**arguments)  # type: ignore[arg-type]
