"""The standings of a tournament: ratings, crosstable, results by seat, forfeits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations

from meijin.arena.ratings import Glicko, Rating, outcomes, rate, rating_period
from meijin.arena.schedule import Fixture
from meijin.arena.stats import Tally


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """A game of the schedule and how it ended."""

    number: int  # in the tournament
    fixture: Fixture
    scores: tuple[float, ...]  # [seat]
    ending: str = "rules"
    forfeit: int | None = None  # the seat that forfeited
    reason: str = ""
    plies: int = 0


@dataclass(frozen=True, slots=True)
class PairResults:
    """Results of one agent against another: the higher score of the two wins."""

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
class ForfeitedGame:
    """A game that an agent lost by a crash, an illegal move, taking too long or the like."""

    agent: str
    number: int  # of the game in the tournament
    seat: int
    reason: str


@dataclass(frozen=True, slots=True)
class StandingsRow:
    """One agent in the list of a game, or of all games together."""

    rank: int
    name: str
    rating: Rating[str]
    glicko: Glicko
    tally: Tally


@dataclass(frozen=True)
class Standings:
    """What the games played so far show in one game. Agents are numbered as in `names`."""

    game: str  # expression
    title: str
    seat_names: tuple[str, ...]
    names: tuple[str, ...]  # [agent]
    played: Sequence[PlayedGame]  # by number
    total: int  # games when all are played
    anchor: str | None = None  # whose rating is 0; None: the mean is

    @property
    def seats(self) -> int:
        return len(self.seat_names)

    @property
    def solo(self) -> bool:
        return self.seats == 1

    def _name(self, fixture: Fixture) -> list[str]:
        return [self.names[agent] for agent in fixture.agents]

    @cached_property
    def contests(self) -> list[tuple[int, list[str], list[float]]]:
        """(round, agents, scores) of every contest. In a game for one, all who played an opening compete on it."""
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
    def rows(self) -> list[StandingsRow]:
        """The list, best first: by rating, or by mean score in a game for one."""
        ratings = rate([(agents, scores) for _, agents, scores in self.contests], self.names, anchor=self.anchor)
        glicko = glicko_by_rounds(self.names, self.contests)
        rows = [StandingsRow(0, r.name, r, glicko[r.name], Tally.total(self.tallies[r.name])) for r in ratings]
        if self.solo:
            rows.sort(key=lambda row: -row.tally.mean if row.tally.games else math.inf)
        return _ranked(rows)

    @cached_property
    def pairs(self) -> dict[tuple[str, str], PairResults]:
        """(agent, other) -> results, where they met."""
        counts: dict[tuple[str, str], list[int]] = {}
        for _, agents, scores in self.contests:
            for a, b in permutations(range(len(agents)), 2):
                if agents[a] != agents[b]:
                    row = counts.setdefault((agents[a], agents[b]), [0, 0, 0])
                    row[0 if scores[a] > scores[b] else 1 if scores[a] == scores[b] else 2] += 1
        return {key: PairResults(*row) for key, row in counts.items()}

    @cached_property
    def forfeits(self) -> list[ForfeitedGame]:
        return [
            ForfeitedGame(self.names[game.fixture.agents[game.forfeit]], game.number, game.forfeit, game.reason)
            for game in self.played
            if game.forfeit is not None
        ]


def _ranked(rows: Sequence[StandingsRow]) -> list[StandingsRow]:
    return [replace(row, rank=k) for k, row in enumerate(rows, 1)]


def glicko_by_rounds(
    names: Sequence[str], contests: Sequence[tuple[int, Sequence[str], Sequence[float]]]
) -> dict[str, Glicko]:
    """Glicko-2 ratings with one rating period per round, starting from 1500."""
    ratings = {name: Glicko() for name in names}
    rounds: dict[int, list[tuple[Sequence[str], Sequence[float]]]] = {}
    for number, agents, scores in contests:
        rounds.setdefault(number, []).append((agents, scores))
    for number in sorted(rounds):
        ratings = rating_period(ratings, outcomes(rounds[number]))
    return ratings


def overall(tables: Sequence[Standings]) -> list[StandingsRow]:
    """The list over several games: every contest counts the same."""
    names = tables[0].names
    contests = [contest for table in tables for contest in table.contests]
    ratings = rate([(agents, scores) for _, agents, scores in contests], names, anchor=tables[0].anchor)
    glicko = glicko_by_rounds(names, contests)
    tallies = {name: Tally() for name in names}
    for _, agents, scores in contests:
        for k, agent in enumerate(agents):
            tallies[agent].add(scores[k], [*scores[:k], *scores[k + 1 :]])
    return _ranked([StandingsRow(0, r.name, r, glicko[r.name], tallies[r.name]) for r in ratings])
