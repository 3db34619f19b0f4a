"""One tree that several threads grow: `mcts(parallel="tree")`.

A lock guards the tree. A thread holds it while it descends and while it backs up; playouts, which take most of the
time in most games, run at the same time. On its way down a thread counts its visits at once, each with the worst score
for whoever chose the node (a virtual loss), so that the others look elsewhere meanwhile; backing up repays that.

Laws, whenever no thread is at work: statistics are as if one thread had made all simulations, and a proven node's
`total` is its exact vector times its visits. For the second, threads that are below a node when another proves it add
nothing to it any more: its total counts their visits already.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from meijin.core import compile as compiling
from meijin.core import kernels
from meijin.core.compile import Function
from meijin.core.game import OVER, Game
from meijin.core.kernels import copy
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search import locks
from meijin.search.growth import MOST, Tree
from meijin.search.selection import PLAIN, Options, chooser
from meijin.search.tree import (
    DEEPEST,
    HERE,
    INFO_SIZE,
    ROOT,
    STAMP,
    STATES,
    WAIT,
    credit,
    evaluator,
    opener,
    prover,
    refresher,
)

WORTH_THREADS = 64  # simulations a thread; to start threads for fewer takes longer than to do them


@cache
def sharer(options: Options) -> Callable[[Game], Function]:
    """The maker of the kernel with which one of several threads searches, with these options."""

    def share(game: Game) -> Function:
        return _share(game, options)

    return share


def _unlocked(lock: Any) -> None:
    """Instead of the lock where kernels are plain Python: then one thread works after the other."""


def _share(game: Game, options: Options) -> Function:
    """Run up to `simulations` simulations of the shared tree; returns how many were done.

    Stops early when the root is proven and, unless `frozen`, when the tree has no room for a node's children.
    """
    acquire, release = (locks.acquire, locks.release) if compiling.JIT else (_unlocked, _unlocked)
    turn, play, score, evaluate = game.turn, game.play, game.score, evaluator(game, options)
    unfold, pick, prove, refresh = opener(game, options), chooser(game, options), prover(game), refresher(game)
    rave = options.rave > 0
    seats, bounded, longest = game.seats, game.bounded, game.longest

    def lend(tree: Any, hot: Any, i: int, seat: int, bounds: Any) -> float:
        """Count a visit of node `i`, which `seat` chose, before its score is known; returns what is to be repaid."""
        node = tree[i]
        owed = 0.0
        if node.proven:
            for k in range(seats):
                node.total[k] += node.total[k] / node.visits
        elif seat >= 0:
            if bounds[seat, 0] <= bounds[seat, 1]:  # else nothing is known of scores yet
                owed = bounds[seat, 0]
            node.total[seat] += owed
        node.visits += 1
        if seat >= 0:
            refresh(tree, hot, i, seat)
        return owed

    def retreat(tree: Any, hot: Any, path: Any, debts: Any, depth: int) -> None:
        """Take the visits along the path back."""
        for d in range(depth, -1, -1):
            node = tree[path[d]]
            seat = tree[path[d - 1]].turn if d > 0 else -1
            if node.proven:
                for k in range(seats):
                    node.total[k] -= node.total[k] / node.visits
            elif seat >= 0:
                node.total[seat] -= debts[d]
            node.visits -= 1
            if seat >= 0 and node.visits > 0:
                refresh(tree, hot, path[d], seat)

    def kernel(
        tree: Any,  # [capacity]
        hot: Any,  # [capacity, slot]
        info: Any,
        lock: Any,  # [1]
        bounds: Any,  # [seat, 2]
        simulations: int,
        frozen: bool,
        c: float,
        # the thread's own:
        states: Any,  # [STATES]
        rng: Any,
        moves: Any,
        probs: Any,
        scores: Any,
        sums: Any,  # [seat]
        path: Any,  # [longest + 1]
        debts: Any,  # [longest + 1]: what is to be repaid at each node of the path
        last: Any,  # [seat, move] with RAVE, else [0, 0]
        own: Any,  # only its STAMP is used
    ) -> int:
        here = states[HERE : HERE + 1]
        s = states[HERE]
        for done in range(simulations):
            copy(here, states[ROOT : ROOT + 1])
            acquire(lock)
            if tree[0].proven or info[WAIT]:
                release(lock)
                return done

            # select
            i = 0
            depth = 0
            path[0] = 0
            fresh = tree[0].visits == 0
            debts[0] = lend(tree, hot, 0, -1, bounds)
            while not tree[i].proven:
                if fresh:
                    t = turn(s)
                    tree[i].turn = t
                    if t == OVER:
                        tree[i].proven = 1
                        score(s, scores)
                        for k in range(seats):
                            tree[i].total[k] = scores[k]
                    if i > 0:
                        break
                if tree[i].first < 0 and not unfold(tree, hot, info, i, states, rng, moves, probs, scores):
                    if frozen:
                        break
                    retreat(tree, hot, path, debts, depth)
                    info[WAIT] = 1
                    release(lock)
                    return done
                parent = i
                i = pick(tree, hot, i, c, bounds, rng)
                if rave and tree[parent].turn >= 0:
                    last[tree[parent].turn, tree[i].move] = own[STAMP] + depth
                play(s, tree[i].move)
                depth += 1
                path[depth] = i
                fresh = tree[i].visits == 0
                debts[depth] = lend(tree, hot, i, tree[parent].turn, bounds)
            info[DEEPEST] = max(info[DEEPEST], depth)

            # evaluate
            if not tree[i].proven:
                release(lock)
                evaluate(states, rng, moves, probs, scores, sums, last, own[STAMP] + depth)
                acquire(lock)
                if not bounded:
                    for k in range(seats):
                        bounds[k, 0] = min(bounds[k, 0], scores[k])
                        bounds[k, 1] = max(bounds[k, 1], scores[k])

            # back up
            proven = False
            for d in range(depth, -1, -1):
                i = path[d]
                node = tree[i]
                seat = tree[path[d - 1]].turn if d > 0 else -1
                if node.proven:  # found over, or proven by this or another thread: better than any playout
                    proven = True
                    for k in range(seats):
                        scores[k] = node.total[k] / node.visits
                else:
                    for k in range(seats):
                        node.total[k] += scores[k]
                    if seat >= 0:
                        node.total[seat] -= debts[d]
                if rave and node.turn >= 0:
                    credit(tree, hot, i, last, own[STAMP] + d, scores)
                if d < depth and proven and not node.proven:
                    proven = prove(tree, i)
                if seat >= 0:
                    refresh(tree, hot, i, seat)
            release(lock)
            if rave:
                own[STAMP] += longest + 1
        return simulations

    return kernel


class _Worker:
    """What one thread needs for itself."""

    def __init__(self, game: Game, options: Options):
        self.states = game.states(STATES)
        self.rng = stream(0)
        self.moves, self.probs = kernels.buffers(game)
        self.scores, self.sums = np.zeros(game.seats), np.zeros(game.seats)
        self.path, self.debts = np.zeros(game.longest + 2, np.int32), np.zeros(game.longest + 2)
        self.last = np.zeros((game.seats, game.num_moves) if options.rave else (0, 0), np.int64)
        self.own = np.ones(INFO_SIZE, np.int64)

    @property
    def arrays(self) -> tuple[Any, ...]:
        return (
            self.states, self.rng, self.moves, self.probs, self.scores, self.sums,
            self.path, self.debts, self.last, self.own,
        )  # fmt: skip


class SharedTree(Tree):
    """A tree that grows in several threads at once. Which of them comes first is chance: no seed repeats a search."""

    def __init__(
        self,
        game: Game,
        seed: int,
        threads: int,
        max_nodes: int,
        options: Options = PLAIN,
        remembers: bool = False,
    ):
        self.workers = [_Worker(game, options) for _ in range(threads)]
        self.lock = np.zeros(8, np.int64)  # a cache line of its own
        super().__init__(game, seed, 0, max_nodes, options, remembers)

    def seed(self, seed: int, index: int) -> None:
        super().seed(seed, index)
        for k, worker in enumerate(self.workers):
            worker.rng = stream(seed, index + k)

    def reset(self, state: State) -> None:
        super().reset(state)
        for worker in self.workers:
            worker.last[:] = 0
            worker.own[STAMP] = 1

    def run(self, simulations: int, c: float) -> int:
        simulations = min(simulations, MOST - len(self.workers) - int(self.nodes[0].visits))
        done = 0
        for worker in self.workers:
            worker.states[ROOT] = self.states[ROOT]
        while done < simulations and not self.nodes[0].proven:
            self.info[WAIT] = 0
            done += self._round(simulations - done, c)
            if self.info[WAIT] and not self.grow():
                self.full = True
        return done

    def _round(self, simulations: int, c: float) -> int:
        """Let the threads work until they are done or one finds no room."""
        kernel = self.game.kernel(sharer(self.options))

        def work(worker: _Worker, share: int) -> int:
            return int(
                kernel(
                    self.nodes, self.hot, self.info, self.lock, self.bounds, share, self.full, c, *worker.arrays
                )
            )  # fmt: skip

        count = min(len(self.workers), simulations // WORTH_THREADS)
        if count <= 1:
            return work(self.workers[0], simulations)
        shares = [(simulations + k) // count for k in range(count)]
        if not compiling.JIT:
            return sum(map(work, self.workers, shares))
        with ThreadPoolExecutor(count) as pool:
            return sum(pool.map(work, self.workers, shares))
