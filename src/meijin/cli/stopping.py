"""Ctrl-C while something trains."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import typer

from meijin.cli.program import INTERRUPTED

if TYPE_CHECKING:
    from meijin.cli.run_display import JsonLines


class Stoppable(Protocol):
    """A run, or a sweep of them."""

    @property
    def stopping(self) -> bool: ...

    def stop(self) -> None: ...


@contextmanager
def stoppable(run: Stoppable, shown: JsonLines) -> Iterator[None]:
    """Ctrl-C asks the run to stop soon; pressed again, it does not wait for that."""

    def ask(number: int, frame: Any) -> None:
        if run.stopping:
            raise KeyboardInterrupt
        run.stop()
        shown.stopping()

    here = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)} if here else {}
    try:
        yield
    except KeyboardInterrupt:
        shown.stopped()
        raise typer.Exit(INTERRUPTED) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
