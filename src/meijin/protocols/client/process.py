"""An engine's process: lines to it and from it, within time, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from meijin.core.errors import BadParameter, MeijinError

POSIX = os.name == "posix"  # elsewhere an engine that its owner leaves behind, or its children, may live on
GAMES = "/usr/games:/usr/local/games"  # where Debian puts engines, often not on the path
MOST_LINES = 2000  # that wait to be read; an engine that writes more is held up
LONGEST = 1 << 20  # bytes of a line
KEPT = 20  # lines of standard error
LAST = 2.0  # seconds that an engine has to end, and its last words to arrive, once its output has ended
GUARD = Path(__file__).with_name("guard.py")


class EngineError(MeijinError):
    """An engine that does not do what its protocol says."""


def split(command: str) -> list[str]:
    """The program, found, and its arguments. No shell reads them: $, *, | and > mean nothing."""
    try:
        words = shlex.split(command, posix=POSIX)  # Windows has backslashes in paths
    except ValueError as error:
        raise BadParameter(f"command '{command}': {error}") from None
    if not words:
        raise BadParameter("command: name a program, as in 'gnugo --mode gtp'")
    words = [word.strip('"') for word in words] if not POSIX else words
    found = shutil.which(words[0]) or shutil.which(words[0], path=GAMES)
    if found is None:
        raise BadParameter(f"there is no program '{words[0]}'; install it, or give its path")
    return [found, *words[1:]]


class Process:
    """A running engine. `send` writes lines; `until` and `lines` read them."""

    def __init__(self, command: str, memory_mb: int = 0):
        words = split(command)
        self.name = Path(words[0]).name
        self._lifeline: int | None = None
        theirs, options = None, {}
        if POSIX:
            theirs, self._lifeline = os.pipe()
            words = [sys.executable, "-I", "-S", str(GUARD), str(theirs), str(memory_mb), *words]
            options = {"pass_fds": (theirs,), "start_new_session": True}
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                **options,  # type: ignore[call-overload]
            )
        except OSError as error:
            raise EngineError(f"cannot start {self.name}: {error.strerror}") from None
        finally:
            if theirs is not None:
                os.close(theirs)
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_LINES)
        self._errors: deque[str] = deque(maxlen=KEPT)
        self._open = True
        self._readers = [
            threading.Thread(target=target, name=f"meijin-{self.name}", daemon=True)
            for target in (self._read, self._read_errors)
        ]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        out = self._process.stdout
        with contextlib.suppress(OSError, ValueError):
            while self._open and (line := out.readline(LONGEST)):
                self._put(line.decode("utf-8", "replace").rstrip("\r\n"))
        self._put(None)

    def _put(self, line: str | None) -> None:
        """Wait for room, but not longer than the engine lives."""
        while self._open:
            with contextlib.suppress(queue.Full):
                self._lines.put(line, timeout=0.2)
                return

    def _read_errors(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := self._process.stderr.readline(LONGEST):
                self._errors.append(line.decode("utf-8", "replace").strip()[:200])

    # ---- talking ----

    def send(self, *lines: str) -> None:
        stdin = self._process.stdin
        try:
            for line in lines:
                stdin.write(line.encode() + b"\n")
            stdin.flush()
        except (OSError, ValueError):
            raise self.failure("ended") from None

    def line(self, deadline: float) -> str | None:
        """The next line; None if there is none before the deadline (in `time.monotonic`)."""
        try:
            found = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return None
        if found is None:
            self._put(None)  # for whoever asks next
            raise self.failure("ended")
        return found

    def until(
        self, wanted: Callable[[str], bool], seconds: float, what: str, poll: Callable[[], None] | None = None
    ) -> str:
        """Read until a line that is wanted; an error after so many seconds. `poll` is called often meanwhile."""
        return next(line for line in self.lines(seconds, what, poll) if wanted(line))

    def lines(self, seconds: float, what: str, poll: Callable[[], None] | None = None) -> Iterator[str]:
        """Every line of the next seconds; then an error, because what was wanted was not among them."""
        deadline = time.monotonic() + seconds
        while (now := time.monotonic()) < deadline:
            if poll is not None:
                poll()
            line = self.line(min(deadline, now + 0.01) if poll is not None else deadline)
            if line is not None:
                yield line
        raise self.failure(f"gave no answer to {what} within {seconds:g} s")

    def failure(self, problem: str) -> EngineError:
        """An error that names the engine, with the latest line of its standard error; the engine is killed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST if problem == "ended" else 0)
        if problem == "ended":
            self._readers[1].join(LAST)  # its last words
        if problem == "ended" and (code := self._process.poll()):
            problem = f"ended (exit status {code})"
        said = f": {self._errors[-1]}" if self._errors else ""
        self.close()
        return EngineError(f"engine {self.name} {problem}{said}")

    @property
    def alive(self) -> bool:
        return self._open and self._process.poll() is None

    def close(self, goodbye: str = "") -> None:
        """End the engine: politely with `goodbye`, within half a second, or else at once."""
        if not self._open:
            return
        self._open = False
        with contextlib.suppress(OSError, ValueError):
            if goodbye:
                self._process.stdin.write(goodbye.encode() + b"\n")
            self._process.stdin.close()
        if goodbye:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.5)
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
        else:
            self._process.kill()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
