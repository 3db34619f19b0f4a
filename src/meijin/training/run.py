"""`Run`: what training has in common for all learners.

A run is a directory (see `folder`) and a loop of iterations that fills it. The base class keeps the time, stops when it
is asked to, evaluates, counts goals, writes metrics and checkpoints, resumes, and reports events; a learner's subclass
does the work of one iteration in slices and asks `going` between them.
"""

from __future__ import annotations

import queue
import re
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from meijin.agents.catalogue import build
from meijin.arena.evaluators import EvaluationResult, Evaluator, Goal, evaluate, evaluator
from meijin.core.agent import Agent
from meijin.core.atomic import write_file
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.learning.config import UNLIMITED, RunConfig, flat
from meijin.learning.files import SUFFIX
from meijin.training.clock import Now, RunClock
from meijin.training.curves import Curves
from meijin.training.events import (
    Evaluated,
    Event,
    Finished,
    Handler,
    IterationDone,
    Progress,
    RunStarted,
    Stopped,
    Warned,
)
from meijin.training.folder import RunFolder
from meijin.training.profiling import profiled

C = TypeVar("C", bound=RunConfig)
Row = dict[str, Any]


class Cut(Exception):
    """Work that is not worth finishing: the time is up, or somebody asked to stop."""


class Run(ABC, Generic[C]):
    """One run directory, new or resumed. `go` trains to the end; `iterate` does one iteration."""

    CONFIG: ClassVar[type[RunConfig]]
    MEMORY: ClassVar[str] = "lower batch sizes, then --resume"  # what to do when memory runs out

    def __init__(
        self,
        folder: str | Path,
        config: C | None = None,
        *,
        resume: bool = False,
        device: str = "cpu",
        handlers: Sequence[Handler] = (),
        began: float | None = None,
        now: Now = time.perf_counter,
        profile: bool = False,
    ):
        """Check everything, then create the directory or read it. Only a run that is resumed needs no config.

        `began`: when the clock of this session started, in the time of `now`; by default it starts here.
        `profile`: whether `go` writes into the directory where it spent its time.
        """
        self.clock = RunClock(began=began, now=now)
        self.folder, self.device, self.handlers = RunFolder(folder), device, list(handlers)
        self.resumed, self.profile = resume, profile
        self.config: C = self._checked(config)
        self.clock.set_limit(self.config.length.seconds)
        self.game = make(self.config.game)
        if why := self.config.unfit(self.game):
            raise BadParameter(f"config: {why}")
        self.evaluators = [self._fitting(name) for name in self.config.evaluation.by]
        self.goal = Goal(self.config.evaluation.times)
        self.iteration = 0
        self.reason = ""  # why the run may end before its length is reached
        self._stopping = threading.Event()
        self._costs: dict[str, float] = {"saving": 0.0}  # seconds that something took last time
        self._reported = "", 0.0  # the last phase, and when
        self._durations: deque[float] = deque(maxlen=max(10, self.config.length.evaluate))  # of the last iterations
        self._build()
        self.folder.create()
        if resume:
            self._resume()
        self.folder.trim_metrics(self.iteration)
        self.folder.trim_events()
        # Only now: a resume that is refused leaves the run's own config as it was.
        write_file(self.folder.config, self.config.to_json().encode())
        self.folder.push()  # a store that cannot be written to is noticed now, not after the first iteration
        self.curves = Curves(self.folder.path / "tensorboard")

    def _checked(self, config: C | None) -> C:
        self.folder.check(self.resumed)
        kept: Any = self.CONFIG.load(self.folder.config) if self.resumed else None
        if config is None:
            if kept is None:
                raise BadParameter("a new run needs a config")
            return kept  # type: ignore[no-any-return]
        config = type(config).from_dict(config.to_dict())  # constructors check no bounds
        if kept is not None:
            before, now = dict(flat(kept.fixed())), dict(flat(config.fixed()))
            changed = [f"{name}={before[name]!r} (now {now[name]!r})" for name in now if before[name] != now[name]]
            if changed:
                raise BadParameter(
                    f"the run in '{self.folder}' has {', '.join(changed)}, which cannot be changed; start another run"
                )
        return config

    def _fitting(self, name: str) -> Evaluator:
        made = evaluator(name)
        if why := made.unfit(self.game):
            raise BadParameter(f"{made.name} does not fit {self.game}: {why}")
        return made

    # ---- what a learner brings ----

    @abstractmethod
    def _build(self) -> None:
        """Make nets and the like for `config`, or raise if it makes no sense; nothing is written yet."""

    @abstractmethod
    def _iterate(self) -> Row:
        """Do one iteration in slices, and return its metrics.

        Once `going` says no, finish early: return what was done, or raise `Cut` if that is not worth saving.
        """

    @abstractmethod
    def _write(self, path: Path, facts: Mapping[str, Any], whole: bool) -> None:
        """Write a checkpoint; a `whole` one has all that is needed to resume, others only need to play."""

    @abstractmethod
    def _load(self, path: Path) -> Mapping[str, Any]:
        """Continue from a checkpoint; returns its facts."""

    @abstractmethod
    def expression(self, path: Path) -> str:
        """The expression of the agent that plays a checkpoint, or the latest one of a run's directory."""

    def agent(self) -> Agent:
        """The agent that plays what has been learned so far."""
        with self._stored() as name:
            return build(name, self.game, seed=self.iteration)

    @contextmanager
    def _stored(self) -> Iterator[str]:
        """The expression of that agent, for other processes; its file is there inside the block."""
        path = (self.folder.checkpoints / f"evaluated{SUFFIX}").absolute()
        try:
            yield self._store(path)
        finally:
            path.unlink(missing_ok=True)

    def _store(self, path: Path) -> str:
        """Write what has been learned so far; returns the expression of the agent that plays it."""
        self._write(path, {}, whole=False)
        return self.expression(path)

    def _facts(self) -> Row:
        """Further facts that the learner stores in a checkpoint."""
        return {}

    def _measure(self) -> Row:
        """What else the learner measures at an evaluation; it may raise `Cut`."""
        return {}

    def _reload(self, facts: Mapping[str, Any]) -> None:
        """Read what a resumed run needs besides the checkpoint."""

    def _saved(self) -> None:
        """Remove files that are not needed any more: the checkpoint has been written."""

    def _pictures(self) -> Mapping[str, NDArray[np.float32]]:
        """Pictures for TensorBoard, by name."""
        return {}

    def _spreads(self) -> Mapping[str, NDArray[np.float32]]:
        """Numbers for TensorBoard to show as histograms, by name; asked for at milestones only."""
        return {}

    @property
    def milestone(self) -> bool:
        """Whether the iteration is one to evaluate or to keep."""
        length = self.config.length
        return any(every and self.iteration % every == 0 for every in (length.evaluate, length.keep))

    # ---- time ----

    @property
    def seconds(self) -> float:
        """Wall-clock time of the run, all its sessions together."""
        return self.clock.elapsed

    @property
    def progress(self) -> float:
        """The share of the run that is done."""
        return max(min(1.0, self.iteration / self.config.length.iterations), self.clock.share)

    @property
    def left(self) -> float | None:
        """Estimated seconds to the end of the run; None if not known yet."""
        known = list(self._durations)[-1:] if len(self._durations) < 3 else list(self._durations)[1:]
        if not known:
            return self.clock.left if self.config.length.seconds else None
        return max(0.0, min(self.clock.left, (self.config.length.iterations - self.iteration) * float(np.mean(known))))

    def going(self, reserve: float = 0.0) -> bool:
        """Whether work may continue: nobody asked to stop, and more than `reserve` seconds are left."""
        return not self._stopping.is_set() and self.clock.left > reserve

    def report(self, phase: str, done: int, total: int, reserve: float = 0.0, **metrics: float) -> bool:
        """Say that a slice of work is done; returns whether there is time for another like it, and `reserve` more."""
        self.emit(Progress(phase, done, total, metrics))
        before, now = self._reported, self.clock.elapsed
        self._reported = phase, now
        return self.going(reserve + (now - before[1] if before[0] == phase and done else 0.0))

    def stop(self) -> None:
        """Ask the run to end soon; may be called from any thread. It can be resumed."""
        self._stopping.set()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Remember how long this takes; see `fits`."""
        began = self.clock.elapsed
        yield
        self._costs[what] = self.clock.elapsed - began

    def fits(self, what: str) -> bool:
        """Whether there is time for something that took so long last time, and to save afterwards.

        What was never done may have to be compiled first: it is taken to last as long as the first iteration.
        """
        guess = self._costs.get("first iteration", 0.0)
        return self.going(self._costs.get(what, guess) + self._costs["saving"])

    # ---- the loop ----

    def emit(self, event: Event) -> None:
        """Note an event and tell the handlers."""
        if not isinstance(event, Progress):
            self.folder.add_event(event)
        if isinstance(event, Finished | Stopped):
            with suppress(MeijinError):  # what was noted since the last checkpoint, which is there already
                self.folder.push()
        for handler in self.handlers:
            handler(event)

    def go(self, *handlers: Handler) -> Finished | Stopped:
        """Train to the end of the run and return its last event; handlers get all of them, in this thread."""
        self.handlers += handlers
        length = self.config.length
        if self.progress >= 1.0 and (self.resumed or self.iteration):  # a new one may just have been slow to start
            raise MeijinError(
                f"the run in '{self.folder}' is finished ({self.iteration} iterations, {self.seconds:.0f} s); "
                "ask for more with --iterations or --seconds"
            )
        iterations = length.iterations if length.iterations < UNLIMITED else None
        started = (self.config.METHOD, str(self.game), self.folder.path, self.iteration, iterations)
        store = None if self.folder.remote is None else self.folder.remote.url
        self.emit(RunStarted(*started, length.seconds or None, store))
        with profiled(self.folder.path) if self.profile else nullcontext():
            self._loop()
        last: Finished | Stopped
        if self.stopping and not self.reason and self.progress < 1.0:
            last = Stopped(self.iteration, self.folder.path)
        else:
            last = Finished(self.iteration, self.folder.path, self.expression(self.folder.path), self._why())
        self.emit(last)
        return last

    def _loop(self) -> None:
        """All iterations that are left, as far as there is time."""
        try:
            while self.going() and self.progress < 1.0 and not self.reason and self.iterate() is not None:
                pass
            if not self.folder.latest.exists():  # not even one iteration fitted
                self.save()
        except Exception as error:
            said = str(error) or type(error).__name__
            if not isinstance(error, MemoryError) and "out of memory" not in said.lower().replace("_", " "):
                raise
            raise MeijinError(
                f"out of memory on {self.device} after iteration {self.iteration} ({said.splitlines()[0]}); "
                + self.MEMORY
            ) from error
        finally:
            self.close()

    def _why(self) -> str:
        if self.reason or self.iteration >= self.config.length.iterations:
            return self.reason or "all iterations are done"
        # Most of it was compilation, which is cached for the next time.
        return "the time is up" if self.iteration else "the time was up before the first iteration; --resume with more"

    def __iter__(self) -> Iterator[Event]:
        """Train in another thread and yield the events as they come; leaving the loop stops the run."""
        waiting: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()

        def work() -> None:
            try:
                self.go(waiting.put)
                waiting.put(None)
            except BaseException as error:
                waiting.put(error)

        thread = threading.Thread(target=work, name="meijin-training", daemon=True)
        thread.start()
        try:
            while (event := waiting.get()) is not None:
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            self.stop()
            thread.join()

    def iterate(self) -> Row | None:
        """Do one iteration and save it; returns its metrics, None if it was cut short before it was worth saving."""
        self.folder.check_room()
        began, length = self.clock.elapsed, self.config.length
        try:
            row = self._iterate()
        except Cut:
            return None
        self.iteration += 1
        if length.evaluate and self.iteration % length.evaluate == 0:
            row |= self._evaluate()
        row = {"iteration": self.iteration, "seconds": self.clock.elapsed, **row}
        with self.timed("saving"):
            self.folder.add_metrics(row)
            self.curves.write(self.iteration, row, self._pictures(), self._spreads() if self.milestone else {})
            self.save()
        self._saved()
        self._durations.append(self.clock.elapsed - began)
        self._costs.setdefault("first iteration", self._durations[0])
        self.emit(IterationDone(self.iteration, row, self.left))
        return row

    def close(self) -> None:
        self.curves.close()

    # ---- evaluation ----

    def _evaluate(self) -> Row:
        """The metrics of all evaluators; what does not fit into the time that is left is left out."""
        row: Row = {}
        if not self.fits("evaluation"):
            if not self.stopping:
                self.emit(Warned(f"no time is left to evaluate iteration {self.iteration}"))
            return row
        found: list[EvaluationResult] = []
        try:
            with self.timed("evaluation"):
                row |= self._measure()
                with self._stored() if self.config.evaluation.workers else nullcontext(self.agent()) as agent:
                    for each in self.evaluators:
                        result = self._evaluated(agent, each)
                        value, interval = result.value, result.interval
                        self.emit(Evaluated(each.name, value, interval, result.games, result.goal, result.reached))
                        row[column(each.name)] = value
                        found.append(result)
        except Cut:
            if not self.stopping:
                self.emit(Warned(f"the time is up: the evaluation of iteration {self.iteration} is not complete"))
            return row
        if row:
            row["evaluation_seconds"] = self._costs["evaluation"]
        if self.goal.update(*found):
            self.reason = "all goals are reached"
        return row | ({"goal_streak": self.goal.streak} if any(each.goal is not None for each in found) else {})

    def _evaluated(self, agent: Agent | str, by: Evaluator) -> EvaluationResult:
        """One measurement; `Cut` if there is not the time for the whole of it."""
        workers, step = self.config.evaluation.workers, self._step(by.name)

        def stopping() -> bool:
            return not self.going(self._costs["saving"])

        try:
            found = evaluate(self.game, agent, by, seed=self.iteration, workers=workers, step=step, stopping=stopping)
        except MeijinError:
            if stopping():
                raise Cut from None
            raise
        if stopping():
            raise Cut
        return found

    def _step(self, phase: str) -> Any:
        """A function to call between two parts of a measurement, which it ends when there is no more time."""

        def step(done: int, total: int) -> None:
            if not self.report(phase, done, total, self._costs["saving"]):
                raise Cut

        return step

    # ---- checkpoints ----

    def save(self) -> None:
        """Write the latest checkpoint, and another one to keep if it is time for that."""
        keep = self.config.length.keep
        facts = {
            "iteration": self.iteration,
            "seconds": self.clock.elapsed,
            "progress": self.progress,
            "goal_streak": self.goal.streak,
            **self._facts(),
        }
        if keep and self.iteration and self.iteration % keep == 0:
            self._write(self.folder.numbered(self.iteration), facts, whole=False)
        self._write(self.folder.latest, facts, whole=True)
        self.folder.push()

    def _resume(self) -> None:
        path, otherwise = self.folder.to_resume()
        facts: Mapping[str, Any] = {}
        if path is not None:
            try:
                facts = self._load(path)
            except MeijinError as error:
                raise MeijinError(f"{error}{otherwise}") from None
        self.iteration, self.clock.spent = int(facts.get("iteration", 0)), float(facts.get("seconds", 0.0))
        self.goal.streak = int(facts.get("goal_streak", 0))
        self._reload(facts)


def column(evaluator: str) -> str:
    """The name of an evaluator's column in metrics.csv."""
    return "eval_" + re.sub(r"[^A-Za-z0-9.]+", "_", evaluator).strip("_")
