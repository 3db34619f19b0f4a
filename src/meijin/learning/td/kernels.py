"""Self-play that learns, compiled for each game: TD(lambda) over afterstates, SARSA and Q-learning.

Every seat learns from its own experience: the value of an afterstate it made follows that of the next one it makes, or
the final score. So any number of seats can learn, with chance or without.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meijin.core.compile import Function, inlined
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import copy, picker
from meijin.core.rng import below, uniform

TD, SARSA, Q = range(3)
NONE, ID, EXP = range(3)  # kinds of temporal coherence


class Rule(NamedTuple):
    """How to play and to learn; numbers only, so that one kernel does for all."""

    kind: int  # TD, SARSA or Q
    learns: int  # 0: play only
    squashes: int  # 1: values go through tanh
    coherence: int  # NONE, ID or EXP
    alpha: float  # step size of one weight
    beta: float
    trace: float  # lambda
    gamma: float
    epsilon: float
    final: int  # 1: every seat learns the final score
    learn_random: int  # 1: TD learns across random moves
    random_plies: int
    cap: int  # moves of a game


class Room(NamedTuple):
    """One thread's memory."""

    states: Any  # records [2]: the game, and the position after a move
    moves: Any  # int32 [branching]
    probs: Any  # float64 [branching]
    scores: Any  # float64 [seat]
    base: Any  # int32 [cell]: the cells before a move
    next: Any  # int32 [cell]: and after it
    now: Any  # int64 [feature]: indices before a move
    tried: Any  # int64 [feature]: and after it
    best: Any  # int64 [feature]: after the best move so far, from the beginning of all weights
    known: Any  # float64 [2]: 1 and the sum of the weights before a move, once somebody needed it
    past: Any  # int64 [seat, reach, feature]: the weights of positions that an error reaches
    slopes: Any  # float64 [seat, reach]: of the output there
    count: Any  # int64 [seat]: how many there are
    spoilt: Any  # int64 [seat]: 1 after a random move of another seat
    earlier: Any  # float64 [seat]: its score in the latest of them
    rng: Any  # uint64 [1]
    totals: Any  # float64 [seat + 2]: sums of final scores, of squared errors, and the number of errors


def make_room(game: Game, features: int, reach: int, rng: NDArray[np.uint64]) -> Room:
    cells, width, seats = len(game.board.cells), game.branching or 1, game.seats
    return Room(
        states=game.states(2),
        moves=np.zeros(width, np.int32),
        probs=np.zeros(width, np.float64),
        scores=np.zeros(seats),
        base=np.zeros(cells, np.int32),
        next=np.zeros(cells, np.int32),
        now=np.zeros(features, np.int64),
        tried=np.zeros(features, np.int64),
        best=np.zeros(features, np.int64),
        known=np.zeros(2),
        past=np.zeros((seats, reach, features), np.int64),
        slopes=np.zeros((seats, reach)),
        count=np.zeros(seats, np.int64),
        spoilt=np.zeros(seats, np.int64),
        earlier=np.zeros(seats),
        rng=rng,
        totals=np.zeros(seats + 2),
    )


def scale(game: Game) -> tuple[float, float]:
    """(middle, half the width) of the scores; networks learn scores between -1 and 1 where there are bounds."""
    low, high = game.score_range
    return ((low + high) / 2, (high - low) / 2) if game.bounded else (0.0, 1.0)


# ---- reading a position ----


def _make_place(game: Game) -> Function:
    count = len(game.board.cells)

    @inlined
    def place(layout: Any, seat: int, values: Any) -> Any:
        """Where the weights of a seat for a position begin."""
        at = layout.networks[seat]
        if layout.stages.shape[0] > 0:
            most = 0
            for c in range(count):
                most = max(most, values[c])
            for k in range(layout.stages.shape[0]):
                if most >= layout.stages[k]:
                    at += layout.stage_size
        return at

    return place


@inlined
def index(layout: Any, view: int, values: Any, out: Any) -> None:
    """The indices of a position."""
    for f in range(out.shape[0]):
        out[f] = layout.first[f]
    for c in range(values.shape[0]):
        v = values[c]
        for e in range(layout.begins[view, c], layout.begins[view, c + 1]):
            out[layout.features[view, e]] += layout.codes[view, e, v]


@inlined
def shift(layout: Any, view: int, cell: int, before: int, after: int, out: Any) -> None:
    """The same after one cell has changed."""
    for e in range(layout.begins[view, cell], layout.begins[view, cell + 1]):
        out[layout.features[view, e]] += layout.codes[view, e, after] - layout.codes[view, e, before]


@inlined
def total(weights: Any, indices: Any, at: int) -> float:
    """The sum of weights; four sums at a time, as each addition would wait for the one before."""
    n = indices.shape[0]
    a = b = c = d = 0.0
    for f in range(0, n - 3, 4):
        a += weights[at + indices[f]]
        b += weights[at + indices[f + 1]]
        c += weights[at + indices[f + 2]]
        d += weights[at + indices[f + 3]]
    for f in range(n - n % 4, n):
        a += weights[at + indices[f]]
    return (a + b) + (c + d)


# ---- what a move is worth ----


def _make_weigh(game: Game) -> Function:
    play, turn, score, cells, count = game.play, game.turn, game.score, game.cells, len(game.board.cells)
    place = _make_place(game)
    (middle, half), bounded = scale(game), game.bounded

    @inlined
    def weigh(
        layout: Any, weights: Any, room: Any, kind: int, squashes: int, gamma: float, seat: int, at: int, move: int
    ) -> Any:
        """(value, where the weights begin, score so far, whether the game ends, the only cell that changed).

        `room.now` and `room.base` are of the position before the move. The indices afterwards are in `room.tried`,
        unless there is such a cell: then only what differs is looked up; else it is -1. Values are final scores: in a
        game without bounds, those so far and what is yet to come.
        """
        view = layout.views[seat]
        so_far = 0.0
        if kind != TD:
            for f in range(room.now.shape[0]):
                room.tried[f] = room.now[f] + layout.blocks[view, f, move]
            if not bounded:
                score(room.states[0], room.scores)
                so_far = room.scores[seat]
            x = total(weights, room.tried, at)
            return so_far + gamma * (math.tanh(x) if squashes else x), at, so_far, False, -1
        copy(room.states[1:2], room.states[0:1])
        after = room.states[1]
        play(after, move)
        over = turn(after) == OVER
        if over or not bounded:
            score(after, room.scores)
            so_far = (room.scores[seat] - middle) / half
        if over:
            return so_far, at, so_far, True, -1
        cells(after, room.next)
        changed, cell = 0, 0
        for c in range(count):
            if room.next[c] != room.base[c]:
                changed += 1
                cell = c
        then = place(layout, seat, room.next)
        if changed == 1 and then == at:
            if room.known[0] == 0.0:
                room.known[0], room.known[1] = 1.0, total(weights, room.now, at)
            x = room.known[1]
            u, v = room.base[cell], room.next[cell]
            for e in range(layout.begins[view, cell], layout.begins[view, cell + 1]):
                i = at + room.now[layout.features[view, e]]
                x += weights[i + layout.codes[view, e, v] - layout.codes[view, e, u]] - weights[i]
        else:
            cell = -1
            for f in range(room.now.shape[0]):
                room.tried[f] = room.now[f]
            for c in range(count):
                if room.next[c] != room.base[c]:
                    shift(layout, view, c, room.base[c], room.next[c], room.tried)
            x = total(weights, room.tried, then)
        value = gamma * (math.tanh(x) if squashes else x)
        return (value if bounded else so_far + value), then, so_far, False, cell

    return weigh


# ---- learning ----


def _make_adapt(game: Game) -> Function:
    seats = game.seats

    @inlined
    def adapt(weights: Any, coherent: Any, room: Any, rule: Any, seat: int, target: float) -> None:
        """Move the value of a seat's latest position towards a target, and the earlier ones by their traces."""
        reach, features = room.past.shape[1], room.past.shape[2]
        slot = (room.count[seat] - 1) % reach
        value = 0.0
        for f in range(features):
            value += weights[room.past[seat, slot, f]]
        if rule.squashes:
            value = math.tanh(value)
            room.slopes[seat, slot] = 1.0 - value * value
        error = target - value
        room.totals[seats] += error * error
        room.totals[seats + 1] += 1.0
        for back in range(min(room.count[seat], reach)):
            slot = (room.count[seat] - 1 - back) % reach
            change = error * room.slopes[seat, slot]
            if rule.coherence == NONE:
                for f in range(features):
                    weights[room.past[seat, slot, f]] += rule.alpha * change
            else:
                for f in range(features):
                    i = room.past[seat, slot, f]
                    rate = 1.0
                    if coherent[i, 1] > 0.0:
                        rate = abs(coherent[i, 0]) / coherent[i, 1]
                        if rule.coherence == EXP:
                            rate = math.exp(rule.beta * (rate - 1.0))
                    weights[i] += rule.alpha * rate * change
                    coherent[i, 0] += change
                    coherent[i, 1] += abs(change)
            error *= rule.trace * rule.gamma

    return adapt


def episodes(game: Game) -> Function:
    """Plays games from the start and learns from them; returns the moves made. Final scores are added up."""
    begin, turn, legal, play, score, cells = game.start, game.turn, game.legal, game.play, game.score, game.cells
    pick, weigh, adapt, place = picker(game), _make_weigh(game), _make_adapt(game), _make_place(game)
    (middle, half), bounded, seats, count = scale(game), game.bounded, game.seats, len(game.board.cells)

    def kernel(layout: Any, weights: Any, coherent: Any, room: Any, rule: Any, games: int) -> int:
        made = 0
        features, reach = room.past.shape[2], room.past.shape[1]
        s, rng, moves = room.states[0], room.rng, room.moves
        for _ in range(games):
            begin(s)
            for k in range(seats):
                room.count[k] = 0
                room.spoilt[k] = 0
                room.earlier[k] = 0.0
            t = turn(s)
            if rule.random_plies > 0:
                for _ in range(below(rng, rule.random_plies + 1)):
                    if t != OVER:
                        play(s, pick(s, t, rng, moves, room.probs))
                        t = turn(s)
            last, length, view = -1, 0, -1
            while t != OVER and length < rule.cap:
                if t == CHANCE:
                    play(s, pick(s, t, rng, moves, room.probs))
                    t = turn(s)
                    continue
                n = legal(s, moves)
                cells(s, room.next)
                if view != layout.views[t]:
                    view = layout.views[t]
                    index(layout, view, room.next, room.now)
                else:
                    for c in range(count):
                        if room.next[c] != room.base[c]:
                            shift(layout, view, c, room.base[c], room.next[c], room.now)
                for c in range(count):
                    room.base[c] = room.next[c]
                room.known[0] = 0.0
                start = place(layout, t, room.base)
                random = rule.learns != 0 and rule.epsilon > 0.0 and uniform(rng) < rule.epsilon
                first, end = 0, n
                drawn = -1
                if random:
                    drawn = below(rng, n)
                    if rule.kind != Q:  # which needs the best value all the same
                        first, end = drawn, drawn + 1
                # ---- choose ----
                best, move, ties = -math.inf, moves[first], 0
                so_far, over = 0.0, False
                for k in range(first, end):
                    value, at, score_then, ends, cell = weigh(
                        layout, weights, room, rule.kind, rule.squashes, rule.gamma, t, start, moves[k]
                    )
                    if value < best:
                        continue
                    ties = ties + 1 if value == best else 1
                    if ties > 1 and below(rng, ties) > 0:
                        continue
                    best, move, so_far, over = value, moves[k], score_then, ends
                    if not ends:
                        for f in range(features):
                            room.best[f] = at + (room.tried[f] if cell < 0 else room.now[f])
                        if cell >= 0:
                            shift(layout, view, cell, room.base[cell], room.next[cell], room.best)
                if random and rule.kind == Q:
                    move = moves[drawn]
                    for f in range(features):
                        room.best[f] = start + room.now[f] + layout.blocks[view, f, move]
                # ---- learn ----
                if rule.learns:
                    if rule.kind == TD and not rule.learn_random and (random or room.spoilt[t] != 0):
                        room.count[t] = 0
                    elif room.count[t] > 0:
                        adapt(weights, coherent, room, rule, t, best - room.earlier[t])
                    if random:
                        if rule.kind == Q:
                            room.count[t] = 0
                        for k in range(seats):
                            room.spoilt[k] = 1
                    room.spoilt[t] = 0
                    if over:
                        room.count[t] = 0  # this position needs no estimate
                    else:
                        slot = room.count[t] % reach
                        for f in range(features):
                            room.past[t, slot, f] = room.best[f]
                        room.slopes[t, slot] = 1.0
                        room.count[t] += 1
                        room.earlier[t] = 0.0 if bounded else so_far
                play(s, move)
                last = t
                made += 1
                length += 1
                t = turn(s)
            if t == OVER:
                score(s, room.scores)
                for k in range(seats):
                    room.totals[k] += room.scores[k]
                    fits = rule.kind != TD or rule.learn_random or room.spoilt[k] == 0
                    if rule.learns and room.count[k] > 0 and fits and (rule.final or k == last):
                        adapt(weights, coherent, room, rule, k, (room.scores[k] - middle) / half - room.earlier[k])
        return made

    return kernel


def judge(game: Game) -> Function:
    """The value of every move in a position, for the seat to move; returns how many moves there are."""
    turn, legal, cells, weigh, place = game.turn, game.legal, game.cells, _make_weigh(game), _make_place(game)
    middle, half = scale(game)

    def kernel(layout: Any, weights: Any, room: Any, kind: int, squashes: int, gamma: float, values: Any) -> Any:
        s = room.states[0]
        t = turn(s)
        cells(s, room.base)
        index(layout, layout.views[t], room.base, room.now)
        at = place(layout, t, room.base)
        n = legal(s, room.moves)
        for k in range(n):
            value = weigh(layout, weights, room, kind, squashes, gamma, t, at, room.moves[k])[0]
            values[k] = middle + half * value
        return n

    return kernel


def explain(game: Game) -> Function:
    """What each feature adds to the value of one move, before tanh; false for a move that ends the game."""
    turn, cells, weigh, place = game.turn, game.cells, _make_weigh(game), _make_place(game)

    def kernel(layout: Any, weights: Any, room: Any, kind: int, move: int, parts: Any) -> bool:
        s = room.states[0]
        t = turn(s)
        cells(s, room.base)
        index(layout, layout.views[t], room.base, room.now)
        start = place(layout, t, room.base)
        _, at, _, over, cell = weigh(layout, weights, room, kind, 0, 1.0, t, start, move)
        if over:
            return False
        if cell >= 0:
            index(layout, layout.views[t], room.next, room.tried)
        for f in range(parts.shape[0]):
            parts[f] = weights[at + room.tried[f]]
        return True

    return kernel
