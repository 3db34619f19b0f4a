"""Self-play that learns with features of a person's own: TD(lambda) of a linear function or one with a hidden layer.

The weights of a seat are the rows of a table from `seat * size` on: those of the hidden units, one after the other, and
those of the output; each ends with the weight of a constant 1. Without hidden units there are only those of the output.
As with tuples, column 0 is the weight and columns 1 and 2 its coherence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meijin.core.compile import Function, inlined
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import copy, picker
from meijin.core.rng import below, uniform
from meijin.learning.td.room import EXP, NONE, REPLACING, scale


class FeatureRoom(NamedTuple):
    """One thread's memory."""

    states: Any  # records [2]: the game, and the position after a move
    moves: Any  # int32 [branching]
    probs: Any  # float64 [branching]
    scores: Any  # float64 [seat]
    tried: Any  # float64 [input]: after a move
    best: Any  # float64 [input]: after the best move so far
    past: Any  # float64 [seat, input]: after the seat's latest move
    units: Any  # float64 [hidden]: what the hidden units say
    slopes: Any  # float64 [weight]: derivative of the output by each weight of a seat
    traces: Any  # float64 [seat, weight]
    fresh: Any  # float64 [weight]: the trace of a position that is remembered
    length: Any  # int64 [seat]: 1 if there is a latest move to learn about
    spoilt: Any  # int64 [seat]: 1 after a random move of another seat
    earlier: Any  # float64 [seat]: its score after its latest move
    memory: Any  # float64 [size, 2, input]: positions and those that followed
    facts: Any  # float64 [size, 3]: the seat, what it scored on the way, and 1 if the game went on
    filled: Any  # int64 [3]: transitions in the memory, the place of the next, games begun
    rng: Any  # uint64 [1]
    totals: Any  # float64 [seat + 2]: sums of final scores, of squared errors, and the number of errors


def make_feature_room(
    game: Game, inputs: int, hidden: int, memory: int, rng: NDArray[np.uint64], zeros: Any = np.zeros
) -> FeatureRoom:
    """One thread's memory; `zeros` as for `make_room`."""
    width, seats, weights = game.branching or 1, game.seats, weights_of(inputs, hidden)
    return FeatureRoom(
        states=game.states(2),
        moves=zeros(width, np.int32),
        probs=zeros(width),
        scores=zeros(seats),
        tried=zeros(inputs),
        best=zeros(inputs),
        past=zeros((seats, inputs)),
        units=zeros(hidden),
        slopes=zeros(weights),
        traces=zeros((seats, weights)),
        fresh=zeros(weights),
        length=zeros(seats, np.int64),
        spoilt=zeros(seats, np.int64),
        earlier=zeros(seats),
        memory=zeros((max(1, memory), 2, inputs)),
        facts=zeros((max(1, memory), 3)),
        filled=zeros(3, np.int64),
        rng=rng,
        totals=zeros(seats + 2),
    )


def weights_of(inputs: int, hidden: int) -> int:
    """The number of weights of one seat."""
    return hidden * (inputs + 1) + hidden + 1 if hidden else inputs + 1


@inlined
def output(table: Any, at: int, x: Any, units: Any, squashes: int) -> Any:
    """The value of a position; the hidden units stay in `units`."""
    n, hidden = x.shape[0], units.shape[0]
    total = 0.0
    if hidden == 0:
        for i in range(n):
            total += table[at + i, 0] * x[i]
        total += table[at + n, 0]
    else:
        last = at + hidden * (n + 1)
        for h in range(hidden):
            row = at + h * (n + 1)
            unit = table[row + n, 0]
            for i in range(n):
                unit += table[row + i, 0] * x[i]
            units[h] = math.tanh(unit)
            total += table[last + h, 0] * units[h]
        total += table[last + hidden, 0]
    return math.tanh(total) if squashes else total


@inlined
def derive(table: Any, at: int, x: Any, units: Any, slopes: Any, slope: float) -> None:
    """Derivatives of the output by each weight, after `output`; `slope` is that of its last step."""
    n, hidden = x.shape[0], units.shape[0]
    if hidden == 0:
        for i in range(n):
            slopes[i] = slope * x[i]
        slopes[n] = slope
        return
    last = hidden * (n + 1)
    for h in range(hidden):
        slopes[last + h] = slope * units[h]
        back = slope * table[at + last + h, 0] * (1.0 - units[h] * units[h])
        for i in range(n):
            slopes[h * (n + 1) + i] = back * x[i]
        slopes[h * (n + 1) + n] = back
    slopes[last + hidden] = slope


@inlined
def adapt(table: Any, room: Any, rule: Any, at: int, x: Any, trace: Any, decay: float, target: float) -> Any:
    """Move the value of a position towards a target, and what came before by its trace; returns the error.

    The step is `alpha` of the error, shared out by the squares of the derivatives, so that it does not depend on how
    large the features are.
    """
    value = output(table, at, x, room.units, rule.squashes)
    derive(table, at, x, room.units, room.slopes, 1.0 - value * value if rule.squashes else 1.0)
    error = target - value
    squares = 1e-9
    for i in range(trace.shape[0]):
        kept = 0.0 if rule.traces == REPLACING and room.slopes[i] != 0.0 else decay
        trace[i] = kept * trace[i] + room.slopes[i]
        squares += trace[i] * trace[i]
    step = rule.alpha / max(1.0, squares)
    for i in range(trace.shape[0]):
        change = error * trace[i]
        rate = 1.0
        if rule.coherence != NONE:
            if table[at + i, 2] > 0.0:
                rate = abs(table[at + i, 1]) / table[at + i, 2]
                if rule.coherence == EXP:
                    rate = math.exp(rule.beta * (rate - 1.0))
            table[at + i, 1] += change
            table[at + i, 2] += abs(change)
        table[at + i, 0] += step * rate * change
    return error


class Kernels(NamedTuple):
    """The kernels of one set of features, as makers for `Game.kernel`."""

    feature_episodes: Callable[[Game], Function]
    feature_judge: Callable[[Game], Function]


def make_kernels(fill: Function) -> Kernels:
    def feature_episodes(game: Game) -> Function:
        """Plays games from the start and learns from them; returns the moves made. Final scores are added up."""
        begin, turn, legal, play, score = game.start, game.turn, game.legal, game.play, game.score
        pick, (middle, half), bounded, seats = picker(game), scale(game), game.bounded, game.seats

        @inlined
        def learn(table: Any, room: Any, rule: Any, seat: int, reward: float, more: int) -> None:
            """From a seat's latest move to `room.best`, or to the end of the game."""
            size, inputs = room.slopes.shape[0], room.best.shape[0]
            target = reward
            if more:
                target += rule.gamma * output(table, seat * size, room.best, room.units, rule.squashes)
            decay = rule.trace * rule.gamma
            error = adapt(table, room, rule, seat * size, room.past[seat], room.traces[seat], decay, target)
            room.totals[seats] += error * error
            room.totals[seats + 1] += 1.0
            if rule.replay == 0:
                return
            k = room.filled[1]
            for i in range(inputs):
                room.memory[k, 0, i] = room.past[seat, i]
                room.memory[k, 1, i] = room.best[i]
            room.facts[k, 0], room.facts[k, 1], room.facts[k, 2] = seat, reward, more
            room.filled[1] = (k + 1) % room.memory.shape[0]
            room.filled[0] = max(room.filled[0], k + 1)
            for _ in range(rule.replay):
                k = below(room.rng, room.filled[0])
                at, target = int(room.facts[k, 0]) * size, room.facts[k, 1]
                if room.facts[k, 2] > 0.0:
                    target += rule.gamma * output(table, at, room.memory[k, 1], room.units, rule.squashes)
                adapt(table, room, rule, at, room.memory[k, 0], room.fresh, 0.0, target)

        def kernel(table: Any, room: Any, rule: Any, games: int) -> int:
            made = 0
            inputs, size = room.best.shape[0], room.slopes.shape[0]
            s, after, rng, moves = room.states[0], room.states[1], room.rng, room.moves
            for _ in range(games):
                begin(s)
                for k in range(seats):
                    room.length[k], room.spoilt[k], room.earlier[k] = 0, 0, 0.0
                    for i in range(size):
                        room.traces[k, i] = 0.0
                t = turn(s)
                if rule.random_plies > 0:
                    for _ in range(below(rng, rule.random_plies + 1)):
                        if t != OVER:
                            play(s, pick(s, t, rng, moves, room.probs))
                            t = turn(s)
                last, length, first_moves = -1, 0, rule.first_moves
                while t != OVER and length < rule.cap:
                    if t == CHANCE:
                        play(s, pick(s, t, rng, moves, room.probs))
                        t = turn(s)
                        continue
                    n = legal(s, moves)
                    if first_moves:
                        first_moves = 0
                        play(s, moves[room.filled[2] % n])
                        room.filled[2] += 1
                        t = turn(s)
                        continue
                    random = rule.learns != 0 and rule.epsilon > 0.0 and uniform(rng) < rule.epsilon
                    first, end = 0, n
                    if random:
                        first = below(rng, n)
                        end = first + 1
                    # ---- choose ----
                    best, move, ties, so_far, over = -math.inf, moves[first], 0, 0.0, False
                    for k in range(first, end):
                        copy(room.states[1:2], room.states[0:1])
                        play(after, moves[k])
                        ends = turn(after) == OVER
                        then = 0.0
                        if ends or not bounded:
                            score(after, room.scores)
                            then = (room.scores[t] - middle) / half
                        value = then
                        if not ends:
                            fill(after, t, room.tried)
                            value += rule.gamma * output(table, t * size, room.tried, room.units, rule.squashes)
                        if value < best:
                            continue
                        ties = ties + 1 if value == best else 1
                        if ties > 1 and below(rng, ties) > 0:
                            continue
                        best, move, so_far, over = value, moves[k], then, ends
                        if not ends:
                            for i in range(inputs):
                                room.best[i] = room.tried[i]
                    # ---- learn ----
                    if rule.learns:
                        if not rule.learn_random and (random or room.spoilt[t] != 0):
                            room.length[t] = 0
                            for i in range(size):
                                room.traces[t, i] = 0.0
                        elif room.length[t] > 0:
                            learn(table, room, rule, t, so_far - room.earlier[t], 0 if over else 1)
                        if random:
                            for k in range(seats):
                                room.spoilt[k] = 1
                        room.spoilt[t] = 0
                        room.length[t] = 0 if over else 1  # the end needs no estimate
                        if not over:
                            for i in range(inputs):
                                room.past[t, i] = room.best[i]
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
                        fits = rule.learn_random or room.spoilt[k] == 0
                        if rule.learns and room.length[k] > 0 and fits and (rule.final or k == last):
                            learn(table, room, rule, k, (room.scores[k] - middle) / half - room.earlier[k], 0)
            return made

        return kernel

    def feature_judge(game: Game) -> Function:
        """The value and the features after every move in a position, for the seat to move; nan where the game ends."""
        turn, legal, play, score = game.turn, game.legal, game.play, game.score
        (middle, half), bounded = scale(game), game.bounded

        def kernel(table: Any, room: Any, squashes: int, gamma: float, values: Any, inputs: Any) -> int:
            s, after = room.states[0], room.states[1]
            t = turn(s)
            n = legal(s, room.moves)
            for k in range(n):
                copy(room.states[1:2], room.states[0:1])
                play(after, room.moves[k])
                over = turn(after) == OVER
                value = 0.0
                if over or not bounded:
                    score(after, room.scores)
                    value = (room.scores[t] - middle) / half
                if over:
                    for i in range(inputs.shape[1]):
                        inputs[k, i] = math.nan
                else:
                    fill(after, t, inputs[k])
                    value += gamma * output(table, t * room.slopes.shape[0], inputs[k], room.units, squashes)
                values[k] = middle + half * value
            return int(n)

        return kernel

    return Kernels(feature_episodes, feature_judge)
