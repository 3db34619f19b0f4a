"""The steps of one tree: select a leaf, expand it with the net's answer, back its value up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meijin.core.compile import Function
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import no_odds
from meijin.core.rng import choose as draw
from meijin.core.rng import uniform
from meijin.search.forest.layout import (
    ASKED,
    DEEPEST,
    DEPTH,
    DONE,
    DRAW,
    EDGES,
    NODES,
    NONE,
    PROVEN,
    READY,
    STORED,
    WAITS,
)
from meijin.search.forest.scale import make_settle
from meijin.search.forest.selection import by_odds


def clear(info: Any, bounds: Any) -> None:
    """Forget the tree."""
    info[NODES] = 0
    info[EDGES] = 0
    info[WAITS] = 0
    info[DONE] = 0
    info[READY] = 0
    info[PROVEN] = 0
    info[DEEPEST] = 0
    for k in range(bounds.shape[0]):
        bounds[k, 0] = math.inf
        bounds[k, 1] = -math.inf


def make_add_node(game: Game) -> Function:
    """`add_node(nodes, edges, info, path, turn, count)`: a node at the end of the path with that many edges, or -1."""
    seats = game.seats

    def add_node(nodes: Any, edges: Any, info: Any, path: Any, turn: int, count: int) -> int:
        i, first = info[NODES], info[EDGES]
        if i >= nodes.shape[0] or first + count > edges.shape[0]:
            return -1
        info[NODES] = i + 1
        info[EDGES] = first + count
        node = nodes[i]
        node.first = first
        node.count = count
        node.visits = 0
        node.turn = turn
        node.value = 0.0
        node.mark = 0
        for e in range(first, first + count):
            for k in range(seats):
                edges[e].total[k] = 0.0
            edges[e].prior = 0.0
            edges[e].visits = 0
            edges[e].child = NONE
            edges[e].proven = 0
        if info[DEPTH] > 0:
            edges[path[info[DEPTH] - 1, 1]].child = i
        return i

    return add_node


def make_backup(game: Game) -> Function:
    """`backup(nodes, edges, info, path, values, bounds)`: add the value vector to every edge of the path."""
    seats, bounded = game.seats, game.bounded

    def backup(nodes: Any, edges: Any, info: Any, path: Any, values: Any, bounds: Any) -> None:
        for d in range(info[DEPTH]):
            nodes[path[d, 0]].visits += 1
            edge = edges[path[d, 1]]
            edge.visits += 1
            for k in range(seats):
                edge.total[k] += values[k]
        if info[DEPTH] > 0:
            info[DONE] += 1
        info[DEEPEST] = max(info[DEEPEST], info[DEPTH])
        if not bounded:
            for k in range(seats):
                bounds[k, 0] = min(bounds[k, 0], values[k])
                bounds[k, 1] = max(bounds[k, 1], values[k])

    return backup


def divided(edges: Any, first: int, end: int, seat: int, values: Any) -> bool:
    """Whether moves that are the same to their mover differ to other seats: what it will do cannot be proven."""
    for e in range(first, end):
        if edges[e].total[seat] / edges[e].visits > values[seat] - 1e-6:
            for k in range(values.shape[0]):
                if abs(edges[e].total[k] / edges[e].visits - values[k]) > 1e-6:
                    return True
    return False


def make_prove(game: Game) -> Function:
    """`prove(nodes, edges, info, path, values)`: the last edge of the path is worth exactly this: what follows?"""
    seats, highest = game.seats, 1.0 - 1e-6 if game.bounded else math.inf  # scaled

    def prove(nodes: Any, edges: Any, info: Any, path: Any, values: Any) -> None:
        for d in range(info[DEPTH] - 1, -1, -1):
            edge = edges[path[d, 1]]
            edge.proven = 1
            for k in range(seats):
                edge.total[k] = values[k] * edge.visits
            node = nodes[path[d, 0]]
            seat, first, end = node.turn, node.first, node.first + node.count
            if seat == CHANCE or values[seat] < highest:
                best = NONE
                for e in range(first, end):
                    if not edges[e].proven:
                        return
                    if seat != CHANCE and (
                        best == NONE
                        or edges[e].total[seat] / edges[e].visits > edges[best].total[seat] / edges[best].visits
                    ):
                        best = e
                if seat == CHANCE:
                    whole = 0.0
                    for e in range(first, end):
                        whole += edges[e].prior
                    for k in range(seats):
                        values[k] = 0.0
                        for e in range(first, end):
                            values[k] += edges[e].prior / whole * edges[e].total[k] / edges[e].visits
                else:
                    for k in range(seats):
                        values[k] = edges[best].total[k] / edges[best].visits
                    if seats > 2 and divided(edges, first, end, seat, values):
                        return
        info[PROVEN] = 1

    return prove


def make_view(game: Game) -> Function:
    """`seen(seat, move)`: the move's number as that seat sees it, which is how nets number moves."""
    if game.views is None:

        def as_is(seat: int, move: int) -> int:
            return move

        return as_is

    views = game.views

    def seen(seat: int, move: int) -> int:
        return views[seat, move]

    return seen


def make_expand(game: Game) -> Function:
    """`expand(...)`: the node of the position in `here` with the net's priors, and its value backed up."""
    turn, legal, seats = game.turn, game.legal, game.seats
    add_node, backup, seen = make_add_node(game), make_backup(game), make_view(game)

    def expand(
        nodes: Any,
        edges: Any,
        info: Any,
        path: Any,
        here: Any,
        moves: Any,
        values: Any,
        bounds: Any,
        logits: Any,
        outlook: Any,
    ) -> None:
        s = here[0]
        mover = turn(s)
        for k in range(seats):  # the net speaks from the mover's view
            values[(mover + k) % seats] = outlook[k]
        if info[STORED]:
            n = legal(s, moves)
            i = add_node(nodes, edges, info, path, mover, n)
            if i >= 0:
                nodes[i].value = values[mover]
                first, highest, whole = nodes[i].first, np.float32(-math.inf), np.float32(0.0)
                for k in range(n):
                    logit = logits[seen(mover, moves[k])]
                    edges[first + k].move = moves[k]
                    edges[first + k].logit = logit
                    highest = max(highest, logit)
                for k in range(n):  # in single precision, which a GPU is much faster at
                    prior = math.exp(edges[first + k].logit - highest)
                    edges[first + k].prior = prior
                    whole += prior
                offset, factor = highest + math.log(whole), np.float32(1.0) / whole
                for k in range(n):
                    edges[first + k].logit -= offset
                    edges[first + k].prior *= factor
        backup(nodes, edges, info, path, values, bounds)
        info[WAITS] = 0

    return expand


def copy_words(dst: Any, src: Any) -> None:
    """Copy a record as 64-bit words, eight at a time: one thread of a GPU waits for memory once for all eight."""
    n = src.shape[0]
    whole = n - n % 8
    for i in range(0, whole, 8):
        a, b, c, d = src[i], src[i + 1], src[i + 2], src[i + 3]
        e, f, g, h = src[i + 4], src[i + 5], src[i + 6], src[i + 7]
        dst[i] = a
        dst[i + 1] = b
        dst[i + 2] = c
        dst[i + 3] = d
        dst[i + 4] = e
        dst[i + 5] = f
        dst[i + 6] = g
        dst[i + 7] = h
    for i in range(whole, n):
        dst[i] = src[i]


def make_select(game: Game, choose_edge: Function) -> Function:
    """`select(...)`: one simulation from the root to a position for the net (True) or to the end of the game (False).

    At the end of the game its scores have been backed up already. Where the net has been asked about that position
    but has not answered, the result is True, too, but WAITS stays 0.
    """
    turn, play, score, odds = game.turn, game.play, game.score, game.odds or no_odds
    seats, settle, add_node, backup, prove = (
        game.seats,
        make_settle(game),
        make_add_node(game),
        make_backup(game),
        make_prove(game),
    )

    def select(
        nodes: Any,
        edges: Any,
        info: Any,
        path: Any,
        root_words: Any,
        here_words: Any,
        here: Any,
        moves: Any,
        probs: Any,
        scores: Any,
        values: Any,
        bounds: Any,
        options: Any,
        noise: Any,
        table: Any,
        weights: Any,
        rng: Any,
    ) -> bool:
        copy_words(here_words, root_words)
        s = here[0]
        info[DEPTH] = 0
        info[STORED] = 1
        i = 0 if info[NODES] > 0 else NONE
        while True:
            t = turn(s)
            if t == OVER:
                score(s, scores)
                settle(scores, values, options[DRAW])
                backup(nodes, edges, info, path, values, bounds)
                if info[STORED]:
                    prove(nodes, edges, info, path, values)
                return False
            if i == NONE and t == CHANCE:  # chance needs no net: its node is made on the way
                n = odds(s, moves, probs)
                if info[STORED]:
                    i = add_node(nodes, edges, info, path, t, n)
                if i == NONE:
                    info[STORED] = 0  # no room: the rest of this path leaves no trace
                    play(s, moves[draw(rng, probs, n)])
                    continue
                nodes[i].value = uniform(rng)
                for k in range(n):
                    edges[nodes[i].first + k].prior = probs[k]
                    edges[nodes[i].first + k].move = moves[k]
            if i == NONE or nodes[i].count == 0 or info[DEPTH] >= path.shape[0]:
                if i != NONE:
                    info[STORED] = 0
                info[WAITS] = 1
                return True
            if t == CHANCE:
                e = by_odds(nodes, edges, i)
            else:
                e = choose_edge(nodes, edges, i, info, options, noise, table, weights, bounds)
            path[info[DEPTH], 0] = i
            path[info[DEPTH], 1] = e
            info[DEPTH] += 1
            if edges[e].proven:
                for k in range(seats):
                    values[k] = edges[e].total[k] / edges[e].visits
                backup(nodes, edges, info, path, values, bounds)
                return False
            i = edges[e].child
            if i == ASKED:
                return True
            play(s, edges[e].move)

    return select


def make_reroot(game: Game) -> Function:
    """`reroot(nodes, edges, info, move)`: keep the tree below the root's edge of that move; False: there is none.

    Nodes and edges move down in their order, which never overtakes what is still to be read.
    """
    seats = game.seats

    def reroot(nodes: Any, edges: Any, info: Any, move: int) -> bool:
        child, proven = NONE, 0
        if info[NODES] > 0:
            for e in range(nodes[0].first, nodes[0].first + nodes[0].count):
                if edges[e].move == move:
                    child, proven = edges[e].child, edges[e].proven
        if child == NONE:
            return False
        info[PROVEN] = proven
        used = info[NODES]
        for i in range(used):
            nodes[i].mark = NONE
        nodes[child].mark = 0
        count, pool = 0, 0
        for i in range(child, used):
            if nodes[i].mark == NONE:
                continue
            old, n = nodes[i].first, nodes[i].count
            for k in range(n):
                inner = edges[old + k].child
                if inner != NONE:
                    nodes[inner].mark = 0
            # copy down
            nodes[count].first = pool
            nodes[count].count = n
            nodes[count].visits = nodes[i].visits
            nodes[count].turn = nodes[i].turn
            nodes[count].value = nodes[i].value
            nodes[i].mark = count
            for k in range(n):
                for q in range(seats):
                    edges[pool + k].total[q] = edges[old + k].total[q]
                edges[pool + k].prior = edges[old + k].prior
                edges[pool + k].logit = edges[old + k].logit
                edges[pool + k].visits = edges[old + k].visits
                edges[pool + k].child = edges[old + k].child
                edges[pool + k].move = edges[old + k].move
                edges[pool + k].proven = edges[old + k].proven
            count += 1
            pool += n
        info[NODES] = count
        info[EDGES] = pool
        for e in range(pool):
            if edges[e].child != NONE:
                edges[e].child = nodes[edges[e].child].mark
        for i in range(used):
            nodes[i].mark = 0
        return True

    return reroot
