"""Before and after the search of a root: its noise and how long to search, and which move to make of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meijin.core.compile import Function
from meijin.core.game import Game
from meijin.core.rng import uniform
from meijin.search.forest.layout import (
    ALPHA,
    CONSIDERED,
    COOL,
    DONE,
    FAST_SIMULATIONS,
    FRESH,
    FULL,
    FULL_SHARE,
    FULL_SIMULATIONS,
    GUMBEL_SCALE,
    NOISE,
    PLY,
    READY,
    TARGET,
    TEMPERATURE,
    WARM,
)
from meijin.search.forest.noise import gamma
from meijin.search.forest.noise import gumbel as gumbel_variate
from meijin.search.forest.selection import make_improve


def make_prepare(game: Game, by_gumbel: bool) -> Function:
    """`prepare(nodes, edges, info, options, noise, rng)`: the root's noise, once per move, and its search's length."""

    def length(nodes: Any, info: Any, options: Any, rng: Any) -> None:
        full = options[FULL_SHARE] >= 1.0 or uniform(rng) < options[FULL_SHARE]
        info[FULL] = 1 if full else 0
        info[TARGET] = np.int32(options[FULL_SIMULATIONS] if full else options[FAST_SIMULATIONS])
        if nodes[0].count == 1:
            info[TARGET] = 1
        info[READY] = 1
        info[DONE] = nodes[0].visits  # those of a tree that was kept count
        if options[FRESH] > 0.0:
            info[TARGET] += min(info[DONE], info[TARGET])

    if by_gumbel:

        def gumbels(nodes: Any, edges: Any, info: Any, options: Any, noise: Any, rng: Any) -> None:
            """Gumbel variates for the moves considered: those where variate + logit is highest."""
            length(nodes, info, options, rng)
            first, count = nodes[0].first, nodes[0].count
            for k in range(count):
                noise[k] = options[GUMBEL_SCALE] * gumbel_variate(rng)
            considered = min(np.int64(options[CONSIDERED]), info[TARGET])
            if considered >= count:
                return
            last, least = -1, math.inf  # the worst of the best, one by one
            for _ in range(considered):
                next_, most = -1, -math.inf
                for k in range(count):
                    value = noise[k] + edges[first + k].logit
                    if (value < least or (value == least and k > last)) and (next_ < 0 or value > most):
                        next_, most = k, value
                last, least = next_, most
            for k in range(count):
                value = noise[k] + edges[first + k].logit
                if value < least or (value == least and k > last):
                    noise[k] = -math.inf

        return gumbels

    def dirichlet(nodes: Any, edges: Any, info: Any, options: Any, noise: Any, rng: Any) -> None:
        length(nodes, info, options, rng)
        first, count, whole = nodes[0].first, nodes[0].count, 0.0
        if options[ALPHA] > 0.0 and options[NOISE] > 0.0 and info[FULL]:
            for k in range(count):
                noise[k] = gamma(rng, options[ALPHA])
                whole += noise[k]
            if whole > 0.0:
                for k in range(count):
                    prior = edges[first + k].prior
                    edges[first + k].prior = (1.0 - options[NOISE]) * prior + options[NOISE] * noise[k] / whole

    return dirichlet


def make_choose_move(game: Game, by_gumbel: bool) -> Function:
    """`pick(nodes, edges, info, options, noise, weights, bounds, rng)`: the edge to play; `weights` is the policy."""
    improve = make_improve(game)

    if by_gumbel:

        def winner(
            nodes: Any, edges: Any, info: Any, options: Any, noise: Any, weights: Any, bounds: Any, rng: Any
        ) -> int:
            improve(nodes, edges, 0, options, weights, bounds)
            first, most, best, top = nodes[0].first, 0, 0, -math.inf
            for k in range(nodes[0].count):
                most = max(most, edges[first + k].visits)
            for k in range(nodes[0].count):
                if edges[first + k].visits == most and noise[k] + weights[k] > top:
                    best, top = k, noise[k] + weights[k]
            return first + best

        return winner

    def by_temperature(
        nodes: Any, edges: Any, info: Any, options: Any, noise: Any, weights: Any, bounds: Any, rng: Any
    ) -> int:
        heat = options[TEMPERATURE] if info[PLY] < options[WARM] else options[COOL]
        first, count, best = nodes[0].first, nodes[0].count, 0
        for k in range(count):
            if weights[k] > weights[best]:
                best = k
        if heat <= 0.0:
            return first + best
        whole = 0.0
        for k in range(count):
            if weights[k] > 0.0:
                whole += (weights[k] / weights[best]) ** (1.0 / heat)
        left = uniform(rng) * whole
        for k in range(count):
            if weights[k] > 0.0:
                left -= (weights[k] / weights[best]) ** (1.0 / heat)
                if left < 0.0:
                    return first + k
        return first + best

    return by_temperature
