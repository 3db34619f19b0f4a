"""What workers say about games and agents, remembered until files change."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

import msgspec

from meijin.web.server.errors import Refusal
from meijin.web.server.lanes import PATIENCE, Lanes, forget

MOST = 300  # answers
COMPILING = 600.0  # seconds that a game may take to become WebAssembly


class Catalogue:
    def __init__(self, lanes: Lanes):
        self._lanes = lanes
        self._known: OrderedDict[tuple[str, str], asyncio.Future[bytes]] = OrderedDict()
        self._compiling = asyncio.Semaphore(1)

    def forget(self) -> None:
        self._known.clear()

    async def games(self) -> bytes:
        return await self._ask("list_games", "")

    async def description(self, game: str) -> bytes:
        return await self._ask("describe", game)

    async def agents(self, game: str) -> bytes:
        return await self._ask("list_agents", game)

    async def module(self, game: str) -> bytes:
        """Compiling takes a while; it happens where nobody waits for a move."""
        return await self._ask("module", game)

    async def _ask(self, call: str, game: str) -> bytes:
        """The answer as JSON; those who ask at the same time share one."""
        key = call, game
        known = self._known.get(key)
        if known is None or (known.done() and (known.cancelled() or known.exception() is not None)):
            known = self._known[key] = asyncio.ensure_future(self._fetch(call, game))
            known.add_done_callback(forget)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        try:
            return await asyncio.shield(known)
        except asyncio.CancelledError:  # the server ends, and a game takes long to compile
            raise Refusal("closed", "the server is ending") from None

    async def _fetch(self, call: str, game: str) -> bytes:
        found: Any
        if call == "module":
            async with self._compiling:  # one after the other: a page asks for every game that is opened
                found = await self._lanes.analysis.call(call, {"game": game}, patience=COMPILING)
        else:
            found = await self._lanes.chores.call(call, {"game": game}, patience=PATIENCE)
        return found if isinstance(found, bytes) else msgspec.json.encode(found)
