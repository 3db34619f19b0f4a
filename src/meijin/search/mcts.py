"""Monte Carlo tree search for every game: UCB1 over random playouts, with proofs, tree reuse and threads."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from meijin.core import kernels
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.rng import fresh_seed, stream
from meijin.core.state import State
from meijin.search import tree as trees

FIRST_NODES = 4096  # a new tree's room; it doubles as needed
MOST = 2**31 - 1  # what the tree's 32-bit indices and visits reach
SLICE_SECONDS = 0.02  # how long a kernel runs between looks at the clock


class Tree:
    """One search tree with all that one thread needs to grow it."""

    def __init__(self, game: Game, seed: int, index: int, max_nodes: int):
        self.game, self.max_nodes = game, max_nodes
        self.nodes = np.zeros(min(FIRST_NODES, max_nodes), trees.node_dtype(game.seats))
        self.hot = np.zeros((len(self.nodes), 2), np.float32)
        self.info = np.zeros(trees.INFO_SIZE, np.int64)
        self.states = game.states(2)
        self.bounds = np.zeros((game.seats, 2))
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
        self.bounds[:] = self.game.score_range if self.game.bounded else (math.inf, -math.inf)
        self.full = False

    def follow(self, state: State, moves: tuple[Move, ...]) -> bool:
        """Move the root along `moves` to `state`, keeping what is known below it."""
        kernel = self.game.kernel(trees.reroot)
        places = np.zeros(len(self.nodes), np.int32)
        if not all(kernel(self.nodes, self.hot, self.info, int(move), places) for move in moves):
            return False
        self.states[0] = state.record
        self.full = False
        return True

    def run(self, simulations: int, c: float) -> int:
        """Do that many simulations, fewer only if the root gets proven or its visits reach what they can count."""
        kernel = self.game.kernel(trees.simulate)
        simulations = min(simulations, MOST - int(self.nodes[0].visits))
        done = 0
        while done < simulations and not self.nodes[0].proven:
            done += kernel(
                self.nodes, self.hot, self.info, self.states, simulations - done, self.full, c, self.bounds,
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
            nodes, hot = np.zeros(size, self.nodes.dtype), np.zeros((size, 2), np.float32)
        except MemoryError:
            self.full = True
            return
        nodes[: len(self.nodes)], hot[: len(self.nodes)] = self.nodes, self.hot
        self.nodes, self.hot = nodes, hot

    def children(self, i: int) -> range:
        node = self.nodes[i]
        return range(int(node.first), int(node.first) + int(node.count))

    def line(self, i: int) -> tuple[Move, ...]:
        """The expected continuation below node `i`, until chance decides or statistics end."""
        length = self.game.kernel(trees.line)(self.nodes, i, self.path)
        return tuple(self.game.moves[move] for move in self.path[:length].tolist())


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
        self._at: tuple[bytes, tuple[Move, ...]] | None = None  # where the trees' roots stand
        self.seed(fresh_seed() if seed is None else seed)

    def seed(self, seed: int) -> None:
        self._seed, self._at = seed, None
        for k, tree in enumerate(self._trees):
            tree.rng = stream(seed, k)

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        if state.turn < 0:
            raise MeijinError(
                "there is nothing to search: " + ("chance moves" if state.is_chance else "the game is over")
            )
        self._set_roots(state)
        done = self._trees[0].run(1, self.c)  # on the first use this compiles, before the clock starts
        began = time.perf_counter()
        if limit.seconds is None and limit.simulations is None:  # a depth alone would never end this search
            limit = self.limit
        deadline = math.inf if limit.seconds is None else began + limit.seconds
        left = None if limit.simulations is None else limit.simulations - done
        shares = [None if left is None else (left + k) // self.threads for k in range(self.threads)]
        if self.threads == 1:
            done += self._work(self._trees[0], shares[0], deadline)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                done += sum(pool.map(self._work, self._trees, shares, [deadline] * self.threads))
        return self._report(state, done, time.perf_counter() - began)

    def act(self, state: State, limit: Limit = Limit()) -> Move:  # noqa: B008
        return state.legal_moves[0] if len(state.legal_moves) == 1 else super().act(state, limit)

    def _set_roots(self, state: State) -> None:
        """Reuse the trees if the state continues the one searched last, else plant new ones."""
        if not self._trees or self._trees[0].game is not state.game:
            node_bytes = trees.node_bytes(state.game.seats)
            room = int(self.memory_mb * 1e6 / node_bytes / self.threads)
            max_nodes = min(max(room, 1 + state.game.num_moves), MOST)  # the root's children always fit
            self._trees = [Tree(state.game, self._seed, k, max_nodes) for k in range(self.threads)]
            self._at = None
        follow: tuple[Move, ...] | None = None
        if self._at is not None:
            origin, past = self._at
            if origin == state.origin and state.history[: len(past)] == past:
                follow = state.history[len(past) :]
        for tree in self._trees:
            if follow is None or not tree.follow(state, follow):
                tree.reset(state)
        self._at = (state.origin, state.history)

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
