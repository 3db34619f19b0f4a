"""Flat Monte Carlo: no tree, the same number of random playouts after each move, and the best mean is played."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from meijin.core import kernels
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.compile import Function
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.kernels import copy, playout
from meijin.core.rng import fresh_seed, stream
from meijin.core.state import State
from meijin.search.clock import must_move

SLICE_SECONDS = 0.02  # how long a kernel runs between looks at the clock


def spread(game: Game) -> Function:
    """Playouts from `states[0]` in turn over the rows of `totals`; row r begins with move `roots[r % len(roots)]`."""
    play, score, finish, seats = game.play, game.score, playout(game), game.seats

    def kernel(
        states: Any,  # [2]: the position and room to play in
        roots: Any,  # [move]
        first: int,  # the row of the first playout
        playouts: int,
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


class _Worker:
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

    def run(self, playouts: int) -> None:
        self.row = self.game.kernel(spread)(
            self.states, self.roots, self.row, playouts, self.counts, self.totals,
            self.rng, self.moves, self.probs, self.scores,
        )  # fmt: skip

    def work(self, playouts: int | None, deadline: float) -> None:
        if deadline == math.inf and playouts is not None:
            self.run(playouts)
            return
        done, batch = 0, 16
        while playouts is None or done < playouts:
            before = time.perf_counter()
            if before >= deadline:
                break
            size = batch if playouts is None else min(batch, playouts - done)
            self.run(size)
            done += size
            now = time.perf_counter()
            batch = max(1, int(size / max(now - before, 1e-6) * min(SLICE_SECONDS, max(0.0, deadline - now))))


class Flat(Agent):
    """Random playouts after every move alike; the move with the best mean score for the mover is played.

    `ensemble`: that many independent runs share the playouts, and each votes for its best move; the mean over all
    runs decides between moves with equally many votes. `threads` make playouts at the same time.
    """

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
        if not 1 <= ensemble <= 1000:
            raise BadParameter(f"ensemble={ensemble!r}: choose from 1 to 1000 runs")
        if not 1 <= threads <= 256:
            raise BadParameter(f"threads={threads!r}: choose from 1 to 256")
        self.limit = Limit(seconds, simulations)
        self.ensemble, self.threads = ensemble, threads
        self.seed(fresh_seed() if seed is None else seed)

    def seed(self, seed: int) -> None:
        self._rngs = [stream(seed, k) for k in range(self.threads)]

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        must_move(state)
        if limit.seconds is None and limit.simulations is None:  # a depth alone would never end this search
            limit = self.limit
        workers = [_Worker(state, self.ensemble, rng) for rng in self._rngs]
        workers[0].run(1)  # on the first use this compiles, before the clock starts
        began = time.perf_counter()
        deadline = math.inf if limit.seconds is None else began + limit.seconds
        shares: list[int | None] = [None] * self.threads
        if limit.simulations is not None:
            left = limit.simulations - 1
            shares = [(left + k) // self.threads for k in range(self.threads)]
            at = 1
            for worker, share in zip(workers, shares, strict=True):  # each goes on where the one before will stop
                worker.row = at % len(worker.counts)
                at += share or 0
        if self.threads == 1:
            workers[0].work(shares[0], deadline)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(_Worker.work, workers, shares, [deadline] * self.threads))
        return self._report(state, workers, time.perf_counter() - began)

    def _report(self, state: State, workers: list[_Worker], seconds: float) -> Analysis:
        seat, moves = state.turn, state.legal_moves
        counts = sum(worker.counts for worker in workers).reshape(self.ensemble, -1)  # type: ignore[union-attr]
        totals = sum(worker.totals for worker in workers).reshape(self.ensemble, len(moves), -1)  # type: ignore[union-attr]
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
