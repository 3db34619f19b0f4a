"""Agents that do everything wrong, each in its own way. Loaded as a user's file by the tests of the arena."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator

from meijin.agents.catalogue import agents
from meijin.core import compile as compiling
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import RuleError
from meijin.core.state import State


class First(Agent):
    """Plays the first legal move, without harm."""

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        yield Analysis(state.turn, tuple(MoveInfo(move) for move in state.legal_moves))


@agents.register("h_hang")
class Hang(First):
    """Thinks for ever, asleep or at work, from its `after`-th move on."""

    def __init__(self, asleep: bool = True, after: int = 0):
        self.asleep, self.after = asleep, after

    def act(self, state: State, limit: Limit = Limit()) -> int:  # type: ignore[override]  # noqa: B008
        self.after -= 1
        while self.after < 0:
            if self.asleep:
                time.sleep(60)
        return super().act(state, limit)


@agents.register("h_fail")
class Fail(First):
    """Raises an exception of that name."""

    def __init__(self, error: str = "ValueError"):
        self.error = error

    def act(self, state: State, limit: Limit = Limit()) -> int:  # type: ignore[override]  # noqa: B008
        if self.error == "RuleError":
            raise RuleError("the rules are broken")
        if self.error == "SystemExit":
            sys.exit("enough")
        raise {"ValueError": ValueError, "KeyboardInterrupt": KeyboardInterrupt}[self.error]("two\nlines")


@agents.register("h_unmade")
class Unmade(First):
    """Cannot even be made, in a worker process."""

    def __init__(self, where: str = "worker"):
        import multiprocessing

        if where == "here" or multiprocessing.parent_process() is not None:
            raise FileNotFoundError("no such net")


@agents.register("h_end")
class End(First):
    """Ends its process: with an exit status, by a signal, or by a crash."""

    def __init__(self, how: str = "exit"):
        self.how = how

    def act(self, state: State, limit: Limit = Limit()) -> int:  # type: ignore[override]  # noqa: B008
        if self.how == "exit":
            os._exit(3)
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        return len(ctypes.string_at(0))  # reads where nothing is


@agents.register("h_say")
class Say(First):
    """Answers with something else than a legal move."""

    def __init__(self, what: str):
        self.what = what

    def act(self, state: State, limit: Limit = Limit()) -> int:  # type: ignore[override]  # noqa: B008
        taken = next((int(move) for move in state.history), 0)
        answers = {
            "text": "e4", "nothing": None, "half": 0.5, "true": True, "list": [1], "huge": 10**30, "negative": -1,
            "taken": taken,
        }  # fmt: skip
        return answers[self.what]  # type: ignore[return-value]


@agents.register("h_print")
class Print(First):
    """Plays well enough but fills every stream with garbage."""

    def act(self, state: State, limit: Limit = Limit()) -> int:  # type: ignore[override]  # noqa: B008
        print("garbage" * 100)
        print("\x00\xff" * 100, file=sys.stderr)
        os.write(1, b"\x80garbage\n" * 100)
        os.write(2, b"\x80garbage\n" * 100)
        return super().act(state, limit)


@agents.register("h_tamper")
class Tamper(First):
    """Plays on in the position it is shown before it answers."""

    def act(self, state: State, limit: Limit = Limit()) -> int:  # type: ignore[override]  # noqa: B008
        move = super().act(state, limit)
        while not state.is_over:
            state.play(state.legal_moves[0])
        state.records.view("u1")[:] = 255
        return move


@agents.register("h_slow")
class Slow(First):
    """Takes its time for the moves numbered in `when`, for compiling if `compiles`."""

    def __init__(self, seconds: float, when: tuple[int, ...] = (0,), compiles: bool = False):
        self.seconds, self.when, self.compiles, self.moves = seconds, when, compiles, 0

    def act(self, state: State, limit: Limit = Limit()) -> int:  # type: ignore[override]  # noqa: B008
        if self.moves in self.when:
            if self.compiles:
                with compiling.on_compile("slow-test"):
                    time.sleep(self.seconds)
            else:
                time.sleep(self.seconds)
        self.moves += 1
        return super().act(state, limit)
