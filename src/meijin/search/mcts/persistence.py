"""Between search trees and their memory: what a tree has learned is stored, and a new tree begins with it.

A position is known by the key of its record, so that every path that leads to it shares its statistics.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from meijin.core.compile import Function, digest
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import copy
from meijin.core.state import State
from meijin.search.hashing import keyer, words
from meijin.search.mcts.kernels import USED, make_expand, update_stats
from meijin.search.mcts.store import StatisticsFile, Stats

if TYPE_CHECKING:
    from meijin.search.mcts.tree import SearchTree

LEAST = 8  # visits of a position worth writing down
MOST_POSITIONS = 4096  # written or read for one search; those nearest the root
MOST_BYTES = 32_000_000  # of their records
MOST_KEYS = 8_000  # looked up for one search
MOST_VISITS = 1_000_000_000  # that a tree begins with, as its own are 32-bit numbers


def rules_digest(game: Game, policy: str = "random") -> str:
    """What statistics of playouts by that policy depend on, besides the name of the game: another text, other rules.

    Another minor version of Python compiles the same rules to other bytecode, and begins afresh too.
    """
    layout = str(game.dtype), game.longest, game.score_range
    rules = (game.start, game.turn, game.legal, game.play, game.score, game.odds, game.sample, game.key)
    own = getattr(game, policy, None) if policy in ("heuristic", "policy") else None

    def reach() -> Any:
        return layout, rules, own

    return digest(cast(FunctionType, reach), versions=False)


def key(game: Game) -> Function:
    """The key of `states[0]`."""
    hashed = keyer(game)

    def kernel(states: Any, rows: Any) -> Any:
        return hashed(states[0], rows[0])

    return kernel


def gather(game: Game) -> Function:
    """Nodes visited `least` times or more in `queue`, with their keys, level by level from the root; returns how many.

    `states[0]` is the root's position; the others are filled in.
    """
    play, hashed = game.play, keyer(game)

    def kernel(nodes: Any, states: Any, rows: Any, least: int, queue: Any, keys: Any) -> int:
        queue[0] = 0
        keys[0] = hashed(states[0], rows[0])
        n, at = 1, 0
        while at < n:
            node = nodes[queue[at]]
            for child in range(node.first, node.first + node.count):
                if nodes[child].visits >= least and n < queue.shape[0]:
                    copy(states[n : n + 1], states[at : at + 1])
                    play(states[n], nodes[child].move)
                    queue[n] = child
                    keys[n] = hashed(states[n], rows[n])
                    n += 1
            at += 1
        return n

    return kernel


def open_level(game: Game) -> Function:
    """Expand the nodes `queue[at:end]`, whose positions are `states[at:end]`, and write their children's keys.

    Returns the place in `queue` where it stopped: at `end`, or before it for want of room in `keys` or in the tree.
    `states[-1]` is used to play in.
    """
    turn, play, hashed, expand, branching = game.turn, game.play, keyer(game), make_expand(game), game.branching
    assert branching is not None

    def kernel(
        nodes: Any,
        info: Any,
        queue: Any,
        at: int,
        end: int,
        states: Any,
        rows: Any,
        rng: Any,
        moves: Any,
        probs: Any,
        keys: Any,
        counts: Any,  # [place in queue]: how many children
        filled: int,  # keys that are there already
    ) -> int:
        last = states.shape[0] - 1
        while at < end and filled + branching <= keys.shape[0]:
            i = queue[at]
            nodes[i].turn = turn(states[at])
            counts[at] = 0
            if nodes[i].turn != OVER:
                if nodes[i].first < 0 and not expand(nodes, info, i, states[at], rng, moves, probs):
                    break
                for child in range(nodes[i].first, nodes[i].first + nodes[i].count):
                    copy(states[last : last + 1], states[at : at + 1])
                    play(states[last], nodes[child].move)
                    keys[filled] = hashed(states[last], rows[last])
                    filled += 1
                counts[at] = nodes[i].count
            at += 1
        return at

    return kernel


def adopt(game: Game) -> Function:
    """Give the children of the nodes `queue[at:end]` their statistics and append those with any to `queue`.

    Children that are known move to the front, where visited ones always are. Returns the new length
    of the queue, in which the positions follow.
    """
    turn, play, score, seats = game.turn, game.play, game.score, game.seats

    def kernel(
        nodes: Any,
        stats: Any,
        queue: Any,
        at: int,
        end: int,
        states: Any,
        counts: Any,  # [place in queue]
        visits: Any,  # [key]
        totals: Any,  # [key, seat]
        n: int,
        scores: Any,
    ) -> int:
        k = 0
        for parent in range(at, end):
            i = queue[parent]
            child = nodes[i].first  # where the next one that is known goes
            for own in range(nodes[i].first, nodes[i].first + counts[parent]):
                if visits[k] > 0 and n < queue.shape[0]:
                    move, prob = nodes[own].move, nodes[own].prob
                    nodes[own].move = nodes[child].move
                    nodes[own].prob = nodes[child].prob
                    node = nodes[child]
                    node.move = move
                    node.prob = prob
                    copy(states[n : n + 1], states[parent : parent + 1])
                    play(states[n], move)
                    node.visits = visits[k]
                    node.turn = turn(states[n])
                    for seat in range(seats):
                        node.total[seat] = totals[k, seat]
                    if node.turn == OVER:  # known for certain
                        node.proven = 1
                        score(states[n], scores)
                        for seat in range(seats):
                            node.total[seat] = scores[seat] * visits[k]
                    if nodes[i].turn != CHANCE:
                        update_stats(nodes, stats, child, nodes[i].turn)
                    queue[n] = child
                    n += 1
                    child += 1
                k += 1
        return n

    return kernel


class Persistence:
    """Reads and writes the memory of one game for a search's trees."""

    def __init__(self, game: Game, file: StatisticsFile):
        self.game, self.file = game, file
        size = max(2, min(MOST_POSITIONS, MOST_BYTES // game.dtype.itemsize))
        self._states = game.states(size + 1)
        self._rows = words(self._states)
        self._queue = np.zeros(size, np.int32)
        self._keys = np.zeros(size, np.uint64)
        assert game.branching is not None
        self._counts = np.zeros(size, np.int32)
        self._branches = np.zeros(max(MOST_KEYS, game.branching), np.uint64)

    def known(self, state: State) -> Stats | None:
        """What is stored about a position."""
        word = self._key(state.record)
        return self.file.look_up([word]).get(word)

    def _key(self, record: Any) -> int:
        self._states[0] = record
        return int(np.uint64(self.game.kernel(key)(self._states, self._rows)).astype(np.int64))  # as SQLite takes it

    def close(self) -> None:
        self.file.close()

    # ---- writing ----

    def save(self, trees: list[SearchTree]) -> None:
        """Add to the memory what the trees have learned since they were last saved or begun."""
        news: dict[int, tuple[int, NDArray[np.float64]]] = {}
        found: list[tuple[SearchTree, NDArray[np.int32]]] = []
        for tree in trees:
            self._states[0] = tree.root
            n = self.game.kernel(gather)(tree.nodes, self._states[:-1], self._rows[:-1], LEAST, self._queue, self._keys)
            nodes = self._queue[:n].copy()
            found.append((tree, nodes))
            for i, signed in zip(nodes.tolist(), self._keys[:n].view(np.int64).tolist(), strict=True):
                node, saved = tree.nodes[i], tree.saved[i]
                visits = int(node.visits) - int(saved["visits"])
                if visits > 0 and node.visits >= LEAST:
                    # A proof corrects the past too, but two processes that both did so would overshoot.
                    total = node.total * (visits / node.visits) if node.proven else node.total - saved["total"]
                    before = news.get(signed, (0, np.zeros(self.game.seats)))
                    news[signed] = before[0] + visits, before[1] + total
        self.file.add({k: (visits, tuple(total.tolist())) for k, (visits, total) in news.items()})
        for tree, nodes in found:
            nodes = nodes[tree.nodes["visits"][nodes] >= LEAST]
            for name in ("visits", "total"):
                tree.saved[name][nodes] = tree.nodes[name][nodes]

    # ---- reading ----

    def load(self, trees: list[SearchTree]) -> int:
        """Start trees of one position with what is stored about it and about what follows.

        Each gets its share of the visits, so that together they begin with all of them. Returns how many positions
        were known.
        """
        root = self._key(trees[0].root)
        stats = self.file.look_up([root]).get(root)
        if stats is None:
            return 0
        known: dict[int, Stats] = {root: stats}
        for k, tree in enumerate(trees):
            share = _Share(k, len(trees), min(1.0, MOST_VISITS / stats[0]))
            self._load(tree, root, known, share)
        return len(known)

    def _load(self, tree: SearchTree, root: int, known: dict[int, Stats], share: _Share) -> None:
        visits, totals = share.of(known[root])
        if visits == 0:
            return
        self._states[0] = tree.root
        self._queue[0] = 0
        node = tree.nodes[0]
        node.visits, node.total[:] = visits, totals
        at, end, looked = 0, 1, 0
        while at < end and looked < MOST_KEYS:  # level by level: all that follows from it is looked up at once
            stop, filled = self._open_level(tree, at, end)
            keys: list[int] = self._branches[:filled].view(np.int64).tolist()
            known.update(self.file.look_up([word for word in dict.fromkeys(keys) if word not in known]))
            found, sums = np.zeros(filled, np.int64), np.zeros((filled, self.game.seats))
            for k, word in enumerate(keys):
                if (stats := known.get(word)) is not None:
                    found[k], sums[k] = share.of(stats)
            n = self.game.kernel(adopt)(
                tree.nodes,
                tree.arrays.stats,
                self._queue,
                at,
                stop,
                self._states,
                self._counts,
                found,
                sums,
                end,
                tree.threads[0].scores,
            )
            looked += filled
            if stop < end:  # no room for more
                break
            at, end = end, n
        used = int(tree.info[USED])
        if not self.game.bounded:  # the spread of what is known, until playouts have shown more
            visited = tree.nodes[:used][tree.nodes["visits"][:used] > 0]
            means = visited["total"] / visited["visits"][:, None]
            tree.arrays.bounds[:, 0], tree.arrays.bounds[:, 1] = means.min(0), means.max(0)
        for name in ("visits", "total"):
            tree.saved[name][:used] = tree.nodes[name][:used]

    def _open_level(self, tree: SearchTree, at: int, end: int) -> tuple[int, int]:
        """Where it stopped, and how many keys it found."""
        stop, filled, thread = at, 0, tree.threads[0]
        while True:
            stop = self.game.kernel(open_level)(
                tree.nodes, tree.info, self._queue, stop, end, self._states, self._rows,
                thread.rng, thread.moves, thread.probs, self._branches, self._counts, filled,
            )  # fmt: skip
            filled = int(self._counts[at:stop].sum())
            no_keys = filled + (self.game.branching or 0) > len(self._branches)
            if stop == end or no_keys or not tree.grow():
                return int(stop), filled


class _Share:
    """One tree's part of remembered statistics, scaled down where they are too many."""

    def __init__(self, index: int, count: int, scale: float):
        self.index, self.count, self.scale = index, count, scale

    def of(self, stats: Stats) -> tuple[int, NDArray[np.float64]]:
        visits, totals = stats
        mine = (min(round(visits * self.scale), MOST_VISITS) + self.index) // self.count
        return mine, np.array(totals) * (mine / visits)
