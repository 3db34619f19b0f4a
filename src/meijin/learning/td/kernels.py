"""Self-play that learns, compiled for each game: TD(lambda) over afterstates, SARSA and Q-learning.

Every seat learns from its own experience: the value of an afterstate it made follows that of the next one it makes, or
the final score. So any number of seats can learn, with chance or without.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meijin.core.compile import Function, inlined
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import copy, picker
from meijin.core.rng import below, uniform
from meijin.learning.td.room import ACCUMULATING, DELAYED, ENDS, EXP, GONE, KEPT, NONE, REPLACING, TD, Q, scale
from meijin.learning.td.weigh import (
    choose,
    differ,
    follow,
    index,
    make_look,
    make_place,
    make_weigh,
    replace,
    shift,
    squash,
    total,
)


@inlined
def _adjust(table: Any, rule: Any, weights: Any, change: float) -> None:
    """Change each of some weights."""
    if rule.coherence == NONE:
        for f in range(weights.shape[0]):
            table[weights[f], 0] += rule.alpha * change
        return
    for f in range(weights.shape[0]):
        i = weights[f]
        rate = 1.0
        if table[i, 2] > 0.0:
            rate = abs(table[i, 1]) / table[i, 2]
            if rule.coherence == EXP:
                rate = math.exp(rule.beta * (rate - 1.0))
        table[i, 0] += rule.alpha * rate * change
        table[i, 1] += change
        table[i, 2] += abs(change)


@inlined
def _adjust_left(table: Any, rule: Any, weights: Any, change: float) -> None:
    """The same where `replace` has left some."""
    for f in range(weights.shape[0]):
        if weights[f] != GONE:
            _adjust(table, rule, weights[f : f + 1], change)


def _make_adapt(game: Game, traces: int) -> Function:
    seats = game.seats

    @inlined
    def adapt(table: Any, room: Any, rule: Any, seat: int, target: float) -> None:
        """Move the value of a seat's latest position towards a target, and the earlier ones by their traces."""
        reach = room.past.shape[1]
        slot = (room.length[seat] - 1) % reach
        value = total(table, room.past[seat, slot], np.uint64(0))
        if rule.squashes:
            value = squash(value)
            room.slopes[seat, slot] = 1.0 - value * value
        error = target - value
        room.totals[seats] += error * error
        room.totals[seats + 1] += 1.0
        for back in range(min(room.length[seat], reach)):
            slot = (room.length[seat] - 1 - back) % reach
            if traces == DELAYED:
                room.owed[seat, slot] += error
                if back == reach - 1:  # no later error reaches it
                    _settle(table, room, rule, seat, slot)
            elif traces == REPLACING and back > 0:
                _adjust_left(table, rule, room.past[seat, slot], error * room.slopes[seat, slot])
            else:
                _adjust(table, rule, room.past[seat, slot], error * room.slopes[seat, slot])
            error *= rule.trace * rule.gamma

    return adapt


@inlined
def _settle(table: Any, room: Any, rule: Any, seat: int, slot: int) -> None:
    """Have a position learn what it is owed."""
    if room.owed[seat, slot] != 0.0:
        _adjust(table, rule, room.past[seat, slot], room.owed[seat, slot] * room.slopes[seat, slot])
        room.owed[seat, slot] = 0.0


def _rehearse(
    table: Any,
    rule: Any,
    memory: Any,
    facts: Any,
    filled: Any,
    rng: Any,
    past: Any,
    then: Any,
    reward: float,
    more: float,
) -> None:
    """Remember a position and the one that followed (`more`: 1 if the game went on), and learn some others again."""
    k = filled[1]
    for f in range(past.shape[0]):
        memory[k, 0, f] = past[f]
        memory[k, 1, f] = then[f]
    facts[k, 0], facts[k, 1] = reward, more
    filled[1] = (k + 1) % memory.shape[0]
    filled[0] = max(filled[0], k + 1)
    for _ in range(rule.replay):
        k = below(rng, filled[0])
        value, next_value = 0.0, 0.0
        for f in range(past.shape[0]):
            value += table[memory[k, 0, f], 0]
            next_value += table[memory[k, 1, f], 0]
        slope = 1.0
        if rule.squashes:
            value, next_value = squash(value), squash(next_value)
            slope = 1.0 - value * value
        error = facts[k, 0] + facts[k, 1] * rule.gamma * next_value - value
        _adjust(table, rule, memory[k, 0], error * slope)


def episodes(game: Game) -> Function:
    """Plays games from the start, and others on the way, and learns from them; returns the moves made.

    Final scores are added up, of games from the start only; so are games counted.
    """
    return _episodes(game, ACCUMULATING)


def replacing_episodes(game: Game) -> Function:
    """The same with replacing traces; a kernel of its own, as the other one would lose speed."""
    return _episodes(game, REPLACING)


def delayed_episodes(game: Game) -> Function:
    """The same with delayed traces."""
    return _episodes(game, DELAYED)


EPISODES = episodes, replacing_episodes, delayed_episodes  # by kind of traces


def _episodes(game: Game, traces: int) -> Function:
    begin, turn, legal, play, score, look = game.start, game.turn, game.legal, game.play, game.score, make_look(game)
    pick, weigh, adapt, place = picker(game), make_weigh(game), _make_adapt(game, traces), make_place(game)
    (middle, half), bounded, seats, count = scale(game), game.bounded, game.seats, len(game.board.cells)

    @inlined
    def remember(table: Any, room: Any, rule: Any, seat: int, reward: float, more: float) -> None:
        past = room.past[seat, (room.length[seat] - 1) % room.past.shape[1]]
        _rehearse(table, rule, room.memory, room.facts, room.filled, room.rng, past, room.best, reward, more)

    @inlined
    def forget(table: Any, room: Any, rule: Any, seat: int) -> None:
        """No later error reaches this seat's positions."""
        if traces == DELAYED:
            reach = room.past.shape[1]
            for at in range(max(0, room.length[seat] - reach), room.length[seat]):
                _settle(table, room, rule, seat, at % reach)
        room.length[seat] = 0

    def kernel(layout: Any, table: Any, room: Any, rule: Any, games: int) -> int:
        made = 0
        reach = room.past.shape[1]
        s, rng, moves = room.states[0], room.rng, room.moves
        done = 0
        while done < games:
            begin(s)
            again, length = False, 0
            if rule.restarts > 0.0 and room.filled[3] > 0 and uniform(rng) < rule.restarts:
                kept = below(rng, room.filled[3])
                copy(room.states[0:1], room.kept[kept : kept + 1])
                again, length = True, (kept + 1) * rule.every
            for k in range(seats):
                room.spoilt[k] = 0
                room.earlier[k] = 0.0
            t = turn(s)
            if rule.random_plies > 0 and not again:
                for _ in range(below(rng, rule.random_plies + 1)):
                    if t != OVER:
                        play(s, pick(s, t, rng, moves, room.probs))
                        t = turn(s)
            last, view, first_moves = -1, -1, 0 if again else rule.first_moves
            while t != OVER and length < rule.cap:
                if t == CHANCE:
                    play(s, pick(s, t, rng, moves, room.probs))
                    t = turn(s)
                    continue
                if rule.restarts > 0.0 and length > 0 and length % rule.every == 0 and length <= KEPT * rule.every:
                    kept = length // rule.every
                    copy(room.kept[kept - 1 : kept], room.states[0:1])
                    room.filled[3] = max(room.filled[3], kept)
                n = legal(s, moves)
                if first_moves:
                    first_moves = 0
                    play(s, moves[room.filled[2] % n])
                    room.filled[2] += 1
                    t = turn(s)
                    continue
                look(s, room.next)
                if view != layout.views[t]:
                    view = layout.views[t]
                    index(layout, view, room.next, room.now)
                else:
                    for i in range(differ(room)):
                        c = room.changed[i]
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
                weigh(layout, table, room, rule.kind, rule.squashes, rule.gamma, t, start, first, end)
                best, chosen, ties = room.values[first], first, 1
                for k in range(first + 1, end):
                    if room.values[k] > best:
                        best, chosen, ties = room.values[k], k, 1
                    elif room.values[k] == best:
                        ties += 1
                        if below(rng, ties) == 0:
                            chosen = k
                greedy = chosen
                if random:
                    chosen = drawn
                # ---- learn ----
                if rule.learns:
                    if rule.kind == TD and not rule.learn_random and (random or room.spoilt[t] != 0):
                        forget(table, room, rule, t)
                    elif room.length[t] > 0:
                        adapt(table, room, rule, t, best - room.earlier[t])
                        if rule.replay > 0:
                            more = 0.0
                            if room.count[greedy] != ENDS:
                                choose(room, greedy, room.best)
                                more = 1.0
                            remember(table, room, rule, t, room.so_far[greedy] - room.earlier[t], more)
                    if random:
                        if rule.kind == Q:
                            forget(table, room, rule, t)
                        for k in range(seats):
                            room.spoilt[k] = 1
                    room.spoilt[t] = 0
                    if room.count[chosen] == ENDS:
                        forget(table, room, rule, t)  # this position needs no estimate
                    else:
                        slot = room.length[t] % reach
                        choose(room, chosen, room.past[t, slot])
                        room.slopes[t, slot] = 1.0
                        room.length[t] += 1
                        if traces == REPLACING:
                            replace(room.past[t], slot, min(room.length[t], reach), rule.group, GONE, 0, 1)
                        room.earlier[t] = 0.0 if bounded else room.so_far[chosen]
                play(s, moves[chosen])
                if rule.kind == TD and room.count[chosen] != ENDS:  # only what chance or others change is left to do
                    follow(room, chosen)
                    look(s, room.base)
                last = t
                made += 1
                length += 1
                t = turn(s)
            if t == OVER:
                score(s, room.scores)
                for k in range(seats):
                    if not again:
                        room.totals[k] += room.scores[k]
                    fits = rule.kind != TD or rule.learn_random or room.spoilt[k] == 0
                    if rule.learns and room.length[k] > 0 and fits and (rule.final or k == last):
                        gained = (room.scores[k] - middle) / half - room.earlier[k]
                        adapt(table, room, rule, k, gained)
                        if rule.replay > 0:
                            remember(table, room, rule, k, gained, 0.0)
            for k in range(seats):
                forget(table, room, rule, k)
            done += 0 if again else 1
        return made

    return kernel


def make_enter(game: Game) -> Function:
    """`enter(layout, room)`: prepare a room to weigh the moves of its position; returns the seat and its weights."""
    turn, look, place = game.turn, make_look(game), make_place(game)

    @inlined
    def enter(layout: Any, room: Any) -> Any:
        t = turn(room.states[0])
        look(room.states[0], room.base)
        index(layout, layout.views[t], room.base, room.now)
        room.known[0] = 0.0
        return t, place(layout, t, room.base)

    return enter


def judge(game: Game) -> Function:
    """The value of every move in a position, for the seat to move; returns how many moves there are."""
    legal, weigh, enter = game.legal, make_weigh(game), make_enter(game)
    middle, half = scale(game)

    def kernel(layout: Any, table: Any, room: Any, kind: int, squashes: int, gamma: float, values: Any) -> Any:
        t, start = enter(layout, room)
        n = legal(room.states[0], room.moves)
        weigh(layout, table, room, kind, squashes, gamma, t, start, 0, n)
        for k in range(n):
            values[k] = middle + half * room.values[k]
        return n

    return kernel


def explain(game: Game) -> Function:
    """What each feature adds to the value of one move, before tanh; false for a move that ends the game."""
    weigh, enter = make_weigh(game), make_enter(game)

    def kernel(layout: Any, table: Any, room: Any, kind: int, move: int, parts: Any) -> bool:
        t, start = enter(layout, room)
        room.moves[0] = move
        weigh(layout, table, room, kind, 0, 1.0, t, start, 0, 1)
        if room.count[0] == ENDS:
            return False
        choose(room, 0, room.best)
        for f in range(parts.shape[0]):
            parts[f] = table[room.best[f], 0]
        return True

    return kernel
