"""Self-play that learns on a GPU: what `kernels.episodes` does, with the 32 threads of a warp for each game.

All threads of a warp follow its game. They try its moves side by side, one each; then they share out the features, and
each looks up and changes the weights of its own.

Thousands of games learn at the same moment. Where many of them change the same weight at once, each is right to change
it but all together would go much too far: the steps of a weight are divided by the number of features, in all games,
that visit it at a time, if that is more than one. Weights of rare positions learn as on a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from meijin.core import cuda as device
from meijin.core import cuda_rows
from meijin.core.compile import Function
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import copy, picker
from meijin.core.rng import below, uniform
from meijin.learning.td.gpu_lookup import LANES, make_index, make_look_up, rest, sum_of_lanes
from meijin.learning.td.room import DELAYED, EXP, KEPT, NONE, REPLACING, scale
from meijin.learning.td.weigh import make_look, make_place, replace, squash

REGISTERS = 128  # of each
WARPS = 16  # that share a multiprocessor then
SHARED = 48_000  # bytes of shared memory for each game, just below the most that a block may declare
LISTING = 16_000  # of these for listing moves, at most
FAST = 228 * 1024  # bytes that a multiprocessor divides between shared memory and its cache
SYSTEM = 1024  # of these that each block takes for itself
WEIGHT, SIGNED, ABSOLUTE, VISITS = range(4)  # columns of the table
LAST, PLIES, BEGUN, LEFT, KNOWN, AGAIN, FACTS = range(7)  # of `Games.facts`, and how many there are
FADED = 0.25  # the share of the visits that still count after they have faded
GONE = np.uint32(2**32 - 1)  # in `Games.past`, instead of a weight whose trace was replaced
FRESH = -2  # as the last seat that moved: the game has not begun

cuda: Any = None  # numba.cuda, once a kernel is made; kernels name it so for the simulator's sake


class Games(NamedTuple):
    """The games in flight, each with what a `Room` has."""

    states: Any  # records [game]
    past: Any  # uint32 [game, seat, reach, feature]: the weights of positions that an error reaches
    slopes: Any  # float64 [game, seat, reach]
    owed: Any  # float64 [game, seat, reach]
    length: Any  # int64 [game, seat]
    spoilt: Any  # int64 [game, seat]
    earlier: Any  # float64 [game, seat]
    # int64 [game, 6]: the last seat that moved, moves made, first moves, games left to play (-1: no end), positions
    # kept, 1 if it began at one of them
    facts: Any
    kept: Any  # records [game * KEPT]: as in a `Room`
    rng: Any  # uint64 [game, 1]
    totals: Any  # float64 [game, seat + 4]: scores, squared errors, errors, games that ended, moves


@cache
def learner(traces: int, features: int, entries: int, values: int) -> Callable[[Game], Function]:
    """The maker of a kernel for traces of that kind and a `Lookup` of that shape: what is known is unrolled.

    Block g, of one warp, plays game g for so many moves, or until none is left to play, and learns from it.
    `table` is float32 [weight, 4]. `steps`: the moves each game has made since visits are counted.
    """

    def make(game: Game) -> Function:
        return _learner(game, traces, features, entries, values)

    return make


def _learner(game: Game, traces: int, features: int, entries: int, values: int) -> Function:
    global cuda  # noqa: PLW0603
    cuda = device.module()
    begin, turn, legal, play, score, look = game.start, game.turn, game.legal, game.play, game.score, make_look(game)
    pick, place = picker(game), make_place(game)
    (middle, half), bounded, seats, cells = scale(game), game.bounded, game.seats, len(game.board.cells)
    record, most_moves, most_odds = device.sizes(game)
    columns = LANES + 1
    width = min(LANES, -(-min(most_moves, game.num_moves) // 4) * 4)  # moves that are tried side by side
    listing = 4 * most_moves + 8 * most_odds
    listed = listing <= LISTING  # moves are listed in shared memory, which leaves the cache to the tables of features
    each = 2 * cells + 8 * columns + 20 + game.dtype.itemsize  # bytes for each of these moves
    while width > 4 and width * each + listed * listing > SHARED:
        width -= 4
    shared = WARPS * (width * each + listed * listing + SYSTEM)
    area = width * cells
    index = make_index(cells, features, entries, values)

    if device.simulated():

        def weight(table: Any, i: Any) -> Any:
            return table[i, WEIGHT]

        def load(table: Any, i: Any) -> Any:
            return table[i, WEIGHT], table[i, SIGNED], table[i, ABSOLUTE], table[i, VISITS]

    else:
        load = cuda_rows.loader()

        def weight(table: Any, i: Any) -> Any:
            """As it is now: a multiprocessor's own cache does not see what others change."""
            return cuda.ldcg(table, (i, np.uint64(WEIGHT)))

    look_up = make_look_up(weight, cells, features, entries, values)
    if cuda_rows.adds():
        add = cuda_rows.adder()
    else:

        def add(table: Any, i: Any, weight: Any, signed: Any, absolute: Any, visits: Any) -> None:
            cuda.atomic.add(table, (i, WEIGHT), weight)
            cuda.atomic.add(table, (i, SIGNED), signed)
            cuda.atomic.add(table, (i, ABSOLUTE), absolute)
            if visits != 0:
                cuda.atomic.add(table, (i, VISITS), visits)

    def size(rule: Any, signed: Any, absolute: Any, visits: Any, steps: Any) -> Any:
        """The step size of a weight with that coherence that was visited so often."""
        found = np.float32(rule.alpha)
        if rule.coherence != NONE and absolute > 0.0:
            ratio = abs(signed) / absolute
            if rule.coherence == EXP:
                ratio = np.float32(math.exp(rule.beta * (ratio - 1.0)))
            found *= ratio
        return found / max(np.float32(1.0), visits / steps)

    def change(table: Any, rule: Any, past: Any, slot: int, much: float, visits: float, lane: int, steps: Any) -> None:
        """This thread's part of the weights of a position, which have been visited once more or not."""
        by, more = np.float32(much), np.float32(visits)
        seen = by if rule.coherence != NONE else np.float32(0.0)
        for f in range(lane, features, 2 * LANES):  # two weights arrive together
            other = f + LANES if f + LANES < features else f
            i, j = np.uint64(past[slot, f]), np.uint64(past[slot, other])
            first, second = other != f, True
            if traces == REPLACING:
                first, second = first and i != GONE, j != GONE
                i, j = i if i != GONE else np.uint64(0), j if j != GONE else np.uint64(0)
            _, signed0, absolute0, visits0 = load(table, i)
            _, signed1, absolute1, visits1 = load(table, j)
            if first:
                step = size(rule, signed0, absolute0, visits0 + more, steps)
                add(table, i, step * by, seen, abs(seen), more)
            if second:
                step = size(rule, signed1, absolute1, visits1 + more, steps)
                add(table, j, step * by, seen, abs(seen), more)

    def adapt(
        table: Any,
        rule: Any,
        past: Any,
        slopes: Any,
        owed: Any,
        length: int,
        parts: Any,
        lane: int,
        target: float,
        steps: Any,
    ) -> Any:
        """Move the value of a seat's latest position towards a target, the earlier ones by their traces; the error.

        With delayed traces they are only told of it.
        """
        reach = past.shape[0]
        slot = rest(length - 1, reach)
        x = 0.0
        for f in range(lane, features, LANES):
            x += weight(table, np.uint64(past[slot, f]))
        parts[0, lane] = x
        cuda.syncthreads()
        value = sum_of_lanes(parts, 0)
        if rule.squashes:
            value = squash(value)
            slopes[slot] = 1.0 - value * value
        error = target - value
        share, visits = error, 1.0
        for back in range(min(length, reach)):
            if traces != DELAYED:
                change(table, rule, past, slot, share * slopes[slot], visits, lane, steps)
            elif lane == back % LANES:
                owed[slot] += share
            share *= rule.trace * rule.gamma
            visits = 0.0
            slot = slot - 1 if slot > 0 else reach - 1
        cuda.syncthreads()
        return error

    def settle(
        table: Any, rule: Any, past: Any, slopes: Any, owed: Any, slot: Any, count: int, lane: int, steps: Any
    ) -> None:
        """Have so many positions from that one on learn what they are owed."""
        for _ in range(count):
            if owed[slot] != 0.0:
                change(table, rule, past, slot, owed[slot] * slopes[slot], 1.0, lane, steps)
            cuda.syncthreads()
            if lane == 0:
                owed[slot] = 0.0
            slot = slot + 1 if slot + 1 < past.shape[0] else 0
        cuda.syncthreads()

    def kernel(lookup: Any, table: Any, games: Any, rule: Any, moves_each: int, steps: float) -> None:
        g, lane = cuda.blockIdx.x, cuda.threadIdx.x
        seen = cuda.shared.array(area, np.int16)  # the cells of these positions, one after the other
        at = cuda.shared.array(width, np.uint64)
        so_far = cuda.shared.array(width, np.float64)
        ended = cuda.shared.array(width, np.int32)
        parts = cuda.shared.array((width, columns), np.float64)  # the last column: the value
        after = cuda.shared.array(width, record)  # the positions after these moves
        own = cuda.local.array(1, record)
        if listed:  # all threads write the same, and wait for each other before something else is written
            moves, probs = cuda.shared.array(most_moves, np.int32), cuda.shared.array(most_odds, np.float64)
        else:
            moves, probs = cuda.local.array(most_moves, np.int32), cuda.local.array(most_odds, np.float64)
        scores, sums = cuda.local.array(seats, np.float64), cuda.local.array(seats, np.float64)
        length, spoilt = cuda.local.array(seats, np.int64), cuda.local.array(seats, np.int64)
        earlier = cuda.local.array(seats, np.float64)
        rng = cuda.local.array(1, np.uint64)
        copy(own, games.states[g : g + 1])
        s, mine = own[0], min(lane, width - 1)
        then = after[mine]
        rng[0] = games.rng[g, 0]
        for k in range(seats):
            length[k], spoilt[k], earlier[k] = games.length[g, k], games.spoilt[g, k], games.earlier[g, k]
            sums[k] = 0.0
        last, plies, begun, left = (
            games.facts[g, LAST],
            games.facts[g, PLIES],
            games.facts[g, BEGUN],
            games.facts[g, LEFT],
        )
        known, again = games.facts[g, KNOWN], games.facts[g, AGAIN]
        squares, errors, done, made = 0.0, 0.0, 0, 0
        for j in range(lane, width, LANES):
            at[j] = 0
            for c in range(j * cells, (j + 1) * cells):
                seen[c] = 0
        cuda.syncthreads()
        reach = games.past.shape[2]
        while made < moves_each and (last != FRESH or left != 0):
            if last == FRESH:
                begin(s)
                again, plies = 0, 0
                if rule.restarts > 0.0 and known > 0 and uniform(rng) < rule.restarts:
                    row = below(rng, known)
                    copy(own, games.kept[g * KEPT + row : g * KEPT + row + 1])
                    again, plies = 1, (row + 1) * rule.every
                t = turn(s)
                if rule.random_plies > 0 and not again:
                    for _ in range(below(rng, rule.random_plies + 1)):
                        if t != OVER:
                            play(s, pick(s, t, rng, moves, probs))
                            t = turn(s)
                        cuda.syncthreads()
                if rule.first_moves and not again:
                    while t == CHANCE:
                        play(s, pick(s, t, rng, moves, probs))
                        t = turn(s)
                        cuda.syncthreads()
                    if t != OVER:
                        n = legal(s, moves)
                        play(s, moves[begun % n])
                        begun += 1
                        cuda.syncthreads()
                for k in range(seats):
                    spoilt[k], earlier[k] = 0, 0.0
                last = -1
            t = turn(s)
            while t == CHANCE and plies < rule.cap:  # chance has no part in a game that is broken off
                play(s, pick(s, t, rng, moves, probs))
                t = turn(s)
                cuda.syncthreads()
            ends = t == OVER or plies >= rule.cap
            if ends:
                score(s, scores)
                for k in range(seats):
                    sums[k] += scores[k] if t == OVER and not again else 0.0
            else:
                if rule.restarts > 0.0 and plies > 0 and rest(plies, rule.every) == 0 and plies <= KEPT * rule.every:
                    known = max(known, plies // rule.every)
                    if lane == 0:
                        row = g * KEPT + plies // rule.every - 1
                        copy(games.kept[row : row + 1], own)
                n = legal(s, moves)
                first, end = 0, n
                random = rule.learns != 0 and rule.epsilon > 0.0 and uniform(rng) < rule.epsilon
                if random:
                    first = below(rng, n)
                    end = first + 1
                # ---- choose ----
                best, chosen, ties, gained, over, base = 0.0, first, 0, 0.0, 0, first
                for base in range(first, end, width):
                    count = min(width, end - base)
                    if lane < count:
                        copy(after[mine : mine + 1], own)
                        play(then, moves[base + lane])
                        ended[lane] = 1 if turn(then) == OVER else 0
                        so_far[lane] = 0.0
                        if ended[lane] or not bounded:
                            score(then, scores)
                            so_far[lane] = (scores[t] - middle) / half
                        if not ended[lane]:
                            look(then, seen[mine * cells : (mine + 1) * cells])
                            at[lane] = place(lookup, t, seen[mine * cells : (mine + 1) * cells])
                    cuda.syncthreads()
                    look_up(lookup, table, lookup.views[t], seen, at, parts, count, lane)
                    cuda.syncthreads()
                    if lane < count:
                        value = so_far[lane]
                        if not ended[lane]:
                            x = sum_of_lanes(parts, lane)
                            value = rule.gamma * (squash(x) if rule.squashes else x) + (0.0 if bounded else value)
                        parts[lane, LANES] = value
                    cuda.syncthreads()
                    for j in range(count):
                        value = parts[j, LANES]
                        better = ties == 0 or value > best
                        if better:
                            ties = 0
                        if better or value == best:
                            ties += 1
                            if better or below(rng, ties) == 0:
                                chosen, gained, over = base + j, so_far[j], ended[j]
                            best = value
                    cuda.syncthreads()
            # ---- learn ----
            if rule.learns:
                now = np.float32(steps + made)
                for k in range(0 if ends else t, seats if ends else t + 1):
                    if ends:
                        learned = t == OVER and (rule.learn_random or spoilt[k] == 0) and (rule.final or k == last)
                        target = (scores[k] - middle) / half - earlier[k]
                    else:
                        learned = rule.learn_random or not (random or spoilt[k] != 0)
                        target = best - earlier[k]
                    goes_on = learned and not ends and not over  # or the next position needs no estimate
                    past, slopes, owed, held = games.past[g, k], games.slopes[g, k], games.owed[g, k], length[k]
                    if learned and held > 0:
                        error = adapt(table, rule, past, slopes, owed, held, parts, lane, target, now)
                        squares += error * error
                        errors += 1.0
                    if traces == DELAYED:  # no later error reaches the earliest position, or any of them
                        first = rest(held, reach) if held >= reach else 0
                        count = min(held, reach) if not goes_on else 1 if held >= reach else 0
                        settle(table, rule, past, slopes, owed, first, count, lane, now)
                    if not goes_on:
                        length[k] = 0
            if ends:
                done += 0 if again else 1
                left -= 1 if left > 0 else 0
                last = FRESH
                continue
            if random:
                for k in range(seats):
                    spoilt[k] = 1
            spoilt[t] = 0
            row = chosen - base  # the move was tried there, if it was one of the last
            if row < 0:
                row = 0
                if lane == 0:
                    copy(after, own)
                    play(then, moves[chosen])
                    if not over:
                        look(then, seen[:cells])
                        at[0] = place(lookup, t, seen[:cells])
                cuda.syncthreads()
            copy(own, after[row : row + 1])
            if rule.learns and not over:
                slot = rest(length[t], reach)
                for f in range(lane, features, LANES):
                    games.past[g, t, slot, f] = at[row] + index(lookup, lookup.views[t], seen, row, f)
                games.slopes[g, t, slot] = 1.0
                length[t] += 1
                earlier[t] = 0.0 if bounded else gained
            cuda.syncthreads()
            if traces == REPLACING and rule.learns and not over:
                slot, count = rest(length[t] - 1, reach), min(length[t], reach)
                replace(games.past[g, t], slot, count, rule.group, GONE, lane, LANES)
                cuda.syncthreads()
            last = t
            plies += 1
            made += 1
        if lane == 0:
            copy(games.states[g : g + 1], own)
            games.rng[g, 0] = rng[0]
            for k in range(seats):
                games.length[g, k], games.spoilt[g, k], games.earlier[g, k] = length[k], spoilt[k], earlier[k]
                games.totals[g, k] += sums[k]
            games.facts[g, LAST], games.facts[g, PLIES], games.facts[g, BEGUN], games.facts[g, LEFT] = (
                last,
                plies,
                begun,
                left,
            )
            games.facts[g, KNOWN], games.facts[g, AGAIN] = known, again
            games.totals[g, seats] += squares
            games.totals[g, seats + 1] += errors
            games.totals[g, seats + 2] += done
            games.totals[g, seats + 3] += made

    kernel.registers = REGISTERS  # type: ignore[attr-defined]
    kernel.shared = min(100, math.ceil(100 * shared / FAST))  # type: ignore[attr-defined]
    return kernel


def fading(game: Game) -> Function:
    """Have the visits of every weight count less from now on."""

    def kernel(table: Any) -> None:
        for i in range(cuda.grid(1), table.shape[0], cuda.gridsize(1)):
            table[i, VISITS] *= np.float32(FADED)

    return kernel


def promoting(game: Game) -> Function:
    """Have weights of a stage that have learned nothing yet be those of the stage before."""
    global cuda  # noqa: PLW0603
    cuda = device.module()

    def kernel(table: Any, begin: int, size: int) -> None:
        for i in range(begin + cuda.grid(1), begin + size, cuda.gridsize(1)):
            if table[i, ABSOLUTE] == 0.0:
                table[i, WEIGHT] = table[i - size, WEIGHT]

    return kernel
