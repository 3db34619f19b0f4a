"""The hall of fame: named agents and their ratings over many tournaments, apart for each game with its parameters.

Every tournament is one Glicko-2 rating period of each of its games. What is kept are its results, pair by pair; the
ratings follow from those of all tournaments in the order they came, so that one can be taken out again, and entering
one twice changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from meijin.arena.database import Migration
from meijin.arena.ratings import Glicko, Outcome, outcomes, rating_period
from meijin.arena.store import Store
from meijin.arena.tournament import Tournament
from meijin.core.errors import MeijinError, UnknownName, suggest
from meijin.core.folders import data_folder

MIGRATIONS: tuple[Migration, ...] = (
    (
        "CREATE TABLE fame_agents (name TEXT PRIMARY KEY, definition TEXT NOT NULL)",
        """CREATE TABLE fame_periods (
            id INTEGER PRIMARY KEY,
            tournament TEXT NOT NULL,
            digest TEXT NOT NULL,
            game TEXT NOT NULL,
            added TEXT NOT NULL,
            results TEXT NOT NULL,
            played TEXT NOT NULL,
            UNIQUE (digest, game))""",  # results: JSON [[agent, other, points, games], ...]; played: {agent: games}
    ),
)


@dataclass(frozen=True, slots=True)
class Place:
    """One agent of the hall in one game."""

    game: str
    name: str
    definition: str  # expression and limit
    rating: Glicko
    games: int
    tournaments: int


@dataclass(frozen=True, slots=True)
class Period:
    """One tournament as an agent of the hall saw it."""

    tournament: str
    added: str  # UTC, ISO 8601
    game: str
    rating: Glicko  # after it
    points: float
    games: float  # as the rating counts them: a game of N agents is 2/N of one against each


class Fame:
    """The hall of fame of a file, which is made if there is none (`create=False`: an error then)."""

    def __init__(self, path: str | Path | None = None, *, create: bool = True):
        self.path = data_folder() / "fame.db" if path is None else Path(path)
        if path is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        if not create and not self.path.exists():
            raise MeijinError(f"there is no hall of fame '{self.path}'; enter a tournament with meijin fame add")
        self._store = Store(self.path, create=create)
        self._store.part("fame", MIGRATIONS)

    def __enter__(self) -> Fame:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._store.close()

    # ---- writing ----

    def add(self, tournament: Tournament) -> list[str]:
        """Enter a finished tournament; returns the games in which that changed anything.

        One that is in already is passed over; if it has been prolonged since, its new results take the old place.
        """
        if tournament.played < tournament.total:
            raise MeijinError(
                f"tournament '{tournament.plan.name}' has {tournament.played} of {tournament.total} games; "
                "finish it first, then enter it"
            )
        plan = tournament.plan
        changed: list[str] = []
        definitions = dict(tournament.summary().agents)
        with self._store.transaction() as db:
            for name, definition in definitions.items():
                known = db.execute("SELECT definition FROM fame_agents WHERE name = ?", (name,)).fetchone()
                if known is None:
                    db.execute("INSERT INTO fame_agents VALUES (?, ?)", (name, definition))
                elif known[0] != definition:
                    raise MeijinError(
                        f"the hall of fame knows '{name}' as {known[0]}, and this tournament has {definition} under "
                        "that name; give one of them another name"
                    )
            for table in tournament.tables():
                found = [
                    [r.agent, r.other, r.points, r.games]
                    for r in outcomes((agents, scores) for _, agents, scores in table.contests)
                ]
                played = {line.name: line.tally.games for line in table.lines}
                results, games = json.dumps(sorted(found)), json.dumps(played, sort_keys=True)
                key = (plan.digest, table.game)
                old = db.execute(
                    "SELECT results, played FROM fame_periods WHERE digest = ? AND game = ?", key
                ).fetchone()
                if old == (results, games):
                    continue
                changed.append(table.game)
                now = datetime.now(UTC).isoformat(timespec="seconds")
                db.execute(
                    "INSERT INTO fame_periods (tournament, digest, game, added, results, played) "
                    "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (digest, game) DO UPDATE "
                    "SET results = excluded.results, played = excluded.played",
                    (plan.name, plan.digest, table.game, now, results, games),
                )
        return changed

    def remove(self, name: str) -> str:
        """Take out a tournament with its results, or an agent with all it played; says which of them it was."""
        with self._store.transaction() as db:
            if db.execute("DELETE FROM fame_periods WHERE tournament = ?", (name,)).rowcount:
                kind = "tournament"
            elif db.execute("DELETE FROM fame_agents WHERE name = ?", (name,)).rowcount:
                kind = "agent"
                for id_, results, played in db.execute("SELECT id, results, played FROM fame_periods").fetchall():
                    left = [row for row in json.loads(results) if name not in row[:2]]
                    games = {agent: count for agent, count in json.loads(played).items() if agent != name}
                    db.execute(
                        "UPDATE fame_periods SET results = ?, played = ? WHERE id = ?",
                        (json.dumps(left), json.dumps(games, sort_keys=True), id_),
                    )
            else:
                raise self._unknown(name)
            # Whoever is left without a game is no longer in the hall.
            left_over = {agent for (played,) in db.execute("SELECT played FROM fame_periods")
                         for agent in json.loads(played)}  # fmt: skip
            for (agent,) in db.execute("SELECT name FROM fame_agents").fetchall():
                if agent not in left_over:
                    db.execute("DELETE FROM fame_agents WHERE name = ?", (agent,))
        return kind

    # ---- reading ----

    def games(self) -> list[str]:
        """The games in which there are ratings."""
        return sorted({row[2] for row in self._periods()})

    def tournaments(self) -> list[str]:
        """The tournaments that are in, in the order they came."""
        return list(dict.fromkeys(row[0] for row in self._periods()))

    def places(self, game: str | None = None) -> list[Place]:
        """The rating list of a game, or those of all games, each best first."""
        definitions, periods = self._definitions(), self._periods()
        found: list[Place] = []
        for each in [game] if game is not None else sorted({row[2] for row in periods}):
            mine = [row for row in periods if row[2] == each]
            if not mine:
                known = sorted({row[2] for row in periods})
                near = suggest(str(each), known) or f"; there are some in {', '.join(known) or 'no game yet'}"
                raise UnknownName(f"the hall of fame has no ratings in '{each}'{near}")
            ratings: dict[str, Glicko] = {}
            for _, _, _, results, _ in mine:
                ratings = rating_period(ratings, results)
            here = [
                Place(
                    each, name, definitions.get(name, ""), ratings.get(name, Glicko()),
                    sum(played.get(name, 0) for *_, played in mine), sum(name in played for *_, played in mine),
                )
                for name in dict.fromkeys(name for *_, played in mine for name in played)
            ]  # fmt: skip
            found += sorted(here, key=lambda place: (-place.rating.rating, place.name))
        return found

    def history(self, name: str) -> list[Period]:
        """What an agent did in each tournament, game by game, oldest first."""
        if name not in self._definitions():
            raise self._unknown(name)
        found: list[Period] = []
        ratings: dict[str, dict[str, Glicko]] = {}
        for tournament, added, game, results, played in self._periods():
            ratings[game] = rating_period(ratings.get(game, {}), results)
            if name in played:
                mine = [r for r in results if r.agent == name]
                points, games = sum(r.points for r in mine), sum(r.games for r in mine)
                found.append(Period(tournament, added, game, ratings[game].get(name, Glicko()), points, games))
        return found

    def _definitions(self) -> dict[str, str]:
        with self._store.connection as db:
            return dict(db.execute("SELECT name, definition FROM fame_agents").fetchall())

    def _periods(self) -> list[tuple[str, str, str, Sequence[Outcome[str]], dict[str, int]]]:
        with self._store.connection as db:
            rows: list[Any] = db.execute(
                "SELECT tournament, added, game, results, played FROM fame_periods ORDER BY id"
            ).fetchall()
        return [
            (tournament, added, game, [Outcome(*row) for row in json.loads(results)], json.loads(played))
            for tournament, added, game, results, played in rows
        ]

    def _unknown(self, name: str) -> UnknownName:
        near = suggest(name, [*self._definitions(), *self.tournaments()])
        return UnknownName(f"the hall of fame has no '{name}'{near or '; see meijin fame list'}")
