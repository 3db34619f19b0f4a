"""The kernels of Monte Carlo tree search: one tree in one array of nodes, specialised to a game.

A node's children stand side by side. A leaf gets its children on its second visit, so most nodes are the plain
statistics of one playout. Values are sums of score vectors, one entry a seat; whoever moves at a node reads its own.

Proofs: a node is proven when its score vector under best play is known. Then `total` is that vector times `visits`,
so its mean is exact from there on. Law: a proven node is over, or has a proven child with its mover's best possible
score, or has only proven children.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from meijin.core.compile import Function
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import copy, no_odds, playout
from meijin.core.rng import below
from meijin.search.playouts import finisher
from meijin.search.selection import LATER, MEAN, PLAIN, TIMES, URGE, Options, chooser, orderer

# Slots of a tree's `info`.
USED = 0  # nodes in use
DEEPEST = 1  # plies of the longest path descended
STAMP = 2  # what the marks of the next simulation count from
WAIT = 3  # in a tree that threads share: not zero when they are to stop, as there is no room
INFO_SIZE = 4

# Slots of a tree's `states`.
ROOT, HERE, LEAF, ROOM = 0, 1, 2, 3
STATES = 4


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
    return np.dtype((np.record, np.dtype(fields, align=True)))


def node_bytes(seats: int) -> int:
    """What one node costs in memory: itself, its entry of `hot`, its place while the tree is rerooted."""
    return node_dtype(seats).itemsize + 2 * 4 + 4


def clear(game: Game) -> Function:
    """Make node `i` a leaf that nobody has visited."""
    seats = game.seats

    def run(tree: Any, i: int, move: int, prob: float) -> None:
        node = tree[i]
        for k in range(seats):
            node.total[k] = 0.0
        node.visits = 0
        node.first = -1
        node.count = 0
        node.move = move
        node.prob = prob
        node.turn = 0
        node.proven = 0

    return run


def expander(game: Game) -> Function:
    """`expand(tree, info, i, s, rng, moves, probs)`: give node `i`, at position `s`, its children; False: no room."""
    legal, odds, blank = game.legal, game.odds or no_odds, clear(game)

    def expand(tree: Any, info: Any, i: int, s: Any, rng: Any, moves: Any, probs: Any) -> bool:
        chance = tree[i].turn == CHANCE
        n = odds(s, moves, probs) if chance else legal(s, moves)
        first = info[USED]
        if first + n > tree.shape[0]:
            return False
        for k in range(n):
            if chance:
                blank(tree, first + k, moves[k], probs[k])
            else:  # in random order, so that the first visits favour no move
                j = k + below(rng, n - k)
                move = moves[j]
                moves[j] = moves[k]
                blank(tree, first + k, move, 0.0)
        tree[i].first = first
        tree[i].count = n
        info[USED] = first + n
        return True

    return expand


def refresher(game: Game) -> Function:
    """`refresh(tree, hot, i, seat)`: bring `hot` up to date for node `i`, which `seat` chooses."""

    def refresh(tree: Any, hot: Any, i: int, seat: int) -> None:
        node = tree[i]
        visits = np.float64(node.visits)
        hot[i, MEAN] = node.total[seat] / visits
        hot[i, URGE] = 0.0 if node.proven else 1.0 / math.sqrt(visits)

    return refresh


def prover(game: Game) -> Function:
    """`prove(tree, i)`: mark node `i` proven if its children allow it; True when it is."""
    seats, highest = game.seats, game.score_range[1]

    def prove(tree: Any, i: int) -> bool:
        node = tree[i]
        seat, visits = node.turn, np.float64(node.visits)
        best, best_child, every = -math.inf, -1, True
        for child in range(node.first, node.first + node.count):
            if not tree[child].proven:
                every = False
                if seat == CHANCE:
                    return False
            elif seat != CHANCE:
                value = tree[child].total[seat] / tree[child].visits
                if value > best:
                    best, best_child = value, child
        if seat == CHANCE:
            whole = np.float64(0.0)  # 1 but for rounding, which would shift large scores
            for child in range(node.first, node.first + node.count):
                whole += tree[child].prob
            for k in range(seats):
                node.total[k] = 0.0
                for child in range(node.first, node.first + node.count):
                    node.total[k] += tree[child].prob / whole * tree[child].total[k] / tree[child].visits * visits
        elif every or best >= highest:
            for k in range(seats):
                node.total[k] = tree[best_child].total[k] / tree[best_child].visits * visits
        else:
            return False
        node.proven = 1
        return True

    return prove


def evaluator(game: Game, options: Options) -> Function:
    """`evaluate(states, rng, moves, probs, scores, sums, last, stamp)`: the `scores` of `states[HERE]`, played out.

    With several playouts they are means. `last` and `stamp` are those of `playouts.finisher`.
    """
    score, at_random, seats = game.score, playout(game), game.seats
    rave, repeats = options.rave > 0, options.playouts
    finish = finisher(game, options.playout, rave)
    fast = options.playout == "random" and not rave

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


def opener(game: Game, options: Options) -> Function:
    """`unfold(...)`: give node `i` its children, ready for the options' way of choosing among them; False: no room."""
    expand, order = expander(game), orderer(game)
    rave, widens = options.rave > 0, options.widening is not None

    def unfold(
        tree: Any, hot: Any, info: Any, i: int, states: Any, rng: Any, moves: Any, probs: Any, scores: Any
    ) -> bool:
        if not expand(tree, info, i, states[HERE], rng, moves, probs):
            return False
        if widens and tree[i].turn >= 0:
            order(tree, hot, i, states[HERE : HERE + 1], states[ROOM : ROOM + 1], scores)
        if rave:
            for child in range(tree[i].first, tree[i].first + tree[i].count):
                hot[child, TIMES] = 0.0
                hot[child, LATER] = 0.0
        return True

    return unfold


def credit(tree: Any, hot: Any, i: int, last: Any, since: int, scores: Any) -> None:
    """RAVE: the moves of node `i` that its mover made from stamp `since` on share in what came of it."""
    node = tree[i]
    for child in range(node.first, node.first + node.count):
        if last[node.turn, tree[child].move] >= since:
            hot[child, TIMES] += 1.0
            hot[child, LATER] += (scores[node.turn] - hot[child, LATER]) / hot[child, TIMES]


@cache
def simulator(options: Options) -> Callable[[Game], Function]:
    """The maker of the kernel that searches with these options."""

    def simulate(game: Game) -> Function:
        return _simulate(game, options)

    return simulate


def _simulate(game: Game, options: Options) -> Function:
    """Run up to `simulations` simulations from `states[ROOT]`; returns how many were done.

    Stops early when the root is proven and, unless `frozen`, when the tree has no room for a node's children.
    """
    turn, play, evaluate, rave = game.turn, game.play, evaluator(game, options), options.rave > 0
    unfold, pick, prove, refresh = opener(game, options), chooser(game, options), prover(game), refresher(game)
    seats, bounded, longest = game.seats, game.bounded, game.longest

    def kernel(
        tree: Any,  # [capacity]
        hot: Any,  # [capacity, slot]
        info: Any,
        states: Any,  # [STATES]: the root's position and room to play in
        simulations: int,
        frozen: bool,
        c: float,
        bounds: Any,  # [seat, 2]: lowest and highest score, declared or seen so far
        rng: Any,
        moves: Any,
        probs: Any,
        scores: Any,
        sums: Any,  # [seat]
        path: Any,  # [longest + 1]
        last: Any,  # [seat, move] with RAVE, else [0, 0]: the stamp of the latest ply in which it was made
    ) -> int:
        here = states[HERE : HERE + 1]
        for done in range(simulations):
            if tree[0].proven:
                return done
            copy(here, states[ROOT : ROOT + 1])
            s = states[HERE]

            # select
            i = 0
            depth = 0
            path[0] = 0
            while not tree[i].proven:
                if tree[i].visits == 0:
                    t = turn(s)
                    tree[i].turn = t
                    if t == OVER:
                        tree[i].proven = 1
                    if i > 0:
                        break
                if tree[i].first < 0 and not unfold(tree, hot, info, i, states, rng, moves, probs, scores):
                    if frozen:
                        break
                    return done
                parent = i
                i = pick(tree, hot, i, c, bounds, rng)
                if rave and tree[parent].turn >= 0:
                    last[tree[parent].turn, tree[i].move] = info[STAMP] + depth
                play(s, tree[i].move)
                depth += 1
                path[depth] = i
            info[DEEPEST] = max(info[DEEPEST], depth)

            # evaluate
            if tree[i].proven and tree[i].visits > 0:
                for k in range(seats):
                    scores[k] = tree[i].total[k] / tree[i].visits
            else:
                evaluate(states, rng, moves, probs, scores, sums, last, info[STAMP] + depth)
            if not bounded:
                for k in range(seats):
                    bounds[k, 0] = min(bounds[k, 0], scores[k])
                    bounds[k, 1] = max(bounds[k, 1], scores[k])

            # back up
            proven = tree[i].proven != 0
            for d in range(depth, -1, -1):
                i = path[d]
                node = tree[i]
                node.visits += 1
                for k in range(seats):
                    node.total[k] += scores[k]
                if rave and node.turn >= 0:
                    credit(tree, hot, i, last, info[STAMP] + d, scores)
                if d < depth and proven:
                    proven = prove(tree, i)
                if d > 0 and tree[path[d - 1]].turn >= 0:
                    refresh(tree, hot, i, tree[path[d - 1]].turn)
            if rave:
                info[STAMP] += longest + 1
        return simulations

    return kernel


simulate = simulator(PLAIN)


def reroot(game: Game) -> Function:
    """Make the child of the root by `move` the root and forget the rest; False when there is no such child.

    Nodes that stay slide down in their order. Children stand behind their parent before and after, so one pass
    marks what stays and one moves it.
    """

    def kernel(tree: Any, hot: Any, info: Any, move: int, places: Any) -> bool:
        # places: [capacity], where each node goes; -1: nowhere
        used = info[USED]
        root = -1
        for child in range(tree[0].first, tree[0].first + tree[0].count):
            if tree[child].move == move:
                root = child
        if root < 0 or tree[root].visits == 0:
            return False
        for i in range(used):
            places[i] = -1
        places[root] = 0
        kept = 0
        for i in range(root, used):
            if places[i] >= 0:
                places[i] = kept
                kept += 1
                for child in range(tree[i].first, tree[i].first + tree[i].count):
                    places[child] = 0
        for i in range(root, used):
            if places[i] >= 0:
                if tree[i].first >= 0:
                    tree[i].first = places[tree[i].first]
                tree[places[i]] = tree[i]
                for slot in range(hot.shape[1]):
                    hot[places[i], slot] = hot[i, slot]
        info[USED] = kept
        info[DEEPEST] = max(0, info[DEEPEST] - 1)
        return True

    return kernel


def line(game: Game) -> Function:
    """Write the best moves one after the other from node `i` on; returns how many, ending at chance and at leaves."""

    def kernel(tree: Any, i: int, out: Any) -> int:
        n = 0
        while tree[i].turn >= 0 and n < out.shape[0]:
            node = tree[i]
            seat = node.turn
            value = node.total[seat] / node.visits
            value -= 1e-9 * abs(value)  # equal means may differ in the last bit
            found, most = -1, 0.0
            for child in range(node.first, node.first + node.count):
                weight = np.float64(tree[child].visits)  # the most visited, unless a proof says better
                if weight > 0.0 and node.proven and tree[child].proven and tree[child].total[seat] / weight >= value:
                    weight += 4294967296.0
                if weight > most:
                    found, most = child, weight
            if found < 0:
                break
            out[n] = tree[found].move
            n += 1
            i = found
        return n

    return kernel
