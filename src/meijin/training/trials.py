"""Doing the runs of a sweep: in this process or in several, and again after a kill.

A sweep is a directory: its plan (`sweep.json`), the directories of its runs, and what they have in common
(`curves.csv`, `summary.csv`, `curves.svg`; see `summary`). A run that is finished says so in `result.json` and is not
done again; one that was cut off is resumed.
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from meijin.agents.registrations import Registrations, register_again, registrations
from meijin.core.atomic import write_file
from meijin.core.config import convert
from meijin.core.errors import BadParameter, MeijinError
from meijin.learning.config import read
from meijin.training import resume, start
from meijin.training.events import Event, Finished, Handler, TrialDone, TrialStarted, Warned
from meijin.training.folder import RunFolder
from meijin.training.remote import url_of
from meijin.training.run import Run
from meijin.training.summary import write_summary
from meijin.training.sweep import Sweep, Trial

PLAN, RESULT = "sweep.json", "result.json"


@dataclass(frozen=True)
class Result:
    """How a run ended."""

    iteration: int
    reason: str  # empty: it was stopped and can be resumed


def run_trial(
    trial: Trial,
    folder: str | Path,
    device: str = "cpu",
    handlers: Sequence[Handler] = (),
    begun: Callable[[Run[Any]], None] | None = None,
) -> Result:
    """Do one run in its directory below that of the sweep, or what is left of it. `begun` gets it before it goes."""
    place = Path(folder) / trial.name
    if (place / RESULT).exists():
        return Result(**read(place / RESULT))
    if RunFolder(place).config.exists():
        run = resume(place, device=device)
    else:
        run = start(trial.config.METHOD, trial.config.game, config=trial.config, out=place, device=device)
    if begun is not None:
        begun(run)
    if run.progress >= 1.0:  # killed between its end and the note of it
        run.close()
        result = Result(run.iteration, "all iterations are done")
    else:
        last = run.go(*handlers)
        result = Result(last.iteration, last.reason if isinstance(last, Finished) else "")
    if result.reason:
        write_file(place / RESULT, json.dumps(vars(result)).encode())
    return result


class SweepRun:
    """A sweep and its directory, new or resumed. `go` does the runs that are missing."""

    def __init__(self, folder: str | Path, sweep: Sweep | None = None, *, resume: bool = False, device: str = "cpu"):
        """Check every run's settings, then create the directory. Only a sweep that is resumed needs no plan."""
        if (url := url_of(folder)) is not None:
            raise BadParameter(f"'{url}': only single runs can be in an object store; choose a local --out")
        self.folder, self.device = Path(folder), device
        plan = self.folder / PLAN
        if resume and not plan.exists():
            raise BadParameter(f"'{folder}' holds no sweep to resume; leave out --resume to start one there")
        if not resume and (plan.exists() or RunFolder(folder).config.exists()):
            raise BadParameter(
                f"'{folder}' already holds {'a sweep' if plan.exists() else 'a run'}; "
                "add --resume to continue it, or choose another --out"
            )
        if resume:
            kept = convert(Sweep, read(plan), str(plan))
            if sweep is not None and replace(sweep, repeat=1) != replace(kept, repeat=1):
                raise BadParameter(f"'{folder}' holds another sweep; only `repeat` may change; choose another --out")
            sweep = sweep or kept
        if sweep is None:
            raise BadParameter("a new sweep needs a plan")
        self.sweep = sweep
        self.trials = sweep.trials()
        write_file(plan, sweep.to_json().encode())
        self.failed: dict[str, str] = {}  # trial -> its error, of the latest `go`
        self._stopping = threading.Event()
        self._running: Run[Any] | None = None
        self._elsewhere = False  # the runs are other processes, which look for a file

    def waiting(self) -> list[Trial]:
        """The runs that are not finished."""
        return [trial for trial in self.trials if not (self.folder / trial.name / RESULT).exists()]

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        """Ask the sweep to end soon; may be called from any thread or signal handler. It can be resumed."""
        self._stopping.set()
        if (run := self._running) is not None:
            run.stop()
        if self._elsewhere:
            (self.folder / STOP).touch()

    def go(self, *handlers: Handler, workers: int = 1, ray: str | None = None) -> bool:
        """Do what is missing, in so many processes, and write the summary; returns whether all runs are finished.

        `ray`: the address of a Ray cluster that does the runs instead, one per core; "" starts one on this machine.
        All nodes must see the directory of the sweep.

        A run that fails, as with a step size that is far too large, does not keep the others from going on. `failed`
        has its error, and the next `go` tries it again.

        Handlers get a `TrialStarted` and a `TrialDone` for every run, and with one worker its own events too.
        """
        if workers < 1:
            raise BadParameter(f"workers={workers}: must be at least 1")

        def emit(event: Event) -> None:
            for handler in handlers:
                handler(event)

        self.failed = {}
        self._elsewhere = workers > 1 or ray is not None
        try:
            missing = self.waiting()
            if ray is not None:
                results = self._on_cluster(missing, emit, ray)
            else:
                results = self._here(missing, emit) if workers == 1 else self._apart(missing, emit, workers)
            for trial, result in results:
                if isinstance(result, MeijinError):
                    self.failed[trial.name] = str(result)
                    emit(Warned(f"run {trial.name} failed: {result}"))
                elif result.reason:
                    number = len(self.trials) - len(self.waiting())
                    emit(TrialDone(trial.name, number, len(self.trials), result.iteration, result.reason))
        finally:
            self._elsewhere = False
            (self.folder / STOP).unlink(missing_ok=True)
            write_summary(self.folder, self.trials)
        return not self.waiting()

    def _here(self, trials: Sequence[Trial], emit: Handler) -> Iterator[tuple[Trial, Result | MeijinError]]:
        def begun(run: Run[Any]) -> None:
            self._running = run
            if self.stopping:
                run.stop()

        for trial in trials:
            if self.stopping:
                return
            emit(TrialStarted(trial.name, 1 + self.trials.index(trial), len(self.trials)))
            try:
                yield trial, run_trial(trial, self.folder, self.device, (emit,), begun)
            except MeijinError as error:
                yield trial, error

    def _apart(
        self, trials: Sequence[Trial], emit: Handler, workers: int
    ) -> Iterator[tuple[Trial, Result | MeijinError]]:
        known = (registrations(),)
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(workers, max(1, len(trials))), spawn, _prepare, known) as pool:
            waiting = iter(trials)
            going: dict[Future[Result | MeijinError], Trial] = {}
            while True:
                while len(going) < workers and not self.stopping and (trial := next(waiting, None)) is not None:
                    emit(TrialStarted(trial.name, 1 + self.trials.index(trial), len(self.trials)))
                    going[pool.submit(_alone, trial, str(self.folder), self.device)] = trial
                if not going:
                    return
                for done in wait(going, return_when=FIRST_COMPLETED).done:
                    yield going.pop(done), done.result()

    def _on_cluster(
        self, trials: Sequence[Trial], emit: Handler, address: str
    ) -> Iterator[tuple[Trial, Result | MeijinError]]:
        from meijin.cluster.spread import spread

        pieces = [(trial, str(self.folder.absolute()), self.device) for trial in trials]
        with closing(spread(_alone, pieces, address, warn=lambda text: emit(Warned(text)))) as results:
            for number, result in results:
                yield trials[number], result
                if self.stopping:
                    return


STOP = ".stop"  # a file that asks the runs in other processes to stop


def _prepare(known: Registrations) -> None:
    """A worker process: Ctrl-C is for the process that asked, which tells the others by a file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    register_again(known)


def _alone(trial: Trial, folder: str, device: str) -> Result | MeijinError:
    """`run_trial` in a process of its own."""
    runs: list[Run[Any]] = []

    def look(event: Event) -> None:
        if (Path(folder) / STOP).exists():
            runs[0].stop()

    try:
        return run_trial(trial, folder, device, (look,), runs.append)
    except MeijinError as error:
        return error
