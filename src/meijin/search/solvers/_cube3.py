"""The 3x3x3 solved: in the fewest moves where that can be found soon, otherwise within the moves left.

IDA* tries one length after another, with the distances to phase 2 as seen from three sides as lower bounds. A length
takes about 13 times as long as the one before, or 10 with quarter turns only, which is too long beyond some 13 or 14
moves. Kociemba's two-phase search then finds a solution, mostly within a tenth of a second: of 20 moves, or some 22
quarter turns. Both are given a little more time for a shorter one.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from meijin.core.agent import Analysis, Limit, MoveInfo, must_move
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.state import State
from meijin.search.pace import Alarm
from meijin.search.solvers._cube3_search import NODES, STOPPED, searcher, work
from meijin.search.solvers._cube3_tables import AXES, Cubies, coordinates, cubies, seen_from, tables

QUICK, THOROUGH = 200_000, 3_000_000  # nodes: of each search at first, and of IDA* for a shorter solution
GROWTH = {"half": 13, "quarter": 10}  # how many times more nodes a search that is longer by one move takes
LONG = {"half": 21, "quarter": 28}  # moves in which the two-phase search solves any cube at once
MOST_SECONDS = 20.0  # where no limit is given
KEPT = 10_000  # positions whose solution is kept

Line = tuple[Move, ...]


class Cube3Solver:
    """Finds a solution within the moves left, proves that there is none, or says that it took too long."""

    def __init__(self, game: Game):
        metric = game.params["metric"]
        self.game, self._work = game, work()
        self.stop_flag = self._work.stop
        self._tables, self._kernel = tables(metric), game.kernel(searcher)
        self._growth, self._long = GROWTH[metric], LONG[metric]
        names = [(0,), (2,), (1,)] if metric == "half" else [(0,), (0, 0), (1,)]  # quarters - 1 -> moves of a face
        kinds, moves = game.num_moves // 6, game.moves
        self._moves = [tuple(moves[kinds * (turn // 3) + kind] for kind in names[turn % 3]) for turn in range(18)]
        single = [turn for turn in range(18) if len(self._moves[turn]) == 1]
        self._undo = {self._moves[t][0]: self._moves[t // 3 * 3 + 2 - t % 3][0] for t in single}
        self._known: dict[bytes, tuple[Line, bool]] = {}  # stickers -> a solution, and whether none is shorter
        self._run([cubies(State(game).record.stickers)], 1, 0)  # compiles

    def expected_seconds(self, state: State) -> float:
        return 0.05  # of most positions; it is worth asking in any case, as no other search here solves cubes

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        """A move is worth 1 if a solution within the moves left begins with it, 0 if there is none.

        The first move of the solution found comes first. A move that leaves enough moves to take it back is worth 1
        too; the values of others are left out.
        """
        must_move(state)
        if state.game.id != self.game.id:
            raise BadParameter(f"a position of {state.game} was given to the solver of {self.game}")
        began = time.perf_counter()
        left = int(self.game.params["max_moves"]) - int(state.record.moves)
        self._work.info[:] = 0
        line, shortest = self._solution(state, left, limit.seconds or MOST_SECONDS)
        if line is None:
            infos = tuple(MoveInfo(move, value=(0.0,), proven=True, pv=(move,)) for move in state.legal_moves)
            note = f"cannot be solved in the moves left: {left}"
        else:
            first = line[0]
            lines = [line, *((move, self._undo[move], *line) for move in state.legal_moves if move != first)]
            infos = tuple(
                MoveInfo(way[0], value=(1.0,), proven=True, pv=way) if len(way) <= left else MoveInfo(way[0])
                for way in lines
            )
            note = f"moves to the solved cube: {len(line)}, " + ("the fewest" if shortest else "perhaps not the fewest")
        return Analysis(
            turn=state.turn,
            moves=infos,
            value=infos[0].value,
            proven=True,
            nodes=int(self._work.info[NODES]),
            depth=0 if line is None else len(line),
            seconds=time.perf_counter() - began,
            note=note,
        )

    def _solution(self, state: State, left: int, seconds: float) -> tuple[Line | None, bool]:
        """A solution of at most so many moves, and whether none is shorter; None if there is none."""
        line, shortest = self._known.get(state.record.stickers.tobytes(), (None, False))
        if line is not None and (shortest or len(line) <= left):
            return (line if len(line) <= left else None), shortest
        with Alarm(seconds, self.stop_flag):
            turns, shortest = self._search(state.record.stickers, left)
        if turns is None and not shortest:
            raise MeijinError(
                f"no solution of {self.game} within the moves left ({left}) was found in {seconds:g} s; there "
                "may be none, or it needs more time"
            )
        if turns is None:
            return None, True
        line = tuple(move for turn in turns for move in self._moves[turn])
        if len(self._known) > KEPT:
            self._known.clear()
        after = state.copy()
        for i, move in enumerate(line):  # so that the next positions, with fewer moves left, need no search
            self._known[after.record.stickers.tobytes()] = line[i:], shortest
            after.play(move)
        return line, shortest

    def _search(self, stickers: Any, left: int) -> tuple[list[int] | None, bool]:
        """The turns of a solution, and whether it is proven that none is shorter; None: none found, or none exists."""
        sides = [cubies(seen_from(stickers, axis)) for axis in range(AXES)]
        best: list[int] | None = None
        bound = length = 1  # of the next search: the whole solution, or phase 1
        most = min(left, self._long)  # moves of a solution in two phases
        expected = spent = 0  # nodes: of the next search for a whole solution, and of those in two phases so far
        while bound <= (left if best is None else most):
            before = int(self._work.info[NODES])
            if expected <= max(QUICK, spent) or length > most or (best is not None and spent > QUICK):
                if best is not None and expected > THOROUGH:
                    return best, False
                if (found := self._run(sides, bound, 0)) is not None:
                    return found, True
                expected = self._growth * (int(self._work.info[NODES]) - before)
                bound += 1
            else:
                for axis, side in enumerate(sides):
                    while (found := self._run([side], length, most - length)) is not None:
                        best = np.argsort(self._tables.views[axis])[found].tolist()
                        most = int(self._tables.costs[best].sum()) - 1
                spent += int(self._work.info[NODES]) - before
                length += 1
            if self._work.info[STOPPED]:
                return best, False
        return best, True

    def _run(self, sides: list[Cubies], moves: int, more: int) -> list[int] | None:
        """Search from all sides for a whole solution, or from one in two phases."""
        for axis, side in enumerate(sides):
            self._work.seen[0, axis] = coordinates(side)
        first = sides[0]
        found = self._kernel(self._tables, self._work, first.corners, first.edges, len(sides), moves, more)
        return None if found < 0 else self._work.turns[:found].tolist()
