"""Monte Carlo tree search for every game: UCB1 over playouts, with proofs, tree reuse, threads and a memory."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.rng import fresh_seed
from meijin.core.state import State
from meijin.search import playouts as policies
from meijin.search import tree as trees
from meijin.search.clock import must_move
from meijin.search.growth import MOST, Tree, node_bytes
from meijin.search.memory import Memory
from meijin.search.recall import Recall, rules_digest
from meijin.search.selection import Options

PARALLEL = ("root", "tree")  # what several threads do
SLICE_SECONDS = 0.02  # how long a kernel runs between looks at the clock


class MCTS(Agent):
    """UCB1 tree search.

    `parallel`: with "root", threads grow trees of their own, whose root statistics are added up; with "tree", they grow
    one tree and take turns at it: with many threads it is the better one, but no seed repeats a search.
    `rave`: mix in how moves did whenever their seat made them later on (RAVE), with this equivalence parameter, such
    as 500; for games in which a move means much the same at any time. Best with a small `c`.
    `playout`: "random"; "decisive" wins at once where it can and avoids to lose at once; "heuristic" follows the
    game's heuristic nine times in ten; "policy" is the game's own.
    `playouts`: at each leaf; their mean counts as one visit and one simulation.
    `widening`: consider only `factor * n ** exponent` moves after n visits: (factor, exponent), or the factor alone
    with exponent 0.5. Those that the game's heuristic likes come first; without one they come in random order, which
    seldom pays.
    `memory`: a file that keeps statistics between matches, and between processes that search at the same time, of up
    to `memory_limit` positions a game; a game whose rules are edited begins afresh. `memory_mb` is what the trees may
    use while they grow.
    """

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
        for ok, problem in (
            (c >= 0, f"c={c!r}: the exploration constant is zero or more"),
            (1 <= threads <= 256, f"threads={threads!r}: choose from 1 to 256"),
            (memory_mb > 0, f"memory_mb={memory_mb!r}: give the megabytes the trees may use"),
            (0 <= rave < math.inf, f"rave={rave!r}: give the equivalence parameter, such as 500, or 0 for none"),
            (1 <= playouts <= 10**6, f"playouts={playouts!r}: choose from 1 to 1000000 a leaf"),
            (not rave or playouts == 1, f"playouts={playouts!r}: RAVE takes one playout a leaf; leave one of them out"),
            (parallel in PARALLEL, f"parallel={parallel!r}: choose from {', '.join(map(repr, PARALLEL))}"),
            (memory_limit >= 1, f"memory_limit={memory_limit!r}: give the positions to keep, one or more"),
        ):
            if not ok:
                raise BadParameter(problem)
        policies.check(playout)
        self.limit = Limit(seconds, simulations)
        self.options = Options(float(rave), playout, playouts, _widening(widening))
        self.c, self.threads, self.memory_mb, self.parallel = float(c), threads, memory_mb, parallel
        self.memory, self.memory_limit = memory, memory_limit
        self._trees: list[Tree] = []
        self._recall: Recall | None = None
        self._at: tuple[bytes, tuple[Move, ...]] | None = None  # where the trees' roots stand
        self.seed(fresh_seed() if seed is None else seed)

    def unfit(self, game: Game) -> str | None:
        if self.memory is not None and not game.id:
            return "its memory needs a game with a name: make it through a function decorated with @game"
        return policies.unfit(self.options.playout, game)

    def seed(self, seed: int) -> None:
        self._seed, self._at = seed, None
        for k, tree in enumerate(self._trees):
            tree.seed(seed, k)

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        must_move(state)
        self._set_roots(state)
        done = self._trees[0].run(1, self.c)  # on the first use this compiles, before the clock starts
        began = time.perf_counter()
        if limit.seconds is None and limit.simulations is None:  # a depth alone would never end this search
            limit = self.limit
        deadline = math.inf if limit.seconds is None else began + limit.seconds
        left = None if limit.simulations is None else limit.simulations - done
        count = len(self._trees)
        shares = [None if left is None else (left + k) // count for k in range(count)]
        if count == 1:
            done += self._work(self._trees[0], shares[0], deadline)
        else:
            with ThreadPoolExecutor(count) as pool:
                done += sum(pool.map(self._work, self._trees, shares, [deadline] * count))
        if self._recall is not None:
            self._recall.save(self._trees)
        return self._report(state, done, time.perf_counter() - began)

    def act(self, state: State, limit: Limit = Limit()) -> Move:  # noqa: B008
        return state.legal_moves[0] if len(state.legal_moves) == 1 else super().act(state, limit)

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
        if self._recall is not None and (follow or not all(followed)):
            # Trees are written down when a search ends, so what is known of a position is all there, or more.
            stats = self._recall.known(state)
            if stats is not None and stats[0] > sum(int(tree.nodes[0].visits) for tree in self._trees):
                followed = [False] * len(self._trees)
        for tree, kept in zip(self._trees, followed, strict=True):
            if not kept:
                tree.reset(state)
        if self._recall is not None and not any(followed):
            self._recall.load(self._trees)
        self._at = (state.origin, state.history)

    def _plant(self, game: Game) -> None:
        if (why := self.unfit(game)) is not None:
            raise BadParameter(f"{self.name} cannot play {game}: {why}")
        remembers = self.memory is not None
        shared = self.parallel == "tree" and self.threads > 1
        count = 1 if shared else self.threads
        room = int(self.memory_mb * 1e6 / node_bytes(game.seats, self.options, remembers) / count)
        max_nodes = min(max(room, 1 + game.num_moves), MOST)  # the root's children always fit
        if shared:
            from meijin.search.shared import SharedTree

            self._trees = [SharedTree(game, self._seed, self.threads, max_nodes, self.options, remembers)]
        else:
            self._trees = [Tree(game, self._seed, k, max_nodes, self.options, remembers) for k in range(count)]
        self._at = None
        if self.memory is not None:
            # Playouts by another policy have other values.
            policy = "" if self.options.playout == "random" else f" playout={self.options.playout}"
            rules = rules_digest(game, self.options.playout)
            self._recall = Recall(game, Memory(self.memory, game.id + policy, game.seats, self.memory_limit, rules))

    def _work(self, tree: Tree, simulations: int | None, deadline: float) -> int:
        if deadline == math.inf and simulations is not None:
            return tree.run(simulations, self.c)
        done, batch = 0, 16
        while simulations is None or done < simulations:
            before = time.perf_counter()
            if before >= deadline:
                break
            new = tree.run(batch if simulations is None else min(batch, simulations - done), self.c)
            done += new
            if new == 0 or tree.nodes[0].proven:
                break
            now = time.perf_counter()
            rate = batch / max(now - before, 1e-6)
            batch = max(1, int(rate * min(SLICE_SECONDS, max(0.0, deadline - now))))
        return done

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
            nodes=sum(int(tree.info[trees.USED]) for tree in self._trees),
            depth=max(int(tree.info[trees.DEEPEST]) for tree in self._trees),
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
    """One node's statistics added up over several trees; a proof in one of them stands for all."""

    def __init__(self, seats: int):
        self.visits, self.total, self.exact = 0, np.zeros(seats), False
        self._source: tuple[Tree, int] | None = None  # the tree that knows most of it, and the node there
        self._most = -1

    def add(self, tree: Tree, i: int) -> None:
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
