"""Nim solved: two players by Bouton's formula, more by looking at every position.

C. L. Bouton, "Nim, a game with a complete mathematical theory" (1901): who moves loses exactly if the heaps' sizes,
written in binary, have an even number of ones in each column. In misere play that holds as long as a heap has more
than one stone; with heaps of one stone only, who moves loses exactly if their number is odd.
"""

from __future__ import annotations

import functools
import math
import operator
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from meijin.core.agent import Analysis, Limit, MoveInfo, must_move
from meijin.core.compile import Function
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.state import State
from meijin.search.solvers._exhaustive import Exhaustive, root

LARGEST = 50_000_000  # positions times stones, for more than two players: about as many moves are looked at


def mover_wins(heaps: Sequence[int], misere: bool) -> bool:
    """Whether the seat to move wins, of two. An empty board counts too: the game has been won, or misere lost."""
    if misere and max(heaps, default=0) <= 1:
        return sum(heaps) % 2 == 0
    return functools.reduce(operator.xor, heaps, 0) != 0


def results(game: Game) -> Any:
    """[result, seat] -> score: one result for each seat that may take the last stone."""
    decider = -1.0 if game.params["misere"] else 1.0
    table = np.full((game.seats, game.seats), -decider / (game.seats - 1))
    np.fill_diagonal(table, decider)
    return table


def placer(game: Game) -> Function:
    """`place(s)`: the heaps as a number of mixed base, with the seat as its last digit."""
    seats, count = game.seats, len(game.params["heaps"])
    sizes = np.array(game.params["heaps"], np.int64) + 1
    weights = np.cumprod(np.concatenate(([1], sizes[:-1]))) * seats  # [heap]

    def place(s: Any) -> Any:
        i = np.int64(s.seat)
        for h in range(count):
            i += weights[h] * s.heaps[h]
        return i

    return place


def solve(game: Game) -> Function:
    return root(game, placer(game), results(game))


def _positions(game: Game) -> int:
    return math.prod(size + 1 for size in game.params["heaps"]) * game.seats


class Solver:
    """Every move's result."""

    def __init__(self, game: Game):
        if why := self.unfit(game):
            raise BadParameter(f"{game} cannot be solved: {why}")
        self.game = game
        self._all = None if game.seats == 2 else Exhaustive(game, solve, _positions(game), results(game))
        self.stop_flag = self._all.stop_flag if self._all else np.zeros(1, np.int64)

    @staticmethod
    def unfit(game: Game) -> str | None:
        if game.name != "nim":
            return "this solver knows Nim only"
        if game.seats > 2 and _positions(game) * game.num_moves > LARGEST:
            return (
                f"with more than two players every position has to be looked at, and the {_positions(game):,} here are "
                "too many; take fewer or smaller heaps"
            )
        return None

    def expected_seconds(self, state: State) -> float:
        return self._all.expected_seconds(state) if self._all else 0.0

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        """Every move's exact value. Of moves that lose, the one that takes fewest stones comes first."""
        if self._all:
            return self._all.analyse(state, limit)
        if state.game.id != self.game.id:
            raise BadParameter(f"a position of {state.game} was given to the solver of {self.game}")
        must_move(state)
        began, seat = time.perf_counter(), state.turn
        heaps, misere = state.record.heaps.tolist(), bool(self.game.params["misere"])
        found: list[tuple[float, int, MoveInfo]] = []
        for move in state.legal_moves:
            h, rest = self._heap[int(move)]
            after = [*heaps[:h], rest, *heaps[h + 1 :]]
            mine = -1.0 if mover_wins(after, misere) else 1.0
            value = (mine, -mine) if seat == 0 else (-mine, mine)
            found.append((mine, heaps[h] - rest, MoveInfo(move, value=value, proven=True, pv=(move,))))
        found.sort(key=lambda item: (-item[0], 0 if item[0] > 0 else item[1]))
        infos = tuple(info for _, _, info in found)
        return Analysis(
            turn=seat,
            moves=infos,
            value=infos[0].value,
            proven=True,
            nodes=len(infos),
            depth=1,
            seconds=time.perf_counter() - began,
        )

    @functools.cached_property
    def _heap(self) -> tuple[tuple[int, int], ...]:
        """[move] -> the heap it takes from, and how many stones it leaves there."""
        return tuple((h, rest) for h, size in enumerate(self.game.params["heaps"]) for rest in range(size))
