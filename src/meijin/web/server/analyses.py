"""Analyses: a bounded number run at the same time, the rest wait their turn, fairly between clients."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any

from meijin.web.server import messages
from meijin.web.server.table import SLACK
from meijin.web.server.tables import Tables


class Turns:
    """So many at a time; the next is of the owner with the fewest running, and of those who waited longest."""

    def __init__(self, places: int):
        self._places = places
        self._running: Counter[Hashable] = Counter()
        self._waiting: deque[tuple[Hashable, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def turn(self, owner: Hashable) -> AsyncIterator[None]:
        if self._running.total() >= self._places:
            place = asyncio.get_running_loop().create_future()
            self._waiting.append((owner, place))
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():  # it was its turn just now
                    self._leave(owner)
                self._waiting = deque(each for each in self._waiting if each[1] is not place)
                raise
        else:
            self._running[owner] += 1
        try:
            yield
        finally:
            self._leave(owner)

    def _leave(self, owner: Hashable) -> None:
        self._running[owner] -= 1
        if not self._running[owner]:
            del self._running[owner]
        waiting = [each for each in self._waiting if not each[1].done()]
        if waiting and self._running.total() < self._places:
            first = min(waiting, key=lambda each: self._running[each[0]])
            self._waiting = deque(each for each in waiting if each is not first)
            self._running[first[0]] += 1
            first[1].set_result(None)


class Analyses:
    def __init__(self, tables: Tables):
        self._tables, self._limits = tables, tables.settings.limits
        self._turns = Turns(self._limits.analyses)

    async def run(self, owner: str, given: messages.Analyse, part: Callable[[bytes], None]) -> None:
        """Analyse a position; `part` gets JSON objects. Cancelling stops it at once."""
        agent = await self._tables.permit(given.at.game, given.agent)
        most = self._limits.think_seconds
        limit: dict[str, Any] = given.limit.model_dump(exclude_none=True) if given.limit else {}
        if "seconds" in limit:
            limit["seconds"] = min(limit["seconds"], most)
        home = f"{owner}:{agent}"
        asked = {"key": home, "agent": agent, "seed": 0, "limit": limit or None, "every": given.every}
        await self.ask(owner, "watch", given.at.model_dump() | asked, part, home)

    async def ask(
        self, owner: str, call: str, asked: dict[str, Any], part: Callable[[Any], None], home: str | None = None
    ) -> None:
        """Anything that takes as long as an analysis and is told as it goes."""
        most = self._limits.think_seconds
        async with self._turns.turn(owner):
            lane = self._tables.lanes.analysis
            await lane.call(call, asked | {"most": most}, home=home, part=part, patience=most + SLACK)

    def forget(self, owner: str) -> None:
        """The owner is gone: close its agents."""
        self._tables.lanes.analysis.forget(f"{owner}:")
