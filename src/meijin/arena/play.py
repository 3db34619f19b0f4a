"""One game: a `Task` in, a `GameRecord` out.

A mistake of an agent ends its game and nothing else: an exception, an illegal move or a move that takes too long is a
forfeit, which the record explains. A mistake in a game's rules raises an error.

A game depends only on its task. New agents are made for every game, with a seed from the task's seed, its number and
the seat. An agent with its own seed (`mcts(seed=7)`) uses that and the number of the game instead. Chance draws from
the task's seed: tasks with equal seeds have equal luck.
"""

from __future__ import annotations

import math
import multiprocessing
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np

from meijin.agents.catalogue import build
from meijin.arena.judges import PlayRules, Scores, forfeited
from meijin.arena.record import GameRecord, MoveNote, Task, derive
from meijin.core import compile as compiling
from meijin.core.agent import Agent, Analysis, Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, IllegalMove, MeijinError, RuleError, UnknownName
from meijin.core.expression import Call, parse
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.rng import stream

T = TypeVar("T")

NOBODY = -1  # the seat on move while rules, chance or a judge are working


class Monitor:
    """The clock of the agent on move, for many games; that of a worker can be read by its parent process."""

    def __init__(self) -> None:
        self.settled: set[tuple[Game, str]] = set()  # agents that have moved in this process
        self.began = 0.0  # when the agent was asked, plus the time spent compiling since

    def start(self, seat: int, allowed: float) -> None:
        """The agent of a seat is asked for a move, within `allowed` seconds."""
        self.began = time.monotonic()

    def stop(self) -> float:
        """It has answered; returns the seconds it took, without compiling."""
        return time.monotonic() - self.began

    def moved(self, moves: Sequence[int]) -> None:
        """The moves of the game so far."""

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Code is compiled inside the block; the clock stands still."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.began += time.monotonic() - began

    @contextmanager
    def installed(self) -> Iterator[Monitor]:
        """Inside the block, compilation is reported to the monitor."""
        before = compiling.on_compile

        def both(name: str) -> ExitStack:
            stack = ExitStack()
            stack.enter_context(before(name))
            stack.enter_context(self.compiling())
            return stack

        compiling.on_compile = both
        try:
            yield self
        finally:
            compiling.on_compile = before


class AgentForfeit(Exception):
    """A mistake of an agent that ends its game."""

    def __init__(self, seat: int, reason: str):
        super().__init__(reason)
        self.seat, self.reason = seat, reason


def play_task(
    task: Task,
    *,
    rules: PlayRules = PlayRules(),  # noqa: B008 - frozen
    game: Game | None = None,
    monitor: Monitor | None = None,
) -> GameRecord:
    """Play a game to its end. `game`: that of the task, if it is already made.

    This waits for an agent that never answers; `pool.play_tasks` with workers does not.
    """
    game = make(task.game) if game is None else game
    if monitor is None:
        with Monitor().installed() as monitor:
            return _LiveGame(task, rules, game, monitor).play()
    return _LiveGame(task, rules, game, monitor).play()


def enter(name: str, game: Game, seed: int | None = None) -> Agent:
    """The agent of an expression, before the first game; one that cannot be made is an error with the reason."""
    try:
        return build(name, game, seed=seed)
    except MeijinError:
        raise
    except Exception as error:
        raise MeijinError(f"cannot make {name}: {described(error)}") from error


def no_answer(rules: PlayRules) -> str:
    return f"no answer within {rules.move_timeout:g} s"


def forfeit_record(task: Task, game: Game, seat: int, reason: str, moves: Sequence[int]) -> GameRecord:
    """The record of a game that a seat forfeited; the reason names its agent."""
    return GameRecord(task, tuple(moves), forfeited(game, seat), "forfeit", seat, f"{task.agents[seat]}: {reason}")


def now() -> str:
    """The current time, as in records."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class _LiveGame:
    """A game that is being played."""

    def __init__(self, task: Task, rules: PlayRules, game: Game, monitor: Monitor):
        if len(task.agents) != game.seats:
            raise BadParameter(f"{game} has {game.seats} seats; name that many agents, not {len(task.agents)}")
        if task.limits and len(task.limits) != game.seats:
            raise BadParameter(f"{game} has {game.seats} seats; give that many limits, not {len(task.limits)}")
        self.task, self.rules, self.game, self.monitor = task, rules, game, monitor
        self.allowed = math.inf if rules.move_timeout is None else rules.move_timeout  # seconds for a move
        self.began, self._start = now(), time.perf_counter()
        self.agents: list[Agent] = []  # [seat]
        self.notes: list[MoveNote] = []
        self.views: list[tuple[int, Scores]] = []  # (mover, its value) of the latest plies with a value
        try:
            self.state = task.begin(game).play_line(task.opening)
        except MeijinError as error:
            raise type(error)(f"the opening of game {task.number}: {error}") from None
        self.moves = list(task.opening)

    def play(self) -> GameRecord:
        try:
            try:
                scores, ending, reason = self._play()
            finally:
                self._close()
        except AgentForfeit as forfeit:
            record = forfeit_record(self.task, self.game, forfeit.seat, forfeit.reason, self.moves)
        else:
            record = GameRecord(self.task, tuple(self.moves), scores, ending, None, reason)
        self._fill_notes()
        seconds = time.perf_counter() - self._start
        return replace(record, notes=tuple(self.notes), began=self.began, seconds=seconds)

    def _play(self) -> tuple[Scores, str, str]:
        """Scores, ending and reason; or `AgentForfeit`."""
        state, rules, chance = self.state, self.rules, stream(self.task.seed)
        self.monitor.moved(self.moves)
        agents = self.agents
        for seat in range(self.game.seats):
            agents.append(self._seated(seat))
        limits = self.task.limits or (Limit(),) * self.game.seats
        while True:
            if state.is_chance:
                state.roll(chance)
                self.moves += map(int, state.moves_since(len(self.moves)))
                self.monitor.moved(self.moves)
            if state.is_over:
                return state.scores, "rules", ""
            if (ruling := self._ruling()) is not None:
                return ruling
            seat = state.turn
            move, note = self._answer(agents[seat], seat, limits[seat])
            try:
                state.play(move)
            except IllegalMove:
                shown = self.game.moves[move].name if 0 <= move < self.game.num_moves else str(move)[:40]
                raise AgentForfeit(seat, f"the move {shown} is not legal") from None
            if rules.notes != "none":
                self._fill_notes()
                self.notes.append(note)
            self.moves.append(move)
            self.monitor.moved(self.moves)
            self.monitor.settled.add((self.game, self.task.agents[seat]))

    def _fill_notes(self) -> None:
        """Plies of the opening and of chance have empty notes."""
        if self.rules.notes != "none":
            self.notes += [MoveNote()] * (len(self.moves) - len(self.notes))

    def _ruling(self) -> tuple[Scores, str, str] | None:
        """The decision of a judge that ends the game; None: play on."""
        cap, agreement, perfect = self.rules.cap, self.rules.agreement, self.rules.perfect
        if cap is not None and len(self.moves) >= cap.plies:
            return cap.ruling(self.state), "cap", f"stopped after {cap.plies} plies"
        if agreement is not None and (agreed := agreement.ruling(self.game, self.views)):
            return agreed[0], "judged", agreed[1]
        begun = len(self.moves) > len(self.task.opening) and len(self.moves) >= (perfect.after if perfect else 0)
        if perfect is not None and begun and (known := perfect.ruling(self.state)):
            return known[0], "judged", known[1]
        return None

    # ---- what agents do ----

    def _seated(self, seat: int) -> Agent:
        call = parse(self.task.agents[seat])
        allowed = self.allowed + self.rules.startup_grace
        try:
            return self._ask(seat, allowed, lambda: _made(call, self.game, self.task, seat))[0]
        except AgentForfeit as forfeit:
            if isinstance(forfeit.__cause__, UnknownName):  # a misspelt name is not an agent's fault
                raise forfeit.__cause__ from None
            raise

    def _close(self) -> None:
        """Agents may hold processes and much memory. A mistake now is too late to matter, unless it takes forever."""
        for seat, agent in enumerate(self.agents):
            with suppress(AgentForfeit):
                self._ask(seat, self.allowed + self.rules.startup_grace, agent.close)

    def _answer(self, agent: Agent, seat: int, limit: Limit) -> tuple[int, MoveNote]:
        """The agent's move and its note."""
        wants = self.rules.notes == "analyses" or self.rules.agreement is not None
        state = self.state.copy()  # an agent may change it
        allowed = self.allowed
        if (self.game, self.task.agents[seat]) not in self.monitor.settled:
            allowed += self.rules.startup_grace

        def answer() -> tuple[Any, Analysis | None]:
            if not wants:
                return agent.act(state, limit), None
            analysis = agent.chosen(state, agent.analyse(state, limit))
            return analysis.best, analysis

        (said, analysis), seconds = self._ask(seat, allowed, answer)
        try:
            if isinstance(said, bool | np.bool_):
                raise TypeError
            move = operator.index(said)
        except TypeError:
            raise AgentForfeit(seat, f"answered {_short(said)}, which is not a move") from None
        if analysis is None:
            return move, MoveNote(seconds)
        value = _value(analysis.value, self.game.seats)
        if value is None:
            self.views.clear()
        else:
            self.views.append((seat, value))
        kept = self._ask(seat, allowed, lambda: plain(analysis))[0] if self.rules.notes == "analyses" else None
        return move, MoveNote(seconds, value, kept)

    def _ask(self, seat: int, allowed: float, call: Callable[[], T]) -> tuple[T, float]:
        """What an agent's code returns, and how long it took; or `AgentForfeit`."""
        self.monitor.start(seat, allowed)
        try:
            answer = call()
        except RuleError:  # not the agent's mistake
            self.monitor.stop()
            raise
        except BaseException as error:
            self.monitor.stop()
            # Ctrl-C does not reach workers: there the agent itself raised it.
            if isinstance(error, KeyboardInterrupt | GeneratorExit) and multiprocessing.parent_process() is None:
                raise
            raise AgentForfeit(seat, f"failed with {described(error)}") from error
        seconds = self.monitor.stop()
        if seconds > allowed:
            raise AgentForfeit(seat, no_answer(self.rules))
        return answer, seconds


def _made(call: Call, game: Game, task: Task, seat: int) -> Agent:
    own = call.kwargs.get("seed")
    if isinstance(own, int):
        agent = build(call, game)
        agent.seed(derive(own, task.number))
        return agent
    return build(call, game, seed=derive(task.seed, 1 + task.number * game.seats + seat))


def _value(value: Any, seats: int) -> Scores | None:
    """The value vector of an agent, if it is valid."""
    try:
        found = tuple(float(v) for v in value)
    except (TypeError, ValueError):
        return None
    return found if len(found) == seats and all(map(math.isfinite, found)) else None


def plain(value: Any) -> Any:
    """An analysis, or any part of one, as JSON has it: moves by name; null for numbers that are not finite."""
    if isinstance(value, Move):
        return value.name
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    return {field.name: plain(getattr(value, field.name)) for field in fields(value)}


def described(error: BaseException) -> str:
    """An exception on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def _short(said: Any) -> str:
    try:
        text = " ".join(repr(said).split())
    except Exception:  # even its repr is broken
        text = f"a {type(said).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
