"""Monte Carlo tree search for every game: UCB1 over playouts, with proofs, tree reuse, threads and a memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.options import among, at_least, between
from meijin.core.rng import fresh_seed
from meijin.core.state import State
from meijin.search.mcts import playouts as policies
from meijin.search.mcts.kernels import DEEPEST, USED
from meijin.search.mcts.selection import Options
from meijin.search.mcts.tree import MOST, SearchTree, node_bytes
from meijin.search.pace import Pace

if TYPE_CHECKING:
    from meijin.search.mcts.persistence import Persistence

PARALLEL = ("root", "tree")  # what several threads do


class MCTS(Agent):
    """UCB1 tree search.

    `parallel`: with "root", each thread grows its own tree, and their root statistics are added up; with "tree", all
    threads grow one tree, which is better with many threads, but no seed repeats such a search.
    `rave`: mix in how moves did whenever their seat made them later on (RAVE), with this equivalence parameter, such
    as 500; for games in which a move means much the same at any time. Works best with a small `c`.
    `playout`: "random"; "decisive" wins at once where it can and avoids losing at once; "heuristic" follows the
    game's heuristic nine times in ten; "policy" is the game's own.
    `playouts`: how many at each leaf; their mean counts as one visit and one simulation.
    `widening`: consider only `factor * n ** exponent` moves after n visits: (factor, exponent), or the factor alone
    with exponent 0.5. Moves that the game's heuristic likes come first; without one the order is random, which
    seldom pays.
    `memory`: a file that keeps statistics between matches, and between processes that search at the same time, of up
    to `memory_limit` positions per game; a game whose rules change begins afresh. `memory_mb` is what the trees may
    use while they grow.
    """

    measures = ("seconds", "simulations")
    ponders = True

    def __init__(
        self,
        simulations: int | None = None,
        c: float = math.sqrt(2),
        seconds: float | None = None,
        threads: int = 1,
        memory_mb: float = 1024,
        seed: int | None = None,
        rave: float = 0,
        playout: str = "random",
        playouts: int = 1,
        widening: float | tuple[float, float] | None = None,
        memory: str | None = None,
        memory_limit: int = 1_000_000,
        parallel: str = "root",
    ):
        if simulations is None and seconds is None:
            simulations = 1000
        at_least("c", c, 0)
        between("threads", threads, 1, 256)
        at_least("memory_mb", memory_mb, 1e-6)
        between("rave", rave, 0, 1e9)
        between("playouts", playouts, 1, 10**6)
        among("parallel", parallel, PARALLEL)
        at_least("memory_limit", memory_limit, 1, whole=True)
        if rave and playouts > 1:
            raise BadParameter(f"playouts={playouts}: RAVE takes one playout per leaf; leave out one of the two")
        policies.check(playout)
        self.limit = Limit(seconds, simulations)
        self.options = Options(float(rave), playout, playouts, _widening(widening))
        self.c, self.threads, self.memory_mb, self.parallel = float(c), threads, memory_mb, parallel
        self.memory, self.memory_limit = memory, memory_limit
        self._trees: list[SearchTree] = []
        self._store: Persistence | None = None
        self._at: tuple[bytes, tuple[Move, ...]] | None = None  # where the trees' roots stand
        self.reseed(fresh_seed() if seed is None else seed)

    def unfit(self, game: Game) -> str | None:
        if self.memory is not None and not game.id:
            return "its memory needs a game with a name: make it through a function decorated with @game"
        return policies.unfit(self.options.playout, game)

    def reseed(self, seed: int) -> None:
        self._seed, self._at = seed, None
        for k, tree in enumerate(self._trees):
            tree.seed(seed, k)

    def release(self) -> None:
        self._trees, self._at = [], None
        if self._store is not None:
            self._store.close()

    def decide(self, state: State, limit: Limit) -> Move:
        return state.legal_moves[0] if len(state.legal_moves) == 1 else super().decide(state, limit)

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        self._set_roots(state)
        done = self._trees[0].begin(self.c)  # on the first use this compiles, before the clock starts
        with Pace(self, limit.seconds, every) as pace:
            while True:
                done += self._simulate(MOST if limit.simulations is None else limit.simulations - done)
                proven = any(tree.nodes[0].proven for tree in self._trees)
                if proven or pace.over or (limit.simulations is not None and done >= limit.simulations):
                    break
                if not self.stop_flag[0]:  # it was not interrupted: the counts of visits are used up
                    break
                if pace.due():
                    yield self._report(state, done, pace.seconds)
                pace.resume()
        if self._store is not None:
            self._store.save(self._trees)
        yield self._report(state, done, pace.seconds)

    def _simulate(self, simulations: int) -> int:
        """That many simulations of all trees together, or until `stop`."""
        count = len(self._trees)
        if count == 1:
            return self._trees[0].run(simulations, self.c)
        shares = [(simulations + k) // count for k in range(count)]
        with ThreadPoolExecutor(count) as pool:
            return sum(pool.map(lambda tree, share: tree.run(share, self.c), self._trees, shares))

    def _set_roots(self, state: State) -> None:
        """Reuse the trees if the state continues the one searched last, else plant new ones."""
        if not self._trees or self._trees[0].game is not state.game:
            self._plant(state.game)
        follow: tuple[Move, ...] | None = None
        if self._at is not None:
            origin, past = self._at
            if origin == state.origin and state.history[: len(past)] == past:
                follow = state.history[len(past) :]
        followed = [follow is not None and tree.follow(state, follow) for tree in self._trees]
        if self._store is not None and (follow or not all(followed)):
            # Trees are stored when a search ends, so the memory knows at least as much about a position.
            stats = self._store.known(state)
            if stats is not None and stats[0] > sum(int(tree.nodes[0].visits) for tree in self._trees):
                followed = [False] * len(self._trees)
        for tree, kept in zip(self._trees, followed, strict=True):
            if not kept:
                tree.reset(state)
        if self._store is not None and not any(followed):
            self._store.load(self._trees)
        self._at = (state.origin, state.history)

    def _plant(self, game: Game) -> None:
        remembers = self.memory is not None
        threads = self.threads if self.parallel == "tree" else 1
        count = 1 if self.parallel == "tree" else self.threads
        room = int(self.memory_mb * 1e6 / node_bytes(game.seats, self.options, remembers) / count)
        max_nodes = min(max(room, 1 + game.num_moves), MOST)  # the root's children always fit
        self._trees = [
            SearchTree(game, self._seed, k, max_nodes, self.options, remembers, threads, self.stop_flag)
            for k in range(count)
        ]
        self._at = None
        if self.memory is not None:
            from meijin.search.mcts.persistence import Persistence, rules_digest
            from meijin.search.mcts.store import StatisticsFile

            # Playouts by another policy have other values.
            policy = "" if self.options.playout == "random" else f" playout={self.options.playout}"
            rules = rules_digest(game, self.options.playout)
            file = StatisticsFile(self.memory, game.id + policy, game.seats, self.memory_limit, rules)
            self._store = Persistence(game, file)

    def _report(self, state: State, simulations: int, seconds: float) -> Analysis:
        game, seat = state.game, state.turn
        merged: dict[Move, _Merged] = {}
        for tree in self._trees:
            for child in tree.children(0):
                merged.setdefault(game.moves[tree.nodes[child].move], _Merged(game.seats)).add(tree, child)
        proof = next((tree for tree in self._trees if tree.nodes[0].proven), None)
        root = _Merged(game.seats)
        for tree in [proof] if proof else self._trees:
            root.add(tree, 0)
        value = root.value

        def rank(info: MoveInfo) -> tuple[bool, bool, int, float, int]:
            mine = info.value[seat] if info.value else -math.inf
            keeps = proof is not None and info.proven and value is not None and _reaches(mine, value[seat])
            lost = info.proven and _reaches(game.score_range[0], mine)
            return keeps, not lost, info.visits or 0, mine, -info.move

        return Analysis(
            turn=seat,
            moves=tuple(sorted((m.info(move) for move, m in merged.items()), key=rank, reverse=True)),
            value=value,
            proven=proof is not None,
            simulations=simulations,
            nodes=sum(int(tree.info[USED]) for tree in self._trees),
            depth=max(int(tree.info[DEEPEST]) for tree in self._trees),
            seconds=seconds,
            note="memory full: the trees stopped growing" if any(tree.full for tree in self._trees) else "",
        )


def _widening(given: float | tuple[float, float] | None) -> tuple[float, float] | None:
    if given is None:
        return None
    factor, exponent = given if isinstance(given, tuple) and len(given) == 2 else (given, 0.5)
    if not (isinstance(factor, int | float) and isinstance(exponent, int | float) and factor > 0 and 0 < exponent <= 1):
        raise BadParameter(f"widening={given!r}: give a factor above 0 and an exponent up to 1, as in (2, 0.5)")
    return float(factor), float(exponent)


def _reaches(one: float, other: float) -> bool:
    """Whether one mean is as high as another: as quotients of sums, equal ones may differ in the last bit."""
    return one >= other or math.isclose(one, other)


class _Merged:
    """One node's statistics added up over several trees; a proof in one of them holds for all."""

    def __init__(self, seats: int):
        self.visits, self.total, self.exact = 0, np.zeros(seats), False
        self._source: tuple[SearchTree, int] | None = None  # the tree that knows most of it, and the node there
        self._most = -1

    def add(self, tree: SearchTree, i: int) -> None:
        node = tree.nodes[i]
        visits = int(node.visits)
        if node.proven and not self.exact:
            self.exact, self.total, self._most = True, node.total * (1 + self.visits / visits), -1
        elif self.exact:
            self.total *= 1 + visits / self.visits
        else:
            self.total += node.total
        self.visits += visits
        if visits > self._most and (node.proven or not self.exact):
            self._source, self._most = (tree, i), visits

    @property
    def value(self) -> tuple[float, ...] | None:
        return tuple(float(t) / self.visits for t in self.total) if self.visits else None

    def info(self, move: Move) -> MoveInfo:
        line = self._source[0].line(self._source[1]) if self._source else ()
        return MoveInfo(move, self.visits, None, self.value, self.exact, (move, *line))
