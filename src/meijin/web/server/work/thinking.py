"""Agents in a worker: they are kept between moves, think in threads, and stop as soon as nobody wants the answer."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from meijin.agents.catalogue import build
from meijin.core.agent import Agent, Analysis, Clock, Limit
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.web.server.work import permits
from meijin.web.server.work.rules import advance, game_of, has_levels, lines, numbers
from meijin.web.server.work.sight import sight

if TYPE_CHECKING:
    from meijin.web.server.work.worker import Ask

IDLE = 120.0  # seconds after which an agent that nobody asks is closed
MOST_KEPT = 24  # agents
LONGEST_LINE = 40  # moves of a principal variation that are told
LEAST = Limit(simulations=1, depth=1, nodes=1)


@dataclass(eq=False)
class Held:
    """An agent that may be asked again."""

    agent: Agent
    expression: str
    game: Game
    used: float = field(default_factory=time.monotonic)
    busy: int = 0


class Thinking:
    def __init__(self, rules: permits.Permits):
        self.permits = rules
        self._held: dict[str, Held] = {}
        self._lock = threading.Lock()
        self._deadlines: dict[Agent, float] = {}  # of agents that think
        threading.Thread(target=self._tidy, name="meijin-tidy", daemon=True).start()

    def act(self, ask: Ask) -> dict[str, Any]:
        """An agent's move at a table, and the position after it; what it thinks meanwhile is told."""
        game, position = game_of(ask.args["game"]), ask.args["position"]
        state = lines.take(game, position, ask.args["moves"])
        held = self._take(ask, game)
        try:
            with self._thinking(ask, held.agent):
                began = time.perf_counter()
                move, analysis = self._choose(ask, held.agent, state.copy())
                seconds = time.perf_counter() - began
        finally:
            self._return(held)
        if ask.stopped:
            raise MeijinError("stopped")
        after = advance(state, move, ask.args["seed"])
        lines.give(position, state)
        value = None if analysis is None or analysis.value is None else numbers(analysis.value)
        random = analysis is not None and bool(analysis.random)
        return after | {"seconds": seconds, "value": value, "random": random}

    def _choose(self, ask: Ask, agent: Agent, state: State) -> tuple[int, Analysis | None]:
        """The agent's move and what it thinks of the position, if it was worth thinking about."""
        limit, every, analysis = _limit(ask.args["limit"]), ask.args["every"], None
        if len(state.legal_moves) == 1:
            return int(agent.act(state, limit)), None
        began = time.monotonic()
        for analysis in agent.watch(state, limit, every or math.inf):
            if every and not ask.stopped and time.monotonic() - began > every / 2:  # not what is over at once
                ask.part(_encoded(analysis, final=False))
        if analysis is None:
            raise MeijinError(f"{agent.name} has nothing to say of this position")
        analysis = agent.chosen(state, analysis)
        return int(analysis.best), analysis

    def watch(self, ask: Ask) -> None:
        """Analyses of a position as they come; the last one is marked."""
        game, position = game_of(ask.args["game"]), ask.args["position"]
        state = lines.take(game, position, ask.args["moves"])
        held = self._take(ask, game)
        last = None
        try:
            seen = sight(held.agent, state)
            with self._thinking(ask, held.agent):
                for last in held.agent.watch(state.copy(), _limit(ask.args["limit"]), ask.args["every"]):
                    if not ask.stopped:
                        ask.part(_encoded(last, final=False, **seen))
        finally:
            self._return(held)
            lines.give(position, state)
        if last is not None:
            ask.part(_encoded(last, final=True, **seen))

    def warm(self, ask: Ask) -> None:
        """Compile what an agent will need after a line; without an agent, the usual opponent in the game."""
        game, position, expression = game_of(ask.args["game"]), ask.args["position"], ask.args["agent"]
        if expression is None:
            expression = "champion(level=1)" if has_levels(game) else "mcts"
        state = State(game) if position is None else State.from_position(game, position)
        state.play_line(ask.args["moves"]).roll(stream(1))
        with build(self.permits.bounded(expression), game) as agent, self._thinking(ask, agent):
            agent.analyse(state, LEAST)

    def close(self, ask: Ask) -> None:
        """Close agents, by the beginning of their keys."""
        with self._lock:
            gone = [self._held.pop(key) for key in list(self._held) if key.startswith(ask.args["key"])]
        for held in gone:
            held.agent.close()

    @contextmanager
    def _thinking(self, ask: Ask, agent: Agent) -> Iterator[None]:
        """Within the block the agent thinks, and is stopped when nobody waits for it or its time is up."""
        self._deadlines[agent] = time.monotonic() + ask.args["most"]
        try:
            with ask.thinks(agent):
                yield
        finally:
            del self._deadlines[agent]

    # ---- agents that are kept ----

    def _take(self, ask: Ask, game: Game) -> Held:
        key, expression = ask.args["key"], ask.args["agent"]
        with self._lock:
            held = self._held.get(key)
            if held is not None and held.game is game and held.expression == expression and not held.busy:
                held.busy += 1
                return held
        made = build(self.permits.bounded(expression), game, seed=ask.args["seed"])
        made.name = expression
        held = Held(made, expression, game, busy=1)
        old = None
        with self._lock:
            if (now := self._held.get(key)) is None or not now.busy:
                old, self._held[key] = now, held
        if old is not None:
            old.agent.close()
        return held

    def _return(self, held: Held) -> None:
        with self._lock:
            held.busy -= 1
            held.used = time.monotonic()
            kept = any(each is held for each in self._held.values())
        if not kept:
            held.agent.close()

    def _tidy(self) -> None:
        """Stop agents whose time is up; close those that nobody has asked for long, and the oldest of too many."""
        while True:
            time.sleep(0.25)
            now = time.monotonic()
            for agent, deadline in list(self._deadlines.items()):
                if now > deadline:
                    agent.stop()
            with self._lock:
                idle = sorted((held.used, key) for key, held in self._held.items() if not held.busy)
                surplus = len(self._held) - MOST_KEPT
                gone = [self._held.pop(key) for k, (used, key) in enumerate(idle) if k < surplus or now - used > IDLE]
            for held in gone:
                held.agent.close()


def _limit(given: dict[str, Any] | None) -> Limit:
    if given is None:
        return Limit()
    clock = given.get("clock")
    named = {name: given.get(name) for name in ("seconds", "simulations", "depth", "nodes")}
    return Limit(**named, clock=None if clock is None else Clock(**clock))


def _encoded(analysis: Analysis, final: bool, **more: Any) -> bytes:
    return msgspec.json.encode(plain(analysis) | {"final": final, **more})


def plain(analysis: Analysis) -> dict[str, Any]:
    """An analysis as the page reads it: moves by number."""

    def number(value: float | None) -> float | None:
        return None if value is None or not math.isfinite(value) else float(value)

    return {
        "turn": int(analysis.turn),
        "moves": [
            {
                "move": int(info.move),
                "visits": None if info.visits is None else int(info.visits),
                "prior": number(info.prior),
                "value": None if info.value is None else numbers(info.value),
                "proven": bool(info.proven),
                "pv": [int(step) for step in info.pv[:LONGEST_LINE]],
            }
            for info in analysis.moves
        ],
        "value": None if analysis.value is None else numbers(analysis.value),
        "proven": bool(analysis.proven),
        "simulations": int(analysis.simulations),
        "nodes": int(analysis.nodes),
        "depth": int(analysis.depth),
        "seconds": number(analysis.seconds),
        "note": str(analysis.note),
        "advice": str(analysis.advice),
        "random": bool(analysis.random),
    }


def calls(rules: permits.Permits) -> dict[str, Callable[[Ask], Any]]:
    thinking = Thinking(rules)
    return {
        "act": thinking.act,
        "watch": thinking.watch,
        "close": thinking.close,
        "warm": thinking.warm,
        "list_agents": rules.list_agents,
        "permit": rules.permit,
    }
