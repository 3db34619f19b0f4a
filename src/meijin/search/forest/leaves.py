"""Several leaves of one tree at once, so that one search gives a net batches to evaluate.

While the net is being asked about a leaf, its edge is ASKED and every node of the path counts the simulation in `mark`.
Further simulations see it as a virtual visit: it lowers the exploration term but leaves the means as they are. One that
still reaches a leaf already asked about ends the collecting, so that a small or narrow tree asks about few. A virtual
loss would fill larger batches, but it sends simulations to moves that are not worth them: in 100 positions of Othello,
a search chose another move than with single leaves 0 to 2 times with virtual visits, 3 to 8 times with a virtual loss.
Once the net has answered, no trace is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.core.compile import Function
from meijin.core.game import Game
from meijin.search.forest.layout import (
    ASKED,
    DEPTH,
    DONE,
    EVALUATIONS,
    FREE_SIMULATIONS,
    HURRY,
    LEAF_DEPTH,
    LEAF_STORED,
    LEAF_WAITS,
    LEAVES,
    NODES,
    NONE,
    PROVEN,
    READY,
    SIMULATIONS,
    STORED,
    TARGET,
    WAITS,
)
from meijin.search.forest.roots import make_prepare
from meijin.search.forest.selection import puct
from meijin.search.forest.tree import make_backup, make_expand, make_select


def settle(game: Game) -> Function:
    """`run(f, i)`: put all answers of the net into tree i."""
    seats, expand, backup = game.seats, make_expand(game), make_backup(game)

    def answer(f: Any, i: int, leaf: int) -> None:
        info, nodes, edges, path, values = f.info[i], f.nodes[i], f.edges[i], f.path[leaf], f.values[i]
        depth = f.asked[leaf, LEAF_DEPTH]
        info[DEPTH] = depth
        info[STORED] = f.asked[leaf, LEAF_STORED]
        f.asked[leaf, LEAF_WAITS] = 0
        for d in range(depth):
            nodes[path[d, 0]].mark -= 1
        if depth > 0:  # looking at the root is not a simulation
            f.stats[i, SIMULATIONS] += 1
            if edges[path[depth - 1, 1]].child == ASKED:
                edges[path[depth - 1, 1]].child = NONE
        f.stats[i, EVALUATIONS] += 1
        for d in range(depth):
            edge = edges[path[d, 1]]
            if edge.proven:  # since the net was asked: its mean is exact and must stay so
                for k in range(seats):
                    values[k] = edge.total[k] / edge.visits
                info[DEPTH] = d + 1
                backup(nodes, edges, info, path, values, f.bounds[i])
                return
        here = f.here[leaf : leaf + 1]
        expand(nodes, edges, info, path, here, f.moves[i], values, f.bounds[i], f.logits[leaf], f.outlook[leaf])

    def run(f: Any, i: int) -> None:
        most = np.int64(f.options[LEAVES])
        for leaf in range(i * most, (i + 1) * most):
            if f.asked[leaf, LEAF_WAITS]:
                answer(f, i, leaf)

    return run


def step(game: Game) -> Function:
    """`run(f, i)`: put the net's answers into tree i and collect its next questions."""
    planes = game.planes
    assert planes is not None
    take, select, prepare = settle(game), make_select(game, puct(game, several=True)), make_prepare(game, False)

    def ask(f: Any, i: int, leaf: Any) -> None:
        info, nodes, edges, path = f.info[i], f.nodes[i], f.edges[i], f.path[leaf]
        info[WAITS] = 0
        f.asked[leaf, LEAF_WAITS] = 1
        f.asked[leaf, LEAF_DEPTH] = info[DEPTH]
        f.asked[leaf, LEAF_STORED] = info[STORED]
        for d in range(info[DEPTH]):
            nodes[path[d, 0]].mark += 1
        if info[DEPTH] > 0 and edges[path[info[DEPTH] - 1, 1]].child == NONE:
            edges[path[info[DEPTH] - 1, 1]].child = ASKED
        planes(f.here[leaf], f.x[leaf])

    def run(f: Any, i: int) -> None:
        take(f, i)
        info, nodes, edges, options = f.info[i], f.nodes[i], f.edges[i], f.options
        most = np.int64(options[LEAVES])
        asked = 0
        for _ in range(np.int64(options[FREE_SIMULATIONS]) + most):
            if asked == most:
                return
            if info[NODES] == 0:
                if asked > 0:  # first comes the root
                    return
            else:
                if not info[READY]:
                    prepare(nodes, edges, info, options, f.noise[i], f.rng[i])
                if info[DONE] + asked >= info[TARGET] or (info[PROVEN] and options[HURRY] > 0.0 and info[DONE] > 0):
                    return
            leaf = i * most + asked
            asks = select(
                nodes,
                edges,
                info,
                f.path[leaf],
                f.root_words[i],
                f.here_words[leaf],
                f.here[leaf : leaf + 1],
                f.moves[i],
                f.probs[i],
                f.scores[i],
                f.values[i],
                f.bounds[i],
                options,
                f.noise[i],
                f.table,
                f.weights[i],
                f.rng[i],
            )
            if not asks:
                f.stats[i, SIMULATIONS] += 1
            elif info[WAITS]:
                ask(f, i, leaf)
                asked += 1
            else:
                return

    return run
