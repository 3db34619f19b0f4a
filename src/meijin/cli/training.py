"""How a run shows what it does: live where a person looks, a line an iteration elsewhere, or JSON lines."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from meijin.cli.console import _finite, err, out, table, telling

MANY = 10**6  # iterations from which on their number says nothing
ROWS = 10  # iterations that the live display shows
QUIET = (
    "self-play",
    "warm games",
    "positions",
    "starting",
    "training",
    "evaluation",
)  # events that only the live display shows

#: Columns: title, names of the figure (the first that a row has), how it is written.
COLUMNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("iteration", ("iteration",), "{:.0f}"),
    ("games", ("games",), "{:,.0f}"),
    ("plies", ("game_length",), "{:.1f}"),
    ("positions", ("positions",), "{:,.0f}"),
    ("policy", ("loss_policy",), "{:.4f}"),
    ("value", ("loss_value",), "{:.4f}"),
    ("loss", ("loss",), "{:.4f}"),
    ("best", ("best",), "{:.1%}"),
    ("keeps", ("keeps",), "{:.1%}"),
    ("wins", ("wins",), "{:,.0f}"),
    ("losses", ("losses",), "{:,.0f}"),
    ("sims/s", ("simulations_per_second",), "{:,.0f}"),
    ("Elo", ("elo",), "{:+.0f}"),
)


class Display:
    """Takes a run's events. This one prints JSON lines; others are for people."""

    def __init__(self, game: str, folder: Path):
        self.game, self.folder, self.last, self.of = game, folder, 0, 0
        self.seats = 2
        self._progress: Callable[[], float] = lambda: 0.0
        self._seconds: Callable[[], float] = lambda: 0.0

    def begin(self, iteration: int, of: int, progress: Callable[[], float], seconds: Callable[[], float]) -> None:
        self.last, self.of, self._progress, self._seconds = iteration, of, progress, seconds

    def event(self, event: dict[str, Any]) -> None:
        if event["what"] == "iteration":
            self.last = int(event["iteration"])
        self.show(event)

    def show(self, event: dict[str, Any]) -> None:
        if event["what"] not in QUIET:
            self._json(event)

    def _json(self, event: dict[str, Any]) -> None:
        print(
            json.dumps(_finite({k: v if isinstance(v, str | bool) else _number(v) for k, v in event.items()})),
            flush=True,
        )

    def stopping(self) -> None:
        self._json({"what": "stopping"})

    def stopped(self) -> None:
        self._json({"what": "stopped", "iteration": self.last, "folder": str(self.folder)})

    def done(self, agent: str, why: str) -> None:
        self._json({"what": "done", "iteration": self.last, "agent": agent, "why": why, "folder": str(self.folder)})

    @property
    def total(self) -> str:
        """How many iterations there will be, unless a clock decides."""
        return f" of {self.of}" if self.of < MANY else ""

    @property
    def left(self) -> float | None:
        """Seconds to the end of the run, at the pace so far."""
        share = self._progress()
        return self._seconds() * (1 - share) / share if 0 < share < 1 else None


class Lines(Display):
    """A line an iteration, for logs."""

    def show(self, event: dict[str, Any]) -> None:
        what = event["what"]
        if what == "iteration":
            words = [f"{title} {text}" for title, text in figures(event) if title != "iteration"]
            words += [f"{name} {value}" for name, value in evaluations(event)]
            left = f", about {duration(self.left)} left" if self.left else ""
            self.say(f"iteration {self.last}{self.total}  {'  '.join(words)}  {duration(self._seconds())}{left}")
        elif text := sentence(event):
            self.say(text)

    def say(self, text: str) -> None:
        print(text, flush=True)

    def stopping(self) -> None:
        self.say("stopping; once more to stop at once")

    def stopped(self) -> None:
        done = f"everything up to iteration {self.last}" if self.last else "what the run begins with"
        self.say(f"stopped: {done} is in {self.folder}; go on with --resume")

    def done(self, agent: str, why: str) -> None:
        self.say(f"done after {self.last} iterations{f': {why}' if why else ''}")
        self.say(f"the net is in {self.folder}; {'play against it' if self.seats > 1 else 'watch it play'}:")
        self.say(f"  meijin play '{self.game}' --seat {min(1, self.seats - 1)}='{agent}'")


class Shown(Lines):
    """A live display: the last iterations, what is going on, and how long it will take."""

    def __init__(self, game: str, folder: Path):
        super().__init__(game, folder)
        self.rows: deque[dict[str, Any]] = deque(maxlen=ROWS)
        self.notes: deque[str] = deque(maxlen=4)
        self.now, self.note, self.aside = "starting", "", ""
        self.share: float | None = None
        self.live = Live(get_renderable=self.render, console=err(), refresh_per_second=4, transient=True)

    def show(self, event: dict[str, Any]) -> None:
        what = event["what"]
        if what == "iteration":
            self.rows.append(event)
            for name, value in evaluations(event):
                self.notes.append(f"iteration {self.last}: {name} {value}")
            self.now, self.share = "next iteration", None
        elif what in ("warning", "gate", "warmed"):
            self.notes.append(sentence(event))
        else:
            name = f": {event['name']}" if "name" in event else ""
            self.now = f"{what}{name}"
            self.share = event["done"] / max(1, event["total"]) if "done" in event else None

    def say(self, text: str) -> None:
        self.live.stop()
        out().print(Text(text))

    def stopping(self) -> None:
        self.note = "stopping at the next good moment; Ctrl-C again to stop at once"

    def render(self) -> RenderableType:
        parts: list[RenderableType] = [
            Text.assemble((self.game, "bold"), ("  ", ""), (str(self.folder), "dim")),
        ]
        if self.rows:
            known = [dict(figures(row)) for row in self.rows]
            titles = [title for title, *_ in COLUMNS if any(title in row for row in known)]
            shown = table(*titles, right=tuple(titles))
            for row in known:
                shown.add_row(*(row.get(title, "") for title in titles))
            parts.append(shown)
        parts += [Text(note, "yellow" if "warning" in note else "dim") for note in self.notes]
        left = f", about {duration(self.left)} left" if self.left else ""
        whole = (
            f"iteration {min(self.last + 1, self.of)}{self.total}, {duration(self._seconds())}{left}" if self.of else ""
        )
        grid = Table.grid(padding=(0, 1))
        grid.add_row(Text(whole, "cyan"), ProgressBar(total=1.0, completed=self._progress(), width=30))
        bar = ProgressBar(total=1.0, completed=self.share, width=30) if self.share is not None else Text("")
        grid.add_row(Text(self.aside or self.now), bar)
        parts.append(grid)
        if self.note:
            parts.append(Text(self.note, "bold yellow"))
        return Group(*parts)

    def compiling(self, message: str) -> None:
        self.aside = message


@contextmanager
def display(game: str, folder: Path, as_json: bool) -> Iterator[Display]:
    """The display that suits whoever reads it."""
    if as_json:
        yield Display(game, folder)
        return
    if not err().is_terminal:
        yield Lines(game, folder)
        return
    shown = Shown(game, folder)
    with shown.live, telling(shown.compiling):
        yield shown


# ---- words ----


def figures(row: dict[str, Any]) -> list[tuple[str, str]]:
    """What is worth reading of an iteration: (title, figure)."""
    found = []
    for title, names, form in COLUMNS:
        name = next((name for name in names if row.get(name) is not None), None)
        if name is not None:
            # No "-0": what is written without a fraction is rounded first.
            value = float(row[name])
            found.append((title, form.format(round(value) if ".0f" in form else value)))
    return found


def evaluations(row: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name.removeprefix("eval_"), f"{float(v):.3f}") for name, v in row.items() if name.startswith("eval_")]


def sentence(event: dict[str, Any]) -> str:
    """An event in words; empty for those that only a live display shows."""
    match event["what"]:
        case "warning":
            return f"warning: {event['text']}"
        case "gate":
            verdict = "plays from now on" if event["passed"] else "is not better; the old one plays on"
            return f"gate: the new net made {event['share']:.1%} in {event['games']} games and {verdict}"
        case "warmed":
            return f"warm start: {event['positions']:,} positions, {event['steps']:,} steps"
        case _:
            return ""


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _number(value: Any) -> Any:
    return value if value is None or isinstance(value, int | list | dict) else float(value)
