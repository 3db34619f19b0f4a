"""A worker process: runs rules and agents for the server. `python -m meijin.web.server.work.worker`

It reads requests from its standard input and writes replies to its standard output (see `wire`); what rules and agents
print goes nowhere. It ends when the server does, however that happens.

    {"id": 7, "call": "look", "args": {...}}     a request; several run at the same time, in threads
    {"id": 7, "stop": true}                      the server no longer wants the answer
    {"id": 7, "part": ...}                       a reply before the last one
    {"id": 7, "done": ...}                       the last reply
    {"id": 7, "error": [code, message]}          or an error for the client
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from meijin.core.errors import BadParameter, IllegalMove, MeijinError, RuleError, UnknownName
from meijin.web.server.wire import pack, read

if TYPE_CHECKING:
    from meijin.core.agent import Agent

THREADS = 64  # the server hands out less


class Ask:
    """One request while it is worked on."""

    def __init__(self, number: int, call: str, args: dict[str, Any], send: Callable[[dict[str, Any]], None]):
        self.number, self.call, self.args, self._send = number, call, args, send
        self.stopped = False
        self._agent: Agent | None = None  # that thinks for it
        self._lock = threading.Lock()

    def part(self, value: Any) -> None:
        self._send({"id": self.number, "part": value})

    def stop(self) -> None:
        """Nobody wants the answer any more."""
        self.stopped = True
        if self._agent is not None:
            threading.Thread(target=self._insist, daemon=True).start()

    def _insist(self) -> None:
        """Stop the agent until it has stopped: an agent that has not begun yet does not hear it."""
        while True:
            with self._lock:
                if self._agent is None:
                    return
                self._agent.stop()
            time.sleep(0.005)

    @contextmanager
    def thinks(self, agent: Agent) -> Iterator[None]:
        """Within the block, the agent thinks for this request."""
        self._agent = agent
        try:
            if self.stopped:
                raise MeijinError("stopped")
            yield
        finally:
            with self._lock:
                self._agent = None


class Worker:
    """Reads, hands out to threads, and writes."""

    def __init__(self, source: BinaryIO, target: BinaryIO, calls: dict[str, Callable[[Ask], Any]]):
        self._source, self._target, self._calls = source, target, calls
        self._writing = threading.Lock()
        self._asks: dict[int, Ask] = {}
        self._pool = ThreadPoolExecutor(THREADS, "meijin-ask")

    def run(self) -> None:
        while True:
            try:
                message = read(self._source)
            except (EOFError, OSError):
                return
            number = message["id"]
            if "call" in message:
                ask = self._asks[number] = Ask(number, message["call"], message["args"], self._send)
                self._pool.submit(self._answer, ask)
            elif number in self._asks:
                self._asks[number].stop()

    def _send(self, message: dict[str, Any]) -> None:
        data = pack(message)
        with self._writing, suppress(OSError, ValueError):  # the server is gone: `run` notices
            self._target.write(data)
            self._target.flush()

    def _answer(self, ask: Ask) -> None:
        try:
            reply = {"done": self._calls[ask.call](ask)}
        except Exception as error:
            reply = {"error": explained(error)}
        self._asks.pop(ask.number, None)
        self._send({"id": ask.number, **reply})


def explained(error: Exception) -> tuple[str, str]:
    """The code and the message of an error."""
    if isinstance(error, IllegalMove):
        return "illegal", str(error)
    if isinstance(error, UnknownName):
        return "unknown", str(error)
    if isinstance(error, BadParameter):
        return "bad", str(error)
    if isinstance(error, RuleError):
        return "refused", str(error)
    if isinstance(error, MeijinError):
        return "bad", str(error)
    if isinstance(error, MemoryError):
        return "limit", "this needs more memory than the server gives to one request"
    text = " ".join(str(error).split())[:300]
    return "refused", f"this failed with {type(error).__name__}{': ' + text if text else ''}"


def main() -> None:
    from meijin.agents.registrations import load
    from meijin.core.catalogue import games
    from meijin.web.server.work import arena, designing, modules, permits, pictures, records, rules, thinking, training

    games.check = rules.check_parameters

    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    setup = read(source)
    if setup["nice"] and hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(setup["nice"])
    if setup["compile"]:
        rules.compiler.begin()
    for file in setup["load"]:
        with suppress(Exception):  # told where it can be seen: at the start and on the designer's page
            load(Path(file))
    rights = permits.Permits(setup["runs"], tuple(setup["agents"]), setup["memory_mb"], setup["cores"])
    calls = {**thinking.calls(rights), **training.Training(setup["runs"], rights).calls()}
    calls |= arena.Arena(setup["data"], rights, setup["cores"]).calls()
    for module in (rules, records, pictures, designing, modules):
        calls |= module.calls()
    try:
        Worker(source, target, calls).run()
    finally:
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)  # with whatever agents have started
        os._exit(0)


if __name__ == "__main__":
    main()
