"""`meijin sweep` and `meijin train --repeat`: display and Ctrl-C around a sweep, and its results as a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from meijin.cli.common import prepare
from meijin.cli.console import counting, err, out, table, telling
from meijin.cli.program import INTERRUPTED
from meijin.cli.run_display import JsonLines, Lines, Shown
from meijin.cli.stopping import stoppable
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.learning.config import read
from meijin.training import check_method, default_folder
from meijin.training.events import Event, Finished, IterationDone, RunStarted, Stopped, TrialDone, TrialStarted
from meijin.training.summary import CURVES, PICTURE, SUMMARY, curves, finals, sparkline, telling_metrics
from meijin.training.sweep import Sweep, read_sweep
from meijin.training.trials import PLAN, SweepRun

MOST = 3  # metrics in the table


def sweep(
    file: Path,
    folder: Path | None,
    resume: bool,
    workers: int,
    device: str,
    load: Sequence[Path],
    as_json: bool,
    ray: str | None,
) -> None:
    """`file`: a plan, or the directory of a sweep that is to be resumed."""
    prepare(load)
    if (file / PLAN).exists():
        made = SweepRun(file, resume=True, device=device)
    elif file.is_dir():
        raise BadParameter(f"'{file}' holds no sweep; name a TOML file, or the directory of a sweep to resume it")
    else:
        made = SweepRun(folder or Path("runs") / file.stem, read_sweep(file), resume=resume, device=device)
    _go(made, workers, load, as_json, ray)


def repeat(
    name: str, method: str, count: int, workers: int, load: Sequence[Path], as_json: bool, **options: Any
) -> None:
    """`options`: those of `meijin train`; None for those that were not given."""
    prepare(load)
    check_method(method)
    given = {key: value for key, value in options.items() if value is not None}
    resume, device, ray = given.pop("resume", False), given.pop("device", "cpu"), given.pop("ray", None)
    folder = given.pop("out", None) or Path(f"{default_folder(method, make(name))}-repeated")
    known = ("preset", "config", "changes", "seconds", "iterations", "evaluate")
    if other := next((key for key in given if key not in known), None):
        raise BadParameter(f"--{other.replace('_', '-')} does not go with --repeat; use --set or --config")
    if resume:
        if given:
            raise BadParameter("repeated runs that are resumed keep their settings; only --repeat may change")
        made = SweepRun(folder, resume=True, device=device)
        if made.sweep.game != str(make(name)) or made.sweep.method != method:
            raise BadParameter(f"'{folder}' is for {made.sweep.game} {made.sweep.method}, not for {name} {method}")
        made = SweepRun(folder, replace(made.sweep, repeat=count), resume=True, device=device)
    else:
        values = read(given.pop("config")) if "config" in given else {}
        settings = {**values, **given.pop("changes", {})}
        settings.pop("method", None)
        given["evaluate"] = tuple(given.get("evaluate", ()))
        plan = Sweep(str(make(name)), method, count, settings=settings, **given)
        made = SweepRun(folder, plan, device=device)
    _go(made, workers, load, as_json, ray)


def _go(made: SweepRun, workers: int, load: Sequence[Path], as_json: bool, ray: str | None) -> None:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait should sleep
    alone = workers == 1 and ray is None
    with _display(made, alone, load, as_json) as shown, stoppable(made, shown):
        complete = made.go(shown, workers=workers, ray=ray)
    if not as_json:
        _print(made)
    if made.failed:
        name, why = next(iter(made.failed.items()))
        raise MeijinError(f"{len(made.failed)} of {len(made.trials)} runs failed, such as {name}: {why}")
    if not complete:
        if not as_json:
            done = len(made.trials) - len(made.waiting())
            print(f"stopped: {done} of {len(made.trials)} runs are finished; `meijin sweep {made.folder}` continues")
        raise typer.Exit(INTERRUPTED)


# ---- while it goes ----


class _Log(Lines):
    """One line per finished run."""

    def __call__(self, event: Event) -> None:
        match event:
            case TrialDone():
                self.say(f"run {event.number} of {event.total}  {event.name}  {event.iteration} iterations")
            case RunStarted() | IterationDone() | Finished() | Stopped():
                pass
            case _:
                super().__call__(event)

    def stopped(self) -> None:
        """What is finished is said in the end."""


class _Counted(_Log):
    """A progress bar over the runs."""

    def __init__(self, game: Game, load: Sequence[Path], step: Callable[[], None]):
        super().__init__(game, load)
        self.step = step

    def __call__(self, event: Event) -> None:
        if isinstance(event, TrialDone):
            self.step()
        super().__call__(event)


class _Watched(Shown):
    """The live display of the run in progress."""

    def __call__(self, event: Event) -> None:
        match event:
            case TrialStarted():
                self.rows.clear()
                self.notes.clear()
                self.heading = f"run {event.number} of {event.total}"
            case TrialDone():
                self.say(f"run {event.number} of {event.total}  {event.name}  {event.iteration} iterations")
            case Finished() | Stopped():
                pass
            case _:
                super().__call__(event)

    def stopped(self) -> None:
        self.live.stop()


@contextmanager
def _display(made: SweepRun, alone: bool, load: Sequence[Path], as_json: bool) -> Iterator[JsonLines]:
    game: Game = make(made.sweep.game)
    if as_json:
        yield JsonLines()
    elif not err().is_terminal:
        yield _Log(game, load)
    elif not alone:
        done = len(made.trials) - len(made.waiting())
        with counting(f"{made.folder}", len(made.trials), done=done) as step:
            yield _Counted(game, load, step)
    else:
        shown = _Watched(game, load)
        with shown.live, telling(shown.show_compiling):
            yield shown


# ---- results ----


def _print(made: SweepRun) -> None:
    points, last = curves(made.folder, made.trials), finals(made.folder, made.trials)
    metrics = telling_metrics([final.metric for final in last])[:MOST]
    if not metrics:
        return
    titles = [name.removeprefix("eval_").replace("_", " ") for name in metrics]
    drawn = [point for point in points if point.metric == metrics[0]]
    ends = [point.mean for point in drawn]
    shown = table("variant", "runs", *titles, "curve", right=("runs", *titles))
    for variant in dict.fromkeys(trial.variant for trial in made.trials):
        known = {final.metric: final for final in last if final.variant == variant}
        if not known:
            continue
        runs = max(final.runs for final in known.values())
        cells = [f"{f.mean:.4g} ± {f.deviation:.2g}" if (f := known.get(name)) else "" for name in metrics]
        curve = sparkline([point for point in drawn if point.variant == variant], min(ends), max(ends))
        shown.add_row(variant or str(made.sweep.game), str(runs), *cells, curve)
    out().print(shown)
    files = ", ".join(str(made.folder / name) for name in (CURVES, SUMMARY, PICTURE))
    out().print(Text(f"mean ± standard deviation of the runs' last values; curves of {titles[0]}; {files}", "dim"))
