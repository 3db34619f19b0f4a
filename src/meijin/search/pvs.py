"""The kernels of alpha-beta: principal variation search and quiescence, specialised to a game.

Values inside are whole numbers from the view of the seat to move at a node; a child's value is negated if and only if
the other seat moves there.

The table is never cleared, for no entry goes stale: it holds for its position whatever came before. It cuts only at
its own depth, or at a greater one if looking deeper cannot change it: when it is a proven win or loss, or when no line
below reached the horizon. So without quiescence the value is exactly that of a full-width search, and what other
searches left in the table changes the speed and nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meijin.core.compile import Function
from meijin.core.game import OVER, Game
from meijin.core.kernels import copy, stopped
from meijin.core.records import Record
from meijin.search.hashing import keyer

WIN = 1_000_000  # less the plies it takes
UNIT = 100_000  # the best that an estimate can say
PROVEN = WIN - 100_000  # values beyond it are wins
INFINITE = WIN + 1

EXACT, LOWER, UPPER = 0, 1, 2  # what a table entry's value is
# Slots of `info`.
NODES = 0
STOPPED = 1
HORIZON = 2  # whether an estimate was asked for
MOST_NODES = 3  # the number at which the search stops
INFO_SIZE = 4
MOST_HISTORY = 1 << 34  # below the ranks that other reasons give

SLOT = np.dtype(
    (
        Record,
        np.dtype(
            [
                ("key", "u8"),
                ("value", "i4"),  # a win or loss with its distance from here
                ("move", "i4"),  # the best, or the one that cut
                ("depth", "i2"),  # plies searched; 0: an empty slot
                ("bound", "i1"),
                ("open", "i1"),  # whether a greater depth could change the value: a line below reached the horizon
            ],
            align=True,
        ),
    )
)


class Work(NamedTuple):
    """All that one search reads and writes."""

    states: Any  # [ply]
    raw: Any  # [ply, word]: the same memory
    moves: Any  # [ply, branching]
    ranks: Any  # [ply, branching]: what is tried first
    scores: Any  # [2]
    table: Any  # [slot], a power of two
    killers: Any  # [ply, 2]: moves that cut elsewhere at this ply
    history: Any  # [seat, move]: how well a move has cut
    info: Any
    stop: Any  # [1]: set by a clock


def judge(game: Game) -> tuple[Function, Function]:
    """`final(s, seat, ply, scores)` and `estimate(s, seat, scores)`: a position's value as a whole number."""
    score, guess = game.score, game.heuristic or game.score
    low, high = game.score_range
    middle, half = (low + high) / 2, (high - low) / 2

    def final(s: Any, seat: int, ply: int, scores: Any) -> int:
        score(s, scores)
        value = (scores[seat] - middle) / half
        if value >= 1.0:
            return WIN - ply
        if value <= -1.0:
            return ply - WIN
        return round(value * UNIT)

    def estimate(s: Any, seat: int, scores: Any) -> int:
        guess(s, scores)
        return round(min(1.0, max(-1.0, (scores[seat] - middle) / half)) * UNIT)

    return final, estimate


def next_best(moves: Any, ranks: Any, i: int, n: int) -> Any:
    """Bring the highest ranked of the moves from `i` on to place `i` and return it."""
    best = i
    for j in range(i + 1, n):
        if ranks[j] > ranks[best]:
            best = j
    move, rank = moves[best], ranks[best]
    moves[best], ranks[best] = moves[i], ranks[i]
    moves[i], ranks[i] = move, rank
    return move


def tick(w: Any) -> bool:
    """Count a node; True when the search must stop."""
    w.info[NODES] += 1
    if w.info[NODES] >= w.info[MOST_NODES] or (w.info[NODES] & 1023 == 0 and stopped(w.stop)):
        w.info[STOPPED] = 1
    return w.info[STOPPED] != 0


def quiescer(game: Game) -> Function:
    """`quiesce(w, ply, left, alpha, beta)`: the value of `w.states[ply]` once the noisy moves are played out."""
    turn, legal, play, noisy = game.turn, game.legal, game.play, game.noisy
    final, estimate = judge(game)

    if noisy is None:

        def flat(w: Any, ply: int, left: int, alpha: int, beta: int) -> int:
            tick(w)
            return estimate(w.states[ply], turn(w.states[ply]), w.scores)

        return flat

    def quiesce(w: Any, ply: int, left: int, alpha: int, beta: int) -> int:
        if tick(w):
            return 0
        s = w.states[ply]
        me = turn(s)
        best = estimate(s, me, w.scores)
        if left == 0 or best >= beta:
            return best
        n = legal(s, w.moves[ply])
        for i in range(n):
            move = w.moves[ply, i]
            if not noisy(s, move):
                continue
            copy(w.states[ply + 1 : ply + 2], w.states[ply : ply + 1])
            play(w.states[ply + 1], move)
            t = turn(w.states[ply + 1])
            low = max(alpha, best)
            if t == OVER:
                value = final(w.states[ply + 1], me, ply + 1, w.scores)
            elif t == me:
                value = quiesce(w, ply + 1, left - 1, low, beta)
            else:
                value = -quiesce(w, ply + 1, left - 1, -beta, -low)
            if w.info[STOPPED] != 0:
                return 0
            best = max(best, value)
            if best >= beta:
                break
        return best

    quiesce.recursive = True  # type: ignore[attr-defined]
    return quiesce


def known_value(slot: Any, ply: int, depth: int, alpha: int, beta: int) -> int:
    """What a table entry says about its position at this ply and depth; INFINITE if it settles nothing."""
    value = int(slot.value)
    if value > PROVEN:
        value -= ply
    elif value < -PROVEN:
        value += ply
    if slot.depth == depth or (slot.depth < depth and slot.open == 0):
        if slot.bound == EXACT:
            return value
        if (slot.bound == LOWER and value >= beta) or (slot.bound == UPPER and value <= alpha):
            return value
    return INFINITE


def searcher(game: Game) -> Function:
    """`search(w, ply, depth, quiet, alpha, beta)`: the value of `w.states[ply]`, a position where a seat moves."""
    turn, legal, play, noisy = game.turn, game.legal, game.play, game.noisy
    final, key_of, quiesce = judge(game)[0], keyer(game), quiescer(game)
    has_noisy = noisy is not None
    loud = noisy or _never

    def search(w: Any, ply: int, depth: int, quiet: int, alpha: int, beta: int) -> int:
        if depth == 0:
            w.info[HORIZON] = 1
            return quiesce(w, ply, quiet, alpha, beta)
        if tick(w):
            return 0
        s = w.states[ply]
        me = turn(s)
        key = key_of(s, w.raw[ply])
        slot = w.table[key & np.uint64(w.table.shape[0] - 1)]
        known = -1
        if slot.key == key and slot.depth > 0:
            known = slot.move
            value = known_value(slot, ply, depth, alpha, beta)
            if value != INFINITE:
                w.info[HORIZON] |= slot.open
                return value

        n = legal(s, w.moves[ply])
        for i in range(n):
            move = w.moves[ply, i]
            rank = w.history[me, move]
            if move == known:
                rank += np.int64(1) << 40
            elif has_noisy and loud(s, move):
                rank += np.int64(1) << 38
            elif move == w.killers[ply, 0] or move == w.killers[ply, 1]:
                rank += np.int64(1) << 36
            w.ranks[ply, i] = rank

        best, best_move, low = -INFINITE, -1, alpha
        before = w.info[HORIZON]
        w.info[HORIZON] = 0
        for i in range(n):
            move = next_best(w.moves[ply], w.ranks[ply], i, n)
            copy(w.states[ply + 1 : ply + 2], w.states[ply : ply + 1])
            play(w.states[ply + 1], move)
            t = turn(w.states[ply + 1])
            if t == OVER:
                value = final(w.states[ply + 1], me, ply + 1, w.scores)
            else:
                high = beta if i == 0 else low + 1
                while True:  # all but the first move must first show that they are better at all
                    if t == me:
                        value = search(w, ply + 1, depth - 1, quiet, low, high)
                    else:
                        value = -search(w, ply + 1, depth - 1, quiet, -high, -low)
                    if not low < value < beta or high == beta:
                        break
                    high = beta
            if w.info[STOPPED] != 0:
                return 0
            if value > best:
                best, best_move = value, move
                low = max(low, value)
                if value >= beta:
                    w.history[me, move] = min(w.history[me, move] + depth * depth, MOST_HISTORY)
                    if move != w.killers[ply, 0]:
                        w.killers[ply, 1] = w.killers[ply, 0]
                        w.killers[ply, 0] = move
                    break

        slot.key = key
        slot.depth = depth
        slot.move = best_move
        slot.bound = LOWER if best >= beta else EXACT if best > alpha else UPPER
        slot.value = best + ply if best > PROVEN else best - ply if best < -PROVEN else best
        won, lost = best > PROVEN and slot.bound != UPPER, best < -PROVEN and slot.bound != LOWER
        slot.open = 0 if won or lost else w.info[HORIZON]
        w.info[HORIZON] = before | slot.open
        return best

    search.recursive = True  # type: ignore[attr-defined]
    return search


def _never(s: Any, move: int) -> bool:
    return False


def follower(game: Game) -> Function:
    """`follow(w, out)`: play on from `w.states[1]` by the table and write the moves to `out`, -1 after the last."""
    turn, play, key_of = game.turn, game.play, keyer(game)

    def follow(w: Any, out: Any) -> None:
        n = 0
        while n < out.shape[0] and turn(w.states[1]) != OVER:
            key = key_of(w.states[1], w.raw[1])
            slot = w.table[key & np.uint64(w.table.shape[0] - 1)]
            if slot.key != key or slot.depth == 0 or slot.bound == UPPER:  # then no move is known to be good
                break
            out[n] = slot.move
            play(w.states[1], slot.move)
            n += 1
        for i in range(n, out.shape[0]):
            out[i] = -1

    return follow


def root(game: Game) -> Function:
    """Search the moves of `w.states[0]` in their order; returns the index of the best, -1 if time ran out first.

    `values[i]` and the continuation `lines[i]` are exact for the best and, with `every`, for all; else the values of
    the others are upper bounds.
    """
    turn, play = game.turn, game.play
    final, search, follow = judge(game)[0], searcher(game), follower(game)

    def kernel(
        w: Any, depth: int, quiet: int, alpha: int, beta: int, every: bool, moves: Any, values: Any, lines: Any
    ) -> int:
        me = turn(w.states[0])
        best, low = -1, alpha
        first = np.int64(1)  # typed: a literal would make a second, recursive copy of `search`
        for i in range(moves.shape[0]):
            copy(w.states[1:2], w.states[0:1])
            play(w.states[1], moves[i])
            t = turn(w.states[1])
            if every:
                low = -INFINITE
            if t == OVER:
                value = final(w.states[1], me, 1, w.scores)
            else:
                high = beta if i == 0 or every else low + 1
                while True:
                    if t == me:
                        value = search(w, first, depth - 1, quiet, low, high)
                    else:
                        value = -search(w, first, depth - 1, quiet, -high, -low)
                    if not low < value < beta or high == beta:
                        break
                    high = beta
            if w.info[STOPPED] != 0:
                return -1
            values[i] = value
            better = best < 0 or value > values[best]
            if better:
                best = i
            if better or every:
                follow(w, lines[i, : depth - 1])
            low = max(low, value)
            if value >= beta:
                break
        return best

    return kernel
