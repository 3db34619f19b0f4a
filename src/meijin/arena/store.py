"""`Store`: games in a SQLite file, written by any number of processes, read in part or page by page.

A game is known by its event and its number in it, and no game is stored twice. Its moves are one short blob that
begins with the same bytes as those of every game with the same opening, which makes the opening tree a range of an
index. What is kept of each ply lies beside, so that results are read without it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from meijin.arena import record_codec as packing
from meijin.arena.answers import Branch, Count, Event, Result
from meijin.arena.database import Database, Migration
from meijin.arena.filters import Filters, condition
from meijin.arena.record import GameRecord, Task
from meijin.arena.record_codec import Packed
from meijin.core.agent import Limit
from meijin.core.errors import MeijinError

__all__ = ["MIGRATIONS", "Branch", "Count", "Event", "Filters", "Packed", "Result", "Store"]

PAGE = 200  # games read at a time; 4 times as many where moves are left out

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
        f"CREATE INDEX lines ON games (game, substr(moves, 1, {packing.INDEXED}))",
        "CREATE INDEX players ON seats (agent, record)",
    ),
)


_RESULT = "g.id, e.name, g.number, g.round, n.text, g.ending, g.forfeit, g.reason, g.plies, g.began, g.seconds"
_FROM = "FROM games g JOIN events e ON e.id = g.event JOIN names n ON n.id = g.game"


class Store:
    """The games of a file, which is made if there is none (`create=False`: an error then)."""

    def __init__(self, path: str | Path, *, create: bool = True):
        self.path = Path(path)
        self._file = Database(path, MIGRATIONS, create=create)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    # ---- writing ----

    def add(self, records: Iterable[GameRecord | Packed]) -> int:
        """Store games, all of them or none; returns how many were new.

        A game of an event that is stored already (same number, same task) is passed over; another game under its
        number is an error. Games of no event ("") are always new and are numbered here.
        """
        rows = [
            record if isinstance(record, Packed) else Packed(record) for record in records
        ]  # the file stays free for others until all have been made
        if not rows:
            return 0
        with self._file.transaction() as db:
            ids: dict[tuple[str, str], int] = {}
            return sum(self._insert(db, row, ids) for row in rows)

    def _insert(self, db: sqlite3.Connection, row: Packed, ids: dict[tuple[str, str], int]) -> bool:
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
            (event, number, task.round, game, packing.seed(task.seed), *row.columns),
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
        """A game under this number is there; it must be the one that `task` describes."""
        record, game, seed = db.execute(
            f"SELECT g.id, n.text, g.seed {_FROM} WHERE g.event = ? AND g.number = ?", (event, task.number)
        ).fetchone()
        question = "SELECT n.text FROM seats s JOIN names n ON n.id = s.agent WHERE s.record = ? ORDER BY s.seat"
        agents = tuple(text for (text,) in db.execute(question, (record,)))
        if (game, int(seed), agents) != (task.game, task.seed, task.agents):
            raise MeijinError(
                f"games database '{self.path}': event '{task.event}' already has another game {task.number} "
                f"({game}: {', '.join(agents)}); give the event another name"
            )

    def meta(self, event: str) -> Any:
        """What was last set for the event; None if nothing was."""
        with self._file.use() as db:
            found = db.execute("SELECT meta FROM events WHERE name = ?", (event,)).fetchone()
        return None if found is None or found[0] is None else json.loads(found[0])

    def set_meta(self, event: str, value: Any) -> None:
        """Keep a JSON value with an event: the plan of a tournament, for one."""
        with self._file.transaction() as db:
            db.execute(
                "INSERT INTO events (name, meta) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET meta = excluded.meta",
                (event, json.dumps(value, ensure_ascii=False)),
            )

    # ---- reading ----

    def events(self) -> list[Event]:
        """Every event, in the order they came."""
        with self._file.use() as db:
            rows = db.execute(
                "SELECT e.name, count(g.id), coalesce(min(nullif(g.began, '')), ''), coalesce(max(g.began), '') "
                "FROM events e LEFT JOIN games g ON g.event = e.id GROUP BY e.id ORDER BY e.id"
            ).fetchall()
        return [Event(*row) for row in rows]

    def finished(self, event: str) -> set[int]:
        """The numbers of the event's games that are stored."""
        with self._file.use() as db:
            rows = db.execute("SELECT g.number FROM games g JOIN events e ON e.id = g.event WHERE e.name = ?", (event,))
            return {number for (number,) in rows}

    def count(self, **filters: Unpack[Filters]) -> int:
        where, values = condition(filters)
        with self._file.use() as db:
            return int(db.execute(f"SELECT count(*) {_FROM} WHERE {where}", values).fetchone()[0])

    def results(self, event: str | None = None, /, **filters: Unpack[Filters]) -> Iterator[Result]:
        """Who played whom and how it ended, by event and number; moves are not read."""
        if event is not None:
            filters["event"] = event
        for page in self._pages(_RESULT, filters, 4 * PAGE):
            with self._file.use() as db:
                seats = _seats(db, [row[0] for row in page])
            for id_, name, number, round_, game, *rest in page:
                agents, scores = seats[id_]
                yield Result._make((name, number, round_, game, agents, scores, *rest, id_))

    def games(self, **filters: Unpack[Filters]) -> Iterator[GameRecord]:
        """Whole games, by event and number. They are read a page at a time, so the file may be written meanwhile."""
        more = "g.seed, g.limits, g.opening, g.moves, g.headers, (SELECT plies FROM notes WHERE record = g.id)"
        for page in self._pages(f"{_RESULT}, {more}", filters, PAGE):
            with self._file.use() as db:
                ids = [row[0] for row in page]
                seats = _seats(db, ids)
                question = (
                    f"SELECT record, ply, analysis FROM analyses WHERE record IN ({_marks(ids)}) ORDER BY record, ply"
                )
                analyses = {
                    id_: [(ply, blob) for _, ply, blob in rows]
                    for id_, rows in groupby(db.execute(question, ids), key=lambda row: row[0])
                }
            for row in page:
                yield _record(row, *seats[row[0]], analyses.get(row[0], []))

    def agents(self, **filters: Unpack[Filters]) -> dict[str, Count]:
        """The results of every agent in the games that fit; those of one game's seats are counted apart."""
        where, values = condition(filters)
        with self._file.use() as db:
            rows = db.execute(
                "SELECT a.text, count(*), total(s.result = 1), total(s.result = 0), total(s.result = -1), "
                f"total(s.score) {_FROM} JOIN seats s ON s.record = g.id JOIN names a ON a.id = s.agent "
                f"WHERE {where} GROUP BY s.agent ORDER BY a.text",
                values,
            ).fetchall()
        return {text: _count(*counts) for text, *counts in rows}

    def crosstable(self, event: str | None = None, /, **filters: Unpack[Filters]) -> dict[tuple[str, str], Count]:
        """(agent, other agent) -> its results in the games they shared, counted by who of the two scored higher."""
        if event is not None:
            filters["event"] = event
        where, values = condition(filters)
        with self._file.use() as db:
            names = dict(db.execute("SELECT id, text FROM names"))
            rows = db.execute(
                "SELECT s.agent, o.agent, count(*), total(s.score > o.score), total(s.score = o.score), "
                f"total(s.score < o.score), total(s.score) {_FROM} JOIN seats s ON s.record = g.id "
                f"JOIN seats o ON o.record = g.id AND o.seat <> s.seat WHERE {where} GROUP BY s.agent, o.agent",
                values,
            ).fetchall()
        return {(names[one], names[other]): _count(*counts) for one, other, *counts in rows}

    def tree(self, game: str, prefix: Sequence[int] = (), /, **filters: Unpack[Filters]) -> list[Branch]:
        """What was played after the moves of `prefix` in a game (its exact expression), most often first."""
        where, values = condition(filters)
        begin = packing.moves(prefix)
        head = begin[: packing.INDEXED]
        # Every game with this opening begins with these bytes, and no other does.
        line = f"substr(g.moves, 1, {packing.INDEXED})"
        upper = _after(head)
        bounds = [head, *([] if upper is None else [upper])]
        at = len(begin) + 1
        with self._file.use() as db:
            rows = db.execute(
                f"SELECT {packing.move_at('g.moves', at)} AS next, s.seat, count(*), total(s.result = 1), "
                f"total(s.result = 0), avg(s.score) {_FROM} JOIN seats s ON s.record = g.id "
                f"WHERE g.game = (SELECT id FROM names WHERE text = ?) AND {line} >= ? "
                f"{'' if upper is None else f'AND {line} < ?'} AND substr(g.moves, 1, ?) = ? "
                f"AND length(g.moves) >= ? AND {where} GROUP BY next, s.seat ORDER BY next, s.seat",
                (game, *bounds, len(begin), begin, at, *values),
            ).fetchall()
        found = []
        for code, group in groupby(rows, key=lambda row: row[0]):
            _, _, counts, wins, draws, scores = zip(*group, strict=True)
            branch = Branch(packing.unpack(code)[0], counts[0], tuple(map(int, wins)), tuple(map(int, draws)), scores)
            found.append(branch)
        return sorted(found, key=lambda branch: (-branch.games, branch.move))

    def _pages(self, columns: str, filters: Filters, size: int) -> Iterator[list[Any]]:
        """Rows of games that fit, by event and number, in pages of `size`."""
        where, values = condition(filters)
        after = (-1, -1)
        while True:
            with self._file.use() as db:
                page = db.execute(
                    f"SELECT {columns}, g.event {_FROM} WHERE {where} AND (g.event, g.number) > (?, ?) "
                    "ORDER BY g.event, g.number LIMIT ?",
                    (*values, *after, size),
                ).fetchall()
            if not page:
                return
            after = page[-1][-1], page[-1][2]
            yield [row[:-1] for row in page]

    # ---- for other tables in the same file ----

    @property
    def connection(self) -> AbstractContextManager[sqlite3.Connection]:
        """`with store.connection as db:` the open file, to read; its errors are told to the user."""
        return self._file.use()

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """`with store.transaction() as db:` all that is written inside is kept, or none of it."""
        return self._file.transaction()

    def part(self, name: str, migrations: Sequence[Migration]) -> None:
        """Make or update the tables of another module; version n is what its first n migrations leave."""
        self._file.part(name, migrations)


# ---- rows ----


def _record(
    row: Sequence[Any], agents: tuple[str, ...], scores: tuple[float, ...], analyses: list[tuple[int, bytes]]
) -> GameRecord:
    _, event, number, round_, game, ending, forfeit, reason, _, began, seconds, *more = row
    seed, limits, opening, moves, headers, notes = more
    line = packing.unpack(moves)
    task = Task(
        game=game,
        agents=agents,
        opening=line[:opening],
        seed=int(seed),
        limits=tuple(Limit(*limit) for limit in json.loads(limits)) if limits else (),
        event=event,
        number=number,
        round=round_,
    )
    return GameRecord(
        task=task,
        moves=line,
        scores=scores,
        ending=ending,
        forfeit=forfeit,
        reason=reason,
        notes=packing.unpack_notes(notes, analyses),
        began=began,
        seconds=seconds,
        headers=json.loads(headers) if headers else {},
    )


def _intern(db: sqlite3.Connection, table: str, column: str, text: str, ids: dict[tuple[str, str], int]) -> int:
    """The number of a text in its table, entered when it is new. `ids` remembers for this transaction."""
    if (table, text) not in ids:
        question = f"SELECT id FROM {table} WHERE {column} = ?"
        found = db.execute(question, (text,)).fetchone()
        if found is None:
            db.execute(f"INSERT INTO {table} ({column}) VALUES (?)", (text,))
            found = db.execute(question, (text,)).fetchone()
        ids[table, text] = found[0]
    return ids[table, text]


def _seats(db: sqlite3.Connection, ids: Sequence[int]) -> dict[int, tuple[tuple[str, ...], tuple[float, ...]]]:
    """Game -> its agents and their scores, by seat."""
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


def _count(games: int, wins: float, draws: float, losses: float, score: float) -> Count:
    return Count(games, int(wins), int(draws), int(losses), score)


def _after(head: bytes) -> bytes | None:
    """The least bytes above all that begin with `head`; None when there are none."""
    trimmed = head.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else None
