"""One table: a live game with seats, clocks and links.

A table changes under its lock, is saved, and is then told to everybody at it. Agents move in a task of the table, which
whatever else happens there may interrupt. Chance is rolled from the table's seed.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from meijin.web.server import clock, schema
from meijin.web.server.errors import Refusal

if TYPE_CHECKING:
    from meijin.web.server.tables import Tables

UNWATCHED = 30.0  # seconds that agents go on among themselves when nobody looks
THOUGHTS = 0.25  # seconds between two reports of what an agent thinks
TELL = 0.1  # seconds after which people are told that an agent thinks
SLACK = 60.0  # seconds that an agent may take to answer after its time is up; it may have to be compiled

Listener = Callable[["Table", bytes | None], None]  # with what an agent thinks, or None: the table has changed


@dataclass(frozen=True)
class Role:
    """What the holder of a key may do."""

    host: bool
    seats: frozenset[int]

    def expect_more_than_watching(self) -> None:
        if not self.host and not self.seats:
            raise Refusal("refused", "this link may only watch")


class Table:
    def __init__(self, tables: Tables, body: dict[str, Any]):
        self._tables, self.body = tables, body
        self.lock = asyncio.Lock()
        self.listeners: set[Listener] = set()
        self.seen = time.monotonic()
        self.thinking: int | None = None
        self.deleted = False
        self._task: asyncio.Task[None] | None = None
        self._steps = 0  # moves that agents make although the table is paused
        self._flag: asyncio.TimerHandle | None = None
        self._encoded: tuple[Any, bytes] | None = None
        clock.wake(body["clock"])

    # ---- what it is ----

    @property
    def id(self) -> str:
        return str(self.body["id"])

    @property
    def turn(self) -> int:
        """The seat to move; below 0 when there is none."""
        return -2 if self.body["result"] else int(self.body["look"]["turn"])

    @property
    def waits_for_person(self) -> bool:
        """Whether a person is to move and agents after that."""
        return self._person(self.turn) and any(seat["kind"] == "agent" for seat in self.body["seats"])

    @property
    def used(self) -> bool:
        return bool(self.listeners) or self._task is not None or self.lock.locked()

    def line(self) -> dict[str, Any]:
        moves = [ply[0] for ply in self.body["plies"]]
        return {"game": self.body["game"], "position": self.body["position"], "moves": moves}

    def role(self, key: str | None, full: bool) -> Role:
        """What a key allows; with full access none is needed."""
        keys, everybody = self.body["keys"], frozenset(range(len(self.body["seats"])))
        if key is None and full:
            return Role(True, everybody)
        given = (key or "").encode()
        if secrets.compare_digest(given, keys["host"].encode()):
            return Role(True, everybody)
        if secrets.compare_digest(given, keys["watch"].encode()):
            return Role(False, frozenset())
        for seat, mine in enumerate(keys["seats"]):
            if secrets.compare_digest(given, mine.encode()):
                return Role(False, frozenset({seat}))
        raise Refusal("refused", "this link does not open the table; ask for a new one")

    def encoded(self, role: Role) -> bytes:
        """The table as JSON, as the holder of that role sees it."""
        state = self.body["version"], self.thinking, len(self.listeners)
        if self._encoded is None or self._encoded[0] != state or self.body["clock"] is not None:
            self._encoded = state, msgspec.json.encode(self._public())
        mine = {"you": sorted(role.seats), "host": role.host, "keys": self.body["keys"] if role.host else None}
        return self._encoded[1][:-1] + b"," + msgspec.json.encode(mine)[1:]

    def _public(self) -> dict[str, Any]:
        body, plies = self.body, self.body["plies"]
        same = ("id", "version", "game", "title", "position", "look", "seats", "result", "running", "speed", "problem")
        return {name: body[name] for name in (*same, "created", "updated", "notes")} | {
            "moves": [ply[0] for ply in plies],
            "movers": [ply[1] for ply in plies],
            "values": [ply[2] for ply in plies],
            "seconds": [ply[3] for ply in plies],
            "random": [k for k, ply in enumerate(plies) if any(ply[4:])],  # older tables do not say
            "redo": [ply[0] for ply in body["redo"]],
            "clocks": clock.shown(body["clock"], self.turn),
            "thinking": self.thinking,
            "people": len(self.listeners),
        }

    # ---- what people do ----

    async def play(self, role: Role, given: schema.PlayIn) -> None:
        async with self.lock:
            self._expect(given.ply)
            seat = self.turn
            if seat not in role.seats:
                raise Refusal("illegal", "this link may not play for the seat to move")
            if self.body["seats"][seat]["kind"] != "person":
                raise Refusal("illegal", "an agent plays the seat to move; take it over first")
            asked = self.line() | {"move": given.move, "seed": self.body["seed"]}
            after = await self._tables.lanes.rules(self.body["game"]).call("play", asked)
            self._apply(after | {"value": None, "seconds": clock.spent(self.body["clock"]), "random": False})
            await self._changed()

    async def undo(self, role: Role, given: schema.UndoIn) -> None:
        async with self.lock:
            self._may_go(role, given.ply)
            plies = self.body["plies"]
            chosen = [k for k, ply in enumerate(plies) if ply[1] >= 0]  # what seats chose, unlike chance
            if given.plies is None:
                target = [k for k in chosen if self._person(plies[k][1])][-1:] or chosen[-1:]
            else:
                target = chosen[-given.plies :][:1] if given.plies <= len(chosen) else []
            if not target and self.body["result"] is not None:
                target = [len(plies)]  # somebody resigned before anything was played
            if not target:
                raise Refusal("illegal", "there is nothing to undo")
            await self._go(target[0])

    async def redo(self, role: Role, given: schema.RedoIn) -> None:
        async with self.lock:
            self._may_go(role, given.ply)
            everything = self.body["plies"] + self.body["redo"]
            at, chosen = len(self.body["plies"]), 0
            if at == len(everything):
                raise Refusal("illegal", "there is nothing to redo")
            while at < len(everything):
                chosen += everything[at][1] >= 0
                at += 1
                following = everything[at][1] if at < len(everything) else -1
                wanted = chosen == given.plies if given.plies else self._person(following)
                if chosen and following >= 0 and wanted:
                    break
            await self._go(at)

    async def resign(self, role: Role, given: schema.ResignIn) -> None:
        async with self.lock:
            self._expect(given.ply)
            self._expect_seat(given.seat)
            if given.seat not in role.seats or not self._person(given.seat):
                raise Refusal("refused", "this link may not resign for that seat")
            await self._end(given.seat, "resign")
            await self._changed()

    async def seat(self, role: Role, given: schema.SeatChange) -> None:
        self._expect_seat(given.seat)
        if given.seat not in role.seats:
            raise Refusal("refused", "this link may not change that seat")
        sitter = await self._tables.sitter(self.body["game"], given.sitter)
        async with self.lock:
            self._interrupt()
            self._tables.lanes.moves.forget(f"{self.id}:{given.seat}")
            self.body["seats"][given.seat] = sitter
            self.body["problem"] = None
            await self._changed()

    async def run(self, role: Role, given: schema.PaceIn) -> None:
        role.expect_more_than_watching()
        async with self.lock:
            body = self.body
            if given.running is not None:
                body["running"] = given.running
                if not given.running:
                    clock.stop(body["clock"], self.turn)
                elif body["plies"] and self.turn >= 0:
                    clock.start(body["clock"])
            if given.speed is not None:
                body["speed"] = given.speed
            self._steps = int(given.step)
            body["problem"] = None
            self._interrupt()
            await self._changed()

    async def write(self, role: Role, notes: schema.Notes) -> None:
        """Keep notes; the rules check every move of them."""
        role.expect_more_than_watching()
        nodes = [(node.parent, node.move) for node in notes.nodes]
        await self._tables.lanes.chores.call("tree", self.line() | {"nodes": nodes})
        async with self.lock:
            await self._tables.store.save_notes(self.id, notes.model_dump())
            self.body["notes"] += 1
            await self._changed()

    # ---- what may not be done ----

    def _expect(self, ply: int) -> None:
        """Raise unless the game goes on and the client knows where it stands."""
        if self.turn == -2:
            raise Refusal("closed", "the game is over")
        self._expect_ply(ply)

    def _expect_ply(self, ply: int) -> None:
        if self.deleted:
            raise Refusal("unknown", "this table was deleted")
        if ply != len(self.body["plies"]):
            raise Refusal("illegal", f"the game has moved on: {len(self.body['plies'])} moves were made, not {ply}")

    def _expect_seat(self, seat: int) -> None:
        if seat >= len(self.body["seats"]):
            raise Refusal("bad", f"there is no seat {seat}; the game has {len(self.body['seats'])}")

    def _may_go(self, role: Role, ply: int) -> None:
        """Whether moves may be taken back: by the host, or by somebody who plays against agents alone."""
        role.expect_more_than_watching()
        if not role.host and any(self._person(k) for k in range(len(self.body["seats"])) if k not in role.seats):
            raise Refusal("refused", "only the host may take moves back at a table with other people")
        self._expect_ply(ply)

    def _person(self, seat: int) -> bool:
        return seat >= 0 and self.body["seats"][seat]["kind"] == "person"

    # ---- what happens then; all of it under the lock ----

    def _apply(self, after: dict[str, Any]) -> None:
        """A seat has moved, and chance after it."""
        body = self.body
        clock.press(body["clock"], self.turn)
        for k, (move, mover) in enumerate(zip(after["moves"], after["movers"], strict=True)):
            said = (after["value"], after["seconds"], after["random"]) if k == 0 else (None, None, False)
            body["plies"].append([move, mover, *said])
        body["redo"], body["look"], body["problem"] = [], after["look"], None
        self.finish()
        if body["running"] and self.turn >= 0:
            clock.start(body["clock"])

    def finish(self) -> None:
        """Note the result if the rules say that the game is over."""
        look = self.body["look"]
        if look["turn"] == -2 and self.body["result"] is None:
            self.body["result"] = {"scores": look["scores"], "ending": "rules", "seat": None, "reason": look["ending"]}

    async def _go(self, ply: int) -> None:
        """Stand after that many of all moves that were made; the others can be made again."""
        self._interrupt()
        body = self.body
        everything = body["plies"] + body["redo"]
        line = self.line() | {"moves": [each[0] for each in everything[:ply]]}
        look = await self._tables.lanes.rules(body["game"]).call("look", line)
        clock.stop(body["clock"], self.turn)
        body["plies"], body["redo"] = everything[:ply], everything[ply:]
        body["look"], body["result"], body["problem"] = look, None, None
        if body["redo"] and look["turn"] >= 0 and not self._person(look["turn"]):
            body["running"] = False  # or the agent would move again at once
        self.finish()
        if body["running"] and body["plies"] and self.turn >= 0:
            clock.start(body["clock"])
        await self._changed()

    async def _end(self, seat: int, ending: str) -> None:
        """The seat loses."""
        self._interrupt()
        asked = {"game": self.body["game"], "seat": seat}
        scores = await self._tables.lanes.rules(self.body["game"]).call("forfeit", asked)
        clock.stop(self.body["clock"], self.turn)
        self.body["result"] = {"scores": scores, "ending": ending, "seat": seat, "reason": ""}

    async def _changed(self) -> None:
        """Save, tell, and let agents move."""
        await self._save()
        self.tell()
        self.wake()

    async def _save(self) -> None:
        if self.deleted:
            raise Refusal("unknown", "this table was deleted")
        self.body["version"] += 1
        self.body["updated"] = time.time()
        try:
            await self._tables.store.save(self.body)
        except Refusal:  # a full disk: what was not saved has not happened
            self.body = await self._tables.store.load(self.id) or self.body
            self.body["version"] += 1  # for those who were told already
            raise

    def tell(self, thought: bytes | None = None) -> None:
        for listener in list(self.listeners):
            listener(self, thought)

    # ---- agents ----

    def wake(self) -> None:
        """Somebody looks: go on if it is an agent's turn."""
        self.seen = time.monotonic()
        self._set_flag()
        if self._task is None and not self.deleted and self._agent_to_move() is not None:
            self._task = asyncio.create_task(self._drive())
            self._task.add_done_callback(self._driven)

    def _agent_to_move(self) -> int | None:
        turn, body = self.turn, self.body
        if turn < 0 or self._person(turn) or not (body["running"] or self._steps):
            return None
        alone = not any(self._person(seat) for seat in range(len(body["seats"])))
        if alone and not self.listeners and time.monotonic() - self.seen > UNWATCHED:
            return None
        return turn

    def _interrupt(self) -> None:
        """End what an agent is doing. Under the lock, so that no move is half made."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        self.thinking = None

    def _driven(self, task: asyncio.Task[None]) -> None:
        if self._task is task:
            self._task = self.thinking = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._tables.report(error)

    async def _drive(self) -> None:
        while (seat := self._agent_to_move()) is not None:
            self.thinking = seat
            began, version = time.monotonic(), self.body["version"]
            after, problem = None, None
            telling = asyncio.get_running_loop().call_later(TELL, self.tell)
            try:
                after = await self._think(seat)
            except Refusal as error:
                problem = error.message
            finally:
                telling.cancel()
            if after is not None and (rest := self.body["speed"] - (time.monotonic() - began)) > 0:
                await asyncio.sleep(rest)
            async with self.lock:
                if self.body["version"] != version:  # notes were written meanwhile
                    continue
                self.thinking = None
                self._steps = max(0, self._steps - 1)
                if after is None:
                    self.body["running"], self.body["problem"] = False, problem
                else:
                    self._apply(after)
                await self._save()
            self.tell()
            self._set_flag()

    async def _think(self, seat: int) -> Any:
        sitter, home = self.body["seats"][seat], f"{self.id}:{seat}"
        most = self._tables.settings.limits.think_seconds
        limit = dict(sitter["limit"] or {})
        if (clocks := clock.shown(self.body["clock"], self.turn)) is not None:
            limit["clock"] = {"left": clocks["left"][seat], "increment": clocks["increment"]}
        asked = self.line() | {
            "key": home,
            "agent": sitter["agent"],
            "seed": self.body["seed"],
            "limit": limit or None,
            "most": most,
            "every": THOUGHTS if self.listeners else None,
        }
        async with self._tables.thinkers:
            lane = self._tables.lanes.moves
            return await lane.call("act", asked, home=home, part=self.tell, patience=most + SLACK)

    # ---- clocks ----

    def _set_flag(self) -> None:
        """Have the game end when the running clock does."""
        if self._flag is not None:
            self._flag.cancel()
            self._flag = None
        clocks = clock.shown(self.body["clock"], self.turn)
        if clocks is not None and clocks["active"] is not None and not self.deleted:
            seat, ply = clocks["active"], len(self.body["plies"])
            loop = asyncio.get_running_loop()
            self._flag = loop.call_later(clocks["left"][seat] + 0.01, lambda: self._tables.spawn(self._fall(seat, ply)))

    async def _fall(self, seat: int, ply: int) -> None:
        async with self.lock:
            clocks = clock.shown(self.body["clock"], self.turn)
            if clocks is None or clocks["active"] != seat or len(self.body["plies"]) != ply or clocks["left"][seat] > 0:
                return
            await self._end(seat, "time")
            await self._changed()

    async def close(self, deleted: bool = False) -> None:
        """Let go of everything; the table stays in the file unless it was deleted."""
        async with self.lock:
            self.deleted = self.deleted or deleted
            self._interrupt()
            if self._flag is not None:
                self._flag.cancel()
        self._tables.lanes.moves.forget(f"{self.id}:")


def summary(body: dict[str, Any]) -> dict[str, Any]:
    """A table in a list."""
    known = {name: body[name] for name in ("id", "game", "title", "seats", "result", "created", "updated")}
    turn = -2 if body["result"] else body["look"]["turn"]
    return known | {"plies": len(body["plies"]), "turn": turn, "key": body["keys"]["host"]}
