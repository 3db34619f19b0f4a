"""Who plays whom: round robin, gauntlet, Swiss, and tables of more than two seats.

A schedule consists of rounds with equally many games, and a game's number does not depend on later games: a tournament
can be stopped, resumed and extended, and its games stay the same. In a round all tables play the same openings, each
table from every seat.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Literal, get_args

import numpy as np

from meijin.arena.record import derive
from meijin.core.errors import BadParameter, suggest
from meijin.core.rng import below, stream

Kind = Literal["round_robin", "gauntlet", "swiss", "sampled"]
Seating = Literal["rotations", "all"]
KINDS: tuple[str, ...] = get_args(Kind)
SEATINGS: tuple[str, ...] = get_args(Seating)
MAX_GAMES = 1_000_000  # in a round

Group = tuple[int, ...]  # agents at one table, by number


@dataclass(frozen=True, slots=True)
class Fixture:
    """One game of a schedule."""

    number: int  # counted from 0, over all rounds
    round: int
    agents: Group  # [seat] -> number of the agent
    opening: int  # number of the opening, which all tables of a round share
    seed: int


@dataclass(frozen=True)
class Schedule:
    """The games of one tournament of `agents` agents in one game."""

    kind: str
    agents: int
    seats: int
    seed: int = 0
    repeats: int = 1  # openings that a table plays in a round
    challengers: Group = ()  # gauntlet: those who play all others
    seating: str = "rotations"  # or "all": every order of the agents of a table
    tables: int = 0  # sampled: tables in a round

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            near = suggest(self.kind, KINDS)
            raise BadParameter(f"kind = '{self.kind}': choose from {', '.join(KINDS)}{near}")
        if self.seating not in SEATINGS:
            raise BadParameter(f"seatings = '{self.seating}': choose from {', '.join(SEATINGS)}")
        if self.repeats < 1:
            raise BadParameter(f"repeats = {self.repeats}: must be at least 1")
        least = max(2, self.seats) if self.seats > 1 else 1
        if self.agents < least:
            raise BadParameter(f"{self.agents} agents: a game of {self.seats} seats needs at least {least}")
        if self.kind == "swiss" and self.seats != 2:
            raise BadParameter(f"a Swiss tournament is for games of two seats, not {self.seats}; choose round_robin")
        if self.kind == "sampled" and self.tables < 1:
            raise BadParameter("a sampled tournament needs tables = N, the number of tables per round")
        if self.kind == "gauntlet" and self.seats > 1:
            field = self.agents - len(set(self.challengers))
            if not self.challengers or field < self.seats - 1:
                raise BadParameter(
                    f"a gauntlet needs challengers and at least {self.seats - 1} other agents; there are "
                    f"{len(set(self.challengers))} challengers and {field} others"
                )
        if self.games_a_round > MAX_GAMES:
            raise BadParameter(f"{self.games_a_round:,} games per round; at most {MAX_GAMES:,} are possible")

    @property
    def groups_a_round(self) -> int:
        """Tables in a round."""
        if self.seats == 1:
            return self.agents
        if self.kind == "swiss":
            return self.agents // 2
        if self.kind == "gauntlet":
            challengers = len(set(self.challengers))
            return challengers * math.comb(self.agents - challengers, self.seats - 1)
        return self.tables if self.kind == "sampled" else math.comb(self.agents, self.seats)

    @property
    def seatings(self) -> int:
        """Seatings of a table."""
        return math.factorial(self.seats) if self.seating == "all" else self.seats

    @property
    def games_a_round(self) -> int:
        return self.groups_a_round * self.repeats * self.seatings

    @property
    def adaptive(self) -> bool:
        """Whether a round depends on the results of those before."""
        return self.kind == "swiss"

    def round(self, number: int, results: Iterable[tuple[Fixture, Sequence[float]]] = ()) -> list[Fixture]:
        """The games of a round; an adaptive one needs the fixtures and scores of all earlier rounds as `results`."""
        fixtures: list[Fixture] = []
        for place, group in enumerate(self._groups(number, results)):
            for repeat in range(self.repeats):
                opening = number * self.repeats + repeat
                # In a game for one, all have the same luck; else every table has its own, the same for its seatings.
                table = (opening * self.groups_a_round + place) if self.seats > 1 else opening
                for agents in seatings(group, self.seating):
                    at = number * self.games_a_round + len(fixtures)
                    fixtures.append(Fixture(at, number, agents, opening, derive(self.seed, table)))
        return fixtures

    def _groups(self, number: int, results: Iterable[tuple[Fixture, Sequence[float]]]) -> list[Group]:
        everybody = range(self.agents)
        if self.seats == 1:
            return [(agent,) for agent in everybody]
        if self.kind == "swiss":
            return swiss(self.agents, number, results, self.repeats * self.seatings)
        if self.kind == "gauntlet":
            challengers = sorted(set(self.challengers))
            field = [agent for agent in everybody if agent not in challengers]
            return [(one, *others) for one in challengers for others in combinations(field, self.seats - 1)]
        if self.kind == "sampled":
            return sampled(self.agents, self.seats, self.tables, derive(~self.seed, number))
        return list(combinations(everybody, self.seats))


def seatings(group: Group, how: str = "rotations") -> list[Group]:
    """The seatings of a group: rotations give every agent every seat once, "all" is every order."""
    if how == "all":
        return list(permutations(group))
    return [group[k:] + group[:k] for k in range(len(group))]


def sampled(agents: int, seats: int, tables: int, seed: int) -> list[Group]:
    """Random tables: all agents sit at equally many (within one), and meet each other about equally often."""
    rng = stream(seed)
    tables_of, met = np.zeros(agents, int), np.zeros((agents, agents), int)
    groups: list[Group] = []
    for _ in range(tables):
        with np.errstate(over="ignore"):
            lots = [int(below(rng, 1 << 30)) for _ in range(agents)]
        group: list[int] = []
        while len(group) < seats:
            left = [a for a in range(agents) if a not in group]
            # Fewest tables first; ties go to whoever met this group less often, then by lot.
            group.append(min(left, key=lambda a: (tables_of[a], met[a, group].sum(), lots[a])))
        tables_of[group] += 1
        met[np.ix_(group, group)] += 1
        groups.append(tuple(group))
    return groups


# ---- Swiss ----


def swiss(
    agents: int, number: int, results: Iterable[tuple[Fixture, Sequence[float]]], bye_points: float
) -> list[Group]:
    """The pairs of a Swiss round: agents with equal points meet; rematches are avoided if possible."""
    points = [0.0] * agents
    met: Counter[frozenset[int]] = Counter()
    played = {(r, agent): False for r in range(number) for agent in range(agents)}
    seen: set[tuple[int, frozenset[int]]] = set()
    for fixture, (first, second) in results:
        a, b = fixture.agents
        won = 0.5 if first == second else float(first > second)
        points[a] += won
        points[b] += 1 - won
        played[fixture.round, a] = played[fixture.round, b] = True
        if (fixture.round, frozenset((a, b))) not in seen:
            seen.add((fixture.round, frozenset((a, b))))
            met[frozenset((a, b))] += 1
    byes = Counter(agent for (_, agent), there in played.items() if not there)
    for agent, count in byes.items():
        points[agent] += count * bye_points
    # Ties are broken by Buchholz (the points of the opponents), then by the order of the plan.
    buchholz = [sum(points[b] for b in range(agents) if met[frozenset((a, b))]) for a in range(agents)]
    ranked = sorted(range(agents), key=lambda a: (-points[a], -buchholz[a], a))
    if agents % 2:
        ranked.remove(_bye(ranked, met, byes))
    return _pairs(ranked, points, met)


def _bye(ranked: list[int], met: Counter[frozenset[int]], byes: Counter[int]) -> int:
    """Who sits out: the lowest of those with the fewest byes, unless that forces a rematch."""

    def rematches(agent: int) -> int:
        rest = [a for a in ranked if a != agent]
        return len(rest) // 2 - _fresh(rest, met)

    return min(reversed(ranked), key=lambda a: (byes[a], rematches(a)))


def _pairs(ranked: list[int], points: list[float], met: Counter[frozenset[int]]) -> list[Group]:
    """Pair from the top: each gets the best opponent that leaves the rest with as few rematches as possible."""
    left = list(ranked)
    pairs: list[Group] = []
    while left:
        one, others = left[0], left[1:]
        most = _fresh(left, met)
        for other in _preferred(one, others, points, met):
            again = met[frozenset((one, other))] > 0
            rest = [a for a in others if a != other]
            if _fresh(rest, met) == most - (not again):
                break
        pairs.append((one, other))
        left = rest
    return pairs


def _preferred(one: int, others: list[int], points: list[float], met: Counter[frozenset[int]]) -> list[int]:
    """Opponents, best first: new ones, near in points; with equal points the top half meets the bottom half."""
    equals = [a for a in others if points[a] == points[one]]
    half = len(equals) // 2
    order = {a: k for k, a in enumerate([*equals[half:], *reversed(equals[:half])])}
    return sorted(
        others, key=lambda a: (met[frozenset((one, a))], abs(points[one] - points[a]), order.get(a, others.index(a)))
    )


def _fresh(group: list[int], met: Counter[frozenset[int]]) -> int:
    """The largest number of pairs of agents that have not met."""
    return matching([[j for j, b in enumerate(group) if a != b and not met[frozenset((a, b))]] for a in group])


def matching(neighbours: list[list[int]]) -> int:
    """Size of a maximum matching of any graph: Edmonds' blossom algorithm."""
    n = len(neighbours)
    mate = [-1] * n
    for v in range(n):  # a greedy start leaves little to do
        if mate[v] < 0:
            free = next((w for w in neighbours[v] if mate[w] < 0), -1)
            if free >= 0:
                mate[v], mate[free] = free, v
    for root in range(n):
        if mate[root] < 0:
            _augment(root, neighbours, mate)
    return sum(m >= 0 for m in mate) // 2


def _augment(root: int, neighbours: list[list[int]], mate: list[int]) -> None:
    """Grow the matching by a path from `root` to another free vertex, if there is one."""
    n = len(neighbours)
    parent, base, even = [-1] * n, list(range(n)), [False] * n
    even[root] = True
    queue = [root]

    def ancestor(a: int, b: int) -> int:
        """Where the paths from two even vertices to the root meet."""
        seen = set()
        while True:
            a = base[a]
            seen.add(a)
            if mate[a] < 0:
                break
            a = parent[mate[a]]
        while base[b] not in seen:
            b = parent[mate[base[b]]]
        return base[b]

    def mark(v: int, stem: int, child: int, blossom: set[int]) -> None:
        while base[v] != stem:
            blossom.update((base[v], base[mate[v]]))
            parent[v] = child
            child = mate[v]
            v = parent[child]

    for v in queue:  # grows as it goes
        for w in neighbours[v]:
            if base[v] == base[w] or mate[v] == w:
                continue
            if w == root or (mate[w] >= 0 and parent[mate[w]] >= 0):  # an odd cycle: shrink it
                stem = ancestor(v, w)
                blossom: set[int] = set()
                mark(v, stem, w, blossom)
                mark(w, stem, v, blossom)
                for u in range(n):
                    if base[u] in blossom:
                        base[u] = stem
                        if not even[u]:
                            even[u] = True
                            queue.append(u)
            elif parent[w] < 0:
                parent[w] = v
                if mate[w] < 0:
                    while w >= 0:
                        v = parent[w]
                        mate[w], mate[v], w = v, w, mate[v]
                    return
                even[mate[w]] = True
                queue.append(mate[w])
