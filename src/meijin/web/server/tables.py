"""All tables of a server; those in use are in memory, all of them in the file."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Coroutine
from typing import Any

from meijin.web.server import clock, schema
from meijin.web.server.errors import Refusal
from meijin.web.server.lanes import Lanes
from meijin.web.server.settings import Settings
from meijin.web.server.table import Table, summary
from meijin.web.server.table_store import TableStore

CLOSING = 3.0  # seconds that a table has to let go of everything
KEPT = 600.0  # seconds that a table stays in memory unused
MOST_KNOWN = 5000  # expressions that are remembered
WARMING = 1.0  # seconds that an agent thinks so as to be compiled, with what it cannot do in less

_log = logging.getLogger(__name__)


class Tables:
    def __init__(self, settings: Settings, lanes: Lanes, store: TableStore):
        self.settings, self.lanes, self.store = settings, lanes, store
        self.thinkers = asyncio.Semaphore(settings.limits.moves_at_once)
        self._open: dict[str, Table] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._permitted: dict[tuple[str, str], str] = {}
        self._warmed: set[tuple[str, str]] = set()  # games and their agents that are compiled or about to be

    # ---- agents ----

    async def permit(self, game: str, agent: str) -> str:
        """The proper text of an agent's expression, if clients may use it for that game."""
        known = self._permitted.get((game, agent))
        if known is None:
            known = str(await self.lanes.chores.call("permit", {"game": game, "agent": agent}))
            if len(self._permitted) >= MOST_KNOWN:
                self._permitted.clear()
            self._permitted[game, agent] = known
        return known

    def forget(self) -> None:
        """Files that define games or agents have changed."""
        self._permitted.clear()
        self._warmed.clear()

    async def sitter(self, game: str, given: schema.SeatIn) -> dict[str, Any]:
        """Who sits on a seat, checked."""
        if given.kind == "person":
            if given.agent is not None or given.limit is not None:
                raise Refusal("bad", "a seat of a person has neither an agent nor a limit")
            return {"kind": "person", "name": given.name, "agent": None, "limit": None}
        if given.agent is None:
            raise Refusal("bad", "name the agent of the seat, such as mcts(seconds=1)")
        agent = await self.permit(game, given.agent)
        limit = given.limit.model_dump(exclude_none=True) if given.limit else {}
        if "seconds" in limit:
            limit["seconds"] = min(limit["seconds"], self.settings.limits.think_seconds)
        return {"kind": "agent", "name": given.name, "agent": agent, "limit": limit or None}

    # ---- tables ----

    async def expect_game(self, game: str, full: bool) -> None:
        """Guests may look at games that are played here, and no others: making a game costs memory."""
        if not full and not await self.store.plays(game):
            raise Refusal("refused", f"guests may look only at games that are played here, which '{game}' is not")

    async def create(self, given: schema.TableIn) -> Table:
        if await self.store.count() >= self.settings.limits.tables:
            raise Refusal("limit", "there are too many tables; delete some first")
        seed = secrets.randbits(63) if given.seed is None else given.seed
        line = {"game": given.game, "position": given.position, "moves": given.moves, "seed": seed}
        begun = await self.lanes.rules(given.game).call("start", line)
        count = begun["seats"]
        if len(given.seats) > count:
            raise Refusal("bad", f"{begun['game']} has {count} seats, not {len(given.seats)}")
        people = [schema.SeatIn(kind="person")] * (count - len(given.seats))
        seats = [await self.sitter(begun["game"], seat) for seat in [*given.seats, *people]]
        plies = zip([*given.moves, *begun["moves"]], begun["movers"], strict=True)
        keys = [secrets.token_urlsafe(12) for _ in range(count + 2)]
        now = time.time()
        body = {
            "id": secrets.token_urlsafe(9),
            "version": 0,
            "game": begun["game"],
            "title": begun["title"],
            "position": given.position,
            "plies": [[move, mover, None, None, False] for move, mover in plies],  # and value, seconds, whether random
            "redo": [],
            "look": begun["look"],
            "seats": seats,
            "keys": {"host": keys[0], "watch": keys[1], "seats": keys[2:]},
            "seed": seed,
            "clock": clock.new(count, given.clock.seconds, given.clock.increment) if given.clock else None,
            "result": None,
            "running": given.running,
            "speed": given.speed,
            "problem": None,
            "created": now,
            "updated": now,
            "notes": 0,
        }
        table = Table(self, body)
        table.finish()
        await self.store.save(body)
        self._open[table.id] = table
        if self.settings.warm and table.waits_for_person:
            self.spawn(self._warm(table))
        return table

    async def _warm(self, table: Table) -> None:
        """Compile what agents need while a person thinks about the first move."""
        for seat, sitter in enumerate(table.body["seats"]):
            wanted = table.body["game"], sitter["agent"]
            if sitter["kind"] != "agent" or wanted in self._warmed:
                continue
            if len(self._warmed) >= MOST_KNOWN:
                self._warmed.clear()
            self._warmed.add(wanted)
            asked = table.line() | {"agent": sitter["agent"], "most": WARMING}
            home, patience = f"{table.id}:{seat}", self.settings.limits.think_seconds
            with contextlib.suppress(Refusal):
                async with self.thinkers:
                    await self.lanes.moves.call("warm", asked, home=home, patience=patience)

    async def open(self, id_: str) -> Table:
        table = self._open.get(id_)
        if table is None:
            body = await self.store.load(id_)
            if body is None:
                raise Refusal("unknown", f"there is no table '{id_}'; it may have been deleted")
            table = self._open.setdefault(id_, Table(self, body))  # another may have been quicker
        return table

    async def delete(self, table: Table) -> None:
        await table.close(deleted=True)
        self._open.pop(table.id, None)
        await self.store.delete(table.id)

    async def list(self, count: int, before: float | None) -> list[dict[str, Any]]:
        return [summary(body) for body in await self.store.recent(count, before)]

    # ---- the server's housekeeping ----

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something to its end, whether or not somebody still waits for it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._spawned)
        return task

    def _spawned(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.report(error)

    def report(self, error: BaseException) -> None:
        """Something failed that nobody may be waiting for."""
        if not isinstance(error, Refusal):
            _log.error("a table failed", exc_info=error)

    def tend(self) -> None:
        """Forget tables that nobody has used for a while; they are in the file."""
        now = time.monotonic()
        for id_, table in list(self._open.items()):
            if not table.used and now - table.seen > KEPT:
                del self._open[id_]

    async def close(self) -> None:
        for table in list(self._open.values()):
            with contextlib.suppress(TimeoutError):  # a move that hangs in its rules; it is not made
                async with asyncio.timeout(CLOSING):
                    await table.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
