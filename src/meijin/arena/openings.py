"""Sources of openings, named by an expression such as `random(plies=4)` or `file("lines.txt")`.

    source = openings("balanced(6, alphabeta(depth=4), margin=0.1)")
    line = source.line(game, number=3, seed=1)      # the moves of opening 3, including chance outcomes

An opening depends only on the source, the game, its number and the seed, so that games can be played in any order and
a tournament can be resumed. Every rotation of the seats plays an opening before the next one follows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from meijin.agents.catalogue import build
from meijin.arena.text_lines import read_lines
from meijin.core import config
from meijin.core.agent import Agent
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import Call, parse
from meijin.core.game import Game
from meijin.core.opening import TRIES, opening
from meijin.core.registry import Registry
from meijin.core.rng import below, stream
from meijin.core.state import State

Line = tuple[int, ...]  # moves and chance outcomes from the start

Plies = Annotated[int, Meta(ge=0, le=10_000)]

OPENING_PLIES = 4  # random plies that vary the games of deterministic agents
MAX_POSITIONS = 200_000  # that `all` lists: half a minute's work


class Openings(ABC):
    """A source of openings. `name` is the expression that makes it again. Dataclasses check their fields."""

    name: str = "openings"

    def __post_init__(self) -> None:
        config.check(self, self.name)

    @abstractmethod
    def line(self, game: Game, number: int, seed: int) -> Line:
        """The moves of opening `number`, counted from 0; a source that has run out starts again."""

    def count(self, game: Game) -> int | None:
        """How many different openings there are; None: they are random."""
        return None

    def __repr__(self) -> str:
        return self.name


sources: Registry[Openings] = Registry("opening source", "meijin.openings")


def openings(expression: str | Call) -> Openings:
    """The source of an expression. Agents in its arguments are built when an opening is needed."""
    call = parse(expression) if isinstance(expression, str) else expression
    made = sources.make(call)
    made.name = str(call)
    return made


def expression(value: Any, place: str) -> str:
    """An argument that names an agent or the like, as text."""
    if not isinstance(value, Call | str):
        raise BadParameter(f"{place} = {config.short(value)}: must be an expression, such as random")
    return str(parse(value) if isinstance(value, str) else value)


@sources.register("none")
class Nothing(Openings):
    """Every game begins at the start position."""

    def line(self, game: Game, number: int, seed: int) -> Line:
        return ()

    def count(self, game: Game) -> int:
        return 1


@sources.register("random")
@dataclass(eq=False, repr=False)
class RandomPlies(Openings):
    """Random moves of the seats; chance moves in between by its odds. The game is never over after them."""

    name = "random"
    plies: Plies = OPENING_PLIES

    def line(self, game: Game, number: int, seed: int) -> Line:
        return _ints(opening(game, self.plies, stream(seed, number))) if self.plies else ()


class _Listed(Openings):
    """A source that can list its openings; with `shuffle`, every seed has its own order."""

    shuffle: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lists: dict[Game, Sequence[Line]] = {}
        self._orders: dict[tuple[int, int], list[int]] = {}  # (seed, how many) -> their order

    @abstractmethod
    def _list(self, game: Game) -> Sequence[Line]: ...

    def lines(self, game: Game) -> Sequence[Line]:
        """Every opening, in the source's own order."""
        if game not in self._lists:
            self._lists[game] = self._list(game)
        return self._lists[game]

    def count(self, game: Game) -> int:
        return len(self.lines(game))

    def line(self, game: Game, number: int, seed: int) -> Line:
        lines = self.lines(game)
        place = number % len(lines)
        return lines[self._order(seed, len(lines))[place] if self.shuffle else place]

    def _order(self, seed: int, size: int) -> list[int]:
        if (seed, size) not in self._orders:
            order, rng = list(range(size)), stream(seed)
            with np.errstate(over="ignore"):
                for i in range(size - 1, 0, -1):
                    j = int(below(rng, i + 1))
                    order[i], order[j] = order[j], order[i]
            self._orders[seed, size] = order
        return self._orders[seed, size]


@sources.register("file")
@dataclass(eq=False, repr=False)
class FromFile(_Listed):
    """The lines of a text file: one opening per line in the game's notation; # begins a comment."""

    name = "file"
    path: str
    shuffle: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._texts = read_lines(Path(self.path), "opening")

    def _list(self, game: Game) -> Sequence[Line]:
        lines = []
        for number, text in self._texts:
            state = State(game)
            try:
                state.play_line(text)
            except MeijinError as error:
                raise BadParameter(f"{self.path}:{number}: {error}") from None
            if state.is_over:
                raise BadParameter(f"{self.path}:{number}: the game is over after '{text}'; remove moves at the end")
            lines.append(_ints(state))
        return lines


@sources.register("all")
@dataclass(eq=False, repr=False)
class AllPositions(_Listed):
    """Every position after `depth` plies in which the game is not over, each once, in random order."""

    name = "all"
    depth: Plies
    shuffle: bool = True

    def _list(self, game: Game) -> Sequence[Line]:
        level = self._rolled(game, [State(game)])
        for _ in range(self.depth):
            level = self._rolled(game, (s.copy().play(move) for s in level for move in s.legal_moves))
        if not level:
            raise BadParameter(f"all(depth={self.depth}): {game} is always over by then; choose a smaller depth")
        return sorted(_ints(state) for state in level)

    def _rolled(self, game: Game, states: Iterable[State]) -> list[State]:
        """The different positions in which a seat is to move, after every chance outcome."""
        found: dict[bytes, State] = {}
        for first in states:
            waiting = [first]
            while waiting:
                state = waiting.pop()
                if state.is_chance:
                    waiting += [state.copy().play(outcome) for outcome in state.legal_moves]
                elif not state.is_over:
                    key = state.records.tobytes()
                    if key not in found or _ints(state) < _ints(found[key]):
                        found[key] = state
            if len(found) > MAX_POSITIONS:  # checked early: a level may be far larger
                raise BadParameter(
                    f"all(depth={self.depth}): {game} has more than {MAX_POSITIONS:,} positions on the way there; "
                    "choose a smaller depth"
                )
        return list(found.values())


@sources.register("balanced")
@dataclass(eq=False, repr=False)
class Balanced(Openings):
    """Random openings in which an agent sees no seat ahead by more than `margin`.

    The margin is in the game's own scores: in a zero-sum game no value is beyond +-margin.
    """

    name = "balanced"
    plies: Plies = OPENING_PLIES
    evaluator: str = "mcts(simulations=1000)"  # an agent that gives values
    margin: Annotated[float, Meta(gt=0)] = 0.1

    def __post_init__(self) -> None:
        self.evaluator = expression(self.evaluator, "balanced: evaluator")
        super().__post_init__()

    def line(self, game: Game, number: int, seed: int) -> Line:
        if game.seats < 2:
            raise BadParameter(f"{self}: {game} has one seat; openings are balanced between two or more")
        rng, nearest = stream(seed, number), math.inf
        # A new agent for each opening, so that it does not depend on those before.
        judge = build(self.evaluator, game, seed=int(rng[0] >> np.uint64(1)))
        for _ in range(TRIES):
            state = opening(game, self.plies, rng)
            lead = _lead(judge, state)
            if lead <= self.margin:
                return _ints(state)
            nearest = min(nearest, lead)
        raise MeijinError(
            f"{self}: none of {TRIES} random openings of {game} is balanced, the best has a lead of {nearest:.3g}; "
            "allow a larger margin or other plies"
        )


def usual(game: Game, agents: Sequence[Agent]) -> Openings:
    """The default openings of a match: none, or random plies if all its games would be the same otherwise."""
    if game.chance or not all(agent.deterministic for agent in agents):
        return openings("none")
    for plies in range(OPENING_PLIES, 0, -1):  # fewer in a very short game
        try:
            opening(game, plies, stream(0))
        except MeijinError:
            continue
        return openings(f"random(plies={plies})")
    return openings("none")


# ---- parts ----


def _ints(state: State) -> Line:
    return tuple(map(int, state.history))


def _lead(judge: Agent, state: State) -> float:
    """How far a seat is ahead: half the distance between the highest and the lowest value."""
    values = judge.value(state)
    return (max(values) - min(values)) / 2
