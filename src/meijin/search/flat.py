"""Flat Monte Carlo: no tree, the same number of random playouts after each move, and the best mean is played."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from meijin.core import kernels
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.compile import Function
from meijin.core.game import Game
from meijin.core.kernels import copy, playout
from meijin.core.options import between
from meijin.core.rng import fresh_seed, stream
from meijin.core.state import State
from meijin.search.pace import Pace

MOST = 2**62  # playouts, more than any limit allows


def spread(game: Game) -> Function:
    """Playouts from `states[0]` in turn over the rows of `totals`; row r begins with move `roots[r % len(roots)]`."""
    play, score, finish, seats = game.play, game.score, playout(game), game.seats

    def kernel(
        states: Any,  # [2]: the position and room to play in
        roots: Any,  # [move]
        first: int,  # the row of the first playout
        playouts: int,
        stop: Any,  # int64 [1]: not zero when it is to return
        counts: Any,  # [row]
        totals: Any,  # [row, seat]
        rng: Any,
        moves: Any,
        probs: Any,
        scores: Any,
    ) -> int:
        row = first
        s = states[1]
        for _ in range(playouts):
            if stop[0]:
                break
            copy(states[1:2], states[0:1])
            play(s, roots[row % roots.shape[0]])
            finish(s, rng, moves, probs)
            score(s, scores)
            counts[row] += 1
            for k in range(seats):
                totals[row, k] += scores[k]
            row += 1
            if row == counts.shape[0]:
                row = 0
        return row

    return kernel


class _Thread:
    """What one thread adds up: a row for each run of the ensemble and each move."""

    def __init__(self, state: State, ensemble: int, rng: Any):
        self.game = state.game
        self.states = state.game.states(2)
        self.states[0] = state.record
        self.roots = np.array(state.legal_moves, np.int32)
        rows = ensemble * len(self.roots)
        self.counts, self.totals = np.zeros(rows, np.int64), np.zeros((rows, state.game.seats))
        self.rng = rng
        self.moves, self.probs = kernels.buffers(state.game)
        self.scores = np.zeros(state.game.seats)
        self.row = 0

    def run(self, playouts: int, stop: Any) -> None:
        self.row = self.game.kernel(spread)(
            self.states, self.roots, self.row, playouts, stop, self.counts, self.totals,
            self.rng, self.moves, self.probs, self.scores,
        )  # fmt: skip


class Flat(Agent):
    """Equally many random playouts after every move; the move with the best mean score for the mover is played.

    `ensemble`: that many independent runs share the playouts, and each votes for its best move; the mean over all
    runs decides between moves with equally many votes. `threads` make playouts at the same time.
    """

    measures = ("seconds", "simulations")

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        ensemble: int = 1,
        threads: int = 1,
        seed: int | None = None,
    ):
        if simulations is None and seconds is None:
            simulations = 1000
        between("ensemble", ensemble, 1, 1000)
        between("threads", threads, 1, 256)
        self.limit = Limit(seconds, simulations)
        self.ensemble, self.threads = ensemble, threads
        self.reseed(fresh_seed() if seed is None else seed)

    def reseed(self, seed: int) -> None:
        self._rngs = [stream(seed, k) for k in range(self.threads)]

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        threads = [_Thread(state, self.ensemble, rng) for rng in self._rngs]
        threads[0].run(1, np.zeros(1, np.int64))  # on the first use this compiles, before the clock starts
        done = 1
        with Pace(self, limit.seconds, every) as pace:
            while True:
                self._spread(threads, (limit.simulations or MOST) - done)
                done = sum(int(thread.counts.sum()) for thread in threads)
                if pace.over or done >= (limit.simulations or MOST):
                    break
                if pace.due():
                    yield self._report(state, threads, pace.seconds)
                pace.resume()
        yield self._report(state, threads, pace.seconds)

    def _spread(self, threads: list[_Thread], playouts: int) -> None:
        """That many playouts by all threads together; each continues where the one before will stop."""
        shares = [(playouts + k) // len(threads) for k in range(len(threads))]
        at = threads[0].row
        for thread, share in zip(threads, shares, strict=True):
            thread.row = at
            at = (at + share) % len(thread.counts)
        if len(threads) == 1:
            threads[0].run(playouts, self.stop_flag)
        else:
            with ThreadPoolExecutor(len(threads)) as pool:
                list(pool.map(_Thread.run, threads, shares, [self.stop_flag] * len(threads)))

    def _report(self, state: State, threads: list[_Thread], seconds: float) -> Analysis:
        seat, moves = state.turn, state.legal_moves
        counts = sum(thread.counts for thread in threads).reshape(self.ensemble, -1)  # type: ignore[union-attr]
        totals = sum(thread.totals for thread in threads).reshape(self.ensemble, len(moves), -1)  # type: ignore[union-attr]
        votes = np.zeros(len(moves), np.int64)
        for run in range(self.ensemble):
            if counts[run].any():
                tried = np.flatnonzero(counts[run])
                votes[tried[np.argmax(totals[run, tried, seat] / counts[run, tried])]] += 1
        visits, sums = counts.sum(0), totals.sum(0)
        infos = [
            MoveInfo(
                move,
                int(visits[i]),
                value=tuple((sums[i] / visits[i]).tolist()) if visits[i] else None,
                pv=(move,),
            )
            for i, move in enumerate(moves)
        ]

        def rank(i: int) -> tuple[int, float, int]:
            value = infos[i].value
            return -int(votes[i]), -value[seat] if value else math.inf, i

        order = sorted(range(len(moves)), key=rank)
        return Analysis(
            turn=seat,
            moves=tuple(infos[i] for i in order),
            value=infos[order[0]].value,
            simulations=int(visits.sum()),
            nodes=len(moves),
            depth=1,
            seconds=seconds,
            note=f"{votes[order[0]]} of {self.ensemble} runs chose it" if self.ensemble > 1 else "",
        )
