"""What agents that are engines share: a process that is started when needed, positions, limits and checked moves."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.options import at_least
from meijin.core.state import State
from meijin.protocols.client.process import POSIX, EngineError, Process, split

STARTUP = 30.0  # seconds for the handshake: an engine may have much to load
LATE = 15.0  # seconds beyond its limit that an engine may take
STOPPED = 1.0  # seconds that an engine has to answer once it is told to stop


class _Stopped(Exception):
    """The agent was stopped, and the engine cannot be."""


class External(Agent):
    """An engine of somebody else. `timeout`: seconds for a move without a limit of time; `memory_mb`: 0 for any."""

    goodbye = "quit"

    def __init__(self, command: str, timeout: float = 60.0, memory_mb: int = 0):
        at_least("timeout", timeout, 0.01)
        at_least("memory_mb", memory_mb, 0, whole=True)
        if memory_mb and not POSIX:
            raise BadParameter(
                f"memory_mb={memory_mb}: memory can only be bounded on Linux and macOS; leave it out here"
            )
        split(command)  # complain now about a program that is not there
        self.command, self.timeout, self.memory_mb = command, timeout, memory_mb
        self._process: Process | None = None
        self._game: Game | None = None

    # ---- for protocols to write ----

    @abstractmethod
    def greet(self, process: Process, game: Game) -> None:
        """Shake hands and choose the game."""

    @abstractmethod
    def ask(self, process: Process, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        """What the engine says about a position, about every so many seconds; its answer last."""

    # ---- for protocols to use ----

    def patience(self, limit: Limit) -> float:
        """Seconds to wait for a move."""
        if limit.seconds is None:
            return self.timeout
        return math.inf if limit.seconds == math.inf else limit.seconds + LATE

    def begun(self, state: State) -> State:
        """Where the history of a position starts."""
        return State(state.game, np.frombuffer(state.origin, state.game.dtype)[0])

    def is_start(self, state: State) -> bool:
        return state.origin == State(state.game).origin

    def checked(self, state: State, text: str) -> Move:
        """The legal move of that name; an engine that answers anything else has failed."""
        try:
            return state._resolve(text)
        except IllegalMove:
            raise self.failed(f"answered '{text[:40]}', which is not a legal move") from None

    def failed(self, problem: str) -> EngineError:
        """An error that names the engine; it is killed."""
        if self._process is not None:
            return self._process.failure(problem)
        return EngineError(f"engine {self.command}: {problem}")

    def stopper(self, process: Process, word: str | None) -> Callable[[], None]:
        """A poll that says `word` once the agent is stopped; engines that know no such word are killed."""
        told: list[float] = []

        def poll() -> None:
            if not self.stopping:
                return
            if not told:
                told.append(time.monotonic())
                if word is None:
                    raise _Stopped
                process.send(word)
            elif time.monotonic() - told[0] > STOPPED:
                raise _Stopped

        return poll

    # ---- Agent ----

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        began, found = time.perf_counter(), None
        try:
            for found in self.ask(self._started(state.game), state, limit, every):
                yield replace(found, seconds=found.seconds or time.perf_counter() - began)
        except _Stopped:
            self._drop()
            if found is None:
                moves = tuple(map(MoveInfo, state.legal_moves))
                yield Analysis(state.turn, moves, note="stopped before it answered")
        except BaseException:
            self._drop()
            raise

    def _started(self, game: Game) -> Process:
        if self._process is not None and (not self._process.alive or self._game is not game):
            self._drop()
        if self._process is None:
            self._process, self._game = Process(self.command, self.memory_mb), game
            self.greet(self._process, game)
        return self._process

    def _drop(self) -> None:
        """End the engine at once; the next thought starts it again."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def release(self) -> None:
        if self._process is not None:
            self._process.close(self.goodbye)
            self._process = None

    def reseed(self, seed: int) -> None:
        if self._process is not None:
            self._process.close(self.goodbye)
            self._process = None

    def __del__(self) -> None:
        process = self.__dict__.get("_process")
        if process is not None:
            process.close()


class Due:
    """Says when the next analysis of a stream is due."""

    def __init__(self, every: float):
        self.every, self.next = every, time.monotonic() + every

    def __bool__(self) -> bool:
        if time.monotonic() < self.next:
            return False
        self.next = time.monotonic() + self.every
        return True


def ranked(state: State, best: Move, infos: tuple[MoveInfo, ...] = ()) -> tuple[MoveInfo, ...]:
    """The engine's move first, then what else it speaks of, then the other legal moves."""
    known = {int(info.move): info for info in reversed(infos)}
    first = known.pop(int(best), MoveInfo(best))
    others = [info for info in infos if known.get(int(info.move)) is info]
    rest = [MoveInfo(move) for move in state.legal_moves if int(move) not in known and move != best]
    return first, *others, *rest
