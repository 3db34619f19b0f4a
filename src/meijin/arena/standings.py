"""What the games of a tournament show: ratings, crosstable, results by seat, forfeits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

from meijin.arena.ratings import Glicko, Rating, outcomes, rate, rating_period
from meijin.arena.schedule import Fixture
from meijin.arena.stats import Tally


@dataclass(frozen=True, slots=True)
class Played:
    """A game of the schedule and how it ended."""

    number: int  # in the tournament
    fixture: Fixture
    scores: tuple[float, ...]  # [seat]
    ending: str = "rules"
    forfeit: int | None = None  # the seat that forfeited
    reason: str = ""
    plies: int = 0


@dataclass(frozen=True, slots=True)
class Pair:
    """What one agent did against another, counted by who of the two scored higher."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2

    @property
    def share(self) -> float:
        return self.points / self.games if self.games else math.nan


@dataclass(frozen=True, slots=True)
class Forfeit:
    """A game that an agent lost by crashing, running out of time, moving illegally or the like."""

    agent: str
    number: int  # of the game in the tournament
    seat: int
    reason: str


@dataclass(frozen=True, slots=True)
class Line:
    """One agent in the list of a game, or of all games together."""

    rank: int
    name: str
    rating: Rating[str]
    glicko: Glicko
    tally: Tally


@dataclass(frozen=True)
class Standings:
    """All that follows from the games played so far in one game. Agents are numbered as in `names`."""

    game: str  # expression
    title: str
    seats: int
    names: tuple[str, ...]  # [agent]
    played: Sequence[Played]  # by number
    total: int  # games when all are played
    anchor: str | None = None  # whose rating is 0; None: the mean is

    @property
    def solo(self) -> bool:
        return self.seats == 1

    def _name(self, fixture: Fixture) -> list[str]:
        return [self.names[agent] for agent in fixture.agents]

    @cached_property
    def contests(self) -> list[tuple[int, list[str], list[float]]]:
        """(round, agents, scores) of every contest. Those who are alone at the board contend on the same opening."""
        if not self.solo:
            return [(game.fixture.round, self._name(game.fixture), list(game.scores)) for game in self.played]
        by_opening: dict[int, tuple[int, list[str], list[float]]] = {}
        for game in self.played:
            contest = by_opening.setdefault(game.fixture.opening, (game.fixture.round, [], []))
            contest[1].extend(self._name(game.fixture))
            contest[2].extend(game.scores)
        return list(by_opening.values())

    @cached_property
    def tallies(self) -> dict[str, list[Tally]]:
        """Results of every agent by seat."""
        found = {name: [Tally() for _ in range(self.seats)] for name in self.names}
        for game in self.played:
            for seat, agent in enumerate(game.fixture.agents):
                others = [score for other, score in enumerate(game.scores) if other != seat]
                found[self.names[agent]][seat].add(game.scores[seat], others)
        return found

    @cached_property
    def lines(self) -> list[Line]:
        """The list, best first: by rating, or by mean score where everybody plays alone."""
        ratings = rate([(agents, scores) for _, agents, scores in self.contests], self.names, anchor=self.anchor)
        glicko = glicko_by_rounds(self.names, self.contests)
        lines = [Line(0, r.name, r, glicko[r.name], total(self.tallies[r.name])) for r in ratings]
        if self.solo:
            lines.sort(key=lambda line: -line.tally.mean if line.tally.games else math.inf)
        return ranked(lines)

    @cached_property
    def pairs(self) -> dict[tuple[str, str], Pair]:
        """(agent, other) -> results, where they met."""
        counts: dict[tuple[str, str], list[int]] = {}
        for _, agents, scores in self.contests:
            for a, b in permutations(range(len(agents)), 2):
                if agents[a] != agents[b]:
                    row = counts.setdefault((agents[a], agents[b]), [0, 0, 0])
                    row[0 if scores[a] > scores[b] else 1 if scores[a] == scores[b] else 2] += 1
        return {key: Pair(*row) for key, row in counts.items()}

    @cached_property
    def forfeits(self) -> list[Forfeit]:
        return [
            Forfeit(self.names[game.fixture.agents[game.forfeit]], game.number, game.forfeit, game.reason)
            for game in self.played
            if game.forfeit is not None
        ]


def total(seats: Sequence[Tally]) -> Tally:
    """The tallies of all seats together."""
    together = Tally()
    for tally in seats:
        together.wins += tally.wins
        together.draws += tally.draws
        together.losses += tally.losses
        together.scores.extend(tally.scores)
    return together


def ranked(lines: Sequence[Line]) -> list[Line]:
    return [Line(k, line.name, line.rating, line.glicko, line.tally) for k, line in enumerate(lines, 1)]


def glicko_by_rounds(
    names: Sequence[str], contests: Sequence[tuple[int, Sequence[str], Sequence[float]]]
) -> dict[str, Glicko]:
    """Glicko-2 ratings where every round is a rating period and everybody begins at 1500."""
    ratings = {name: Glicko() for name in names}
    rounds: dict[int, list[tuple[Sequence[str], Sequence[float]]]] = {}
    for number, agents, scores in contests:
        rounds.setdefault(number, []).append((agents, scores))
    for number in sorted(rounds):
        ratings = rating_period(ratings, outcomes(rounds[number]))
    return ratings


def overall(tables: Sequence[Standings]) -> list[Line]:
    """The list over several games: every contest counts alike, whatever the game."""
    names = tables[0].names
    contests = [contest for table in tables for contest in table.contests]
    ratings = rate([(agents, scores) for _, agents, scores in contests], names, anchor=tables[0].anchor)
    glicko = glicko_by_rounds(names, contests)
    tallies = {name: Tally() for name in names}
    for _, agents, scores in contests:
        for k, agent in enumerate(agents):
            tallies[agent].add(scores[k], [*scores[:k], *scores[k + 1 :]])
    return ranked([Line(0, r.name, r, glicko[r.name], tallies[r.name]) for r in ratings])
