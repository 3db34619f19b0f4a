"""Where games begin: sources of openings, named by an expression such as `random(plies=4)` or `file("lines.txt")`.

    source = openings("balanced(6, alphabeta(depth=4), margin=0.1)")
    line = source.line(game, number=3, seed=1)      # the moves of opening 3, chance outcomes included

An opening depends on the source, the game, its number and the seed alone, so that games can be played in any order and
a tournament can be taken up again. Every rotation of the seats plays the same opening before the next one comes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from meijin.agents.catalogue import build
from meijin.core.agent import Agent
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import Call, parse
from meijin.core.game import Game
from meijin.core.opening import TRIES, opening
from meijin.core.registry import Registry
from meijin.core.rng import below, stream
from meijin.core.state import State

Line = tuple[int, ...]  # moves and chance outcomes from the start

OPENING_PLIES = 4  # random plies before the first choice of deterministic agents
MOST = 200_000  # positions that `all` lists: half a minute's work


class Openings(ABC):
    """A source of openings. `name` is the expression that makes it again."""

    name: str = "openings"

    @abstractmethod
    def line(self, game: Game, number: int, seed: int) -> Line:
        """The moves of the `number`-th opening, counted from 0; a source that has run out begins again."""

    def count(self, game: Game) -> int | None:
        """How many different openings there are; None: as many as chance brings."""
        return None

    def __repr__(self) -> str:
        return self.name


sources: Registry[Openings] = Registry("opening source", "meijin.openings")


def openings(expression: str | Call) -> Openings:
    """The source of an expression; agents in its arguments are built when it is asked for an opening."""
    call = parse(expression) if isinstance(expression, str) else expression
    made = sources.make(call)
    made.name = str(call)
    return made


@sources.register("none")
class Nothing(Openings):
    """Every game begins at the start."""

    def line(self, game: Game, number: int, seed: int) -> Line:
        return ()

    def count(self, game: Game) -> int:
        return 1


@sources.register("random")
class RandomPlies(Openings):
    """So many random moves of the seats; chance moves in between by its odds. None leads to the end of the game."""

    def __init__(self, plies: int = OPENING_PLIES):
        self.plies = _plies(plies)

    def line(self, game: Game, number: int, seed: int) -> Line:
        return _ints(opening(game, self.plies, stream(seed, number))) if self.plies else ()


class _Listed(Openings):
    """A source that knows all its openings of a game; `shuffle`: each seed has them in an order of its own."""

    shuffle = False

    def __init__(self) -> None:
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
class FromFile(_Listed):
    """The lines of a text file: an opening a line in the game's notation. Blank lines and those with # are left out."""

    def __init__(self, path: str, shuffle: bool = False):
        super().__init__()
        self.path, self.shuffle = Path(path), shuffle
        self._texts = _read(self.path)

    def _list(self, game: Game) -> Sequence[Line]:
        lines = []
        for number, text in self._texts:
            state = State(game)
            try:
                state.play_line(text)
            except MeijinError as error:
                raise BadParameter(f"{self.path}:{number}: {error}") from None
            if state.is_over:
                raise BadParameter(f"{self.path}:{number}: the game is over after '{text}'; leave out moves at the end")
            lines.append(_ints(state))
        return lines


@sources.register("all")
class AllPositions(_Listed):
    """Every position after `depth` plies that is not over, each once however it is reached, in shuffled order."""

    def __init__(self, depth: int, shuffle: bool = True):
        super().__init__()
        self.depth, self.shuffle = _plies(depth, "depth"), shuffle

    def _list(self, game: Game) -> Sequence[Line]:
        level = self._rolled(game, [State(game)])
        for _ in range(self.depth):
            level = self._rolled(game, (s.copy().play(move) for s in level for move in s.legal_moves))
        if not level:
            raise BadParameter(f"all(depth={self.depth}): {game} is always over by then; choose a smaller depth")
        return sorted(_ints(state) for state in level)

    def _rolled(self, game: Game, states: Iterable[State]) -> list[State]:
        """The different positions among these and what chance makes of them in which a seat is to move."""
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
            if len(found) > MOST:  # at once: a level may be many times what fits
                raise BadParameter(
                    f"all(depth={self.depth}): {game} has more than {MOST:,} positions on the way there; "
                    "choose a smaller depth"
                )
        return list(found.values())


@sources.register("balanced")
class Balanced(Openings):
    """Random openings in which an agent sees no seat ahead by more than `margin`.

    The margin is in the game's own scores: where one seat wins what the other loses, no value is beyond +-margin.
    """

    def __init__(
        self, plies: int = OPENING_PLIES, evaluator: Call | str = "mcts(simulations=1000)", margin: float = 0.1
    ):
        if not isinstance(evaluator, Call | str):
            raise BadParameter(f"evaluator={evaluator!r}: name an agent that gives values, such as alphabeta(depth=4)")
        if isinstance(margin, bool) or not isinstance(margin, int | float) or not margin > 0:
            raise BadParameter(f"margin={margin!r}: give the largest lead that is balanced, above zero")
        self.plies, self.margin = _plies(plies), float(margin)
        self.evaluator = parse(evaluator) if isinstance(evaluator, str) else evaluator

    def line(self, game: Game, number: int, seed: int) -> Line:
        if game.seats < 2:
            raise BadParameter(f"{self}: {game} has one seat; openings are balanced between two or more")
        rng, nearest = stream(seed, number), math.inf
        # Made anew, so that an opening does not depend on those looked at before.
        judge = build(self.evaluator, game, seed=int(rng[0] >> np.uint64(1)))
        for _ in range(TRIES):
            state = opening(game, self.plies, rng)
            lead = _lead(judge, state)
            if lead <= self.margin:
                return _ints(state)
            nearest = min(nearest, lead)
        raise MeijinError(
            f"{self}: of {TRIES} random openings of {game} none was balanced, the best by {nearest:.3g}; "
            "allow a larger margin or other plies"
        )


def usual(game: Game, agents: Sequence[Agent]) -> Openings:
    """Where a match begins unless it is told: at the start, or where all games would be alike after random plies."""
    if game.chance or not all(agent.deterministic for agent in agents):
        return openings("none")
    for plies in range(OPENING_PLIES, 0, -1):  # as many as a very short game can bear
        try:
            opening(game, plies, stream(0))
        except MeijinError:
            continue
        return openings(f"random(plies={plies})")
    return openings("none")


# ---- parts ----


def _ints(state: State) -> Line:
    return tuple(map(int, state.history))


def _plies(value: object, name: str = "plies") -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10_000:
        raise BadParameter(f"{name}={value!r}: give a whole number of plies, 0 or more")
    return value


def _lead(judge: Agent, state: State) -> float:
    """How far a seat is ahead: half the distance between the highest and the lowest value."""
    values = judge.value(state)
    return (max(values) - min(values)) / 2


def _read(path: Path) -> list[tuple[int, str]]:
    """The lines of a file that hold moves, with their numbers."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadParameter(f"cannot read '{path}': {error.strerror}; give a file with an opening a line") from None
    except UnicodeDecodeError as error:
        raise BadParameter(
            f"{path} is no text in UTF-8 (byte {error.start}); give a file with an opening a line"
        ) from None
    found = [(n, line.partition("#")[0].strip()) for n, line in enumerate(text.splitlines(), 1)]
    found = [(n, line) for n, line in found if line]
    if not found:
        raise BadParameter(f"{path} holds no openings; write the moves of one on each line")
    return found
