"""Tables: live games with seats, clocks and links. The server's only state; `TableStore` keeps it.

A table changes under its lock, is saved, and is then told to everybody at it. Agents move in a task of the table, which
whatever else happens there may interrupt. Chance is rolled from the table's seed.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from meijin.web.server import schema
from meijin.web.server.errors import Refusal
from meijin.web.server.lanes import Lanes
from meijin.web.server.settings import Settings
from meijin.web.server.table_store import TableStore

UNWATCHED = 30.0  # seconds that agents go on among themselves when nobody looks
KEPT = 600.0  # seconds that a table stays in memory unused

Listener = Callable[["Table"], None]


@dataclass(frozen=True)
class Role:
    """What the holder of a key may do."""

    host: bool
    seats: frozenset[int]


class Table:
    def __init__(self, tables: Tables, body: dict[str, Any]):
        self._tables, self.body = tables, body
        self.lock = asyncio.Lock()
        self.listeners: set[Listener] = set()
        self.seen = time.monotonic()
        self.thinking: int | None = None
        self._task: asyncio.Task[None] | None = None
        self._steps = 0  # moves that agents make although the table is paused
        self._flag: asyncio.TimerHandle | None = None
        self._encoded: tuple[Any, bytes] | None = None
        if (clock := body["clock"]) is not None and clock["since"] is not None:
            clock["since"] = time.time()  # the clock stood still while the server did not run

    # ---- what it is ----

    @property
    def id(self) -> str:
        return str(self.body["id"])

    @property
    def turn(self) -> int:
        """The seat to move; below 0 when there is none."""
        return -2 if self.body["result"] else int(self.body["look"]["turn"])

    @property
    def moves(self) -> list[int]:
        return [ply[0] for ply in self.body["plies"]]

    @property
    def used(self) -> bool:
        return bool(self.listeners) or self._task is not None or self.lock.locked()

    def _line(self) -> dict[str, Any]:
        return {"game": self.body["game"], "position": self.body["position"], "moves": self.moves}

    def role(self, key: str | None, full: bool) -> Role:
        keys, everybody = self.body["keys"], frozenset(range(len(self.body["seats"])))
        if key is None:
            if full:
                return Role(True, everybody)
        elif secrets.compare_digest(key.encode(), keys["host"].encode()):
            return Role(True, everybody)
        elif secrets.compare_digest(key.encode(), keys["watch"].encode()):
            return Role(False, frozenset())
        else:
            for seat, mine in enumerate(keys["seats"]):
                if secrets.compare_digest(key.encode(), mine.encode()):
                    return Role(False, frozenset({seat}))
        raise Refusal("refused", "this link does not open the table; ask for a new one")

    def encoded(self, role: Role) -> bytes:
        """The table as JSON, as the holder of that role sees it."""
        state = self.body["version"], self.thinking, len(self.listeners)
        if self._encoded is None or self._encoded[0] != state:
            self._encoded = state, msgspec.json.encode(self._public())
        mine = {"you": sorted(role.seats), "host": role.host, "keys": self.body["keys"] if role.host else None}
        return self._encoded[1][:-1] + b"," + msgspec.json.encode(mine)[1:]

    def _public(self) -> dict[str, Any]:
        body, plies = self.body, self.body["plies"]
        known = {name: body[name] for name in ("id", "version", "game", "title", "position", "look", "seats", "result")}
        return known | {
            "moves": [ply[0] for ply in plies],
            "movers": [ply[1] for ply in plies],
            "values": [ply[2] for ply in plies],
            "seconds": [ply[3] for ply in plies],
            "redo": [ply[0] for ply in body["redo"]],
            "clocks": self._clocks(),
            "running": body["running"],
            "speed": body["speed"],
            "thinking": self.thinking,
            "problem": body["problem"],
            "created": body["created"],
            "updated": body["updated"],
            "notes": body["notes"],
            "people": len(self.listeners),
        }

    def summary(self) -> dict[str, Any]:
        return summary(self.body)

    # ---- what people do ----

    async def play(self, role: Role, given: schema.PlayIn) -> None:
        async with self.lock:
            seat = self._expect(given.ply)
            if seat not in role.seats:
                raise Refusal("illegal", f"it is the turn of seat {seat}, which this link may not play")
            if self.body["seats"][seat]["kind"] != "person":
                raise Refusal("illegal", f"seat {seat} is played by an agent; take it over first")
            line = self._line() | {"move": given.move, "seed": self.body["seed"]}
            after = await self._tables.lanes.rules.call("play", line)
            self._apply(after, None, self._spent())
            await self._changed()

    async def undo(self, role: Role, given: schema.UndoIn) -> None:
        async with self.lock:
            self._may_change(role, given.ply)
            plies, result = self.body["plies"], self.body["result"]
            kinds = [seat["kind"] for seat in self.body["seats"]]
            choices = [k for k, ply in enumerate(plies) if ply[1] >= 0]  # what seats chose, unlike chance
            if given.plies is None:
                people = [k for k in choices if kinds[plies[k][1]] == "person"]
                target = people[-1:] or choices[-1:]
            else:
                target = choices[-given.plies :][:1] if given.plies <= len(choices) else []
            if result is not None and not target:
                target = [len(plies)]  # nothing was played: only the result is taken back
            if not target:
                raise Refusal("illegal", "there is nothing to undo")
            self._interrupt()
            await self._go(target[0])

    async def redo(self, role: Role, given: schema.RedoIn) -> None:
        async with self.lock:
            self._may_change(role, given.ply)
            redo = self.body["redo"]
            if not redo:
                raise Refusal("illegal", "there is nothing to redo")
            everything = self.body["plies"] + redo
            at, chosen = len(self.body["plies"]), 0
            kinds = [seat["kind"] for seat in self.body["seats"]]
            while at < len(everything):
                at += 1
                chosen += everything[at - 1][1] >= 0
                following = everything[at][1] if at < len(everything) else None
                if following is None or following < 0:
                    continue
                if chosen >= (given.plies or 1) and (given.plies is not None or kinds[following] == "person"):
                    break
            self._interrupt()
            await self._go(at)

    async def resign(self, role: Role, given: schema.ResignIn) -> None:
        async with self.lock:
            self._expect(given.ply)
            if given.seat >= len(self.body["seats"]):
                raise Refusal("bad", f"there is no seat {given.seat}")
            if given.seat not in role.seats or self.body["seats"][given.seat]["kind"] != "person":
                raise Refusal("refused", f"this link may not resign for seat {given.seat}")
            self._interrupt()
            await self._end(given.seat, "resign", "")
            await self._changed()

    async def seat(self, role: Role, given: schema.SeatChange) -> None:
        if given.seat >= len(self.body["seats"]):
            raise Refusal("bad", f"there is no seat {given.seat}")
        if given.seat not in role.seats:
            raise Refusal("refused", f"this link may not change seat {given.seat}")
        sitter = await self._tables.sitter(self.body["game"], given.sitter)
        async with self.lock:
            self._interrupt()
            self._tables.lanes.moves.forget(f"{self.id}:{given.seat}")
            self.body["seats"][given.seat] = sitter
            self.body["problem"] = None
            await self._changed()

    async def run(self, role: Role, given: schema.RunIn) -> None:
        if not role.host and not role.seats:
            raise Refusal("refused", "this link may only watch")
        async with self.lock:
            if given.running is not None:
                self.body["running"] = given.running
                self._steps = 0
                self._stop_clock() if not given.running else self._start_clock()
            if given.speed is not None:
                self.body["speed"] = given.speed
            if given.step:
                self._steps = 1
            self.body["problem"] = None
            self._interrupt()
            await self._changed()

    async def write(self, role: Role, given: schema.Notes) -> None:
        if not role.host and not role.seats:
            raise Refusal("refused", "this link may only watch")
        line = self._line()
        nodes = [(node.parent, node.move) for node in given.nodes]
        await self._tables.lanes.chores.call("tree", {**line, "nodes": nodes})
        async with self.lock:
            await self._tables.store.save_notes(self.id, given.model_dump())
            self.body["notes"] += 1
            await self._changed()

    def _expect(self, ply: int) -> int:
        """The seat to move, if the client knows where the game stands."""
        if self.body["result"] is not None or self.turn == -2:
            raise Refusal("closed", "the game is over")
        if ply != len(self.body["plies"]):
            raise Refusal("illegal", f"the game has moved on: {len(self.body['plies'])} moves were made, not {ply}")
        return self.turn

    def _may_change(self, role: Role, ply: int) -> None:
        others = [k for k, seat in enumerate(self.body["seats"]) if seat["kind"] == "person" and k not in role.seats]
        if not role.host and (not role.seats or others):
            raise Refusal("refused", "only the host may take moves back at a table with other people")
        if ply != len(self.body["plies"]):
            raise Refusal("illegal", f"the game has moved on: {len(self.body['plies'])} moves were made, not {ply}")

    # ---- what happens then ----

    def _apply(self, after: dict[str, Any], value: Any, seconds: float | None) -> None:
        body = self.body
        self._move_clock()
        for place, (move, mover) in enumerate(zip(after["moves"], after["movers"], strict=True)):
            body["plies"].append([move, mover, value if place == 0 else None, seconds if place == 0 else None])
        body["redo"], body["look"], body["problem"] = [], after["look"], None
        self._finish()

    def _finish(self) -> None:
        look = self.body["look"]
        if look["turn"] == -2 and self.body["result"] is None:
            self.body["result"] = {"scores": look["scores"], "ending": "rules", "seat": None, "reason": look["ending"]}
            self._stop_clock()

    async def _go(self, ply: int) -> None:
        """Stand after that many moves of all that were made; the others can be made again."""
        body = self.body
        everything = body["plies"] + body["redo"]
        plies, redo = everything[:ply], everything[ply:]
        line = self._line() | {"moves": [each[0] for each in plies]}
        look = await self._tables.lanes.rules.call("look", line)
        self._stop_clock()
        body["plies"], body["redo"], body["look"], body["result"], body["problem"] = plies, redo, look, None, None
        turn = look["turn"]
        if turn >= 0 and body["seats"][turn]["kind"] == "agent" and redo:
            body["running"] = False  # or it would make a move again at once
        self._finish()
        self._start_clock()
        await self._changed()

    async def _end(self, seat: int, ending: str, reason: str) -> None:
        scores = await self._tables.lanes.rules.call("forfeit", {"game": self.body["game"], "seat": seat})
        self._stop_clock()
        self.body["result"] = {"scores": scores, "ending": ending, "seat": seat, "reason": reason}

    async def _changed(self) -> None:
        """Save, tell, and let agents move."""
        self.body["version"] += 1
        self.body["updated"] = time.time()
        await self._tables.store.save(self.id, self.body, self.body["result"] is not None)
        self.tell()
        self.wake()

    def tell(self) -> None:
        for listener in list(self.listeners):
            listener(self)

    # ---- agents ----

    def wake(self) -> None:
        """Let an agent move if it is its turn; called whenever somebody looks."""
        self.seen = time.monotonic()
        self._set_flag()
        if self._task is None and self._agent_to_move() is not None:
            self._task = asyncio.create_task(self._drive())
            self._task.add_done_callback(self._driven)

    def _agent_to_move(self) -> int | None:
        turn, body = self.turn, self.body
        if turn < 0 or body["seats"][turn]["kind"] != "agent" or not (body["running"] or self._steps):
            return None
        alone = all(seat["kind"] == "agent" for seat in body["seats"])
        if alone and not self.listeners and time.monotonic() - self.seen > UNWATCHED:
            return None
        return turn

    def _interrupt(self) -> None:
        """End what an agent is doing; only under the lock, so that no move is half made."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        self.thinking = None

    def _driven(self, task: asyncio.Task[None]) -> None:
        if self._task is task:
            self._task = None
            self.thinking = None
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error

    async def _drive(self) -> None:
        while (seat := self._agent_to_move()) is not None:
            self.thinking = seat
            self.tell()
            began, version = time.monotonic(), self.body["version"]
            try:
                after = await self._think(seat)
                problem = None
            except Refusal as error:
                after, problem = None, error.message
            if (rest := self.body["speed"] - (time.monotonic() - began)) > 0 and after is not None:
                await asyncio.sleep(rest)
            async with self.lock:
                if self.body["version"] != version:
                    continue
                self.thinking = None
                self._steps = max(0, self._steps - 1)
                if after is None:
                    self.body["running"], self.body["problem"] = False, problem
                else:
                    self._apply(after, after["value"], after["seconds"])
                self.body["version"] += 1
                self.body["updated"] = time.time()
                await self._tables.store.save(self.id, self.body, self.body["result"] is not None)
            self.tell()
            self._set_flag()

    async def _think(self, seat: int) -> Any:
        sitter, clock = self.body["seats"][seat], self._clocks()
        limit = dict(sitter["limit"] or {})
        if clock is not None:
            limit["clock"] = {"left": max(0.0, clock["left"][seat]), "increment": clock["increment"]}
        args = self._line() | {
            "key": f"{self.id}:{seat}",
            "agent": sitter["agent"],
            "seed": self.body["seed"],
            "limit": limit or None,
            "most": self._tables.settings.limits.think_seconds,
        }
        async with self._tables.thinkers:
            patience = self._tables.settings.limits.think_seconds + 60
            return await self._tables.lanes.moves.call("act", args, home=f"{self.id}:{seat}", patience=patience)

    # ---- clocks ----

    def _spent(self) -> float | None:
        clock = self.body["clock"]
        return None if clock is None or clock["since"] is None else max(0.0, time.time() - clock["since"])

    def _clocks(self) -> dict[str, Any] | None:
        clock = self.body["clock"]
        if clock is None:
            return None
        left, turn = list(clock["left"]), self.turn
        active = turn if clock["since"] is not None and turn >= 0 else None
        if active is not None:
            left[active] = max(0.0, left[active] - (self._spent() or 0.0))
        return {"left": left, "increment": clock["increment"], "active": active, "at": time.time() * 1000}

    def _move_clock(self) -> None:
        """The seat to move has moved; from the first move on, somebody's clock runs."""
        clock, turn = self.body["clock"], self.turn
        if clock is None:
            return
        if clock["since"] is not None and turn >= 0:
            clock["left"][turn] = max(0.0, clock["left"][turn] - (self._spent() or 0.0)) + clock["increment"]
        clock["since"] = time.time() if self.body["running"] else None

    def _stop_clock(self) -> None:
        clock = self.body["clock"]
        if clock is not None and clock["since"] is not None:
            if self.turn >= 0:
                clock["left"][self.turn] = max(0.0, clock["left"][self.turn] - (self._spent() or 0.0))
            clock["since"] = None

    def _start_clock(self) -> None:
        clock = self.body["clock"]
        if clock is not None and clock["since"] is None and self.body["plies"] and self.body["running"]:
            clock["since"] = time.time()

    def _set_flag(self) -> None:
        """Have the game end when the running clock does."""
        if self._flag is not None:
            self._flag.cancel()
            self._flag = None
        clocks = self._clocks()
        if clocks is not None and clocks["active"] is not None:
            seat, ply = clocks["active"], len(self.body["plies"])
            loop = asyncio.get_running_loop()
            self._flag = loop.call_later(clocks["left"][seat], lambda: self._tables.spawn(self._fall(seat, ply)))

    async def _fall(self, seat: int, ply: int) -> None:
        async with self.lock:
            clocks = self._clocks()
            if clocks is None or clocks["active"] != seat or len(self.body["plies"]) != ply or clocks["left"][seat] > 0:
                return
            self._interrupt()
            await self._end(seat, "time", "")
            await self._changed()


def summary(body: dict[str, Any]) -> dict[str, Any]:
    known = {name: body[name] for name in ("id", "game", "title", "seats", "result", "created", "updated")}
    turn = -2 if body["result"] else body["look"]["turn"]
    return known | {"plies": len(body["plies"]), "turn": turn, "key": body["keys"]["host"]}


class Tables:
    """All tables of a server; those in use are in memory."""

    def __init__(self, settings: Settings, lanes: Lanes, store: TableStore):
        self.settings, self.lanes, self.store = settings, lanes, store
        self.thinkers = asyncio.Semaphore(settings.limits.moves_at_once)
        self._open: dict[str, Table] = {}
        self._loading: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._permitted: dict[tuple[str, str], str] = {}

    def spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def permit(self, game: str, agent: str) -> str:
        """The proper text of an agent's expression, if clients may use it for that game."""
        known = self._permitted.get((game, agent))
        if known is None:
            known = await self.lanes.chores.call("permit", {"game": game, "agent": agent})
            if len(self._permitted) > 5000:
                self._permitted.clear()
            self._permitted[game, agent] = known
        return known

    async def sitter(self, game: str, given: schema.SeatIn) -> dict[str, Any]:
        """Who sits on a seat, checked."""
        if given.kind == "person":
            if given.agent is not None:
                raise Refusal("bad", "a seat of a person has no agent")
            return {"kind": "person", "name": given.name, "agent": None, "limit": None}
        if given.agent is None:
            raise Refusal("bad", "name the agent of the seat, such as mcts(seconds=1)")
        agent = await self.permit(game, given.agent)
        limit = given.limit.model_dump(exclude_none=True) if given.limit else None
        if limit and "seconds" in limit:
            limit["seconds"] = min(limit["seconds"], self.settings.limits.think_seconds)
        return {"kind": "agent", "name": given.name, "agent": agent, "limit": limit or None}

    async def create(self, given: schema.TableIn) -> Table:
        if await self.store.count() >= self.settings.limits.tables:
            raise Refusal("limit", "there are too many tables; delete some first")
        seed = secrets.randbits(63) if given.seed is None else given.seed
        line = {"game": given.game, "position": given.position, "moves": given.moves, "seed": seed}
        begun = await self.lanes.rules.call("start", line)
        if len(given.seats) > begun["seats"]:
            raise Refusal("bad", f"{begun['game']} has {begun['seats']} seats, not {len(given.seats)}")
        people = [schema.SeatIn(kind="person")] * (begun["seats"] - len(given.seats))
        seats = [await self.sitter(begun["game"], seat) for seat in [*given.seats, *people]]
        plies = zip([*given.moves, *begun["moves"]], begun["movers"], strict=True)
        clock = None
        if given.clock is not None:
            left = [given.clock.seconds] * begun["seats"]
            clock = {"left": left, "increment": given.clock.increment, "since": None}
        now = time.time()
        body = {
            "id": secrets.token_urlsafe(9),
            "version": 0,
            "game": begun["game"],
            "title": begun["title"],
            "position": given.position,
            "plies": [[move, mover, None, None] for move, mover in plies],
            "redo": [],
            "look": begun["look"],
            "seats": seats,
            "keys": {
                "host": secrets.token_urlsafe(12),
                "watch": secrets.token_urlsafe(12),
                "seats": [secrets.token_urlsafe(12) for _ in seats],
            },
            "seed": seed,
            "clock": clock,
            "result": None,
            "running": given.running,
            "speed": given.speed,
            "problem": None,
            "created": now,
            "updated": now,
            "notes": 0,
        }
        table = Table(self, body)
        self._open[table.id] = table
        async with table.lock:
            table._finish()
            await table._changed()
        return table

    async def open(self, id_: str) -> Table:
        table = self._open.get(id_)
        if table is None:
            async with self._loading.setdefault(id_, asyncio.Lock()):
                table = self._open.get(id_)
                if table is None:
                    body = await self.store.load(id_)
                    if body is None:
                        self._loading.pop(id_, None)
                        raise Refusal("unknown", f"there is no table '{id_}'; it may have been deleted")
                    table = self._open[id_] = Table(self, body)
            self._loading.pop(id_, None)
        table.wake()
        return table

    async def delete(self, table: Table) -> None:
        async with table.lock:
            table._interrupt()
            self._open.pop(table.id, None)
            await self.store.delete(table.id)

    async def list(self, count: int, before: float | None) -> list[dict[str, Any]]:
        return [summary(body) for body in await self.store.recent(count, before)]

    def tend(self) -> None:
        """Forget tables that nobody has used for a while; they are in the file."""
        now = time.monotonic()
        for id_, table in list(self._open.items()):
            if not table.used and now - table.seen > KEPT:
                del self._open[id_]

    async def close(self) -> None:
        for table in self._open.values():
            async with table.lock:
                table._interrupt()
                if table._flag is not None:
                    table._flag.cancel()
        for task in list(self._tasks):
            with contextlib.suppress(asyncio.CancelledError):
                task.cancel()
                await task
