"""Which edge a simulation follows: PUCT, Gumbel's rules, or chance; and what a finished search thinks of its moves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meijin.core.compile import Function
from meijin.core.game import Game
from meijin.search.forest.layout import (
    ASKED,
    CONSIDERED,
    DONE,
    FORCED,
    FPU,
    NONE,
    TARGET,
    VALUE_SCALE,
    VISIT_SCALE,
    C,
)

TINY = 1e-9
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def make_normalise(game: Game) -> Function:
    """`level(value, seat, bounds)`: a value on the scale by which moves are compared, [-1, 1]."""
    if game.bounded:

        def as_is(value: Any, seat: int, bounds: Any) -> Any:
            return value

        return as_is

    def between(value: Any, seat: int, bounds: Any) -> Any:
        low, high = bounds[seat, 0], bounds[seat, 1]
        if high - low < TINY:
            return 0.0
        return 2.0 * (value - low) / (high - low) - 1.0

    return between


def by_odds(nodes: Any, edges: Any, i: int) -> int:
    """The next outcome of chance: each as often as its odds say, and spread as evenly as can be.

    Where visit k looks among the odds laid end to end: steps of the golden ratio from a start that was drawn with the
    node (in its `value`). Any one visit is a fair draw, and many come closer to the odds than draws would.
    """
    first = nodes[i].first
    last = first + nodes[i].count - 1
    at = (nodes[i].value + (nodes[i].visits + nodes[i].mark) * GOLDEN) % 1.0
    for e in range(first, last):
        at -= edges[e].prior
        if at < 0.0:
            return e
    return last


def puct(game: Game, several: bool = False) -> Function:
    """`choose(nodes, edges, i, info, options, noise, table, weights, bounds)`: the edge with the highest bound.

    With `several` leaves asked about at once, a simulation under way counts as a visit that changes no mean.
    """
    level = make_normalise(game)

    def choose(
        nodes: Any,
        edges: Any,
        i: int,
        info: Any,
        options: Any,
        noise: Any,
        table: Any,
        weights: Any,
        bounds: Any,
    ) -> int:
        node = nodes[i]
        seat, first, end, visits = node.turn, node.first, node.first + node.count, node.visits
        if several:
            visits += node.mark
        total = np.float64(node.value)
        for e in range(first, end):
            total += edges[e].total[seat]
        # Never below the worst there is: a move that nobody has looked at comes before one that is proven to lose.
        unvisited = max(-1.0, level(total / (node.visits + 1), seat, bounds) - options[FPU])
        explore = options[C] * math.sqrt(visits + 1.0)
        forced = options[FORCED] * visits if i == 0 else 0.0
        best, most = first, -math.inf
        for e in range(first, end):
            n, prior = edges[e].visits, edges[e].prior
            if n > 0:
                if n * n < forced * prior and not edges[e].proven:
                    return e
                value = level(edges[e].total[seat] / n, seat, bounds)
            else:
                value = unvisited
            if not edges[e].proven:  # nothing more is to be learned of those
                if several:
                    child = edges[e].child
                    n += nodes[child].mark if child >= 0 else 1 if child == ASKED else 0
                value += explore * prior / (1 + n)
            if value > most:
                best, most = e, value
        return best

    return choose


def make_complete_values(game: Game) -> Function:
    """`complete(nodes, edges, i, options, bounds)`: what Gumbel's rules need to know of node i, in one look.

    - the value of a move not visited yet, as its visited siblings suggest (the completed Q of the paper);
    - by how much a value tilts the prior's logarithm;
    - the priors of the visited moves together;
    - the highest value, completed ones included;
    - the likeliest move that was not visited, or NONE.
    """
    level = make_normalise(game)

    def complete(nodes: Any, edges: Any, i: int, options: Any, bounds: Any) -> tuple[float, float, float, float, int]:
        node = nodes[i]
        seat, first = node.turn, node.first
        visits, most, known, mass, top = 0, 0, 0.0, 0.0, -math.inf
        fresh, likeliest = NONE, np.float32(-math.inf)
        for e in range(first, first + node.count):
            n = edges[e].visits
            if n > 0:
                value = level(edges[e].total[seat] / n, seat, bounds)
                visits += n
                most = max(most, n)
                mass += edges[e].prior
                known += edges[e].prior * value
                top = max(top, value)
            elif fresh == NONE or edges[e].logit > likeliest:
                fresh, likeliest = e, edges[e].logit
        mixed = level(np.float64(node.value), seat, bounds)
        if visits > 0 and mass > TINY:
            mixed = (mixed + visits * known / mass) / (1 + visits)
        if fresh != NONE:
            top = max(top, mixed)
        # Values in [-1, 1] are halved: the constants are meant for [0, 1].
        return mixed, 0.5 * (options[VISIT_SCALE] + most) * options[VALUE_SCALE], mass, top, fresh

    return complete


def make_improve(game: Game) -> Function:
    """`improve(nodes, edges, i, options, weights, bounds)`: Gumbel's improved policy of node i, in `weights`.

    The prior, tilted by the values of the moves. Until normalised, weights are logarithms: returns their maximum.
    """
    level, complete = make_normalise(game), make_complete_values(game)

    def improve(nodes: Any, edges: Any, i: int, options: Any, weights: Any, bounds: Any) -> float:
        seat, first = nodes[i].turn, nodes[i].first
        mixed, tilt, _, _, _ = complete(nodes, edges, i, options, bounds)
        highest = -math.inf
        for k in range(nodes[i].count):
            edge = edges[first + k]
            value = level(edge.total[seat] / edge.visits, seat, bounds) if edge.visits > 0 else mixed
            weights[k] = edge.logit + tilt * value
            highest = max(highest, weights[k])
        return highest

    return improve


def spread(weights: Any, count: int, highest: float) -> float:
    """Logarithms become weights; returns their sum. In single precision, which a GPU is much faster at."""
    whole = 0.0
    for k in range(count):
        weights[k] = math.exp(np.float32(weights[k] - highest))
        whole += weights[k]
    return whole


def gumbel(game: Game) -> Function:
    """`choose(...)` as `puct`: sequential halving at the root, below it the visits follow the improved policy.

    Of the moves not visited only the likeliest can be next, and together they weigh what the visited ones leave.
    """
    level, complete = make_normalise(game), make_complete_values(game)

    def choose(
        nodes: Any,
        edges: Any,
        i: int,
        info: Any,
        options: Any,
        noise: Any,
        table: Any,
        weights: Any,
        bounds: Any,
    ) -> int:
        node = nodes[i]
        seat, first, count = node.turn, node.first, node.count
        mixed, tilt, mass, top, fresh = complete(nodes, edges, i, options, bounds)
        best, most = NONE, -math.inf
        if i == 0:
            considered = min(count, info[TARGET], np.int64(options[CONSIDERED]), table.shape[0] - 1)
            wanted = table[considered, min(info[DONE], table.shape[1] - 1)]
            for k in range(count):
                # noise: Gumbel variates of the considered moves, -inf for the others
                if noise[k] > -math.inf and edges[first + k].visits == wanted:
                    edge = edges[first + k]
                    value = level(edge.total[seat] / wanted, seat, bounds) if wanted > 0 else mixed
                    value = noise[k] + edge.logit + tilt * value
                    if best == NONE or value > most:
                        best, most = first + k, value
            if best != NONE:
                return best
        # Relative to the best value; where the net all but rules that move out, zeros may be left, and `fresh` is next.
        others = math.exp(np.float32(tilt * (mixed - top))) if fresh != NONE else np.float32(0.0)
        whole = max(0.0, 1.0 - mass) * others
        for k in range(count):
            edge = edges[first + k]
            if edge.visits > 0:
                value = level(edge.total[seat] / edge.visits, seat, bounds)
                weights[k] = edge.prior * math.exp(np.float32(tilt * (value - top)))
                whole += weights[k]
        share = whole / (1.0 + node.visits)
        if fresh != NONE:
            best, most = fresh, edges[fresh].prior * others
        for k in range(count):
            n = edges[first + k].visits
            if n > 0 and (best == NONE or weights[k] - share * n > most):
                best, most = first + k, weights[k] - share * n
        return best

    return choose


def halving_table(considered: int, simulations: int) -> np.ndarray:
    """[moves considered, simulation] -> the visits a move must have to be next: sequential halving as a table."""
    table = np.zeros((considered + 1, max(1, simulations)), np.int32)
    for m in range(1, considered + 1):
        table[m] = _halving(m, table.shape[1])
    return table


def _halving(considered: int, simulations: int) -> list[int]:
    if considered == 1:
        return list(range(simulations))
    phases = math.ceil(math.log2(considered))
    visits = [0] * considered
    sequence: list[int] = []
    left = considered
    while len(sequence) < simulations:
        for _ in range(max(1, simulations // (phases * left))):
            sequence.extend(visits[:left])
            for k in range(left):
                visits[k] += 1
        left = max(2, left // 2)
    return sequence[:simulations]


def by_proof(nodes: Any, edges: Any, weights: Any) -> None:
    """The policy of a root that is proven: shared by the moves that keep its value, as `weights` has it among them.

    A proven win needs one proven move, whatever the others are.
    """
    seat, first, count = nodes[0].turn, nodes[0].first, nodes[0].count
    top, whole = -math.inf, 0.0
    for k in range(count):
        edge = edges[first + k]
        if edge.proven:
            top = max(top, edge.total[seat] / edge.visits)
    for k in range(count):
        edge = edges[first + k]
        if not edge.proven or edge.total[seat] / edge.visits < top - 1e-6:
            weights[k] = 0.0
        else:
            weights[k] = max(weights[k], 1e-3)  # a move proven on its way here may have been visited once only
        whole += weights[k]
    for k in range(count):
        weights[k] /= whole


def divergence(edges: Any, first: int, count: int, weights: Any) -> Any:
    """The KL divergence of a policy from what the net said before any noise."""
    highest = edges[first].logit
    for k in range(1, count):
        highest = max(highest, edges[first + k].logit)
    whole, found = np.float32(0.0), np.float32(0.0)
    for k in range(count):
        whole += math.exp(np.float32(edges[first + k].logit - highest))
        if weights[k] > 0.0:
            share = np.float32(weights[k])
            found += share * (np.float32(math.log(share)) - np.float32(edges[first + k].logit - highest))
    return max(np.float32(0.0), found + np.float32(math.log(whole)))


def refuted(edge: Any, seat: int, highest: Any) -> bool:
    """Whether a move is proven to be worse than another seems: visits it got before that count for nothing."""
    return edge.proven == 1 and edge.total[seat] / edge.visits < highest - 1e-6


def by_visits(game: Game) -> Function:
    """`target(nodes, edges, options, weights, bounds)`: PUCT's policy: the share of the visits, in `weights`.

    Refuted moves get nothing. With forced playouts, those that PUCT would not have made on its own are taken away, so
    that exploring leaves no trace in what is learned.
    """
    level = make_normalise(game)

    def target(nodes: Any, edges: Any, options: Any, weights: Any, bounds: Any) -> None:
        node = nodes[0]
        seat, first, count, visits = node.turn, node.first, node.count, node.visits
        highest, whole = -math.inf, 0.0
        for e in range(first, first + count):
            if edges[e].visits > 0:
                highest = max(highest, edges[e].total[seat] / edges[e].visits)
        best = NONE
        for e in range(first, first + count):
            if not refuted(edges[e], seat, highest) and (best == NONE or edges[e].visits > edges[best].visits):
                best = e
        explore = options[C] * math.sqrt(visits + 1.0)
        top = 0.0
        if edges[best].visits > 0:
            top = level(edges[best].total[seat] / edges[best].visits, seat, bounds)
            top += explore * edges[best].prior / (1 + edges[best].visits)
        for k in range(count):
            edge = edges[first + k]
            n = np.float64(0.0 if refuted(edge, seat, highest) else edge.visits)
            if options[FORCED] > 0.0 and first + k != best and n > 0.0:
                value = level(edge.total[seat] / n, seat, bounds)
                spare = math.floor(math.sqrt(options[FORCED] * edge.prior * visits))
                # the fewest visits at which its bound is no higher than the best move's
                enough = explore * edge.prior / (top - value) - 1.0 if top > value else n
                n = np.float64(max(n - spare, min(n, math.ceil(enough))))
                if n <= 1.0:
                    n = np.float64(0.0)
            weights[k] = n
            whole += n
        for k in range(count):
            weights[k] = weights[k] / whole if whole > 0.0 else edges[first + k].prior

    return target


def by_improvement(game: Game) -> Function:
    """`target(...)` as `by_visits`: Gumbel's improved policy."""
    improve = make_improve(game)

    def target(nodes: Any, edges: Any, options: Any, weights: Any, bounds: Any) -> None:
        highest = improve(nodes, edges, 0, options, weights, bounds)
        whole = spread(weights, nodes[0].count, highest)
        for k in range(nodes[0].count):
            weights[k] /= whole

    return target
