"""`check_agent`: the promises every agent makes, tried on one; made for people who write one."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meijin.agents.catalogue import build
from meijin.core.agent import Agent, Analysis, Limit
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.rng import below, stream
from meijin.core.state import State

LATE = 1.0  # seconds that an agent may take to end after `stop`, or after its time is up
SMALL = Limit(seconds=0.2, simulations=50, depth=2, nodes=2000)  # enough to say something


class AgentError(MeijinError):
    """An agent that breaks a promise of agents."""


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What `check_agent` tried; an agent that breaks a promise gets an AgentError instead."""

    agent: str
    game: str
    promises: tuple[str, ...]  # those that were tried
    stop_seconds: float  # from `stop` to the answer; NaN where it answered before it could be stopped

    def __str__(self) -> str:
        tried = "\n".join(f"  {promise}" for promise in self.promises)
        stop = "" if math.isnan(self.stop_seconds) else f"\n  answered {1000 * self.stop_seconds:.1f} ms after `stop`"
        return f"{self.agent} keeps its promises on {self.game}:\n{tried}{stop}"


def check_agent(agent: str | Callable[[], Agent], game: Game, *, positions: int = 4, seed: int = 0) -> AgentReport:
    """Try every promise of agents; the first broken one raises an AgentError that says which.

    `agent` is an expression or a function without arguments that makes an agent: it is made several times.
    """
    make = (lambda: build(agent)) if isinstance(agent, str) else agent
    check = _Check(make, game, seed, positions)
    promises = (
        check.suits_the_game,
        check.analyses_are_sound,
        check.moves_are_legal,
        check.positions_stay_as_they_are,
        check.limits_are_kept,
        check.seeds_repeat,
        check.watching_ends_with_the_answer,
        check.stopping_ends_thinking,
        check.threads_wait_for_each_other,
        check.pondering_does_no_harm,
        check.closing_is_final,
    )
    said = []
    for promise in promises:
        promise()
        said.append((promise.__doc__ or "").strip())
    return AgentReport(check.name, str(game), tuple(said), check.stop_seconds)


class _Check:
    def __init__(self, make: Callable[[], Agent], game: Game, seed: int, positions: int):
        self.make, self.game, self.seed = make, game, seed
        self.states = _positions(game, positions, seed)
        self.agent = self.fresh()
        self.name = self.agent.name
        self.stop_seconds = math.nan

    def fresh(self) -> Agent:
        agent = self.make()
        if not isinstance(agent, Agent):
            raise AgentError(f"{agent!r} is not an Agent; derive its class from meijin.Agent")
        return agent

    def fail(self, problem: str, state: State | None = None) -> AgentError:
        where = f"\n  position: {state.text}" if state is not None else ""
        return AgentError(f"{self.name}: {problem}{where}")

    # ---- promises, in the order in which they are tried ----

    def suits_the_game(self) -> None:
        """It says whether it can play a game."""
        if why := self.agent.unfit(self.game):
            raise BadParameter(f"{self.name} cannot play {self.game}: {why}")

    def analyses_are_sound(self) -> None:
        """An analysis ranks legal moves, with values for every seat and lines that can be played."""
        for state in self.states:
            self._sound(self.agent.analyse(state.copy(), SMALL), state)

    def moves_are_legal(self) -> None:
        """The move it makes is legal."""
        for state in self.states:
            move = self.agent.act(state.copy(), SMALL)
            if move not in state.legal_moves:
                raise self.fail(f"`act` gives {move!r}, which is not legal", state)

    def positions_stay_as_they_are(self) -> None:
        """Thinking leaves the position and its history as they are."""
        for state in self.states:
            given = state.copy()
            self.agent.analyse(given, SMALL)
            if given != state or given.history != state.history:
                raise self.fail("thinking changes the position; work on `state.copy()`", state)

    def limits_are_kept(self) -> None:
        """It keeps the limits that it names in `measures`."""
        for name in self.agent.measures:
            if name not in ("seconds", "simulations", "depth", "nodes"):
                raise self.fail(f"measures={self.agent.measures}: '{name}' is not a limit")
        state = self.states[0]
        if "simulations" in self.agent.measures:
            agent = self.fresh()
            done = agent.analyse(state.copy(), Limit(simulations=20)).simulations
            if done > 20:
                raise self.fail(f"did {done} simulations where 20 were allowed", state)
        if "depth" in self.agent.measures:
            depth = self.fresh().analyse(state.copy(), Limit(depth=1)).depth
            if depth > 1:
                raise self.fail(f"searched {depth} plies where 1 was allowed", state)
        if "seconds" in self.agent.measures:
            self.agent.analyse(state.copy(), SMALL)  # compiled by now
            began = time.perf_counter()
            self.agent.analyse(state.copy(), Limit(seconds=0.05))
            if (spent := time.perf_counter() - began) > 0.05 + LATE:
                raise self.fail(f"took {spent:.2f} s where 0.05 were allowed", state)

    def seeds_repeat(self) -> None:
        """Equal seeds give equal answers, under limits other than time."""
        if self.agent.measures == ("seconds",):
            return
        limit = Limit(simulations=50, depth=2)
        answers = []
        for _ in range(2):
            agent = self.fresh()
            agent.seed(self.seed)
            found = [agent.analyse(state.copy(), limit) for state in self.states[:2]]
            answers.append([[(info.move, info.visits) for info in each.moves] for each in found])
            agent.close()
        if answers[0] != answers[1]:
            raise self.fail("equal seeds give different answers; draw all random numbers from `reseed`'s seed")

    def watching_ends_with_the_answer(self) -> None:
        """`watch` yields one or more sound analyses."""
        state = self.states[0]
        seen = list(self.agent.watch(state.copy(), SMALL, every=0.01))
        if not seen:
            raise self.fail("`watch` yields nothing", state)
        for analysis in seen:
            self._sound(analysis, state)

    def stopping_ends_thinking(self) -> None:
        """`stop`, from another thread, ends the thinking, and there is an answer."""
        state, found = self.states[0], []
        thread = threading.Thread(
            target=lambda: found.append(self.agent.analyse(state.copy(), Limit(seconds=60))), daemon=True
        )
        thread.start()
        thread.join(0.1)
        if thread.is_alive():
            began = time.perf_counter()
            self.agent.stop()
            thread.join(LATE)
            self.stop_seconds = time.perf_counter() - began
            if thread.is_alive():
                raise self.fail(f"thinks for {LATE:g} s after `stop`; look at `stopping`, or give kernels `stop_flag`")
        if not found:
            raise self.fail("`stop` leaves no answer", state)
        self._sound(found[0], state)
        self.agent.stop()  # with nothing to stop, it does nothing
        self._sound(self.agent.analyse(state.copy(), SMALL), state)

    def threads_wait_for_each_other(self) -> None:
        """Calls from several threads get sound answers to their own positions."""
        found: list[tuple[State, Analysis]] = []
        errors: list[BaseException] = []

        def work(state: State) -> None:
            try:
                for _ in range(3):
                    found.append((state, self.agent.analyse(state.copy(), SMALL)))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(state,), daemon=True) for state in self.states]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise self.fail(f"used from several threads, it fails: {type(errors[0]).__name__}: {errors[0]}")
        for state, analysis in found:
            self._sound(analysis, state)

    def pondering_does_no_harm(self) -> None:
        """After pondering, whatever position comes up gets a sound answer."""
        for one, other in zip(self.states, reversed(self.states), strict=True):
            self.agent.ponder(one)
            self._sound(self.agent.analyse(other.copy(), SMALL), other)

    def closing_is_final(self) -> None:
        """It can be closed, twice, and then says that it is closed."""
        self.agent.close()
        self.agent.close()
        try:
            self.agent.analyse(self.states[0].copy(), SMALL)
        except MeijinError:
            return
        raise self.fail("thinks after `close`")

    # ---- what an analysis must be like ----

    def _sound(self, analysis: Analysis, state: State) -> None:
        if not isinstance(analysis, Analysis):
            raise self.fail(f"yields {analysis!r}, which is not an Analysis", state)
        moves = [info.move for info in analysis.moves]
        if analysis.turn != state.turn:
            raise self.fail(f"its analysis is for seat {analysis.turn}; it is seat {state.turn}'s turn", state)
        if not moves or len(set(moves)) < len(moves) or not set(moves) <= set(state.legal_moves):
            raise self.fail(f"its analysis lists {moves}; list one or more legal moves, each once", state)
        self._value(analysis.value, state)
        for info in analysis.moves:
            self._value(info.value, state)
            if info.prior is not None and not 0 <= info.prior <= 1 + 1e-6:
                raise self.fail(f"the prior of {info.move} is {info.prior}; a prior is a probability", state)
            if info.visits is not None and info.visits < 0:
                raise self.fail(f"{info.move} has {info.visits} visits", state)
            if info.pv and info.pv[0] != info.move:
                raise self.fail(f"the line of {info.move} begins with {info.pv[0]}; begin with the move itself", state)
            try:
                self._play_out(state.copy(), info.pv)
            except MeijinError as error:
                raise self.fail(f"the line of {info.move} cannot be played: {error}", state) from None

    def _play_out(self, state: State, line: tuple[int, ...]) -> None:
        for move in line:
            if state.is_chance:
                return  # what follows depends on chance
            state.play(move)

    def _value(self, value: tuple[float, ...] | None, state: State) -> None:
        if value is None:
            return
        low, high = self.game.score_range
        room = 1e-6 * max(1.0, abs(low) if math.isfinite(low) else 1.0, abs(high) if math.isfinite(high) else 1.0)
        if len(value) != self.game.seats or not all(math.isfinite(v) and low - room <= v <= high + room for v in value):
            raise self.fail(f"a value is {value}; give one score per seat, within {self.game.score_range}", state)


def _positions(game: Game, count: int, seed: int) -> list[State]:
    """Positions of random games in which a seat has a choice."""
    found: list[State] = []
    for number in range(20 * count):
        rng = stream(seed, number)
        state = State(game).roll(rng)
        with np.errstate(over="ignore"):
            for _ in range(2 * (number % 5)):
                if state.roll(rng).is_over:
                    break
                state.play(state.legal_moves[below(rng, len(state.legal_moves))])
        if not state.roll(rng).is_over and (len(state.legal_moves) > 1 or number > 10 * count):
            found.append(state)
        if len(found) == count:
            break
    if not found:
        raise MeijinError(f"{game}: no position with a choice of moves came up")
    return found
