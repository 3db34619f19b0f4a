"""The terminal: consoles, tables, JSON, and the line that says what is going on."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table


def out() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def err() -> Console:
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def warn(text: str) -> None:
    """Say that something went wrong which the command survives."""
    err().print(f"warning: {text}", style="yellow", soft_wrap=True)


def say(what: RenderableType) -> None:
    """Print something a little to the right."""
    out().print(Padding(what, (0, 0, 0, 2), expand=False))


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table in the house style; the columns in `right` hold numbers."""
    made = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1))
    for column in columns:
        if column in right:
            made.add_column(column, justify="right", no_wrap=True)
        else:
            made.add_column(column, overflow="fold")  # a long expression is not cut
    return made


def in_whole_words(made: Table) -> Table:
    """The same table, whose cells are cut between words only, as far as the terminal allows."""
    for column in made.columns:
        column.min_width = max((len(word) for cell in column.cells for word in str(cell).split()), default=0)
    return made


def print_json(value: Any) -> None:
    print(json.dumps(_finite(value), indent=2, ensure_ascii=False))


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity; they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


# ---- what is going on ----

_tell: list[Callable[[str], None]] = []  # how to show a message, while a spinner or a progress bar is running
_said: list[str] = []  # the messages, the latest is shown


@contextmanager
def busy(message: str) -> Iterator[None]:
    """Show a message on stderr while something runs, if a person is looking."""
    if _tell:
        with _saying(message):
            yield
        return
    console = err()
    if not console.is_terminal:
        yield
        return
    with console.status(message) as status, telling(status.update), _saying(message):
        yield


@contextmanager
def telling(show: Callable[[str], None]) -> Iterator[None]:
    """Have the messages of `busy` shown by a display that is already running."""
    _tell.append(show)
    try:
        yield
    finally:
        _tell.pop()


@contextmanager
def _saying(message: str) -> Iterator[None]:
    _said.append(message)
    _tell[-1](message)
    try:
        yield
    finally:
        _said.pop()
        if _tell:
            _tell[-1](_said[-1] if _said else "")


def announce_compiling() -> None:
    """Show a message while rules are compiled."""
    from meijin.core import compile as compiling

    compiling.on_compile = lambda name: busy(
        f"compiling {name.rsplit('-', 1)[0]} for this machine (once; a few seconds)"
    )


@contextmanager
def counting(what: str, total: int, *, done: int = 0, hidden: bool = False) -> Iterator[Callable[[], None]]:
    """A progress bar on stderr if a person is looking; yields the function that counts one more."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    console = err()
    if hidden or not console.is_terminal:
        yield lambda: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, expand=True) as progress:
        task = progress.add_task(what, total=total, completed=done)
        with telling(lambda message: progress.update(task, description=message or what)):
            yield lambda: progress.advance(task)


def typed(prompt: str) -> str | None:
    """The line that was typed or piped in; None at the end of the input."""
    try:
        text = input(prompt)
    except EOFError:
        print()
        return None
    if not sys.stdin.isatty():
        print(text)  # what a terminal would have shown
    return text.strip()
