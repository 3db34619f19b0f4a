"""Tournaments, the hall of fame and the games database in a worker.

A tournament is a plan, `tournaments/NAME.toml` in the server's folder, and its games, in `games.db` there: the command
line can continue it, too.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.core.atomic import write_file
from meijin.core.errors import BadParameter, MeijinError, UnknownName
from meijin.core.expression import parse
from meijin.web.server.work.rules import game_of, numbers

if TYPE_CHECKING:
    from meijin.arena.record import GameRecord
    from meijin.arena.standings import Standings, StandingsRow
    from meijin.arena.tournament import Tournament
    from meijin.web.server.work.permits import Permits
    from meijin.web.server.work.worker import Ask

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}")
TELL = 0.1  # seconds between two pieces of news
MOST_GAMES = 100_000  # of one tournament
MOST_LISTED = 200  # games on one page
PLANNED = ("kind", "games", "rounds", "repeats", "openings", "judges", "seed", "notes", "anchor", "move_timeout")


class Stopped(Exception):
    """Somebody stopped the tournament."""


class Arena:
    def __init__(self, data: str, permits: Permits, cores: int):
        self._folder, self._permits, self._cores = Path(data), permits, cores
        self._db = self._folder / "games.db"

    # ---- plans ----

    def _path(self, name: str) -> Path:
        path = self._folder / "tournaments" / f"{name}.toml"
        if not NAME.fullmatch(name) or not path.is_file():
            raise UnknownName(f"there is no tournament '{name}'")
        return path

    def plan_tournament(self, ask: Ask) -> dict[str, Any]:
        """Check what a page asks for and write its plan; nothing in it names a file or a program."""
        from meijin.arena.plan import parse_plan
        from meijin.arena.store import Store
        from meijin.arena.tournament import Tournament

        given = dict(ask.args)
        path = self._folder / "tournaments" / f"{given['name']}.toml"
        if not NAME.fullmatch(given["name"]):
            raise BadParameter(f"'{given['name']}' cannot name a tournament; use letters, digits, '_', '-' and '.'")
        if path.exists():
            raise BadParameter(f"there is a tournament '{given['name']}' already; choose another name")
        given["games"] = [str(game_of(game)) for game in given["games"]]
        if given["openings"]:
            given["openings"] = str(self._permits.openings(parse(given["openings"])))
        given["judges"] = [str(self._permits.plain(parse(judge))) for judge in given["judges"]]
        for agent in given["agents"]:
            agent["name"] = agent["name"] or agent["expression"]
            agent["expression"] = str(self._permits.bounded(agent["expression"]))
        text = _toml(given)
        plan = parse_plan(text, "tournament", name=given["name"])
        path.parent.mkdir(parents=True, exist_ok=True)
        with Store(self._db) as store:
            total = Tournament(plan, store).total
        if total > MOST_GAMES:
            raise BadParameter(f"{total:,} games are too many for one tournament; at most {MOST_GAMES:,} are played")
        write_file(path, text.encode())
        return {"name": given["name"], "total": total}

    @contextmanager
    def _opened(self, name: str) -> Iterator[Tournament]:
        from meijin.arena.plan import read_plan
        from meijin.arena.store import Store
        from meijin.arena.tournament import Tournament

        with Store(self._db) as store:
            yield Tournament(read_plan(self._path(name)), store)

    def more_rounds(self, ask: Ask) -> None:
        """Have a tournament last longer."""
        path = self._path(ask.args["name"])
        text = path.read_text(encoding="utf-8")
        write_file(path, re.sub(r"(?m)^rounds = \d+$", f"rounds = {ask.args['rounds']}", text, count=1).encode())
        with self._opened(ask.args["name"]):
            pass

    # ---- playing ----

    def tournament(self, ask: Ask) -> dict[str, Any]:
        """Play what is not played yet, until all is or somebody stops it."""
        with self._opened(ask.args["name"]) as opened:
            done, told = opened.played, 0.0

            def on_game(record: GameRecord) -> None:
                nonlocal done, told
                done += 1
                if ask.stopped:
                    raise Stopped
                if (now := time.monotonic()) - told > TELL:
                    told = now
                    ask.part({"event": "progress", "phase": "games", "done": done, "total": opened.total})

            ask.part({"event": "progress", "phase": "games", "done": done, "total": opened.total})
            with suppress(Stopped):
                opened.run(self._cores, on_game)
            ask.part({"event": "progress", "phase": "games", "done": done, "total": opened.total})
            return {"played": opened.played, "total": opened.total}

    # ---- results ----

    def list_tournaments(self, ask: Ask) -> list[dict[str, Any]]:
        from meijin.arena.plan import read_plan

        found = []
        for path in (self._folder / "tournaments").glob("*.toml"):
            try:
                plan = read_plan(path)
                with self._opened(path.stem) as opened:
                    played, total = opened.played, opened.total
            except MeijinError:  # of a game or an agent that is gone
                continue
            found.append(
                {
                    "name": path.stem,
                    "kind": plan.kind,
                    "games": list(plan.games),
                    "agents": [agent.name for agent in plan.agents],
                    "played": played,
                    "total": total,
                    "changed": path.stat().st_mtime,
                }
            )
        return sorted(found, key=lambda each: -each["changed"])

    def standings(self, ask: Ask) -> dict[str, Any]:
        """Crosstable and ratings of what has been played so far."""
        with self._opened(ask.args["name"]) as opened:
            summary = opened.summary()
            return {
                "name": ask.args["name"],
                "about": dict(summary.about),
                "agents": [{"name": name, "definition": self._shown(text)} for name, text in summary.agents],
                "played": opened.played,
                "total": opened.total,
                "tables": [_table(each) for each in summary.tables],
                "overall": [_row(each) for each in summary.overall],
            }

    def _shown(self, text: str) -> str:
        """An expression without the paths of this machine."""
        return text.replace(f"{self._permits.runs}/", "")

    def hall(self, ask: Ask) -> list[dict[str, Any]]:
        """The hall of fame, of one game or of all."""
        from meijin.arena.fame import Fame

        path = self._folder / "fame.db"
        if not path.exists():
            return []
        with Fame(path) as fame:
            places = fame.places(ask.args["game"]) if fame.games() else []
        return [asdict(place) | {"definition": self._shown(place.definition)} for place in places]

    def enter_hall(self, ask: Ask) -> list[str]:
        """Enter a finished tournament; returns the games in which that changed anything."""
        from meijin.arena.fame import Fame

        with self._opened(ask.args["name"]) as opened, Fame(self._folder / "fame.db") as fame:
            return fame.add(opened)

    # ---- games ----

    def list_played(self, ask: Ask) -> dict[str, Any]:
        """Games of the database that fit, and how many there are."""
        from meijin.arena.store import Store

        if not self._db.exists():
            return {"games": [], "count": 0, "events": []}
        filters, skip = ask.args["filters"], ask.args["skip"]
        with Store(self._db) as store:
            found = []
            for place, row in enumerate(store.results(**filters)):
                if place >= skip + MOST_LISTED:
                    break
                if place >= skip:
                    found.append(row._asdict() | {"agents": [self._shown(each) for each in row.agents]})
            events = [event._asdict() for event in store.events()]
            return {"games": found, "count": store.count(**filters), "events": events}

    def show_played(self, ask: Ask) -> dict[str, Any]:
        """One game with its moves."""
        from meijin.arena.store import Store
        from meijin.web.server.work.records import game_of_record

        if self._db.exists():
            with Store(self._db) as store:
                for record in store.games(id=ask.args["id"]):
                    found = game_of_record(record)
                    return found | {"agents": [self._shown(each) for each in found["agents"]]}
        raise UnknownName(f"there is no game {ask.args['id']} in the database")

    def opening_tree(self, ask: Ask) -> list[dict[str, Any]]:
        """What was played after some moves, and how it went, most often first."""
        from meijin.arena.store import Store

        game = game_of(ask.args["game"])
        if not self._db.exists():
            return []
        with Store(self._db) as store:
            branches = store.tree(str(game), ask.args["moves"], **ask.args["filters"])
        return [branch._asdict() | {"scores": numbers(branch.scores)} for branch in branches]

    def calls(self) -> dict[str, Callable[[Ask], Any]]:
        own = (
            self.plan_tournament, self.more_rounds, self.tournament, self.list_tournaments, self.standings, self.hall,
            self.enter_hall, self.list_played, self.show_played, self.opening_tree,
        )  # fmt: skip
        return {fn.__name__: fn for fn in own}


def _table(table: Standings) -> dict[str, Any]:
    return {
        "game": table.game,
        "title": table.title,
        "seats": table.seats,
        "played": len(table.played),
        "total": table.total,
        "rows": [_row(row) for row in table.rows],
        "pairs": [{"agent": one, "other": other, **asdict(found)} for (one, other), found in table.pairs.items()],
        "forfeits": [asdict(forfeit) for forfeit in table.forfeits],
    }


def _row(row: StandingsRow) -> dict[str, Any]:
    tally, rating = row.tally, row.rating
    elo, low, high, mean = numbers([rating.elo, rating.low, rating.high, tally.mean if tally.games else 0.0])
    return {
        "rank": row.rank,
        "name": row.name,
        "elo": elo,
        "interval": [low, high],
        "glicko2": asdict(row.glicko),
        "games": tally.games,
        "wins": tally.wins,
        "draws": tally.draws,
        "losses": tally.losses,
        "mean_score": mean,
    }


# ---- TOML, as far as plans need it ----


def _toml(given: dict[str, Any]) -> str:
    lines = ["# Written by meijin serve.", "", "[tournament]", f"name = {_value(given['name'])}"]
    lines += [f"{key} = {_value(given[key])}" for key in PLANNED if given.get(key) not in (None, "", [])]
    if given.get("limit"):
        lines.append(f"limit = {_value(given['limit'])}")
    for agent in given["agents"]:
        lines += ["", "[[agents]]", *(f"{key} = {_value(value)}" for key, value in agent.items() if value)]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + " }"
    return str(value).lower() if isinstance(value, bool) else repr(value)
