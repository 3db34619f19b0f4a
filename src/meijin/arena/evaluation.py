"""What an evaluation is, how evaluators are made, and when training has reached its goal."""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from meijin.agents.catalogue import agents
from meijin.arena.match import MatchResult, match
from meijin.arena.play import described, enter
from meijin.arena.pool import Stopping, never
from meijin.arena.stats import Interval
from meijin.core import config
from meijin.core.agent import Agent, Limit
from meijin.core.catalogue import game_of
from meijin.core.errors import BadParameter, MeijinError, RuleError
from meijin.core.expression import Call, parse
from meijin.core.game import Game
from meijin.core.registry import Registry
from meijin.core.state import State


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """What an evaluator measured."""

    name: str  # the evaluator's expression
    game: str
    agent: str
    value: float
    interval: Interval  # 95 %
    games: int  # or positions
    unit: str = "share"  # "share" of points, positions or games, from 0 to 1; or "score", the game's own
    goal: float | None = None
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)  # plain JSON

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None if there is none."""
        return None if self.goal is None else self.value >= self.goal


class NoGames(MeijinError):
    """It was stopped before there was anything to measure."""


@dataclass(frozen=True, slots=True)
class EvaluationJob:
    """Who is evaluated, and how."""

    game: Game
    agent: str  # expression
    seed: int = 0
    limit: Limit = field(default_factory=Limit)  # for the agent; opponents have their own
    workers: int = 0  # processes that play; on a cluster, games at a time at most, 0: on all its cores
    step: Callable[[int, int], None] = lambda done, total: None  # called after each game or position
    ray: str | None = None  # address of a Ray cluster on which matches are played
    warn: Callable[[str], None] = lambda text: None  # gets what goes wrong there and is survived
    stopping: Stopping = never  # whether to end with the games so far; asked after each game or position

    def made(self) -> Agent:
        return enter(self.agent, self.game, self.seed)

    def moved(self, agent: Agent, state: State) -> State:
        """The position after the agent's move; an error of the agent names it."""
        try:
            return state.copy().play(agent.act(state.copy(), self.limit))
        except RuleError:
            raise
        except MeijinError as error:
            raise MeijinError(f"{self.agent}: {error}") from error
        except Exception as error:
            raise MeijinError(f"{self.agent}: failed with {described(error)}") from error

    def play(self, names: Sequence[str], games: int, **options: Any) -> MatchResult:
        """A match of these agents; the first is the one evaluated."""
        done = itertools.count(1)
        limits = (self.limit, *(Limit() for _ in names[1:]))
        found = match(
            self.game, names, games, self.seed, limits if self.limit != Limit() else Limit(),
            on_game=lambda record: self.step(next(done), games), workers=self.workers, ray=self.ray, warn=self.warn,
            stopping=self.stopping, **options,
        )  # fmt: skip
        if not found.games:
            raise NoGames("stopped before a game ended")
        return found


class Evaluator(ABC):
    """One way to evaluate agents. `name` is the expression that makes it again. Dataclasses check their fields."""

    name: str = "evaluator"
    goal: float | None = None

    def __post_init__(self) -> None:
        config.check(self, self.name)

    def unfit(self, game: Game) -> str | None:
        """Why it cannot be used in a game; None if it can."""
        return None

    @abstractmethod
    def measure(self, job: EvaluationJob) -> EvaluationResult:
        """Evaluate the agent; `evaluate` fills in what all results have in common."""


evaluators: Registry[Evaluator] = Registry("evaluator", "meijin.evaluators")


def evaluator(expression: str | Call) -> Evaluator:
    """The evaluator of an expression such as `vs(random, games=200, goal=0.9)`."""
    call = parse(expression) if isinstance(expression, str) else expression
    made = evaluators.make(call)
    made.name = str(call)
    return made


def evaluate(
    game: Game | str,
    agent: str | Agent,
    by: str | Evaluator,
    *,
    seed: int = 0,
    limit: Limit = Limit(),  # noqa: B008 - frozen
    workers: int = 0,
    step: Callable[[int, int], None] = lambda done, total: None,
    ray: str | None = None,
    warn: Callable[[str], None] = lambda text: None,
    stopping: Stopping = never,
) -> EvaluationResult:
    """Evaluate an agent, given as an expression or as an object. An object, such as a net in training, plays here.

    `workers`, `ray`, `warn`, `stopping`: as in `match`; evaluators that play no matches ask the agent in this process.
    Equal arguments give equal results, wherever games are played, unless a clock decides.
    """
    game = game_of(game)
    by = evaluator(by) if isinstance(by, str) else by
    if why := by.unfit(game):
        raise BadParameter(f"{by.name} does not fit {game}: {why}")
    with _named(agent) as name:
        enter(name, game)  # finds mistakes before the first game
        began = time.perf_counter()
        if not isinstance(agent, str):
            workers, ray = 0, None
        found = by.measure(EvaluationJob(game, name, seed, limit, workers, step, ray, warn, stopping))
    return replace(
        found,
        name=by.name,
        agent=agent if isinstance(agent, str) else agent.name,
        goal=by.goal,
        seconds=time.perf_counter() - began,
    )


@contextmanager
def _named(agent: str | Agent) -> Iterator[str]:
    """An expression that names the agent inside the block."""
    if isinstance(agent, str):
        yield agent
        return
    given, name = agent, agent.name
    expression = f"evaluated-{id(agent):x}"
    agents.register(expression, lambda: given)
    try:
        with agent.lent():
            yield expression
    finally:
        del agents._entries[expression]
        agent.name = name  # `build` renamed it


class Goal:
    """Counts how often in a row every evaluation with a goal reached it; done after `times` times.

    `streak` is the only thing to save when training is interrupted.
    """

    def __init__(self, times: int = 1, streak: int = 0):
        if times < 1:
            raise BadParameter(f"times = {times}: must be at least 1")
        self.times, self.streak = times, streak

    @property
    def done(self) -> bool:
        return self.streak >= self.times

    def update(self, *found: EvaluationResult) -> bool:
        """Take in the evaluations of one moment; returns whether the goal is reached for good."""
        goals = [evaluation.reached for evaluation in found if evaluation.reached is not None]
        self.streak = self.streak + 1 if goals and all(goals) else 0
        return self.done


# ---- parts of evaluators ----


def measured(
    job: EvaluationJob, value: float, interval: Interval, games: int, details: dict[str, Any], unit: str = "share"
) -> EvaluationResult:
    return EvaluationResult("", str(job.game), "", value, interval, games, unit, details=details)
