"""`Agent` chooses moves, `Limit` says how long it may think, and `Analysis` is what it finds.

The life of an agent:

- `analyse` and `act` think within a limit and answer; `watch` yields an analysis again and again on the way.
- `stop`, from any thread, ends the thinking in progress within 20 ms; what was found so far is the answer.
- `ponder` thinks in the background, on another seat's time, until the next call.
- `close` frees what the agent holds; it cannot think afterwards.

An agent does one thing at a time: calls from several threads wait for each other, in no particular order.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from meijin.core.errors import BadParameter, MeijinError
from meijin.core.moves import Move
from meijin.core.options import at_least, number

if TYPE_CHECKING:
    from meijin.core.game import Game
    from meijin.core.state import State


@dataclass(frozen=True, slots=True)
class Clock:
    """The time a seat has for several moves."""

    left: float  # seconds
    increment: float = 0.0  # seconds added after every move
    moves_to_go: int | None = None  # moves until the next time control; None: until the end of the game

    def __post_init__(self) -> None:
        at_least("clock: left", self.left, 0)
        at_least("clock: increment", self.increment, 0)
        if self.moves_to_go is not None:
            at_least("clock: moves_to_go", self.moves_to_go, 1, whole=True)

    def share(self, expected: int = 30) -> float:
        """Seconds for the next move, when about `expected` more are to come.

        An equal part of the time left, and 80 % of the increment; but never more than half of what is left (90 % for
        the last move before a time control), and 50 ms stay on the clock for what is not thinking.
        """
        moves = min(expected, self.moves_to_go or expected)
        left = max(0.0, self.left - 0.05)
        return max(0.001, min(left * (0.9 if moves <= 1 else 0.5), left / moves + 0.8 * self.increment))


@dataclass(frozen=True, slots=True)
class Limit:
    """How much an agent may search for one move; the first limit met ends the search.

    An agent keeps the limits that its `measures` name. If none of those is given, its own default applies.
    `seconds=math.inf` lets it think until it is stopped.
    """

    seconds: float | None = None
    simulations: int | None = None
    depth: int | None = None  # plies
    nodes: int | None = None  # positions
    clock: Clock | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "simulations", "depth", "nodes"):
            value = getattr(self, name)
            if value is None or value == math.inf:
                continue
            number(name, value, whole=name != "seconds")
            if not value > 0:
                raise BadParameter(f"{name}={value!r}: must be above 0, or left out")
        if self.clock is not None and not isinstance(self.clock, Clock):
            raise BadParameter(f"limit: clock={self.clock!r}: give a Clock, as in Clock(left=60, increment=1)")

    def only(self, measures: tuple[str, ...]) -> Limit:
        """Only the parts of this limit that an agent keeps."""
        return Limit(**{name: getattr(self, name) for name in measures})

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) is not None for field in fields(self))


@dataclass(frozen=True, slots=True)
class MoveInfo:
    """What an agent knows about one move. Values are per seat, in the game's scores; None: the agent does not say."""

    move: Move
    visits: int | None = None
    prior: float | None = None  # probability before search
    value: tuple[float, ...] | None = None  # [seat]
    proven: bool = False  # the value is exact
    pv: tuple[Move, ...] = ()  # principal variation: the expected continuation, this move first


@dataclass(frozen=True, slots=True)
class Analysis:
    """What an agent says about a position. `moves` is ranked, best first; values are per seat, never negated."""

    turn: int
    moves: tuple[MoveInfo, ...]
    value: tuple[float, ...] | None = None  # [seat]
    proven: bool = False
    simulations: int = 0
    nodes: int = 0
    depth: int = 0  # deepest line searched, in plies
    seconds: float = 0.0
    note: str = ""  # a remark for people: "memory full", ...
    advice: str = ""  # "resign" or "draw" (offer one), where the agent is sure; else ""
    random: bool = False  # the first move was drawn by chance and is not the one the agent thinks best

    @property
    def best(self) -> Move:
        return self.moves[0].move

    @property
    def pv(self) -> tuple[Move, ...]:
        return self.moves[0].pv or (self.best,)

    def __repr__(self) -> str:
        parts = [f"best {self.best}", f"{len(self.moves)} moves"]
        if self.value is not None:
            parts.append("value " + " ".join(f"{v:+.3f}" for v in self.value) + (" (proven)" if self.proven else ""))
        parts += [f"{n:,} {what}" for what, n in (("simulations", self.simulations), ("nodes", self.nodes)) if n]
        return f"<Analysis: {', '.join(parts)}>"

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "move": info.move.name,
                "visits": info.visits,
                "prior": info.prior,
                "value": None if info.value is None else info.value[self.turn],
                "proven": info.proven,
                "pv": " ".join(move.name for move in info.pv),
            }
            for info in self.moves
        ]

    def to_pandas(self) -> Any:
        """One row per move, as a pandas DataFrame; `value` is the mover's."""
        from meijin.core.tables import frame

        return frame(self._rows())

    def _repr_html_(self) -> str:
        from meijin.core.tables import html

        return html(self._rows(), most=20)


SURE = 0.95  # of the way from an even score to the lowest one, below which to resign
ENOUGH = 200  # simulations, or nodes, before an opinion without proof counts as sure


def advice(game: Game, analysis: Analysis) -> str:
    """What a player with this analysis should do: "resign", offer a "draw", or "" (neither).

    Only for two seats with bounded scores.
    """
    if game.seats != 2 or not game.bounded or analysis.value is None:
        return ""
    low, high = game.score_range
    mine = 2 * (analysis.value[analysis.turn] - low) / (high - low) - 1
    if analysis.proven:
        return "resign" if mine <= -1 + 1e-9 else "draw" if abs(mine) < 1e-9 else ""
    return "resign" if mine < -SURE and max(analysis.simulations, analysis.nodes) >= ENOUGH else ""


def must_be_state(what: object) -> None:
    if not hasattr(type(what), "turn"):
        raise BadParameter(f"{what!r} is not a position; give a State, as in State('othello').play('d3')")


def must_move(state: State) -> None:
    """Raise unless it is a state in which a seat is to move."""
    must_be_state(state)
    if state.turn < 0:
        what = "chance moves" if state.is_chance else "the game is over"
        raise MeijinError(f"there is nothing to think about: {what}")


class _Life:
    """What an agent needs to do one thing at a time and to be stopped."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stop_flag = np.zeros(1, np.int64)
        self.stopping = False
        self.closed = False
        self.lent = False
        self.owner: int | None = None  # the thread that thinks
        self.pondering: threading.Thread | None = None
        self.fits: Game | None = None  # the latest game it was found to fit


_LIVES = threading.Lock()


class Agent(ABC):
    """Chooses moves. `name` is the expression that makes the agent again.

    A subclass implements `think`, and where needed `chosen`, `decide`, `unfit`, `reseed` and `release`. While it
    thinks, it looks at `stopping`, or lets a compiled kernel read `stop_flag`. `check_agent` tries it.
    """

    name: str = "agent"
    #: Whether it draws no random numbers: then equal positions get equal moves (under a clock, nearly always), and
    #: matches between two such agents vary the openings.
    deterministic: bool = False
    #: The limits it keeps. An agent that keeps seconds keeps a clock, too.
    measures: tuple[str, ...] = ()
    #: Its own limit, used if a caller gives none that it keeps.
    limit: Limit = Limit()
    #: Whether thinking about a position helps with the positions that follow it.
    ponders: bool = False

    @cached_property
    def _life(self) -> _Life:
        """Made when first asked for, so that subclasses need not call `__init__`."""
        with _LIVES:
            found: _Life = self.__dict__.setdefault("_life", _Life())
        return found

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called since it began to think."""
        return self._life.stopping

    @property
    def stop_flag(self) -> Any:
        """int64 [1]: not zero when kernels are to return."""
        return self._life.stop_flag

    # ---- for callers ----

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        """Analyse a position in which a seat is to move."""
        with self._thinking(state):
            found = list(self.think(state, self._effective(state, limit), math.inf))
        if not found:
            raise MeijinError(f"{self.name} yields no analysis of {state!r}; `think` must yield an Analysis")
        return self._advised(state, found[-1])

    def act(self, state: State, limit: Limit = Limit()) -> Move:  # noqa: B008
        """The move to make in that position."""
        with self._thinking(state):
            return self.decide(state, self._effective(state, limit))

    def watch(self, state: State, limit: Limit = Limit(), every: float = 0.1) -> Iterator[Analysis]:  # noqa: B008
        """Analyses of a position, about one every `every` seconds and the final one, until the limit or `stop`."""
        with self._thinking(state):
            for analysis in self.think(state, self._effective(state, limit), every):
                yield self._advised(state, analysis)

    def stop(self) -> None:
        """End the thinking in progress, from any thread. Does nothing if the agent is not thinking."""
        life = self._life
        if life.owner is not None:
            life.stopping = True
            life.stop_flag[0] = 1

    def ponder(self, state: State) -> None:
        """Think about a position in the background until the next call. Does nothing unless the agent `ponders`."""
        self._end_pondering()
        if not self.ponders or state.turn < 0 or self._life.closed:
            return
        begun, position = threading.Event(), state.copy()

        def run() -> None:
            try:
                with suppress(MeijinError), self._thinking(position):  # errors come again when it must move
                    begun.set()
                    for _ in self.think(position, Limit(seconds=math.inf), math.inf):
                        pass
            finally:
                begun.set()

        self._life.pondering = threading.Thread(target=run, name="meijin-ponder", daemon=True)
        self._life.pondering.start()
        begun.wait()  # so that a `stop` that follows finds it thinking

    def value(self, state: State) -> tuple[float, ...]:
        """The expected score of each seat in any position, finished games and chance turns included."""
        must_be_state(state)
        if state.is_over:
            return state.scores
        if state.is_chance:
            parts = [(p, self.value(state.copy().play(outcome))) for outcome, p in state.odds.items()]
            return tuple(sum(p * value[k] for p, value in parts) for k in range(state.game.seats))
        value = self.analyse(state).value
        if value is None:
            raise BadParameter(f"{self.name} gives no values; choose an agent that does, such as heuristic or mcts")
        return value

    def seed(self, seed: int) -> None:
        """Make what follows reproducible, and forget earlier searches. Agents without randomness only forget."""
        self._end_pondering()
        with self._life.lock:
            self.reseed(seed)

    def close(self) -> None:
        """Stop, and free what the agent holds. It cannot think afterwards; closing again does nothing."""
        life = self._life
        if life.closed or life.lent:
            return
        self.stop()
        self._end_pondering()
        with life.lock:
            life.closed = True
            self.release()

    @contextmanager
    def lent(self) -> Iterator[Self]:
        """Inside the block `close` does nothing: for callers that close what they use."""
        self._life.lent = True
        try:
            yield self
        finally:
            self._life.lent = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return self.name

    # ---- for subclasses to write ----

    @abstractmethod
    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        """Yield analyses of a position in which a seat is to move, about one every `every` seconds, the final one last.

        `limit` holds only what the agent keeps, or else its own default; a clock has become seconds. One agent
        thinks about one thing at a time.
        """

    def decide(self, state: State, limit: Limit) -> Move:
        """The move to make. Override it if there is a quicker way to that move than an analysis of all."""
        found = None
        for analysis in self.think(state, limit, math.inf):
            found = analysis
        assert found is not None, f"{self.name} yields no analysis"
        return self.chosen(state, found).best

    def chosen(self, state: State, analysis: Analysis) -> Analysis:
        """An analysis by this agent with the move to make first: for `act`, and for those who show the analysis too.

        Override it if the best move is not always the one to make; `random` marks an analysis where it is not.
        """
        return analysis

    def reasons(self, state: State, move: Move) -> list[tuple[str, float]]:
        """What the value of a move is made of: (name, how much it adds); empty if the agent cannot tell."""
        return []

    def unfit(self, game: Game) -> str | None:
        """Why this agent cannot play that game; None when it can."""
        return None

    def reseed(self, seed: int) -> None:
        """Begin new random streams, and forget what earlier searches left."""

    def release(self) -> None:
        """Free memory, files and processes; called once."""

    # ---- inside ----

    @contextmanager
    def _thinking(self, state: State) -> Iterator[None]:
        must_move(state)
        life = self._life
        if life.owner == threading.get_ident():
            raise MeijinError(f"{self.name} is thinking already; finish or close what `watch` returned first")
        if life.pondering is not threading.current_thread():
            self._end_pondering()
        with life.lock:
            if life.closed:
                raise MeijinError(f"{self.name} is closed")
            if life.fits is not state.game:
                if why := self.unfit(state.game):
                    raise BadParameter(f"{self.name} cannot play {state.game}: {why}")
                life.fits = state.game
            life.stopping = False
            life.stop_flag[0] = 0
            life.owner = threading.get_ident()
            try:
                yield
            finally:
                life.owner = None

    def _effective(self, state: State, limit: Limit) -> Limit:
        """The parts of a limit that the agent keeps, with a clock turned into seconds; else its own default."""
        for given in (limit, self.limit):
            if given.clock is not None and "seconds" in self.measures:
                left = max(1, (state.game.longest - len(state.history)) // state.game.seats)
                share = given.clock.share(min(30, left))
                given = replace(given, clock=None, seconds=min(share, given.seconds or math.inf))
            if found := given.only(self.measures):
                return found
        return Limit()

    def _advised(self, state: State, analysis: Analysis) -> Analysis:
        said = analysis.advice or advice(state.game, analysis)
        return replace(analysis, advice=said) if said != analysis.advice else analysis

    def _end_pondering(self) -> None:
        if (thread := self._life.pondering) is not None:
            self.stop()
            thread.join()
            self._life.pondering = None
