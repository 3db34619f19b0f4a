"""Monte Carlo tree search for every game: UCB1 over random playouts, with proofs, tree reuse and threads."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from meijin.core import kernels
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search import tree as trees

FIRST_NODES = 4096  # a new tree's room; it doubles as needed
SLICE_SECONDS = 0.02  # how long a kernel runs between looks at the clock


class Tree:
    """One search tree with all that one thread needs to grow it."""

    def __init__(self, game: Game, seed: int, index: int, max_nodes: int):
        self.game, self.max_nodes = game, max_nodes
        self.nodes = np.zeros(min(FIRST_NODES, max_nodes), trees.node_dtype(game.seats))
        self.info = np.zeros(trees.INFO_SIZE, np.int64)
        self.states = game.states(2)
        low, high = game.score_range if game.bounded else (math.inf, -math.inf)
        self.bounds = np.tile(np.array([low, high], np.float64), (game.seats, 1))
        self.rng = stream(seed, index)
        self.moves, self.probs = kernels.buffers(game)
        self.scores = np.zeros(game.seats)
        self.path = np.zeros(game.longest + 2, np.int32)
        self.full = False

    def reset(self, state: State) -> None:
        self.nodes[0] = np.zeros((), self.nodes.dtype)
        self.nodes[0].first = -1
        self.info[trees.USED] = 1
        self.info[trees.DEEPEST] = 0
        self.states[0] = state.record
        self.full = False

    def follow(self, state: State, moves: tuple[Move, ...]) -> bool:
        """Move the root along `moves` to `state`, keeping what is known below it."""
        kernel = self.game.kernel(trees.reroot)
        places = np.zeros(len(self.nodes), np.int32)
        if not all(kernel(self.nodes, self.info, int(move), places) for move in moves):
            return False
        self.states[0] = state.record
        self.full = False
        return True

    def run(self, simulations: int, c: float) -> int:
        """Do that many simulations, fewer only if the root gets proven."""
        kernel = self.game.kernel(trees.simulate)
        done = 0
        while done < simulations and not self.nodes[0].proven:
            done += kernel(
                self.nodes, self.info, self.states, simulations - done, self.full, c, self.bounds,
                self.rng, self.moves, self.probs, self.scores, self.path,
            )  # fmt: skip
            if done < simulations and not self.nodes[0].proven:
                self._grow()
        return done

    def _grow(self) -> None:
        size = min(2 * len(self.nodes), self.max_nodes)
        # The children of one node must fit, however wide; the cap is kept all the same.
        if size == len(self.nodes) or size < self.info[trees.USED]:
            self.full = True
            return
        try:
            bigger = np.zeros(size, self.nodes.dtype)
        except MemoryError:
            self.full = True
            return
        bigger[: self.info[trees.USED]] = self.nodes[: self.info[trees.USED]]
        self.nodes = bigger

    def children(self, i: int) -> range:
        node = self.nodes[i]
        return range(int(node.first), int(node.first) + int(node.count))

    def best_child(self, i: int) -> int | None:
        """The most visited child of a node where a seat moves; one that proves the node comes first."""
        node = self.nodes[i]
        seat = int(node.turn)
        visited = [child for child in self.children(i) if self.nodes[child].visits > 0]
        if seat < 0 or not visited:
            return None

        def key(child: int) -> tuple[bool, int, float]:
            info = self.nodes[child]
            value = info.total[seat] / info.visits
            return bool(node.proven and info.proven and value >= node.total[seat] / node.visits), int(info.visits), value

        return max(visited, key=key)

    def line(self, i: int) -> tuple[Move, ...]:
        """The expected continuation below node `i`, until chance decides or statistics end."""
        moves: list[Move] = []
        while (child := self.best_child(i)) is not None:
            moves.append(self.game.moves[self.nodes[child].move])
            i = child
        return tuple(moves)


class MCTS(Agent):
    """UCB1 tree search. Threads grow trees of their own, whose root statistics are added up."""

    def __init__(
        self,
        simulations: int | None = None,
        c: float = math.sqrt(2),
        seconds: float | None = None,
        threads: int = 1,
        memory_mb: float = 1024,
        seed: int | None = None,
    ):
        if simulations is None and seconds is None:
            simulations = 1000
        if not c >= 0:
            raise BadParameter(f"c={c!r}: the exploration constant is zero or more")
        if not 1 <= threads <= 256:
            raise BadParameter(f"threads={threads!r}: choose from 1 to 256")
        if not memory_mb > 0:
            raise BadParameter(f"memory_mb={memory_mb!r}: give the megabytes the trees may use")
        self.limit = Limit(seconds, simulations)
        self.c, self.threads, self.memory_mb = float(c), threads, memory_mb
        self._trees: list[Tree] = []
        self._at: tuple[Game, bytes, tuple[Move, ...]] | None = None  # where the trees' roots stand
        self.seed(int(np.random.SeedSequence().entropy or 0) if seed is None else seed)

    def seed(self, seed: int) -> None:
        self._seed, self._trees, self._at = seed, [], None

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        if state.turn < 0:
            raise MeijinError("there is nothing to search: " + ("chance moves" if state.is_chance else "the game is over"))
        began = time.perf_counter()
        self._set_roots(state)
        limit = limit.over(self.limit)
        deadline = math.inf if limit.seconds is None else began + limit.seconds
        shares = [
            None if limit.simulations is None else (limit.simulations + k) // self.threads
            for k in range(self.threads)
        ]
        if self.threads == 1:
            done = self._work(self._trees[0], shares[0], deadline)
        else:
            self._trees[0].run(1, self.c)  # compile before the threads start
            with ThreadPoolExecutor(self.threads) as pool:
                done = 1 + sum(pool.map(self._work, self._trees, shares, [deadline] * self.threads))
        return self._report(state, done, time.perf_counter() - began)

    def act(self, state: State, limit: Limit = Limit()) -> Move:  # noqa: B008
        return state.legal_moves[0] if len(state.legal_moves) == 1 else super().act(state, limit)

    def _set_roots(self, state: State) -> None:
        """Reuse the trees if the state continues the one searched last, else plant new ones."""
        here = (state.game, state.origin, state.history)
        if not self._trees or self._at is None or self._at[0] is not state.game:
            node_bytes = trees.node_dtype(state.game.seats).itemsize
            room = int(self.memory_mb * 1e6 / node_bytes / self.threads)
            max_nodes = max(room, 1 + state.game.num_moves)  # the root's children always fit
            self._trees = [Tree(state.game, self._seed, k, max_nodes) for k in range(self.threads)]
            follow: tuple[Move, ...] | None = None
        else:
            _, origin, past = self._at
            n = len(past)
            follow = state.history[n:] if origin == state.origin and state.history[:n] == past else None
        for tree in self._trees:
            if follow is None or not tree.follow(state, follow):
                tree.reset(state)
        self._at = here

    def _work(self, tree: Tree, simulations: int | None, deadline: float) -> int:
        if deadline == math.inf and simulations is not None:
            return tree.run(simulations, self.c)
        done, batch = 0, 16
        while simulations is None or done < simulations:
            before = time.perf_counter()
            if before >= deadline and done > 0:
                break
            done += tree.run(batch if simulations is None else min(batch, simulations - done), self.c)
            if tree.nodes[0].proven:
                break
            now = time.perf_counter()
            rate = batch / max(now - before, 1e-6)
            batch = max(1, int(rate * min(SLICE_SECONDS, max(0.0, deadline - now))))
        return done

    def _report(self, state: State, simulations: int, seconds: float) -> Analysis:
        seat, seats, game = state.turn, state.game.seats, state.game
        proof = next((tree for tree in self._trees if tree.nodes[0].proven), None)
        merged: dict[Move, tuple[int, Any, bool, Tree, int]] = {}  # visits, total, proven, a tree that knows, node
        for tree in self._trees:
            for child in tree.children(0):
                node = tree.nodes[child]
                move = game.moves[node.move]
                visits, total, proven = int(node.visits), node.total.copy(), bool(node.proven)
                old = merged.get(move)
                if old is None or (proven and not old[2]):
                    visits += old[0] if old else 0
                    merged[move] = (visits, total * (visits / max(1, int(node.visits))) if proven else total, proven, tree, child)
                elif old[2]:
                    merged[move] = (old[0] + visits, old[1] * ((old[0] + visits) / max(1, old[0])), *old[2:])
                else:
                    merged[move] = (old[0] + visits, old[1] + total, *old[2:])
        roots = [tree.nodes[0] for tree in ([proof] if proof else self._trees)]
        root_visits = sum(int(root.visits) for root in roots)
        value = tuple(sum(float(root.total[k]) for root in roots) / max(1, root_visits) for k in range(seats))

        infos = []
        for move, (visits, total, proven, tree, child) in merged.items():
            mean = tuple(float(t) / visits for t in total) if visits else None
            pv = (move, *tree.line(child)) if visits else (move,)
            infos.append(MoveInfo(move, visits, None, mean, proven, pv))

        lowest = game.score_range[0]

        def rank(info: MoveInfo) -> tuple[bool, bool, int, float, int]:
            mine = info.value[seat] if info.value else -math.inf
            keeps = bool(proof) and info.proven and mine >= value[seat]
            lost = info.proven and mine <= lowest
            return keeps, not lost, info.visits or 0, mine, -info.move

        infos.sort(key=rank, reverse=True)
        return Analysis(
            turn=seat,
            moves=tuple(infos),
            value=value,
            proven=proof is not None,
            simulations=simulations,
            nodes=sum(int(tree.info[trees.USED]) for tree in self._trees),
            depth=max(int(tree.info[trees.DEEPEST]) for tree in self._trees),
            seconds=seconds,
            note="memory full: the trees stopped growing" if any(tree.full for tree in self._trees) else "",
        )


