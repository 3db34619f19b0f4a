"""Faulty rules under control: work runs in a child process, where a rule may hang or crash, and the rule is named.

The child is a fork, so that it has the rules of a notebook or of a test as well as those of a file. Where processes
cannot fork safely (Windows, macOS), the work runs here: a rule that hangs while interpreted is still interrupted and
named, but compiled code cannot be interrupted, so after naming the rule the program ends.
"""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from meijin.core import compile as compiling
from meijin.core.check.diagnose import STOPPED, UNENDING, Stuck, place
from meijin.core.errors import MeijinError, RuleError
from meijin.core.game import Game

T = TypeVar("T")
Tell = Callable[[str], None]

FORKS = hasattr(os, "fork") and sys.platform != "darwin"  # macOS can fork, but its libraries cannot
_NOTES = 1 << 20  # bytes for one activity
_GRACE = 5.0  # seconds that an interrupted rule has to end


@dataclass(frozen=True, slots=True)
class Activity:
    """What is being tried: a law and, if rules are running, which and where."""

    law: str
    rules: tuple[str, ...] = ()  # compiled, one of these is running
    line: Sequence[str] | None = None  # the moves that lead to the position, where there is one
    compiled: bool = False


class Watch:
    """Knows what is being tried. `timeout` is how many seconds one call of a rule or of a compiled loop may take."""

    def __init__(self, game: Game, timeout: float, tell: Tell = lambda text: None, notes: mmap.mmap | None = None):
        self.game, self.timeout, self._tell, self._notes = game, timeout, tell, notes
        self.now = Activity("")
        self.beats = 0  # activities so far
        self.timed = False

    def law(self, name: str) -> None:
        """The work goes on with this law."""
        self._set(Activity(name), timed=False)
        self._tell(name)

    def interpreted(self, rule: str, line: Sequence[str]) -> None:
        """The next thing that happens is a call of an interpreted rule."""
        self._set(Activity(self.now.law, (rule,), line), timed=True)

    def compiled(self, *rules: str, line: Sequence[str] | None = None) -> None:
        """The next thing that happens is a call of compiled code with some of these rules."""
        if not compiling.JIT:  # interpreted play has shown by now that every rule returns
            return
        self._set(Activity(self.now.law, rules, None if line is None else (" ".join(line),), True), timed=True)
        if self._notes is not None:  # for the parent to read, should it crash
            self._notes.seek(0)
            self._notes.write(pickle.dumps(self.now)[:_NOTES])

    def _set(self, activity: Activity, timed: bool) -> None:
        self.now, self.timed = activity, timed
        self.beats += 1

    @contextmanager
    def compiling(self, name: str) -> Iterator[None]:
        """Compiling takes the time it takes; what was about to run is timed afterwards."""
        activity, timed = self.now, self.timed
        self._set(activity, timed=False)
        self._tell(f"compiling {name}")
        yield  # an error leaves the clock stopped: explaining it means more compiling
        self._set(activity, timed)

    def stuck(self) -> RuleError:
        how = "does not return when compiled" if self.now.compiled else "does not return"
        return blame(self.game, self.now, f"{how}: {STOPPED.format(self.timeout)}", UNENDING)


def blame(game: Game, activity: Activity, problem: str, remedy: str) -> RuleError:
    """The error of an activity that did not end well."""
    if not activity.rules:
        return RuleError(f"{game}: the law '{activity.law}' {problem}\n  remedy: {remedy}")
    names = [f"'{rule}'" for rule in activity.rules]
    named = f"rule {names[0]}" if len(names) == 1 else f"one of the rules {', '.join(names)}"
    functions = [
        fn for fn in (getattr(game, rule, None) for rule in activity.rules) if isinstance(fn, types.FunctionType)
    ]
    places = "".join(f"\n  at {place(fn)}" for fn in functions)
    after = "" if activity.line is None else f"\n  position: {' '.join([str(game), *activity.line])}"
    return RuleError(f"{game}: {named} {problem}{places}{after}\n  remedy: {remedy}")


def supervised(game: Game, work: Callable[[Watch], T], timeout: float, progress: Callable[[str], None]) -> T:
    """The result of `work`, or the RuleError of a rule that hangs, crashes or breaks a law in it.

    `progress` is called with the name of each law that is tried.
    """
    # A daemonic process may not have children.
    if FORKS and not multiprocessing.current_process().daemon:
        return _in_child(game, work, timeout, progress)

    def give_up(error: RuleError) -> None:
        print(f"error: {error}", file=sys.stderr, flush=True)
        os._exit(2)

    watch = Watch(game, timeout, progress)
    with _compiling_told(watch), _watched(watch, give_up):
        return work(watch)


@contextmanager
def _compiling_told(watch: Watch) -> Iterator[None]:
    before, compiling.on_compile = compiling.on_compile, watch.compiling
    try:
        yield
    finally:
        compiling.on_compile = before


# ---- a rule that does not return ----


@contextmanager
def _watched(watch: Watch, give_up: Callable[[RuleError], None], parent: int | None = None) -> Iterator[None]:
    """Within the block, a rule that takes longer than the timeout is stopped if interpreted; if not, `give_up`.

    With `parent`, the process ends when its parent does.
    """
    done = threading.Event()
    worker = threading.get_ident()

    def look() -> None:
        beats, since, interrupted = -1, 0.0, False
        while not done.wait(min(watch.timeout / 4, 0.5)):
            if parent is not None and os.getppid() != parent:
                os._exit(1)
            now = time.monotonic()
            if watch.beats != beats or not watch.timed:
                beats, since, interrupted = watch.beats, now, False
            elif not watch.now.compiled and not interrupted and now - since > watch.timeout:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(worker), ctypes.py_object(Stuck))
                interrupted = True
            elif now - since > watch.timeout + (_GRACE if interrupted else 0):
                give_up(watch.stuck())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    except Stuck:  # a rule's own line was not found
        raise watch.stuck() from None
    finally:
        done.set()
        thread.join()


# ---- a child process ----


def _in_child(game: Game, work: Callable[[Watch], T], timeout: float, progress: Callable[[str], None]) -> T:
    context = multiprocessing.get_context("fork")
    with _ready_to_fork():  # one at a time, so that no other child keeps this pipe open
        receiver, sender = context.Pipe(duplex=False)
        notes = mmap.mmap(-1, _NOTES)
        child = context.Process(target=_child, args=(game, work, timeout, receiver, sender, notes), daemon=True)
        child.start()
        sender.close()
    try:
        while True:
            kind, content = receiver.recv()
            if kind == "result":
                return content  # type: ignore[no-any-return]
            if kind == "error":
                raise content
            progress(content)
    except EOFError:
        child.join()
        raise _crash(game, notes, child.exitcode or 0) from None
    finally:
        child.kill()
        child.join()
        receiver.close()
        notes.close()


@contextmanager
def _ready_to_fork() -> Iterator[None]:
    """The child must not find a lock of the compiler held by a thread that it does not have."""
    with ExitStack() as held:
        held.enter_context(compiling._compiling)
        if compiling.JIT:
            from numba.core.compiler_lock import global_compiler_lock
            from numba.core.registry import cpu_target

            held.enter_context(global_compiler_lock)
            cpu_target.typing_context.refresh()  # once here instead of in every child
            cpu_target.target_context.refresh()
        held.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads that a fork leaves behind
        yield


def _child(
    game: Game, work: Callable[[Watch], Any], timeout: float, receiver: Any, sender: Any, notes: mmap.mmap
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent receives Ctrl-C too, and ends this process
    receiver.close()
    faulthandler.disable()  # the parent names the rule that crashes

    def give_up(error: RuleError) -> None:
        sender.send(("error", error))
        os._exit(1)

    watch = Watch(game, timeout, lambda text: sender.send(("progress", text)), notes)
    try:
        with _compiling_told(watch), _watched(watch, give_up, os.getppid()):
            answer: tuple[str, Any] = "result", work(watch)
    except MeijinError as error:
        answer = "error", error
    except BaseException:  # a mistake of ours: the traceback must not stay here
        answer = "error", RuntimeError(f"while trying the law '{watch.now.law}'\n{traceback.format_exc()}")
    sender.send(answer)
    sender.close()
    os._exit(0)  # without the clean-up of a program that this is only a part of


def _crash(game: Game, notes: mmap.mmap, status: int) -> MeijinError:
    if status == -signal.SIGKILL:
        return MeijinError(f"{game}: the process that tried the rules was killed; was there enough memory?")
    try:
        activity = pickle.loads(notes)
    except (pickle.UnpicklingError, EOFError):  # nothing was compiled yet
        activity = Activity("interpreted play")
    how = signal.strsignal(-status) if status < 0 else f"exit status {status}"
    remedy = "keep indices inside the arrays, and np.uint64 words apart from signed integers"
    return blame(game, activity, f"crashes{' when compiled' * activity.compiled} ({how})", remedy)
