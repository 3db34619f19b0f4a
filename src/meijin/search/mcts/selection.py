"""Selection: which child a simulation goes to. UCB1, and its options RAVE and progressive widening."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from meijin.core.compile import Function, inlined
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import copy
from meijin.core.rng import uniform

# Selection reads two numbers of every child, so they stand together in an array of their own, `stats`: [node, slot].
MEAN = 0  # mean score for the seat that chooses this node
EXPLORATION = 1  # 1/sqrt(visits); 0 once proven, as there is nothing left to explore
# With RAVE two more:
RAVE_VISITS = 2  # simulations through the parent in which its seat made this move, then or later
RAVE_MEAN = 3  # their mean score for that seat


@dataclass(frozen=True)
class Options:
    """Ways to search. Each combination is compiled separately, so that those not in use cost nothing."""

    rave: float = 0.0  # equivalence parameter of RAVE; 0: without
    playout: str = "random"  # a policy of `playouts`
    playouts: int = 1  # playouts at each leaf, whose mean is one visit
    widening: tuple[float, float] | None = None  # (factor, exponent): moves considered after n visits
    shared: bool = False  # several threads grow one tree


PLAIN = Options()


def make_select(game: Game, options: Options = PLAIN) -> Function:
    """`select(nodes, stats, i, c, bounds, rng)`: the child to go to: by UCB1 for a seat, by the odds for chance."""
    if options.rave or options.widening:
        return _select_with_options(game, options)

    @inlined
    def select(nodes: Any, stats: Any, i: int, c: float, bounds: Any, rng: Any) -> int:
        node = nodes[i]
        first, n, seat = node.first, node.count, node.turn
        if seat == CHANCE:
            return by_odds(nodes, first, n, rng)
        if nodes[first + n - 1].visits == 0:  # children get their first visit in order
            child = first
            while nodes[child].visits > 0:
                child += 1
            return child
        # UCB1 on scores scaled to -1..1, multiplied by half the span of the scores: the order is the same.
        bonus = c * 0.5 * (bounds[seat, 1] - bounds[seat, 0]) * math.sqrt(math.log(np.float64(node.visits)))
        best, best_child = -math.inf, first
        for child in range(first, first + n):
            value = stats[child, MEAN] + bonus * stats[child, EXPLORATION]
            if value > best:
                best, best_child = value, child
        return best_child

    return select


def by_odds(nodes: Any, first: int, n: int, rng: Any) -> int:
    """One of the n outcomes from node `first` on."""
    u = uniform(rng)
    for child in range(first, first + n - 1):
        u -= nodes[child].prob
        if u < 0.0:
            return child
    return first + n - 1


def _select_with_options(game: Game, options: Options) -> Function:
    """`select` with RAVE, widening or both."""
    rave, widens = options.rave, options.widening is not None
    factor, exponent = options.widening or (1.0, 1.0)

    @inlined
    def select(nodes: Any, stats: Any, i: int, c: float, bounds: Any, rng: Any) -> int:
        node = nodes[i]
        first, n, seat = node.first, node.count, node.turn
        if seat == CHANCE:
            return by_odds(nodes, first, n, rng)
        if widens:
            n = widened(nodes, first, n, node.visits)
        bonus = c * 0.5 * (bounds[seat, 1] - bounds[seat, 0])
        if rave > 0.0:
            return rave_select(nodes, stats, i, n, bonus)
        if nodes[first + n - 1].visits == 0:
            child = first
            while nodes[child].visits > 0:
                child += 1
            return child
        bonus *= math.sqrt(math.log(np.float64(node.visits)))
        best, best_child = -math.inf, first
        for child in range(first, first + n):
            value = stats[child, MEAN] + bonus * stats[child, EXPLORATION]
            if value > best:
                best, best_child = value, child
        return best_child

    def widened(nodes: Any, first: int, n: int, visits: int) -> int:
        """How many of the children are considered: as many as the visits allow, and one that is not yet proven."""
        allowed = math.ceil(factor * math.pow(np.float64(visits), exponent))
        m = 1 if allowed < 1 else n if allowed > n else int(allowed)
        for child in range(first, first + m):
            if not nodes[child].proven:
                return m
        while m < n and nodes[first + m - 1].proven:
            m += 1
        return m

    def rave_select(nodes: Any, stats: Any, i: int, n: int, bonus: float) -> int:
        """RAVE: a move's mean, mixed with that of all simulations where its seat made it at any time from here on."""
        first, visits = nodes[i].first, np.float64(nodes[i].visits)
        beta = math.sqrt(rave / (3.0 * visits + rave))
        # Before the first playout the span of the scores may be unknown, and there is nothing to weigh.
        bonus = bonus * math.sqrt(math.log(visits)) if visits > 1.0 else 0.0
        best, best_child = -math.inf, first
        for child in range(first, first + n):
            known = stats[child, RAVE_VISITS] > 0.0
            if nodes[child].visits == 0:
                value = stats[child, RAVE_MEAN] + bonus if known else math.inf
            else:
                value = stats[child, MEAN] + bonus * stats[child, EXPLORATION]
                if known and not nodes[child].proven:
                    value += beta * (stats[child, RAVE_MEAN] - stats[child, MEAN])
            if value > best:
                best, best_child = value, child
        return best_child

    return select


def make_order(game: Game) -> Function:
    """`order(nodes, stats, i, here, room, scores)`: the children of node `i`, at `here`, by the game's heuristic.

    Equals keep their random order; so do all in a game without a heuristic.
    """
    if game.heuristic is None:

        def leave(nodes: Any, stats: Any, i: int, here: Any, room: Any, scores: Any) -> None:
            return None

        return leave
    turn, play, score, heuristic = game.turn, game.play, game.score, game.heuristic

    def order(nodes: Any, stats: Any, i: int, here: Any, room: Any, scores: Any) -> None:
        first, n, seat = nodes[i].first, nodes[i].count, nodes[i].turn
        for child in range(first, first + n):
            move = nodes[child].move
            copy(room, here)
            play(room[0], move)
            if turn(room[0]) == OVER:
                score(room[0], scores)
            else:
                heuristic(room[0], scores)
            value = np.float32(scores[seat])
            at = child
            while at > first and stats[at - 1, MEAN] < value:
                nodes[at].move = nodes[at - 1].move
                stats[at, MEAN] = stats[at - 1, MEAN]
                at -= 1
            nodes[at].move = move
            stats[at, MEAN] = value

    return order
