"""One step of one tree, which is all that a forest does: the net's answer goes in, its next question comes out.

In self-play a tree that has searched enough writes its position down, makes its move and goes on with the next root,
so no tree ever waits for another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from meijin.core.compile import Function
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import no_odds, picker
from meijin.core.rng import below, uniform
from meijin.core.rng import choose as draw
from meijin.search.forest.layout import (
    BEGAN,
    CAP,
    CUT,
    DEPTH,
    DONE,
    DOUBTED,
    DRAW,
    EVALUATIONS,
    FAULT,
    FINISHED,
    FREE_SIMULATIONS,
    FULL,
    GAMES,
    HURRY,
    LAST,
    LENGTH,
    LOST,
    MOVER,
    NET,
    NODES,
    PAST,
    PENDING,
    PLAYED_BY,
    PLAYS_ON,
    PLIES,
    PLY,
    PROVEN,
    RANDOM_PLIES,
    RANDOM_SHARE,
    READY,
    RESIGN,
    RESIGN_PLAY_ON,
    RESIGNED,
    REUSE,
    RIVAL,
    RIVAL_GAMES,
    RIVAL_POINTS,
    RIVALS,
    SIMULATIONS,
    SLOT,
    STATE,
    SURE,
    TARGET,
    WAITS,
    WHEN,
    WRONGED,
)
from meijin.search.forest.packing import make_pack
from meijin.search.forest.roots import make_choose_move, make_prepare
from meijin.search.forest.scale import make_settle
from meijin.search.forest.selection import TINY, by_improvement, by_proof, by_visits, divergence, gumbel, puct
from meijin.search.forest.tree import clear, make_expand, make_reroot, make_select, make_view


def make_begin(game: Game) -> Function:
    """`begin(f, i)`: a new game in tree i, after random plies in the share of games that ask for it."""
    start, turn, play, odds, pick = game.start, game.turn, game.play, game.odds or no_odds, picker(game)
    seats = game.seats

    def begin(f: Any, i: int) -> None:
        info, options, moves, probs, rng = f.info[i], f.options, f.moves[i], f.probs[i], f.rng[i]
        s = f.roots[i]
        start(s)
        plies = 0
        if uniform(rng) < options[RANDOM_SHARE]:
            plies = below(rng, np.int64(options[RANDOM_PLIES]) + 1)
        for _ in range(plies):
            t = turn(s)
            if t == OVER:
                break
            play(s, pick(s, t, rng, moves, probs))
        while turn(s) == CHANCE:
            play(s, moves[draw(rng, probs, odds(s, moves, probs))])
        if turn(s) == OVER:  # too many random plies: this game begins at the beginning
            start(s)
            while turn(s) == CHANCE:
                play(s, moves[draw(rng, probs, odds(s, moves, probs))])
            plies = 0
        info[PLY] = plies
        info[BEGAN] = info[SLOT]
        info[SURE] = -1
        info[PLAYS_ON] = 1 if uniform(rng) < options[RESIGN_PLAY_ON] else 0
        info[RIVAL] = below(rng, seats) if i < options[RIVALS] else -1
        info[PAST] = 1 if turn(s) == info[RIVAL] else 0

    return begin


def make_finish(game: Game, by_gumbel: bool) -> Function:
    """`finish(f, i)`: the search of tree i is done: write it down, move, and set up the next root."""
    turn, play, score, odds, planes = game.turn, game.play, game.score, game.odds or no_odds, game.planes
    assert planes is not None
    seats, settle = game.seats, make_settle(game)
    pack, reroot, begin, seen = make_pack(game), make_reroot(game), make_begin(game), make_view(game)
    target = by_improvement(game) if by_gumbel else by_visits(game)
    pick = make_choose_move(game, by_gumbel)
    owners, owned = game.owners or _no_owners, game.owners is not None
    two = game.seats == 2 and game.bounded  # whoever resigns loses, and the other wins

    def keep(f: Any, i: int, seat: int) -> None:
        """Write the root down; its outcome is pending."""
        at = f.info[i, SLOT] % f.facts.shape[1]
        if f.facts[i, at, STATE] == FINISHED:
            f.stats[i, LOST] += 1
        planes(f.roots[i], f.x[i])
        fault = pack(f.x[i], f.bits[i, at], f.numbers[i, at])
        if fault:
            f.stats[i, FAULT] = fault
        node = f.nodes[i, 0]
        for k in range(f.kept_moves.shape[2]):
            if k < node.count:
                f.kept_moves[i, at, k] = seen(seat, f.edges[i, node.first + k].move)
                f.kept_probs[i, at, k] = f.weights[i, k]
            else:
                f.kept_moves[i, at, k] = -1
                f.kept_probs[i, at, k] = 0.0
        f.surprise[i, at] = divergence(f.edges[i], node.first, node.count, f.weights[i])
        for k in range(seats):  # worth what its moves are, weighted as they will be learned
            total, whole = 0.0, 0.0
            for e in range(node.count):
                edge = f.edges[i, node.first + e]
                if edge.visits > 0:
                    weight = f.weights[i, e] + TINY  # those that were tried may have next to none
                    total += weight * edge.total[k] / edge.visits
                    whole += weight
            f.kept_roots[i, at, k] = total / max(whole, TINY)
        f.facts[i, at, STATE] = PENDING
        f.facts[i, at, MOVER] = seat
        f.facts[i, at, WHEN] = f.info[i, PLY]
        f.facts[i, at, PLAYED_BY] = int(f.options[NET])
        f.info[i, SLOT] += 1

    def conclude(f: Any, i: int, final: bool) -> None:
        """The game is over with the outcome in `values`: tell all its positions; `final`: the root is its end.

        Who owns the cells is written once, with the last position; the others say where. It lasts as long as they do:
        positions are overwritten in their order, and owners only with the last position of another game.
        """
        slots = f.facts.shape[1]
        last = -1
        if owned and final and f.info[i, SLOT] > f.info[i, BEGAN]:
            last = (f.info[i, SLOT] - 1) % slots
            owners(f.roots[i], f.owners[i, last])
        for j in range(max(f.info[i, BEGAN], f.info[i, SLOT] - slots), f.info[i, SLOT]):
            at = j % slots
            for k in range(seats):
                f.outcomes[i, at, k] = f.values[i, k]
            f.facts[i, at, STATE] = FINISHED
            f.facts[i, at, LENGTH] = f.info[i, PLY]
            f.facts[i, at, LAST] = last
        f.stats[i, GAMES] += 1
        f.stats[i, PLIES] += f.info[i, PLY]
        for k in range(seats):
            f.sums[i, k] += f.values[i, k]
        sure = f.info[i, SURE]
        if sure >= 0:
            f.stats[i, DOUBTED] += 1
            if f.values[i, sure] > -1.0 + 1e-6:
                f.stats[i, WRONGED] += 1
        rival = f.info[i, RIVAL]
        if rival >= 0:
            best = -math.inf
            for k in range(seats):
                if k != rival:
                    best = max(best, f.values[i, k])
            f.stats[i, RIVAL_GAMES] += 1
            if best >= f.values[i, rival]:
                f.stats[i, RIVAL_POINTS] += 2 if best > f.values[i, rival] else 1

    def finish(f: Any, i: int) -> bool:
        info, options, nodes, edges = f.info[i], f.options, f.nodes[i], f.edges[i]
        moves, probs, rng, values = f.moves[i], f.probs[i], f.rng[i], f.values[i]
        node = nodes[0]
        seat = node.turn
        target(nodes, edges, options, f.weights[i], f.bounds[i])
        proven = info[PROVEN]
        if proven:
            by_proof(nodes, edges, f.weights[i])
        if info[FULL] and not info[PAST]:
            keep(f, i, seat)
        if proven and by_gumbel:
            e = node.first
            for k in range(node.count):
                if f.weights[i, k] > f.weights[i, e - node.first]:
                    e = node.first + k
        else:
            e = pick(nodes, edges, info, options, f.noise[i], f.weights[i], f.bounds[i], rng)
        hope = edges[e].total[seat] / max(1, edges[e].visits)
        loss = hope < options[RESIGN]
        if two:  # a draw may be worth as little, but to both
            loss = loss and edges[e].total[1 - seat] / max(1, edges[e].visits) > -options[RESIGN]
        move = edges[e].move
        s = f.roots[i]
        play(s, move)
        info[PLY] += 1
        kept = options[REUSE] > 0.0 and reroot(nodes, edges, info, move)
        t = turn(s)
        while t == CHANCE:
            outcome = moves[draw(rng, probs, odds(s, moves, probs))]
            play(s, outcome)
            kept = kept and reroot(nodes, edges, info, outcome)
            t = turn(s)
        info[READY] = 0
        info[WAITS] = 0
        over = t == OVER
        if over:
            score(s, values)
            settle(values, values, options[DRAW])
        elif two and loss:
            if info[PLAYS_ON]:
                info[SURE] = seat if info[SURE] < 0 else info[SURE]
            else:
                over = True
                f.stats[i, RESIGNED] += 1
                values[seat] = -1.0
                values[1 - seat] = 1.0
        if not over and options[CAP] > 0.0 and info[PLY] >= options[CAP]:
            over = True
            f.stats[i, CUT] += 1
            score(s, values)
            settle(values, values, options[DRAW])
        if over:
            conclude(f, i, t == OVER)
            begin(f, i)
            kept = False
        elif info[RIVAL] >= 0:  # the tree holds another net's opinions
            info[PAST] = 1 if t == info[RIVAL] else 0
            kept = False
        if not kept:
            clear(info, f.bounds[i])
        return True

    return finish


def _no_owners(s: Any, out: Any) -> None:
    return None


def _rest(f: Any, i: int) -> bool:
    """Outside self-play a finished search waits to be read."""
    return False


@cache
def step_with(by_gumbel: bool, selfplay: bool) -> Callable[[Game], Function]:
    """The maker of `step(f, i)` with this search, in self-play or for one position that is given."""

    def step(game: Game) -> Function:
        planes = game.planes
        assert planes is not None
        expand = make_expand(game)
        select = make_select(game, gumbel(game) if by_gumbel else puct(game))
        prepare = make_prepare(game, by_gumbel)
        finish = make_finish(game, by_gumbel) if selfplay else _rest

        def run(f: Any, i: int) -> None:
            info, nodes, edges = f.info[i], f.nodes[i], f.edges[i]
            here = f.here[i : i + 1]
            if info[WAITS]:
                expand(
                    nodes,
                    edges,
                    info,
                    f.path[i],
                    here,
                    f.moves[i],
                    f.values[i],
                    f.bounds[i],
                    f.logits[i],
                    f.outlook[i],
                )
                f.stats[i, EVALUATIONS] += 1
                if info[DEPTH] > 0:  # looking at the root is not a simulation
                    f.stats[i, SIMULATIONS] += 1
            for _ in range(np.int64(f.options[FREE_SIMULATIONS])):
                if info[NODES] > 0 and not info[READY]:
                    prepare(nodes, edges, info, f.options, f.noise[i], f.rng[i])
                while info[NODES] > 0 and (
                    info[DONE] >= info[TARGET] or (info[PROVEN] and f.options[HURRY] > 0.0 and info[DONE] > 0)
                ):
                    if not finish(f, i):
                        return
                    if info[NODES] > 0:  # the tree was kept, and may be large enough already
                        prepare(nodes, edges, info, f.options, f.noise[i], f.rng[i])
                asks = select(
                    nodes,
                    edges,
                    info,
                    f.path[i],
                    f.root_words[i],
                    f.here_words[i],
                    here,
                    f.moves[i],
                    f.probs[i],
                    f.scores[i],
                    f.values[i],
                    f.bounds[i],
                    f.options,
                    f.noise[i],
                    f.table,
                    f.weights[i],
                    f.rng[i],
                )
                if asks:
                    planes(f.here[i], f.x[i])
                    return
                f.stats[i, SIMULATIONS] += 1

        return run

    return step


def new_game(game: Game) -> Function:
    """`run(f, i)`: a new game in tree i."""
    begin = make_begin(game)

    def run(f: Any, i: int) -> None:
        begin(f, i)
        clear(f.info[i], f.bounds[i])

    return run


def forget(game: Game) -> Function:
    """`run(f, i)`: forget tree i, whose root has been set by hand."""

    def run(f: Any, i: int) -> None:
        clear(f.info[i], f.bounds[i])

    return run


def follow(game: Game) -> Function:
    """`run(f, i, move)`: continue from a move or outcome in tree i with what is below; the caller sets the record."""
    reroot = make_reroot(game)

    def run(f: Any, i: int, move: int) -> None:
        f.info[i, READY] = 0
        f.info[i, WAITS] = 0
        if not reroot(f.nodes[i], f.edges[i], f.info[i], move):
            clear(f.info[i], f.bounds[i])

    return run


@cache
def on_cpu(maker: Callable[[Game], Function]) -> Callable[[Game], Function]:
    """The maker of a kernel `(f, low, high)` that runs `maker`'s function on every tree of a range."""

    def forest(game: Game) -> Function:
        run = maker(game)

        def kernel(f: Any, low: int, high: int) -> None:
            for i in range(low, high):
                run(f, i)

        return kernel

    forest.__name__ = f"forest_{maker.__name__}"
    return forest
