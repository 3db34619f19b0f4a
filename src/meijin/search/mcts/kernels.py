"""The kernels of Monte Carlo tree search: select, expand, evaluate, back up; specialised to a game.

A node's children stand side by side. A leaf gets its children on its second visit, so most nodes are the plain
statistics of one playout. Values are sums of score vectors, one entry per seat; whoever moves at a node reads its own.

Proofs: a node is proven when its score vector under best play is known. Then `total` is that vector times `visits`,
so its mean is exact from there on. Law: a proven node is over, or has a proven child with its mover's best possible
score, or has only proven children.

Several threads may grow one tree (`Options.shared`). A lock guards it: a thread holds it while it selects and while it
backs up; playouts run at the same time. On its way down a thread counts its visits at once, each with the worst score
for whoever chose the node (a virtual loss), so that the others look elsewhere meanwhile; backing up takes that back.
Laws, whenever no thread is at work: statistics are as if one thread had made all simulations, and a proven node's
`total` is its exact vector times its visits. For the second, threads that are below a node when another proves it add
nothing to it any more: its total counts their visits already.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from meijin.core import compile as compiling
from meijin.core.compile import Function, inlined
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import copy, no_odds, playout
from meijin.core.records import Record
from meijin.core.rng import below
from meijin.search.mcts.playouts import make_finish
from meijin.search.mcts.selection import EXPLORATION, MEAN, RAVE_MEAN, RAVE_VISITS, Options, make_order, make_select

# Slots of `info`.
USED = 0  # nodes in use
DEEPEST = 1  # plies of the longest path selected
FULL = 2  # not zero when a thread found no room for a node's children: all are to return
INFO_SIZE = 3

# Slots of a thread's `states`.
ROOT, HERE, LEAF, ROOM = 0, 1, 2, 3
STATES = 4


class Tree(NamedTuple):
    """What a search reads and writes, all its threads together."""

    nodes: Any  # [node]
    stats: Any  # float32 [node, slot]: what selection reads of every child
    info: Any  # int64 [slot]
    bounds: Any  # [seat, 2]: lowest and highest score, declared or seen so far
    lock: Any  # int64 [1]
    stop: Any  # int64 [1]: not zero when the search is to return


class Thread(NamedTuple):
    """What each thread has for itself."""

    states: Any  # [STATES]: the root's position and room to play in
    rng: Any
    moves: Any  # [branching]
    probs: Any  # [branching]
    scores: Any  # [seat]
    sums: Any  # [seat]
    path: Any  # [longest + 2]: the nodes selected
    losses: Any  # [longest + 2]: the virtual loss at each of them
    last: Any  # with RAVE [seat, move], else [0, 0]: the stamp of the latest ply in which the move was made
    stamp: Any  # int64 [1]: what the marks of the next simulation count from


def node_dtype(seats: int) -> np.dtype[Any]:
    fields = [
        ("total", "f8", (seats,)),  # sum of the scores of every visit, [seat]
        ("visits", "i4"),
        ("first", "i4"),  # index of the first child, -1 before expansion
        ("count", "i4"),  # number of children
        ("move", "i4"),  # the move or outcome that leads here
        ("prob", "f4"),  # at a chance outcome: its probability
        ("turn", "i1"),  # who moves here; known from the first visit on
        ("proven", "i1"),
    ]
    return np.dtype((Record, np.dtype(fields, align=True)))


def make_clear(game: Game) -> Function:
    """Make node `i` an unvisited leaf."""
    seats = game.seats

    def clear(nodes: Any, i: int, move: int, prob: float) -> None:
        node = nodes[i]
        for k in range(seats):
            node.total[k] = 0.0
        node.visits = 0
        node.first = -1
        node.count = 0
        node.move = move
        node.prob = prob
        node.turn = 0
        node.proven = 0

    return clear


def make_expand(game: Game) -> Function:
    """`expand(nodes, info, i, s, rng, moves, probs)`: give node `i`, at position `s`, its children; False: no room."""
    legal, odds, clear = game.legal, game.odds or no_odds, make_clear(game)

    @inlined
    def expand(nodes: Any, info: Any, i: int, s: Any, rng: Any, moves: Any, probs: Any) -> bool:
        chance = nodes[i].turn == CHANCE
        n = odds(s, moves, probs) if chance else legal(s, moves)
        first = info[USED]
        if first + n > nodes.shape[0]:
            return False
        for k in range(n):
            if chance:
                clear(nodes, first + k, moves[k], probs[k])
            else:  # in random order, so that the first visits favour no move
                j = k + below(rng, n - k)
                move = moves[j]
                moves[j] = moves[k]
                clear(nodes, first + k, move, 0.0)
        nodes[i].first = first
        nodes[i].count = n
        info[USED] = first + n
        return True

    return expand


def update_stats(nodes: Any, stats: Any, i: int, seat: int) -> None:
    """Bring up to date what selection reads of node `i`, which `seat` chooses."""
    node = nodes[i]
    visits = np.float64(node.visits)
    stats[i, MEAN] = node.total[seat] / visits
    stats[i, EXPLORATION] = 0.0 if node.proven else 1.0 / math.sqrt(visits)


def make_prove(game: Game) -> Function:
    """`prove(nodes, i)`: mark node `i` proven if its children allow it; True when it is."""
    seats, highest = game.seats, game.score_range[1]

    def prove(nodes: Any, i: int) -> bool:
        node = nodes[i]
        seat, visits = node.turn, np.float64(node.visits)
        best, best_child, every = -math.inf, -1, True
        for child in range(node.first, node.first + node.count):
            if not nodes[child].proven:
                every = False
                if seat == CHANCE:
                    return False
            elif seat != CHANCE:
                value = nodes[child].total[seat] / nodes[child].visits
                if value > best:
                    best, best_child = value, child
        if seat == CHANCE:
            whole = np.float64(0.0)  # 1 but for rounding, which would shift large scores
            for child in range(node.first, node.first + node.count):
                whole += nodes[child].prob
            for k in range(seats):
                node.total[k] = 0.0
                for child in range(node.first, node.first + node.count):
                    node.total[k] += nodes[child].prob / whole * nodes[child].total[k] / nodes[child].visits * visits
        elif every or best >= highest:
            for k in range(seats):
                node.total[k] = nodes[best_child].total[k] / nodes[best_child].visits * visits
        else:
            return False
        node.proven = 1
        return True

    return prove


def make_evaluate(game: Game, options: Options) -> Function:
    """`evaluate(states, rng, moves, probs, scores, sums, last, stamp)`: the `scores` of `states[HERE]`, played out.

    With several playouts they are means. `last` and `stamp` are those of `playouts.make_finish`.
    """
    score, at_random, seats = game.score, playout(game), game.seats
    rave, repeats = options.rave > 0, options.playouts
    finish = make_finish(game, options.playout, rave)
    fast = options.playout == "random" and not rave

    @inlined
    def evaluate(states: Any, rng: Any, moves: Any, probs: Any, scores: Any, sums: Any, last: Any, stamp: int) -> None:
        here, room = states[HERE : HERE + 1], states[ROOM : ROOM + 1]
        s = states[HERE]
        if repeats == 1 and fast:
            at_random(s, rng, moves, probs)
            score(s, scores)
        elif repeats == 1:
            finish(here, rng, moves, probs, room, scores, last, stamp)
            score(s, scores)
        else:
            copy(states[LEAF : LEAF + 1], here)
            for k in range(seats):
                sums[k] = 0.0
            for _ in range(repeats):
                copy(here, states[LEAF : LEAF + 1])
                finish(here, rng, moves, probs, room, scores, last, stamp)
                score(s, scores)
                for k in range(seats):
                    sums[k] += scores[k]
            for k in range(seats):
                scores[k] = sums[k] / repeats

    return evaluate


def make_open(game: Game, options: Options) -> Function:
    """`open_node(...)`: expand node `i` and make its children ready for selection; False: no room."""
    expand, order = make_expand(game), make_order(game)
    rave, widens = options.rave > 0, options.widening is not None

    @inlined
    def open_node(
        nodes: Any, stats: Any, info: Any, i: int, states: Any, rng: Any, moves: Any, probs: Any, scores: Any
    ) -> bool:
        if not expand(nodes, info, i, states[HERE], rng, moves, probs):
            return False
        if widens and nodes[i].turn >= 0:
            order(nodes, stats, i, states[HERE : HERE + 1], states[ROOM : ROOM + 1], scores)
        if rave:
            for child in range(nodes[i].first, nodes[i].first + nodes[i].count):
                stats[child, RAVE_VISITS] = 0.0
                stats[child, RAVE_MEAN] = 0.0
        return True

    return open_node


def credit(nodes: Any, stats: Any, i: int, last: Any, since: int, scores: Any) -> None:
    """RAVE: the moves of node `i` that its mover made from stamp `since` on share in the result."""
    node = nodes[i]
    for child in range(node.first, node.first + node.count):
        if last[node.turn, nodes[child].move] >= since:
            stats[child, RAVE_VISITS] += 1.0
            stats[child, RAVE_MEAN] += (scores[node.turn] - stats[child, RAVE_MEAN]) / stats[child, RAVE_VISITS]


def _locking() -> tuple[Function, Function]:
    from meijin.search import locks  # which imports the compiler

    return locks.acquire, locks.release


def _no_lock(lock: Any) -> None:
    """Instead of the lock where one thread works alone."""


@cache
def simulate_with(options: Options) -> Callable[[Game], Function]:
    """The maker of the kernel that searches with these options."""

    def simulate(game: Game) -> Function:
        return _simulate(game, options)

    return simulate


def _simulate(game: Game, options: Options) -> Function:
    """`kernel(tree, thread, simulations, frozen, c)`: up to that many simulations; returns how many were done.

    Stops early if the stop flag is set, if the root is proven and, unless `frozen`, when there is no room for a node's
    children.
    """
    shared = options.shared and compiling.JIT and game.compiled  # interpreted threads work one after the other
    acquire, release = _locking() if shared else (_no_lock, _no_lock)
    turn, play, score, evaluate = game.turn, game.play, game.score, make_evaluate(game, options)
    open_node, select, prove = make_open(game, options), make_select(game, options), make_prove(game)
    rave, seats, bounded, longest = options.rave > 0, game.seats, game.bounded, game.longest

    def visit(nodes: Any, stats: Any, i: int, seat: int, bounds: Any) -> float:
        """Count a visit of node `i`, which `seat` chose, before its score is known; returns the virtual loss."""
        node = nodes[i]
        loss = 0.0
        if node.proven:
            for k in range(seats):
                node.total[k] += node.total[k] / node.visits
        elif seat >= 0:
            if bounds[seat, 0] <= bounds[seat, 1]:  # else nothing is known about scores yet
                loss = bounds[seat, 0]
            node.total[seat] += loss
        node.visits += 1
        if seat >= 0:
            update_stats(nodes, stats, i, seat)
        return loss

    def unvisit(nodes: Any, stats: Any, path: Any, losses: Any, depth: int) -> None:
        """Take the visits along the path back."""
        for d in range(depth, -1, -1):
            node = nodes[path[d]]
            seat = nodes[path[d - 1]].turn if d > 0 else -1
            if node.proven:
                for k in range(seats):
                    node.total[k] -= node.total[k] / node.visits
            elif seat >= 0:
                node.total[seat] -= losses[d]
            node.visits -= 1
            if seat >= 0 and node.visits > 0:
                update_stats(nodes, stats, path[d], seat)

    def kernel(tree: Any, thread: Any, simulations: int, frozen: bool, c: float) -> int:
        # Unpacked once, and no step below a function of these tuples: reference counts would take half the time.
        nodes, stats, info, bounds, lock, stop = tree
        states, rng, moves, probs, scores, sums, path, losses, last, stamp = thread
        here, s = states[HERE : HERE + 1], states[HERE]
        for done in range(simulations):
            copy(here, states[ROOT : ROOT + 1])
            acquire(lock)
            if nodes[0].proven or info[FULL] or stop[0]:
                release(lock)
                return done

            # select
            i = 0
            depth = 0
            path[0] = 0
            fresh = nodes[0].visits == 0
            if shared:
                losses[0] = visit(nodes, stats, 0, -1, bounds)
            while not nodes[i].proven:
                if fresh:
                    t = turn(s)
                    nodes[i].turn = t
                    if t == OVER:
                        nodes[i].proven = 1
                        score(s, scores)
                        if shared:
                            for k in range(seats):
                                nodes[i].total[k] = scores[k]
                    if i > 0:
                        break
                if nodes[i].first < 0 and not open_node(nodes, stats, info, i, states, rng, moves, probs, scores):
                    if frozen:
                        break
                    if shared:
                        unvisit(nodes, stats, path, losses, depth)
                    info[FULL] = 1
                    release(lock)
                    return done
                mover = nodes[i].turn
                i = select(nodes, stats, i, c, bounds, rng)
                if rave and mover >= 0:
                    last[mover, nodes[i].move] = stamp[0] + depth
                play(s, nodes[i].move)
                depth += 1
                path[depth] = i
                fresh = nodes[i].visits == 0
                if shared:
                    losses[depth] = visit(nodes, stats, i, mover, bounds)
            info[DEEPEST] = max(info[DEEPEST], depth)

            # evaluate
            if not nodes[i].proven:
                release(lock)
                evaluate(states, rng, moves, probs, scores, sums, last, stamp[0] + depth)
                acquire(lock)
            elif nodes[i].visits > 0:  # else its scores were just written
                for k in range(seats):
                    scores[k] = nodes[i].total[k] / nodes[i].visits
            if not bounded:
                for k in range(seats):
                    bounds[k, 0] = min(bounds[k, 0], scores[k])
                    bounds[k, 1] = max(bounds[k, 1], scores[k])

            # back up
            proven = False
            for d in range(depth, -1, -1):
                i = path[d]
                node = nodes[i]
                seat = nodes[path[d - 1]].turn if d > 0 else -1
                if shared and node.proven:  # found over, or proven by this or another thread: better than any playout
                    for k in range(seats):
                        scores[k] = node.total[k] / node.visits
                else:
                    for k in range(seats):
                        node.total[k] += scores[k]
                    if not shared:
                        node.visits += 1
                    elif seat >= 0:
                        node.total[seat] -= losses[d]
                if rave and node.turn >= 0:
                    credit(nodes, stats, i, last, stamp[0] + d, scores)
                if node.proven:
                    proven = True
                elif proven:
                    proven = prove(nodes, i)
                if seat >= 0:
                    update_stats(nodes, stats, i, seat)
            release(lock)
            if rave:
                stamp[0] += longest + 1
        return simulations

    return kernel


def reroot(game: Game) -> Function:
    """Make the child of the root by `move` the root and forget the rest; False when there is no such child.

    Nodes that stay slide down in their order. Children stand behind their parent before and after, so one pass
    marks what stays and one moves it.
    """

    def kernel(t: Any, move: int, places: Any) -> bool:
        # places: [node], where each one goes; -1: nowhere
        nodes, used = t.nodes, t.info[USED]
        root = -1
        for child in range(nodes[0].first, nodes[0].first + nodes[0].count):
            if nodes[child].move == move:
                root = child
        if root < 0 or nodes[root].visits == 0:
            return False
        for i in range(used):
            places[i] = -1
        places[root] = 0
        kept = 0
        for i in range(root, used):
            if places[i] >= 0:
                places[i] = kept
                kept += 1
                for child in range(nodes[i].first, nodes[i].first + nodes[i].count):
                    places[child] = 0
        for i in range(root, used):
            if places[i] >= 0:
                if nodes[i].first >= 0:
                    nodes[i].first = places[nodes[i].first]
                nodes[places[i]] = nodes[i]
                for slot in range(t.stats.shape[1]):
                    t.stats[places[i], slot] = t.stats[i, slot]
        t.info[USED] = kept
        t.info[DEEPEST] = max(0, t.info[DEEPEST] - 1)
        return True

    return kernel


def principal_variation(game: Game) -> Function:
    """Write the best moves one after the other from node `i` on; returns how many, ending at chance and at leaves."""

    def kernel(nodes: Any, i: int, out: Any) -> int:
        n = 0
        while nodes[i].turn >= 0 and nodes[i].visits > 0 and n < out.shape[0]:
            node = nodes[i]
            seat = node.turn
            value = node.total[seat] / node.visits
            value -= 1e-9 * abs(value)  # equal means may differ in the last bit
            found, most = -1, 0.0
            for child in range(node.first, node.first + node.count):
                weight = np.float64(nodes[child].visits)  # the most visited, unless a proof says better
                if weight > 0.0 and node.proven and nodes[child].proven and nodes[child].total[seat] / weight >= value:
                    weight += 4294967296.0
                if weight > most:
                    found, most = child, weight
            if found < 0:
                break
            out[n] = nodes[found].move
            n += 1
            i = found
        return n

    return kernel
