"""The WebSocket: analyses as they come, tables as they change.

A client that reads slowly gets the newest news of each kind and not all of them; one that does not read at all is let
go. When a client is gone, whatever was done for it alone is stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import msgspec
from pydantic import ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from meijin.web.server import messages
from meijin.web.server.errors import Refusal
from meijin.web.server.guard import Rates
from meijin.web.server.jobs import Event, Job
from meijin.web.server.table import Table

MOST_PENDING = 1000  # messages that wait to be sent
MOST_TASKS = 64  # requests of one client at the same time
MOST_JOINED = 64  # tables and jobs that one client is told about


class Outbox:
    """Messages on their way to a client. Of those with equal keys only the newest is sent."""

    def __init__(self, socket: WebSocket, seconds: float):
        self._socket, self._seconds = socket, seconds
        self._pending: OrderedDict[Hashable, bytes] = OrderedDict()
        self._filled = asyncio.Event()
        self._serial = 0

    def put(self, message: dict[str, Any] | bytes, key: Hashable = None) -> None:
        data = message if isinstance(message, bytes) else msgspec.json.encode(message)
        if key is None:
            self._serial += 1
            key = self._serial
        self._pending[key] = data
        self._filled.set()

    @property
    def full(self) -> bool:
        return len(self._pending) > MOST_PENDING

    async def run(self) -> None:
        """Send until the client is gone or too slow."""
        while True:
            await self._filled.wait()
            while self._pending:
                _, data = self._pending.popitem(last=False)
                async with asyncio.timeout(self._seconds):
                    await self._socket.send_text(data.decode())
            self._filled.clear()


_serial = itertools.count(1)


class Connection:
    """One client."""

    def __init__(self, socket: WebSocket):
        state = socket.app.state
        self._socket, self._tables, self._analyses = socket, state.tables, state.analyses
        self._jobs, self._designer, self._limits = state.jobs, state.designer, state.settings.limits
        self._full: bool = socket.scope["meijin.full"]
        self._name = f"connection {next(_serial)}"
        self._out = Outbox(socket, self._limits.send_seconds)
        self._rates = Rates(self._limits.requests_burst, self._limits.requests_rate)
        self._tasks: dict[int, asyncio.Task[None]] = {}  # by the message's id
        self._leaving: dict[int, Callable[[], None]] = {}  # how to leave what was joined or followed

    async def run(self) -> None:
        reading, writing = asyncio.create_task(self._read()), asyncio.create_task(self._out.run())
        try:
            await asyncio.wait([reading, writing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, writing, *self._tasks.values()):
                task.cancel()
            await asyncio.gather(reading, writing, *self._tasks.values(), return_exceptions=True)
            for number in list(self._leaving):
                self._leave(number)
            self._analyses.forget(self._name)
            if self._socket.client_state is WebSocketState.CONNECTED:
                with contextlib.suppress(RuntimeError, OSError, TimeoutError):
                    async with asyncio.timeout(1):
                        await self._socket.close(1008, "too slow, or too much")

    async def _read(self) -> None:
        while not self._out.full:
            try:
                message = await self._socket.receive()
            except (WebSocketDisconnect, RuntimeError):
                return
            if message["type"] == "websocket.disconnect":
                return
            data = message.get("text") or message.get("bytes") or b""
            number = None
            try:
                if not self._rates.allows(""):
                    raise Refusal("limit", "too many messages; wait a moment")
                number = _number(data)
                self._begin(messages.request.validate_json(data))
            except ValidationError as error:
                self._error(number, Refusal("bad", _told(error)))
            except Refusal as error:
                self._error(number, error)

    def _begin(self, given: Any) -> None:
        if isinstance(given, messages.Ping):
            self._out.put({"id": given.id, "type": "pong"})
            return
        if isinstance(given, messages.Stop):
            self._stop(given)
            return
        if given.id in self._tasks or given.id in self._leaving:
            raise Refusal("bad", f"id {given.id} is in use; choose another")
        if len(self._tasks) >= MOST_TASKS:
            raise Refusal("limit", f"{len(self._tasks)} requests are not answered yet; wait for some of them")
        task = self._tasks[given.id] = asyncio.create_task(self._do(given))
        task.add_done_callback(lambda _: self._tasks.pop(given.id, None))

    async def _do(self, given: Any) -> None:
        try:
            if isinstance(given, messages.Analyse | messages.Opinions | messages.Boards):
                await self._analyse(given)
            elif isinstance(given, messages.LookUp):
                await self._tables.expect_game(given.at.game, self._full)
                look = await self._tables.lanes.rules(given.at.game).call("look", given.at.model_dump())
                self._out.put({"id": given.id, "type": "look", "look": look})
            elif isinstance(given, messages.Join):
                await self._join(given)
            elif isinstance(given, messages.Follow):
                self._follow(given)
            else:
                table = await self._tables.open(given.table)
                role = table.role(given.key, self._full)
                await asyncio.shield(self._tables.spawn(getattr(table, given.type)(role, given)))
                self._out.put({"id": given.id, "type": "done"})
        except Refusal as error:
            self._error(given.id, error)

    def _error(self, number: int | None, error: Refusal) -> None:
        self._out.put({"id": number, "type": "error", **error.to_dict()})

    def _stop(self, given: messages.Stop) -> None:
        if (task := self._tasks.get(given.target)) is not None:
            task.cancel()
        self._leave(given.target)
        self._out.put({"id": given.target, "type": "done"})

    # ---- analyses ----

    async def _analyse(self, given: messages.Analyse | messages.Opinions | messages.Boards) -> None:
        if not self._full:
            raise Refusal("refused", "guests may play and look, but not use the server's agents for analyses")
        if sum(task.get_name() == "analysis" for task in self._tasks.values()) >= self._limits.analyses_each:
            raise Refusal("limit", f"{self._limits.analyses_each} analyses at a time are enough; stop one first")
        task = asyncio.current_task()
        assert task is not None
        task.set_name("analysis")
        if isinstance(given, messages.Analyse):
            head = b'{"id":%d,"type":"analysis",' % given.id

            def part(analysis: bytes) -> None:
                if not task.cancelling():
                    self._out.put(head + analysis[1:], ("analysis", given.id))

            await self._analyses.run(self._name, given, part)
        elif isinstance(given, messages.Opinions):

            def opinion(found: Any) -> None:
                self._out.put({"id": given.id, "type": "opinion", **found})

            about = {"name": given.run, "at": given.at.model_dump()}
            await self._analyses.ask(self._name, "opinions", about, opinion)
        else:

            def boards(found: Any) -> None:
                if not task.cancelling():
                    self._out.put({"id": given.id, "type": "boards", "boards": found}, ("boards", given.id))

            asked = {"name": given.run, "count": given.count, "every": given.every}
            await self._analyses.ask(self._name, "boards", asked, boards)
        self._out.put({"id": given.id, "type": "done"})

    # ---- what is joined or followed ----

    async def _join(self, given: messages.Join) -> None:
        table = await self._tables.open(given.table)
        role = table.role(given.key, self._full)

        def changed(table: Table, thought: bytes | None) -> None:
            if thought is None:
                data = b'{"id":%d,"type":"table","table":' % given.id + table.encoded(role) + b"}"
                self._out.put(data, ("table", given.id))
            elif table.thinking is not None:
                head = b'{"id":%d,"type":"thinking","seat":%d,"analysis":' % (given.id, table.thinking)
                self._out.put(head + thought + b"}", ("thinking", given.id))

        def leave() -> None:
            table.listeners.discard(changed)
            table.tell()

        self._enter(given.id, leave)
        table.listeners.add(changed)
        table.tell()
        table.wake()

    def _follow(self, given: messages.Follow) -> None:
        if not self._full:
            raise Refusal("refused", "guests may not follow what else goes on here")
        if given.what == "designer":

            def told(event: Event) -> None:
                key = ("progress", given.id, event.get("game")) if event["event"] == "check" else None
                self._out.put({"id": given.id, "type": "event", "event": event}, key)

            self._enter(given.id, lambda: self._designer.listeners.discard(told))
            self._designer.listeners.add(told)
            self._out.put({"id": given.id, "type": "designer", "designer": self._designer.public()})
            return
        job = self._jobs.get(given.what, given.name)
        if job is None:
            raise Refusal("unknown", f"this server has begun no {given.what} '{given.name}'")

        def happened(job: Job, event: Event) -> None:
            key = ("progress", given.id) if event["event"] == "progress" else None
            self._out.put({"id": given.id, "type": "event", "event": event}, key)

        listeners = job.listeners
        self._enter(given.id, lambda: listeners.discard(happened))
        listeners.add(happened)
        self._out.put({"id": given.id, "type": "job", "job": job.public(), "events": list(job.events)})

    def _enter(self, number: int, leave: Callable[[], None]) -> None:
        if len(self._leaving) >= MOST_JOINED:
            raise Refusal("limit", f"{MOST_JOINED} tables and jobs at a time are enough; leave one first")
        self._leaving[number] = leave

    def _leave(self, number: int) -> None:
        if (leave := self._leaving.pop(number, None)) is not None:
            leave()


def _number(data: str | bytes) -> int | None:
    """The id of a message that may be wrong in every other respect."""
    try:
        number = msgspec.json.decode(data)["id"]
    except (msgspec.DecodeError, TypeError, KeyError, IndexError, UnicodeError, RecursionError):
        return None
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 53 else None


def _told(error: ValidationError) -> str:
    return explained(error.errors(include_url=False, include_context=False, include_input=False))


def explained(problems: Any) -> str:
    """What is wrong with a message, in words."""
    found = []
    for each in list(problems)[:3]:
        where = ".".join(str(part) for part in each["loc"])
        found.append(f"{where}: {each['msg']}" if where else str(each["msg"]))
    return "; ".join(found).encode("utf-8", "replace").decode()[:600]
