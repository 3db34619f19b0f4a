"""The hall of fame: named agents and their ratings over many tournaments, separate for each game and its parameters.

Every tournament is one Glicko-2 rating period for each of its games. The file keeps results by pairs of agents; the
ratings follow from all tournaments in the order they were added. So a tournament can be removed again, and adding one
twice changes nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from meijin.arena.database import Database, Migration
from meijin.arena.ratings import Glicko, Outcome, outcomes, rating_period
from meijin.arena.store import MIGRATIONS as GAMES
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
    ("UPDATE fame_agents SET definition = replace(definition, ' a move)', ' per move)')",),
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
    """One tournament from the point of view of an agent."""

    tournament: str
    added: str  # UTC, ISO 8601
    game: str
    rating: Glicko  # after it
    points: float
    games: float  # as the rating counts them: a game of N agents is 2/N of one against each


_Amount = Annotated[float, Meta(ge=0, le=1e12)]


class _Row(NamedTuple):
    """The results of one game in one tournament."""

    id: int
    tournament: str
    added: str
    game: str
    results: list[tuple[str, str, _Amount, _Amount]]  # agent, other, points, games
    played: dict[str, int]  # agent -> games

    @property
    def outcomes(self) -> list[Outcome[str]]:
        return [Outcome(*result) for result in self.results]


class Fame(Database):
    """The hall of fame of a file, which is created if it does not exist (`create=False`: that is an error)."""

    def __init__(self, path: str | Path | None = None, *, create: bool = True):
        file = data_folder() / "fame.db" if path is None else Path(path)
        if path is None:
            file.parent.mkdir(parents=True, exist_ok=True)
        if not create and not file.exists():
            raise MeijinError(f"there is no hall of fame '{file}'; add a tournament with meijin fame add")
        super().__init__(file, GAMES, create=create)
        self.part("fame", MIGRATIONS)

    # ---- writing ----

    def add(self, tournament: Tournament) -> list[str]:
        """Add a finished tournament; returns the games in which that changed anything.

        A tournament that is in already changes nothing; if it has more rounds now, its new results replace the old.
        """
        plan = tournament.plan
        if tournament.played < tournament.total:
            raise MeijinError(
                f"tournament '{plan.name}' has {tournament.played} of {tournament.total} games; finish it first"
            )
        changed: list[str] = []
        with self.transaction() as db:
            for name, definition in tournament.summary().agents:
                known = db.execute("SELECT definition FROM fame_agents WHERE name = ?", (name,)).fetchone()
                if known is None:
                    db.execute("INSERT INTO fame_agents VALUES (?, ?)", (name, definition))
                elif known[0] != definition:
                    raise MeijinError(
                        f"the hall of fame knows '{name}' as {known[0]}, but in this tournament it is {definition}; "
                        "rename one of them"
                    )
            for table in tournament.tables():
                found = outcomes((agents, scores) for _, agents, scores in table.contests)
                results = json.dumps(sorted([r.agent, r.other, r.points, r.games] for r in found))
                played = json.dumps({row.name: row.tally.games for row in table.rows}, sort_keys=True)
                old = db.execute(
                    "SELECT results, played FROM fame_periods WHERE digest = ? AND game = ?", (plan.digest, table.game)
                ).fetchone()
                if old == (results, played):
                    continue
                changed.append(table.game)
                now = datetime.now(UTC).isoformat(timespec="seconds")
                db.execute(
                    "INSERT INTO fame_periods (tournament, digest, game, added, results, played) "
                    "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (digest, game) DO UPDATE "
                    "SET results = excluded.results, played = excluded.played",
                    (plan.name, plan.digest, table.game, now, results, played),
                )
        return changed

    def remove(self, name: str) -> str:
        """Remove a tournament and its results, or an agent and all its games; says which of the two it was."""
        with self.transaction() as db:
            if db.execute("DELETE FROM fame_periods WHERE tournament = ?", (name,)).rowcount:
                kind = "tournament"
            elif db.execute("DELETE FROM fame_agents WHERE name = ?", (name,)).rowcount:
                kind = "agent"
                for row in self._rows():
                    results = json.dumps([result for result in row.results if name not in result[:2]])
                    played = {agent: games for agent, games in row.played.items() if agent != name}
                    db.execute(
                        "UPDATE fame_periods SET results = ?, played = ? WHERE id = ?",
                        (results, json.dumps(played, sort_keys=True), row.id),
                    )
            else:
                raise self._unknown(name)
            # Agents without a game are no longer in the hall.
            playing = {agent for row in self._rows() for agent in row.played}
            for agent in set(self._definitions()) - playing:
                db.execute("DELETE FROM fame_agents WHERE name = ?", (agent,))
        return kind

    # ---- reading ----

    def games(self) -> list[str]:
        """The games in which there are ratings."""
        return sorted({row.game for row in self._rows()})

    def tournaments(self) -> list[str]:
        """The tournaments, in the order they were added."""
        return list(dict.fromkeys(row.tournament for row in self._rows()))

    def places(self, game: str | None = None) -> list[Place]:
        """The rating list of a game, or those of all games, each best first."""
        definitions, rows = self._definitions(), self._rows()
        known = sorted({row.game for row in rows})
        if game is not None and game not in known:
            near = suggest(game, known) or f"; there are ratings in {', '.join(known) or 'no game yet'}"
            raise UnknownName(f"the hall of fame has no ratings in '{game}'{near}")
        found: list[Place] = []
        for each in known if game is None else [game]:
            mine = [row for row in rows if row.game == each]
            ratings: dict[str, Glicko] = {}
            for row in mine:
                ratings = rating_period(ratings, row.outcomes)
            here = [
                Place(
                    each, name, definitions.get(name, ""), ratings.get(name, Glicko()),
                    sum(row.played.get(name, 0) for row in mine), sum(name in row.played for row in mine),
                )
                for name in dict.fromkeys(name for row in mine for name in row.played)
            ]  # fmt: skip
            found += sorted(here, key=lambda place: (-place.rating.rating, place.name))
        return found

    def history(self, name: str) -> list[Period]:
        """What an agent did in each tournament, game by game, oldest first."""
        if name not in self._definitions():
            raise self._unknown(name)
        found: list[Period] = []
        ratings: dict[str, dict[str, Glicko]] = {}
        for row in self._rows():
            ratings[row.game] = rating_period(ratings.get(row.game, {}), row.outcomes)
            if name in row.played:
                mine = [outcome for outcome in row.outcomes if outcome.agent == name]
                points, games = sum(r.points for r in mine), sum(r.games for r in mine)
                rating = ratings[row.game].get(name, Glicko())
                found.append(Period(row.tournament, row.added, row.game, rating, points, games))
        return found

    def _definitions(self) -> dict[str, str]:
        with self.use() as db:
            return dict(db.execute("SELECT name, definition FROM fame_agents WHERE typeof(name) = 'text'").fetchall())

    def _rows(self) -> list[_Row]:
        with self.use() as db:
            rows = db.execute(
                "SELECT id, tournament, added, game, results, played FROM fame_periods ORDER BY id"
            ).fetchall()
        try:
            return [
                msgspec.convert((*row, msgspec.json.decode(results), msgspec.json.decode(played)), _Row)
                for *row, results, played in rows
            ]
        except (msgspec.MsgspecError, TypeError, RecursionError) as error:
            raise MeijinError(f"hall of fame '{self.path}' cannot be read ({error}); the file is damaged") from None

    def _unknown(self, name: str) -> UnknownName:
        near = suggest(name, [*self._definitions(), *self.tournaments()])
        return UnknownName(f"the hall of fame has no '{name}'{near or '; see meijin fame list'}")
