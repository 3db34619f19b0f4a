"""How fast the web server is, and what it costs.

    python benchmarks/web.py [start] [clicks] [games] [sockets] [analyses]

    start     from `meijin serve` to the answers that a page needs before it can be played
    clicks    a person's move over the socket, to its own "done" and to the table that everybody at it sees
    games     after some to warm up, 200 games at once: a client plays random moves against random agents
    sockets   what 1,000 idle connections cost the server
    analyses  ten analyses of ten clients at once: how evenly they share the processor, and what moves wait meanwhile

A client runs in this process and the server in another; both share the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from common import machine, table
from websockets.asyncio.client import ClientConnection, connect

SRC = Path(__file__).parents[1] / "src"
GAME = "connect_four"
PERSON, RANDOM = {"kind": "person"}, {"kind": "agent", "agent": "random"}


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """A server on new files: its address and its process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "meijin", "serve", "--port", "0", "--data", folder, "--runs", f"{folder}/runs"]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SRC), os.environ.get("PYTHONPATH", "")])}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[3].removeprefix("http://").rstrip("/")
            while True:
                with contextlib.suppress(httpx.TransportError):
                    httpx.get(f"http://{address}/api/features")
                    break
            yield address, process.pid
        finally:
            process.terminate()
            process.wait()


class Client:
    """A socket of which every message goes to whoever waits for its id."""

    def __init__(self, raw: ClientConnection):
        self._raw, self._last = raw, 0
        self._queues: dict[int, asyncio.Queue[dict[str, Any]]] = {}
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for data in self._raw:
            message = json.loads(data)
            if (queue := self._queues.get(message["id"])) is not None:
                queue.put_nowait(message)

    async def say(self, type: str, **fields: Any) -> tuple[int, asyncio.Queue[dict[str, Any]]]:
        self._last += 1
        queue = self._queues[self._last] = asyncio.Queue()
        await self._raw.send(json.dumps({"id": self._last, "type": type, **fields}))
        return self._last, queue

    async def ask(self, type: str, **fields: Any) -> dict[str, Any]:
        number, queue = await self.say(type, **fields)
        found = await queue.get()
        del self._queues[number]
        return found


@asynccontextmanager
async def client(address: str) -> AsyncIterator[Client]:
    async with connect(f"ws://{address}/api/socket", max_size=None, ping_interval=None) as raw:
        yield Client(raw)


async def new_table(http: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    while True:
        response = await http.post("/api/tables", json={"game": GAME, **fields})
        if response.status_code == 429:  # so many at once is more than one client may
            await asyncio.sleep(0.2)
            continue
        response.raise_for_status()
        found: dict[str, Any] = response.json()
        return found


async def changed(messages: asyncio.Queue[dict[str, Any]]) -> dict[str, Any]:
    """The next state of a table that was joined."""
    while (message := await messages.get())["type"] != "table":
        pass
    found: dict[str, Any] = message["table"]
    return found


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


# ---- what is measured ----


def start() -> list[list[str]]:
    found: dict[str, list[float]] = {"page": [], "games": [], "first move": []}
    for _ in range(5):
        began = time.perf_counter()
        with server() as (address, _):
            httpx.get(f"http://{address}/")
            found["page"].append(time.perf_counter() - began)
            for path in ("games", f"description?game={GAME}", f"agents?game={GAME}"):
                httpx.get(f"http://{address}/api/{path}", timeout=60)
            found["games"].append(time.perf_counter() - began)
            made = httpx.post(f"http://{address}/api/tables", json={"game": GAME, "seats": [PERSON, RANDOM]}).json()
            httpx.post(f"http://{address}/api/tables/{made['id']}/play", json={"move": 3, "ply": 0}, timeout=60)
            found["first move"].append(time.perf_counter() - began)
    words = {"page": "the first page", "games": "all that the page asks for", "first move": "a first move"}
    return [[f"`meijin serve` to {words[k]}", f"{statistics.median(v):.2f} s"] for k, v in found.items()]


async def clicks(address: str) -> list[list[str]]:
    done, seen = [], []
    async with httpx.AsyncClient(base_url=f"http://{address}", timeout=60) as http, client(address) as me:
        while len(done) < 200:
            made = await new_table(http)
            joined, changes = await me.say("join", table=made["id"])
            now = await changed(changes)
            while now["result"] is None and len(done) < 200:
                ply, move = len(now["moves"]), random.choice(now["look"]["legal"])
                began = time.perf_counter()
                _, answers = await me.say("play", table=made["id"], move=move, ply=ply)
                while len(now["moves"]) == ply:
                    now = await changed(changes)
                seen.append(time.perf_counter() - began)
                assert (await answers.get())["type"] == "done"
                done.append(time.perf_counter() - began)
            await me.say("stop", target=joined)
    return [
        ["a person's move, until the page has the new table: median of 200", ms(statistics.median(seen))],
        ["the same, 99th percentile", ms(percentile(seen, 0.99))],
    ]


async def games(address: str, count: int = 200) -> list[list[str]]:
    waits: list[float] = []
    moves = there = 0
    everybody = asyncio.Event()

    async def play(http: httpx.AsyncClient) -> None:
        nonlocal moves, there
        made = await new_table(http, seats=[PERSON, RANDOM])
        async with client(address) as me:
            _, changes = await me.say("join", table=made["id"])
            now = await changed(changes)
            there += 1
            if there == count:
                everybody.set()
            await everybody.wait()
            while now["result"] is None:
                ply = len(now["moves"])
                await asyncio.sleep(random.uniform(0.5, 1.5))  # a quick person
                began = time.perf_counter()
                await me.say("play", table=made["id"], move=random.choice(now["look"]["legal"]), ply=ply)
                while len(now["moves"]) == ply:
                    now = await changed(changes)
                waits.append(time.perf_counter() - began)
                while now["result"] is None and now["look"]["turn"] != 0:
                    now = await changed(changes)
                moves += 2

    async with httpx.AsyncClient(base_url=f"http://{address}", timeout=120) as http:
        playing = asyncio.gather(*(play(http) for _ in range(count)))
        await everybody.wait()
        began = time.perf_counter()
        await playing
        seconds = time.perf_counter() - began
    return [
        [
            f"{count} games at once ({moves / seconds:.0f} moves a second): a person's move, median",
            ms(statistics.median(waits)),
        ],
        ["the same, 99th percentile", ms(percentile(waits, 0.99))],
    ]


async def warm_games(address: str) -> list[list[str]]:
    await games(address, 20)  # workers start, and load compiled rules
    return await games(address)


async def sockets(address: str, pid: int, count: int = 1000) -> list[list[str]]:
    before = memory(pid)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(count // 50):
            await asyncio.gather(*(stack.enter_async_context(client(address)) for _ in range(50)))
        async with client(address) as one:
            assert (await one.ask("ping"))["type"] == "pong"
        cost = memory(pid) - before
    return [[f"{count:,} idle sockets, memory of the server", f"{cost:.0f} MB"]]


def memory(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def analyses(address: str, count: int = 10, seconds: float = 10.0) -> list[list[str]]:
    async def analyse(me: Client, limit: float) -> int:
        at = {"game": GAME, "moves": []}
        _, replies = await me.say("analyse", at=at, agent="mcts(memory_mb=64)", limit={"seconds": limit}, every=0.2)
        done = 0
        while (reply := await replies.get())["type"] == "analysis":
            done = reply["simulations"]
        return done

    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client(address)) for _ in range(count)]
        await asyncio.gather(*(analyse(each, 0.5) for each in clients))  # compile, and start the workers
        quiet = await clicks(address)
        work = asyncio.gather(*(analyse(each, seconds) for each in clients))
        await asyncio.sleep(1)
        busy = await clicks(address)
        shares = await work
    mean = statistics.mean(shares)
    spread = f"{min(shares) / mean:.2f} to {max(shares) / mean:.2f}"
    return [
        [f"{count} analyses at once: simulations of each, relative to the mean", spread],
        ["a person's move beside them, median (without them)", f"{busy[0][1]} ({quiet[0][1]})"],
        ["the same, 99th percentile (without them)", f"{busy[1][1]} ({quiet[1][1]})"],
    ]


def main() -> None:
    wanted = sys.argv[1:] or ["start", "clicks", "games", "sockets", "analyses"]
    rows = start() if "start" in wanted else []
    online: dict[str, Callable[[str, int], Coroutine[Any, Any, list[list[str]]]]] = {
        "clicks": lambda address, _: clicks(address),
        "games": lambda address, _: warm_games(address),
        "sockets": sockets,
        "analyses": lambda address, _: analyses(address),
    }
    for name, measure in online.items():
        if name in wanted:
            with server() as (address, pid):
                rows += asyncio.run(measure(address, pid))
    print(f"{machine()}\n\n{table(['what', 'measured'], rows)}")


if __name__ == "__main__":
    main()
