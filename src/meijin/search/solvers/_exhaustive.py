"""Solving small games without chance completely: every position once, in a table with a place for each.

Whoever moves takes what is best for itself, so the value of any position is one of the few results a game can end
with. A place of the table holds which, and after how many plies, in one small number; 0 means not solved yet.
Among equal values a shorter win and a longer loss are better, and then the first move. With more than two seats a
result depends on that choice too, as a seat may not care which of the others loses.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from meijin.core import kernels
from meijin.core.agent import Analysis, Limit, MoveInfo, must_move
from meijin.core.compile import Function
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import OVER, Game
from meijin.core.kernels import copy
from meijin.core.state import State
from meijin.search.pace import Alarm

NODES, STOPPED = 0, 1  # slots of `info`


class Work(NamedTuple):
    """All that one search reads and writes."""

    states: Any  # [ply]
    moves: Any  # [ply, branching]
    scores: Any  # [seat]
    table: Any  # [place] -> code, 0: not solved yet
    info: Any
    stop: Any  # [1]: set by a clock


def comparer(game: Game, results: Any) -> Function:
    """`better(code, than, seat)`. A code is 1 + result * span + plies to the end, a result a row of `results`."""
    span, middle = game.longest + 1, sum(game.score_range) / 2

    def better(code: int, than: int, seat: int) -> bool:
        mine, other = results[(code - 1) // span, seat], results[(than - 1) // span, seat]
        if mine != other:
            return mine > other
        length, known = (code - 1) % span, (than - 1) % span
        return length < known if mine > middle else length > known and mine < middle

    return better


def searcher(game: Game, place: Function, results: Any) -> Function:
    """`solve(w, ply)`: the code of `w.states[ply]`; `place(s)` is where the table has that position."""
    turn, legal, play, score = game.turn, game.legal, game.play, game.score
    better, span, seats, count = comparer(game, results), game.longest + 1, game.seats, len(results)

    def finished(s: Any, scores: Any) -> int:
        score(s, scores)
        for result in range(count):
            same = True
            for k in range(seats):
                same = same and abs(scores[k] - results[result, k]) < 1e-9
            if same:
                return 1 + result * span
        return 0

    def solve(w: Any, ply: int) -> Any:
        w.info[NODES] += 1
        if w.info[NODES] & 1023 == 0 and w.stop[0] != 0:
            w.info[STOPPED] = 1
        if w.info[STOPPED] != 0:
            return 0
        s = w.states[ply]
        t = turn(s)
        if t == OVER:
            return finished(s, w.scores)
        i = place(s)
        best: Any = np.int64(w.table[i])
        if best != 0:
            return best
        for k in range(legal(s, w.moves[ply])):
            copy(w.states[ply + 1 : ply + 2], w.states[ply : ply + 1])
            play(w.states[ply + 1], w.moves[ply, k])
            code = solve(w, ply + 1) + 1
            if w.info[STOPPED] != 0:
                return 0
            if best == 0 or better(code, best, t):
                best = code
        w.table[i] = best
        return best

    solve.recursive = True  # type: ignore[attr-defined]
    return solve


def root(game: Game, place: Function, results: Any) -> Function:
    """Solve `moves` of `w.states[0]`: their codes, and best play after each in the rows of `lines`, `plies` long."""
    turn, legal, play = game.turn, game.legal, game.play
    better, solve = comparer(game, results), searcher(game, place, results)

    def kernel(w: Any, moves: Any, codes: Any, lines: Any, plies: Any) -> None:
        one, two = np.int64(1), np.int64(2)  # typed: literals would make more, recursive copies of `solve`
        for i in range(moves.shape[0]):
            copy(w.states[1:2], w.states[0:1])
            play(w.states[1], moves[i])
            codes[i] = solve(w, one) + 1
            if w.info[STOPPED] != 0:
                return
            lines[i, 0] = moves[i]
            plies[i] = 1
            t = turn(w.states[1])
            while t != OVER:
                best, best_move = 0, 0
                for k in range(legal(w.states[1], w.moves[1])):
                    copy(w.states[2:3], w.states[1:2])
                    play(w.states[2], w.moves[1, k])
                    code = solve(w, two) + 1
                    if w.info[STOPPED] != 0:
                        return
                    if best == 0 or better(code, best, t):
                        best, best_move = code, w.moves[1, k]
                lines[i, plies[i]] = best_move
                plies[i] += 1
                play(w.states[1], best_move)
                t = turn(w.states[1])

    return kernel


class Exhaustive:
    """What the solvers of small games share. What was solved stays in the table."""

    def __init__(self, game: Game, kernel: Callable[[Game], Function], places: int, results: Any):
        """`kernel` is a module's function that calls `root` with the same `results`; the table has `places`."""
        self.game, self._kernel, self._results = game, kernel, np.asarray(results, np.float64)
        self._span = game.longest + 1
        plies, width = game.longest + 3, len(kernels.buffers(game)[0])
        self._work = Work(
            game.states(plies),
            np.zeros((plies, width), np.int32),
            np.zeros(game.seats),
            np.zeros(places, np.min_scalar_type(len(self._results) * self._span)),
            np.zeros(2, np.int64),
            np.zeros(1, np.int64),
        )
        self.stop_flag = self._work.stop
        self._better = comparer(game, self._results)

    def expected_seconds(self, state: State) -> float:
        return 2e-7 * len(self._work.table)  # of all positions, most of which an earlier answer may have solved

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        """Every move's exact value, with best play to the end."""
        if state.game.id != self.game.id:
            raise BadParameter(f"a position of {state.game} was given to the solver of {self.game}")
        must_move(state)
        work, kernel, seat = self._work, self.game.kernel(self._kernel), state.turn
        moves = np.array(state.legal_moves, np.int32)
        codes, plies = np.zeros(len(moves), np.int64), np.zeros(len(moves), np.int64)
        lines = np.zeros((len(moves), self.game.longest), np.int32)
        work.info[:] = 0
        kernel(work, moves[:0], codes, lines, plies)  # on the first use this compiles, before the clock starts
        work.states[0] = state.record
        began = time.perf_counter()
        with Alarm(limit.seconds, self.stop_flag):
            kernel(work, moves, codes, lines, plies)
        if work.info[STOPPED]:
            raise MeijinError(
                f"{self.game} was not solved in {limit.seconds} seconds; allow more, or ask again: "
                "what has been solved is kept"
            )
        ranked: list[int] = []  # best first
        for i in range(len(moves)):
            at = len(ranked)
            while at and self._better(int(codes[i]), int(codes[ranked[at - 1]]), seat):
                at -= 1
            ranked.insert(at, i)
        infos = tuple(
            MoveInfo(
                self.game.moves[moves[i]],
                value=tuple(self._results[(codes[i] - 1) // self._span].tolist()),
                proven=True,
                pv=tuple(self.game.moves[m] for m in lines[i, : plies[i]].tolist()),
            )
            for i in ranked
        )
        return Analysis(
            turn=seat,
            moves=infos,
            value=infos[0].value,
            proven=True,
            nodes=int(work.info[NODES]),
            depth=len(infos[0].pv),
            seconds=time.perf_counter() - began,
        )


def check_order(state: State) -> None:
    """Raise unless the seats have moved in turn: only then do the pieces alone tell whose turn it is.

    In a position that was set up by hand it may be different. Those who have lost already, with a score below 0, no
    longer move.
    """
    owned = [0] * state.game.seats
    for value in state.cells:
        owner = state.game.pieces[value].owner
        if owner is not None:
            owned[owner] += 1
    playing = [k for k, score in enumerate(state.scores) if score >= 0]
    if playing and state.turn >= 0:
        expected = min(playing, key=lambda k: owned[k])
        if state.turn != expected or max(owned[k] for k in playing) - owned[expected] > 1:
            raise MeijinError(
                f"this position of {state.game} cannot come up in play: seat {state.turn} is to move, and the seats "
                f"have made {', '.join(map(str, owned))} moves; it is not solved"
            )
