"""How a run is shown: live on a terminal, one line per iteration elsewhere, or as JSON lines."""

from __future__ import annotations

import shlex
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from meijin.cli.console import err, out, table, telling
from meijin.core.game import Game
from meijin.training.events import (
    Event,
    Finished,
    Gated,
    IterationDone,
    Progress,
    RunStarted,
    Stopped,
    WarmStarted,
    Warned,
)

ROWS = 10  # iterations that the live display shows

#: Columns: title, name of the metric, format.
COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("iteration", "iteration", "{:.0f}"),
    ("games", "games", "{:,.0f}"),
    ("plies", "game_length", "{:.1f}"),
    ("positions", "positions", "{:,.0f}"),
    ("policy", "loss_policy", "{:.4f}"),
    ("value", "loss_value", "{:.4f}"),
    ("loss", "loss", "{:.4f}"),
    ("best", "best", "{:.1%}"),
    ("keeps", "keeps", "{:.1%}"),
    ("wins", "wins", "{:,.0f}"),
    ("losses", "losses", "{:,.0f}"),
    ("error", "error", "{:.4f}"),
    ("score", "score_greedy", "{:,.0f}"),
    ("moves/s", "moves_per_second", "{:,.0f}"),
    ("sims/s", "simulations_per_second", "{:,.0f}"),
    ("Elo", "elo", "{:+.0f}"),
)


class JsonLines:
    """Prints every event but those of progress as a line of JSON."""

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Progress):
            print(event.to_json(), flush=True)

    def stopping(self) -> None:
        """The run has been asked to stop."""

    def stopped(self) -> None:
        """It was stopped at once."""


class Lines(JsonLines):
    """Prints a line per iteration, for logs."""

    def __init__(self, game: Game, load: Sequence[Path]):
        self.game, self.load = game, load
        self.iteration, self.iterations, self.place = 0, "", ""

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.iteration, self.place = event.iteration, event.store or str(event.folder)
                self.iterations = f" of {event.iterations}" if event.iterations else ""
            case IterationDone():
                self.iteration = event.iteration
                words = [f"{title} {text}" for title, text in figures(event.metrics) if title != "iteration"]
                words += [f"{name} {value}" for name, value in evaluations(event.metrics)]
                spent = duration(event.metrics["seconds"])
                left = f", about {duration(event.left)} left" if event.left else ""
                self.say(f"iteration {self.iteration}{self.iterations}  {'  '.join(words)}  {spent}{left}")
            case Stopped():
                self.stopped()
            case Finished():
                seat = min(1, self.game.seats - 1)
                load = "".join(f" --load {shlex.quote(str(file))}" for file in self.load)
                verb = "play against it" if self.game.seats > 1 else "watch it play"
                self.say(f"done after {event.iteration} iterations: {event.reason}")
                self.say(f"the net is in {self.place}; {verb}:")
                self.say(f"  meijin play '{self.game}'{load} --seat {seat}='{event.agent}'")
            case _:
                if text := sentence(event):
                    self.say(text)

    def say(self, text: str) -> None:
        print(text, flush=True)

    def stopping(self) -> None:
        self.say("stopping; press Ctrl-C again to stop at once")

    def stopped(self) -> None:
        done = f"everything up to iteration {self.iteration}" if self.iteration else "the start of the run"
        self.say(f"stopped: {done} is in {self.place}; continue with --resume")


class Shown(Lines):
    """A live display: the last iterations, what is going on, and how long it will take."""

    def __init__(self, game: Game, load: Sequence[Path]):
        super().__init__(game, load)
        self.rows: deque[Mapping[str, float]] = deque(maxlen=ROWS)
        self.notes: deque[str] = deque(maxlen=4)
        self.heading = str(game)
        self.now, self.note, self.compiling = "starting", "", ""
        self.share: float | None = None
        self.last: int | None = None  # iteration
        self.began, self.seconds = time.monotonic(), 0.0  # when the display began; what the run had taken before
        self.end: float | None = None  # when the run is expected to end
        self.live = Live(get_renderable=self.render, console=err(), refresh_per_second=4, transient=True)

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted(seconds=limit):
                super().__call__(event)
                self.last = event.iterations
                self.end = self.began + limit if limit and not event.iteration else None
            case IterationDone(metrics=row):
                self.iteration = event.iteration
                self.rows.append(row)
                self.notes += [f"iteration {self.iteration}: {name} {value}" for name, value in evaluations(row)]
                self.seconds, self.began = row["seconds"], time.monotonic()
                self.end = None if event.left is None else self.began + event.left
                self.now, self.share = "next iteration", None
            case Progress():
                known = "".join(f"  {title} {text}" for title, text in figures(event.metrics))
                self.now, self.share = f"{event.phase}{known}", event.done / max(1, event.total)
            case Stopped() | Finished():
                self.live.stop()
                super().__call__(event)
            case _:
                if text := sentence(event):
                    self.notes.append(text)

    def say(self, text: str) -> None:
        out().print(Text(text))

    def stopping(self) -> None:
        self.note = "stopping soon; press Ctrl-C again to stop at once"

    def stopped(self) -> None:
        self.live.stop()
        super().stopped()

    def render(self) -> RenderableType:
        parts: list[RenderableType] = [Text.assemble((self.heading, "bold"), "  ", (self.place, "dim"))]
        if self.rows:
            known = [dict(figures(row)) for row in self.rows]
            titles = [title for title, *_ in COLUMNS if any(title in row for row in known)]
            shown = table(*titles, right=tuple(titles))
            for row in known:
                shown.add_row(*(row.get(title, "") for title in titles))
            parts.append(shown)
        parts += [Text(note, "yellow" if "warning" in note else "dim") for note in self.notes]
        now = time.monotonic()
        spent, left = self.seconds + now - self.began, None if self.end is None else max(0.0, self.end - now)
        number = self.iteration + (self.iteration != self.last)
        whole = f"iteration {number}{self.iterations}, {duration(spent)}"
        grid = Table.grid(padding=(0, 1))
        if left is None:
            grid.add_row(Text(whole, "cyan"))
        else:
            bar = ProgressBar(total=1.0, completed=spent / max(1e-9, spent + left), width=30)
            grid.add_row(Text(f"{whole}, about {duration(left)} left", "cyan"), bar)
        share = Text("") if self.share is None else ProgressBar(total=1.0, completed=self.share, width=30)
        grid.add_row(Text(self.compiling or self.now), share)
        parts.append(grid)
        if self.note:
            parts.append(Text(self.note, "bold yellow"))
        return Group(*parts)

    def show_compiling(self, message: str) -> None:
        self.compiling = message


@contextmanager
def display(game: Game, load: Sequence[Path], as_json: bool) -> Iterator[JsonLines]:
    """The display that suits the reader."""
    if as_json:
        yield JsonLines()
        return
    if not err().is_terminal:
        yield Lines(game, load)
        return
    shown = Shown(game, load)
    with shown.live, telling(shown.show_compiling):
        yield shown


# ---- words ----


def figures(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is worth reading of an iteration: (title, figure)."""
    found = []
    for title, name, form in COLUMNS:
        if row.get(name) is not None:
            # No "-0": what is written without a fraction is rounded first.
            value = float(row[name])
            found.append((title, form.format(round(value) if ".0f" in form else value)))
    return found


def evaluations(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name.removeprefix("eval_"), f"{float(v):.3f}") for name, v in row.items() if name.startswith("eval_")]


def sentence(event: Event) -> str:
    """An event in words; empty for those that are shown otherwise or not at all."""
    match event:
        case Warned():
            return f"warning: {event.text}"
        case Gated():
            verdict = "plays from now on" if event.passed else "is not better; the old one plays on"
            return f"gate: the new net made {event.share:.1%} in {event.games} games and {verdict}"
        case WarmStarted():
            return f"warm start: {event.positions:,} positions, {event.steps:,} steps"
        case _:
            return ""


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
