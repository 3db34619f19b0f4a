"""Alpha-beta for games of two seats whose scores add up to a constant.

Principal variation search with iterative deepening, aspiration windows, a transposition table, killer moves and the
history heuristic for ordering, and quiescence over the moves a game calls noisy; see `pvs` for the search itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from meijin.core import kernels
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.options import between
from meijin.core.state import State
from meijin.search.hashing import table_size, words
from meijin.search.pace import Pace
from meijin.search.pvs import HORIZON, INFINITE, INFO_SIZE, MOST_NODES, NODES, PROVEN, SLOT, UNIT, WIN, Work, root

QUIET_PLIES = 8  # how far quiescence looks past the horizon
MAX_DEPTH = 200
NO_LIMIT = 2**62  # of nodes


class AlphaBeta(Agent):
    """Alpha-beta with iterative deepening, for two seats with opposite interests."""

    deterministic = True
    measures = ("seconds", "depth", "nodes")

    def __init__(
        self, depth: int | None = None, seconds: float | None = None, table_mb: float = 64, quiescence: bool = True
    ):
        if depth is None and seconds is None:
            seconds = 1.0
        if depth is not None:
            between("depth", depth, 1, MAX_DEPTH)
        self.limit = Limit(seconds=seconds, depth=depth)
        self._slots = table_size(table_mb, SLOT.itemsize)
        self.quiet = QUIET_PLIES if quiescence else 0
        self._work: tuple[Game, Work] | None = None

    def unfit(self, game: Game) -> str | None:
        if game.seats != 2:
            return f"it needs two seats, and this game has {game.seats}; maxn plays any number"
        if game.chance:
            return "it has no chance nodes; maxn has"
        if not game.bounded:
            return "its scores have no bounds, which alpha-beta needs; maxn does not"
        return None

    def _prepare(self, game: Game) -> Work:
        """Fresh memory for a game, or that of the last search with its table."""
        if self._work is None or self._work[0] is not game:
            plies = min(MAX_DEPTH, game.longest) + QUIET_PLIES + 2
            states = game.states(plies)
            width = len(kernels.buffers(game)[0])
            work = Work(
                states,
                words(states),
                np.zeros((plies, width), np.int32),
                np.zeros((plies, width), np.int64),
                np.zeros(2),
                np.zeros(self._slots, SLOT),
                np.zeros((plies, 2), np.int32),
                np.zeros((2, game.num_moves), np.int64),
                np.zeros(INFO_SIZE, np.int64),
                self.stop_flag,
            )
            self._work = game, work
        work = self._work[1]
        work.killers[:] = -1
        work.history[:] = 0
        work.info[:] = 0
        work.info[MOST_NODES] = NO_LIMIT
        return work

    def reseed(self, seed: int) -> None:
        self._work = None

    def release(self) -> None:
        self._work = None

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        return self._search(state, limit, every, all_moves=True)

    def decide(self, state: State, limit: Limit) -> Move:
        *_, last = self._search(state, limit, math.inf, all_moves=False)
        return last.best

    def _search(self, state: State, limit: Limit, every: float, all_moves: bool) -> Iterator[Analysis]:
        """Analyses after each depth; with `all_moves` every move's value is exact, else only the best one's."""
        game, kernel = state.game, state.game.kernel(root)
        work = self._prepare(game)
        deepest = min(limit.depth or MAX_DEPTH, MAX_DEPTH, game.longest)
        moves = np.array(state.legal_moves, np.int32)
        values = np.zeros(len(moves), np.int64)
        lines = np.full((len(moves), deepest), -1, np.int32)
        work.states[0] = state.record

        def look(depth: int, alpha: int, beta: int) -> int:
            work.info[HORIZON] = 0
            return int(kernel(work, depth, self.quiet, alpha, beta, all_moves, moves, values, lines))

        def report() -> Analysis:
            infos = []
            for place, i in enumerate(np.argsort(-shown, kind="stable")):
                exact = all_moves or place == 0
                continuation = [m for m in kept[i].tolist() if m >= 0] if exact else []
                infos.append(
                    MoveInfo(
                        game.moves[ranked[i]],
                        value=_vector(game, state.turn, int(shown[i])) if exact else None,
                        proven=bool(exact and (settled or abs(shown[i]) > PROVEN)),
                        pv=(game.moves[ranked[i]], *(game.moves[m] for m in continuation)) if exact else (),
                    )
                )
            return Analysis(
                turn=state.turn,
                moves=tuple(infos),
                value=infos[0].value,
                proven=infos[0].proven,
                nodes=int(work.info[NODES]),
                depth=done,
                seconds=pace.seconds,
            )

        best = look(1, -INFINITE, INFINITE)  # on the first use this compiles, before the clock starts
        done, guess, settled = 1, int(values.max()), best >= 0 and work.info[HORIZON] == 0
        shown, kept, ranked = values.copy(), lines.copy(), moves  # of the last depth that was finished
        work.info[MOST_NODES] = limit.nodes or NO_LIMIT
        with Pace(self, limit.seconds, every, reports=False) as pace:
            for depth in range(2, deepest + 1):
                known = bool((np.abs(shown) > PROVEN).all()) if all_moves else abs(guess) > PROVEN or len(moves) == 1
                if settled or known or pace.over:
                    break
                order = np.argsort(-shown, kind="stable")
                moves, values, lines = ranked[order], shown[order], kept[order]
                before = values.copy()
                span = UNIT // 20
                while True:  # widen the window until the value lies inside
                    low, high = (-INFINITE, INFINITE) if all_moves else (guess - span, guess + span)
                    best = look(depth, max(low, -INFINITE), min(high, INFINITE))
                    if best < 0 or all_moves or low < values[best] < high or span > 2 * WIN:
                        break
                    span *= 8
                if best < 0:
                    break
                if not all_moves:  # only the best is exact; the others keep their order behind it
                    rest = np.minimum(before, values[best] - 1)
                    rest[best] = values[best]
                    values = rest
                shown, kept, ranked, done, guess = values, lines, moves, depth, int(values[best])
                settled = work.info[HORIZON] == 0
                if pace.due():
                    yield report()
        yield report()


def _vector(game: Game, seat: int, value: int) -> tuple[float, ...]:
    """Both seats' scores, from the search's number for one of them."""
    low, high = game.score_range
    scaled = math.copysign(1.0, value) if abs(value) > PROVEN else value / UNIT
    mine = (low + high) / 2 + (high - low) / 2 * scaled
    return (mine, low + high - mine) if seat == 0 else (low + high - mine, mine)
