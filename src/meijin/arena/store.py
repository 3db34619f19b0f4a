"""`Store`: games in a SQLite file, written by any number of processes and read page by page.

A game is identified by its event and its number in it, and no game is stored twice. Its moves are one short blob that
begins with the same bytes as those of every game with the same opening, so the opening tree is a range of an index.
Notes are in tables of their own, so that results are read without them.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar, Unpack

import msgspec

from meijin.arena import record_codec as codec
from meijin.arena.database import Database, Migration
from meijin.arena.queries import AgentResults, Branch, EventSummary, Filters, GameSummary, condition
from meijin.arena.record import GameRecord, Task
from meijin.arena.record_codec import EncodedRecord
from meijin.core.errors import MeijinError

T = TypeVar("T")

PAGE = 200  # games read at a time; 4 times as many without moves
#: What reading a damaged row may raise. LookupError: a game without seats.
_DAMAGE = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    OverflowError,
    RecursionError,
    struct.error,
    zlib.error,
    MeijinError,
)

#: Append to change the tables; what is here has been written to people's files.
MIGRATIONS: tuple[Migration, ...] = (
    (
        "CREATE TABLE names (id INTEGER PRIMARY KEY, text TEXT UNIQUE NOT NULL)",  # expressions of games and agents
        "CREATE TABLE events (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, meta TEXT)",
        """CREATE TABLE games (
            id INTEGER PRIMARY KEY,
            event INTEGER NOT NULL REFERENCES events,
            number INTEGER NOT NULL,
            round INTEGER NOT NULL,
            game INTEGER NOT NULL REFERENCES names,
            seed NOT NULL,
            limits TEXT,
            opening INTEGER NOT NULL,
            moves BLOB NOT NULL,
            plies INTEGER NOT NULL,
            ending TEXT NOT NULL,
            forfeit INTEGER,
            reason TEXT NOT NULL,
            began TEXT NOT NULL,
            seconds REAL NOT NULL,
            headers TEXT,
            UNIQUE (event, number))""",
        """CREATE TABLE seats (
            record INTEGER NOT NULL REFERENCES games ON DELETE CASCADE,
            seat INTEGER NOT NULL,
            agent INTEGER NOT NULL REFERENCES names,
            score REAL NOT NULL,
            result INTEGER,
            PRIMARY KEY (record, seat)) WITHOUT ROWID""",  # result: 1 won, 0 drew, -1 lost, NULL alone at the board
        "CREATE TABLE notes (record INTEGER PRIMARY KEY REFERENCES games ON DELETE CASCADE, plies BLOB NOT NULL)",
        """CREATE TABLE analyses (
            record INTEGER NOT NULL REFERENCES games ON DELETE CASCADE,
            ply INTEGER NOT NULL,
            analysis BLOB NOT NULL,
            PRIMARY KEY (record, ply)) WITHOUT ROWID""",
        f"CREATE INDEX lines ON games (game, substr(moves, 1, {codec.INDEXED}))",
        "CREATE INDEX players ON seats (agent, record)",
    ),
)


_RESULT = "g.id, e.name, g.number, g.round, n.text, g.ending, g.forfeit, g.reason, g.plies, g.began, g.seconds"
_FROM = "FROM games g JOIN events e ON e.id = g.event JOIN names n ON n.id = g.game"


class Store(Database):
    """The games of a file, which is created if it does not exist (`create=False`: that is an error)."""

    def __init__(self, path: str | Path, *, create: bool = True):
        super().__init__(path, MIGRATIONS, create=create)

    # ---- writing ----

    def add(self, records: Iterable[GameRecord | EncodedRecord]) -> int:
        """Store games, all of them or none; returns how many were new.

        A game of an event that is stored already (same number, same task) is skipped; another game under its number
        is an error. Games without an event ("") are always new and are numbered here.
        """
        # All are encoded first: the file is locked for as short a time as possible.
        rows = [record if isinstance(record, EncodedRecord) else EncodedRecord(record) for record in records]
        if not rows:
            return 0
        with self.transaction() as db:
            ids: dict[tuple[str, str], int] = {}
            return sum(self._insert(db, row, ids) for row in rows)

    def _insert(self, db: sqlite3.Connection, row: EncodedRecord, ids: dict[tuple[str, str], int]) -> bool:
        task = row.task
        event = _intern(db, "events", "name", task.event, ids)
        game = _intern(db, "names", "text", task.game, ids)
        number = task.number
        if not task.event:
            question = "SELECT coalesce(max(number) + 1, 0) FROM games WHERE event = ?"
            number = db.execute(question, (event,)).fetchone()[0]
        marks = ", ".join("?" * (5 + len(row.columns)))
        cursor = db.execute(
            "INSERT INTO games (event, number, round, game, seed, limits, opening, moves, plies, ending, forfeit, "
            f"reason, began, seconds, headers) VALUES ({marks}) ON CONFLICT (event, number) DO NOTHING",
            (event, number, task.round, game, codec.encode_seed(task.seed), *row.columns),
        )
        if cursor.rowcount == 0:
            self._expect_same(db, event, task)
            return False
        record = cursor.lastrowid
        seats = [
            (record, seat, _intern(db, "names", "text", agent, ids), score, result)
            for seat, (agent, score, result) in enumerate(zip(task.agents, row.scores, row.results, strict=True))
        ]
        db.executemany("INSERT INTO seats VALUES (?, ?, ?, ?, ?)", seats)
        if row.notes is not None:
            db.execute("INSERT INTO notes VALUES (?, ?)", (record, row.notes))
        db.executemany("INSERT INTO analyses VALUES (?, ?, ?)", [(record, ply, blob) for ply, blob in row.analyses])
        return True

    def _expect_same(self, db: sqlite3.Connection, event: int, task: Task) -> None:
        """A game with this number is stored; it must be the one that `task` describes."""
        with self._reading(f"game {task.number} of '{task.event}'"):
            record, game, seed = db.execute(
                f"SELECT g.id, n.text, g.seed {_FROM} WHERE g.event = ? AND g.number = ?", (event, task.number)
            ).fetchone()
            agents, _ = _seats(db, [record])[record]
            same = (game, int(seed), agents) == (task.game, task.seed, task.agents)
        if not same:
            raise MeijinError(
                f"games database '{self.path}': event '{task.event}' already has another game {task.number} "
                f"({game}: {', '.join(map(str, agents))}); give the event another name"
            )

    def meta(self, event: str) -> Any:
        """What was last set for the event; None if nothing was."""
        with self.use() as db:
            found = db.execute("SELECT meta FROM events WHERE name = ?", (event,)).fetchone()
        with self._reading(f"event '{event}'"):
            return None if found is None or found[0] is None else json.loads(found[0])

    def set_meta(self, event: str, value: Any) -> None:
        """Keep a JSON value with an event: the plan of a tournament, for one."""
        with self.transaction() as db:
            db.execute(
                "INSERT INTO events (name, meta) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET meta = excluded.meta",
                (event, json.dumps(value, ensure_ascii=False)),
            )

    # ---- reading ----

    def events(self) -> list[EventSummary]:
        """Every event, in the order they came."""
        with self.use() as db:
            rows = db.execute(
                "SELECT e.name, count(g.id), coalesce(min(nullif(g.began, '')), ''), coalesce(max(g.began), '') "
                "FROM events e LEFT JOIN games g ON g.event = e.id GROUP BY e.id ORDER BY e.id"
            ).fetchall()
        return [EventSummary(*row) for row in rows]

    def finished(self, event: str) -> set[int]:
        """The numbers of the event's games that are stored."""
        with self.use() as db:
            rows = db.execute("SELECT g.number FROM games g JOIN events e ON e.id = g.event WHERE e.name = ?", (event,))
            return {number for (number,) in rows if isinstance(number, int)}

    def count(self, **filters: Unpack[Filters]) -> int:
        where, values = condition(filters)
        with self.use() as db:
            return int(db.execute(f"SELECT count(*) {_FROM} WHERE {where}", values).fetchone()[0])

    def results(self, event: str | None = None, /, **filters: Unpack[Filters]) -> Iterator[GameSummary]:
        """Who played whom and how it ended, by event and number; moves are not read."""
        if event is not None:
            filters["event"] = event
        for page in self._pages(_RESULT, filters, 4 * PAGE):
            with self.use() as db:
                seats = _seats(db, [row[0] for row in page])
            yield from self._decoded(page, partial(_summary, seats=seats))

    def games(self, **filters: Unpack[Filters]) -> Iterator[GameRecord]:
        """Whole games, by event and number, read a page at a time, so that the file may be written meanwhile.

        The moves are as they were stored: `formats.verified` replays them by the rules.
        """
        more = "g.seed, g.limits, g.opening, g.moves, g.headers, (SELECT plies FROM notes WHERE record = g.id)"
        for page in self._pages(f"{_RESULT}, {more}", filters, PAGE):
            with self.use() as db:
                ids = [row[0] for row in page]
                seats = _seats(db, ids)
                question = (
                    f"SELECT record, ply, analysis FROM analyses WHERE record IN ({_marks(ids)}) ORDER BY record, ply"
                )
                analyses = {
                    id_: [(ply, blob) for _, ply, blob in rows]
                    for id_, rows in groupby(db.execute(question, ids), key=lambda row: row[0])
                }
            yield from self._decoded(page, partial(_record, seats=seats, analyses=analyses))

    def agents(self, **filters: Unpack[Filters]) -> dict[str, AgentResults]:
        """The results of every agent in the games that fit; those of one game's seats are counted apart."""
        where, values = condition(filters)
        with self.use() as db:
            rows = db.execute(
                "SELECT a.text, count(*), total(s.result = 1), total(s.result = 0), total(s.result = -1), "
                f"total(s.score) {_FROM} JOIN seats s ON s.record = g.id JOIN names a ON a.id = s.agent "
                f"WHERE {where} GROUP BY s.agent ORDER BY a.text",
                values,
            ).fetchall()
        return {text: _count(*counts) for text, *counts in rows}

    def crosstable(
        self, event: str | None = None, /, **filters: Unpack[Filters]
    ) -> dict[tuple[str, str], AgentResults]:
        """(agent, other agent) -> its results in the games they shared, counted by who of the two scored higher."""
        if event is not None:
            filters["event"] = event
        where, values = condition(filters)
        with self.use() as db:
            names = dict(db.execute("SELECT id, text FROM names"))
            rows = db.execute(
                "SELECT s.agent, o.agent, count(*), total(s.score > o.score), total(s.score = o.score), "
                f"total(s.score < o.score), total(s.score) {_FROM} JOIN seats s ON s.record = g.id "
                f"JOIN seats o ON o.record = g.id AND o.seat <> s.seat WHERE {where} GROUP BY s.agent, o.agent",
                values,
            ).fetchall()
        return {(names.get(one, "?"), names.get(other, "?")): _count(*counts) for one, other, *counts in rows}

    def tree(self, game: str, prefix: Sequence[int] = (), /, **filters: Unpack[Filters]) -> list[Branch]:
        """What was played after the moves of `prefix` in a game (its exact expression), most often first."""
        where, values = condition(filters)
        begin = codec.encode_moves(prefix)
        head = begin[: codec.INDEXED]
        # Every game with this opening begins with these bytes, and no other does.
        line = f"substr(g.moves, 1, {codec.INDEXED})"
        upper = _after(head)
        bounds = [head, *([] if upper is None else [upper])]
        at = len(begin) + 1
        with self.use() as db:
            rows = db.execute(
                f"SELECT {codec.move_at('g.moves', at)} AS next, s.seat, count(*), total(s.result = 1), "
                f"total(s.result = 0), avg(s.score) {_FROM} JOIN seats s ON s.record = g.id "
                f"WHERE g.game = (SELECT id FROM names WHERE text = ?) AND {line} >= ? "
                f"{'' if upper is None else f'AND {line} < ?'} AND substr(g.moves, 1, ?) = ? "
                f"AND length(g.moves) >= ? AND {where} GROUP BY next, s.seat ORDER BY next, s.seat",
                (game, *bounds, len(begin), begin, at, *values),
            ).fetchall()
        found = []
        for code, group in groupby(rows, key=lambda row: row[0]):
            _, _, counts, wins, draws, scores = zip(*group, strict=True)
            with self._reading("a game of the tree"):
                (move,) = codec.decode_moves(code)
            found.append(Branch(move, counts[0], tuple(map(int, wins)), tuple(map(int, draws)), scores))
        return sorted(found, key=lambda branch: (-branch.games, branch.move))

    def _pages(self, columns: str, filters: Filters, size: int) -> Iterator[list[Any]]:
        """Rows of games that fit, by event and number, in pages of `size`."""
        where, values = condition(filters)
        after = (-1, -1)
        while True:
            with self.use() as db:
                page = db.execute(
                    f"SELECT {columns}, g.event {_FROM} WHERE {where} AND (g.event, g.number) > (?, ?) "
                    "ORDER BY g.event, g.number LIMIT ?",
                    (*values, *after, size),
                ).fetchall()
            if not page:
                return
            after = page[-1][-1], page[-1][2]
            yield [row[:-1] for row in page]

    def _decoded(self, page: list[Any], decode: Callable[[Any], T]) -> Iterator[T]:
        for row in page:
            try:
                found = decode(row)
            except _DAMAGE as error:
                raise self._damaged(f"game {row[0]}", error) from None
            yield found

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Whatever goes wrong inside the block is the fault of the file."""
        try:
            yield
        except _DAMAGE as error:
            raise self._damaged(what, error) from None

    def _damaged(self, what: str, error: Exception) -> MeijinError:
        return MeijinError(f"games database '{self.path}': {what} cannot be read ({error}); the file is damaged")


# ---- rows ----


_Seats = dict[int, tuple[tuple[str, ...], tuple[float, ...]]]  # game -> its agents and their scores, by seat


def _summary(row: Sequence[Any], seats: _Seats) -> GameSummary:
    id_, event, number, round_, game, *rest = row[:11]
    summary = msgspec.convert((event, number, round_, game, *seats[id_], *rest, id_), GameSummary)
    if summary.forfeit is not None and summary.forfeit >= len(summary.agents):
        raise ValueError(f"there is no seat {summary.forfeit} to forfeit")
    return summary


def _record(row: Sequence[Any], seats: _Seats, analyses: dict[int, list[tuple[int, bytes]]]) -> GameRecord:
    game = _summary(row, seats)
    seed, limits, opening, moves, headers, notes = row[11:]
    line = codec.decode_moves(moves)
    record = GameRecord(
        task=Task(
            game=game.game,
            agents=game.agents,
            opening=line[:opening],
            seed=int(seed),
            limits=codec.decode_limits(limits),
            event=game.event,
            number=game.number,
            round=game.round,
        ),
        moves=line,
        scores=game.scores,
        ending=game.ending,
        forfeit=game.forfeit,
        reason=game.reason,
        notes=codec.decode_notes(notes, analyses.get(game.id, [])),
        began=game.began,
        seconds=game.seconds,
        headers=msgspec.convert(json.loads(headers), dict[str, str]) if headers else {},
    )
    codec.check(record)
    return record


def _intern(db: sqlite3.Connection, table: str, column: str, text: str, ids: dict[tuple[str, str], int]) -> int:
    """The id of a text in its table, inserted if new. `ids` caches them for this transaction."""
    if (table, text) not in ids:
        question = f"SELECT id FROM {table} WHERE {column} = ?"
        found = db.execute(question, (text,)).fetchone()
        if found is None:
            db.execute(f"INSERT INTO {table} ({column}) VALUES (?)", (text,))
            found = db.execute(question, (text,)).fetchone()
        ids[table, text] = found[0]
    return ids[table, text]


def _seats(db: sqlite3.Connection, ids: Sequence[int]) -> _Seats:
    question = (
        "SELECT s.record, n.text, s.score FROM seats s JOIN names n ON n.id = s.agent "
        f"WHERE s.record IN ({_marks(ids)}) ORDER BY s.record, s.seat"
    )
    found = {}
    for id_, rows in groupby(db.execute(question, ids), key=lambda row: row[0]):
        _, agents, scores = zip(*rows, strict=True)
        found[id_] = agents, scores
    return found


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _count(games: int, wins: float, draws: float, losses: float, score: float) -> AgentResults:
    return AgentResults(games, int(wins), int(draws), int(losses), score)


def _after(head: bytes) -> bytes | None:
    """The least bytes above all that begin with `head`; None when there are none."""
    trimmed = head.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else None
