"""What a worker knows about games and positions. Everything here comes as plain data and leaves as such."""

from __future__ import annotations

import contextlib
import inspect
import math
import random
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from meijin.core import compile as compiling
from meijin.core.catalogue import games, make
from meijin.core.compile import Tiered, eager
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import Call
from meijin.core.game import Game
from meijin.core.parameters import parameters
from meijin.core.registry import Entry
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.learning.files import champion

if TYPE_CHECKING:
    from meijin.web.server.work.worker import Ask

MOST_CELLS = 4096
MOST_MOVES = 200_000
MOST_BYTES = 256 << 10  # of one position
FREE = 64  # a whole number without declared bounds may be as large as this, or four times its default
MOST_LOOKS = 2000  # positions of one answer
KEPT_BYTES = 256 << 20  # of positions that are kept to be continued


# ---- games ----


def check_parameters(entry: Entry[Game], bound: inspect.BoundArguments) -> None:
    """Parameters are bounded, whoever wrote the game; `games.check` of every worker."""
    if entry.name == "openspiel":  # its only parameter is an expression of its own
        for number in re.findall(r"\d+", str(bound.arguments.get("name", ""))):
            _bounded("openspiel: a number in the name", int(number[:20]), None)
    known = {each.name: each for each in parameters(inspect.unwrap(entry.factory))}
    for name, value in bound.arguments.items():
        each = known.get(name)
        if each is not None and each.low is None and not each.choices:
            _bounded(f"{entry.name}: {name}", value, each.default)


def game_of(expression: str) -> Game:
    """The game of a client's expression."""
    made = make(expression)
    large = made.num_moves > MOST_MOVES or made.num_outcomes > MOST_MOVES or made.dtype.itemsize > MOST_BYTES
    if large or len(made.board.cells) > MOST_CELLS:
        raise BadParameter(f"{made} is too large for a web page; choose smaller parameters")
    return made


def _bounded(what: str, value: Any, default: Any) -> None:
    if isinstance(value, Call):
        raise BadParameter(f"{what}={value}: give a plain value")
    if isinstance(value, tuple):
        if len(value) > FREE:
            raise BadParameter(f"{what}: {len(value)} values; at most {FREE} are allowed")
        usual = max((abs(v) for v in default if isinstance(v, int | float)), default=0) if default else 0
        for each in value:
            _bounded(what, each, usual)
    elif isinstance(value, str):
        if len(value) > 100:
            raise BadParameter(f"{what}: a text of {len(value)} characters; at most 100 are allowed")
    elif isinstance(value, float):
        if not math.isfinite(value) or abs(value) > 1e6:
            raise BadParameter(f"{what}={value!r}: choose a number from -1e6 to 1e6")
    elif isinstance(value, int):
        most = max(FREE, 4 * abs(default) if isinstance(default, int) else 0)
        if abs(value) > most:
            raise BadParameter(f"{what}={value!r}: choose a whole number from {-most} to {most}")


def has_levels(game: Game) -> bool:
    """Whether a game has a champion, which then plays at levels."""
    try:
        return champion(game) is not None
    except Exception:  # a file of the user's that cannot be read: the game can be played all the same
        return False


def list_games(ask: Ask) -> list[dict[str, Any]]:
    found = []
    for name in games.names():
        entry = games.get(name)
        row = {"name": name, "title": entry.metadata.get("title") or name.replace("_", " "), "summary": entry.summary}
        try:
            made = make(name)
            row |= {"seats": made.seats, "seat_range": made.seat_range, "chance": made.chance}
            row |= {"problem": None, "levels": has_levels(made)}
        except Exception as error:  # no defaults, or a mistake in a user's file: the name is worth listing all the same
            row |= {"seats": 0, "chance": False, "problem": str(error)}
        found.append(row)
    return found


def describe(ask: Ask) -> bytes:
    return msgspec.json.encode(game_of(ask.args["game"]).describe())


# ---- positions ----


class Lines:
    """States by the moves that led to them, so that a line is not replayed for every move that is added to it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, ...], State] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def take(self, game: Game, position: str | None, moves: Sequence[int]) -> State:
        """The position after the moves, for the caller alone; `give` it back when done."""
        line = tuple(moves)
        for known in (line, line[:-1]):
            with self._lock:
                state = self._kept.pop((game, position, known), None)
                if state is not None:
                    self._bytes -= _size(state)
            if state is not None:
                return state.play_line(line[len(known) :])
        state = State(game) if position is None else State.from_position(game, position)
        return state.play_line(line)

    def give(self, position: str | None, state: State) -> None:
        key = state.game, position, tuple(map(int, state.history))
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = state
            self._bytes += _size(state)
            while self._bytes > KEPT_BYTES:
                self._bytes -= _size(self._kept.popitem(last=False)[1])


def _size(state: State) -> int:
    return (len(state.history) + 1) * (state.game.dtype.itemsize + 200)


lines = Lines()


def numbers(values: Sequence[float]) -> list[float | None]:
    """Numbers as JSON has them."""
    return [float(v) if math.isfinite(v) else None for v in values]


def look_at(state: State) -> dict[str, Any]:
    """What a page shows of a position."""
    found: dict[str, Any] = {
        "cells": state.cells,
        "turn": state.turn,
        "legal": [int(move) for move in state.legal_moves],
        "scores": numbers(state.scores),
        "tallies": {name: numbers(row) for name, row in state.tallies.items()},
        "ending": state.ending,
        "last": state.last_cells,
    }
    if state.is_chance:
        found["odds"] = numbers(list(state.odds.values()))
    return found


def look(ask: Ask) -> dict[str, Any]:
    game, position = game_of(ask.args["game"]), ask.args["position"]
    state = lines.take(game, position, ask.args["moves"])
    found = look_at(state)
    lines.give(position, state)
    return found


def looks(ask: Ask) -> list[dict[str, Any]]:
    """Every position of a line, the start first."""
    game, position, moves = game_of(ask.args["game"]), ask.args["position"], ask.args["moves"]
    if len(moves) > MOST_LOOKS:
        raise BadParameter(f"{len(moves)} moves are too many to show at once; at most {MOST_LOOKS}")
    state = State(game) if position is None else State.from_position(game, position)
    return [look_at(state), *(look_at(state.play(move)) for move in moves)]


def advance(state: State, move: int | None, seed: int | None) -> dict[str, Any]:
    """Play a move (None: nothing) and, with a seed, chance after it.

    The outcome at a ply depends on the seed and the ply alone: taking a move back does not roll the dice again.
    """
    before, movers = len(state.history), []
    if move is not None:
        movers.append(state.turn)
        state.play(move)
    while seed is not None and state.is_chance:
        movers.append(state.turn)
        outcome = state.copy().roll(stream(seed, len(state.history))).history[len(state.history)]
        state.play(int(outcome))
    return {"moves": [int(m) for m in state.history[before:]], "movers": movers, "look": look_at(state)}


class Compiler:
    """Compiles the rules of games that are played, beside the moves: a click must not wait for the compiler."""

    def __init__(self) -> None:
        self.on = False
        self._known: set[Game] = set()
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Have requests run interpreted rules until compiled ones are ready."""
        self.on = compiling.JIT
        if self.on:
            Tiered.LOOK = Tiered.COMPILE = math.inf

    def want(self, game: Game) -> None:
        with self._lock:
            if not self.on or game in self._known:
                return
            self._known.add(game)
        threading.Thread(target=self._compile, args=(game,), name="meijin-compile", daemon=True).start()

    def _compile(self, game: Game) -> None:
        eager.on = True
        state, rng = State(game), random.Random(1)
        with contextlib.suppress(MeijinError):  # in a user's own rules; whoever plays them will be told
            for _ in range(game.longest):
                state.roll(stream(1, len(state.history)))
                look_at(state)
                if state.is_over:
                    return
                state.play(rng.choice(state.legal_moves))


compiler = Compiler()


def play(ask: Ask) -> dict[str, Any]:
    """Extend a line by a seat's move and the chance that follows; without a move, by chance alone."""
    game, position = game_of(ask.args["game"]), ask.args["position"]
    compiler.want(game)
    state = lines.take(game, position, ask.args["moves"])
    before = len(state.history)
    try:
        if ask.args["move"] is not None and state.is_chance:
            raise BadParameter("chance moves next; the server rolls for it")
        return advance(state, ask.args["move"], ask.args["seed"])
    except BaseException:
        while len(state.history) > before:
            state.undo()
        raise
    finally:
        lines.give(position, state)


def start(ask: Ask) -> dict[str, Any]:
    """All that a new table needs to know: the game's proper name, who moved in the line so far, and the look."""
    game, position, moves = game_of(ask.args["game"]), ask.args["position"], ask.args["moves"]
    compiler.want(game)
    state = State(game) if position is None else State.from_position(game, position)
    movers = []
    for move in moves:
        movers.append(state.turn)
        state.play(move)
    after = advance(state, None, ask.args["seed"])
    return after | {"game": game.id, "title": game.title, "seats": game.seats, "movers": movers + after["movers"]}


def setup(ask: Ask) -> dict[str, Any]:
    state = State.set_up(game_of(ask.args["game"]), ask.args["cells"], ask.args["turn"])
    return {"position": state.position, "look": look_at(state)}


def forfeit(ask: Ask) -> list[float | None]:
    """The scores when a seat gives up."""
    from meijin.arena.judges import forfeited

    return numbers(forfeited(game_of(ask.args["game"]), ask.args["seat"]))


def tree(ask: Ask) -> int:
    """Check that every move of a tree of variations is legal where it stands; returns how many there are."""
    game, position, nodes = game_of(ask.args["game"]), ask.args["position"], ask.args["nodes"]
    states: list[State] = [State(game) if position is None else State.from_position(game, position)]
    for place, (parent, move) in enumerate(nodes):
        if not -1 <= parent < place:
            raise BadParameter(f"node {place}: its parent {parent} must come before it")
        states.append(State(game, states[parent + 1].record.copy()))
        try:
            states[-1].play(move)
        except MeijinError as error:
            raise type(error)(f"node {place}: {error}") from None
    return len(nodes)


def calls() -> dict[str, Callable[[Ask], Any]]:
    return {fn.__name__: fn for fn in (list_games, describe, look, looks, play, start, setup, forfeit, tree)}
