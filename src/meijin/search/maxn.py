"""MaxN and Expectimax: full-width search for any number of seats, with or without chance.

Every position's value is a vector, one score per seat. Whoever moves takes the child best for itself; chance takes the
mean of its outcomes. Depth counts the moves of seats; chance comes free. Among equal values a shorter win and a longer
loss are better, and then the first move.

The table is never cleared: an entry holds for its position and depth whatever came before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from meijin.core import kernels
from meijin.core.agent import Agent, Analysis, Limit, MoveInfo
from meijin.core.compile import Function
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import copy, no_odds, stopped
from meijin.core.options import between
from meijin.core.records import Record
from meijin.core.state import State
from meijin.search.hashing import keyer, table_size, words
from meijin.search.pace import Pace


class Work(NamedTuple):
    """All that one search reads and writes. A ply is a move or a chance outcome below the root."""

    states: Any  # [ply]
    raw: Any  # [ply, word]: the same memory
    values: Any  # [ply, seat]: what was found there
    lengths: Any  # [ply]: plies to the end of the best line, on average
    exact: Any  # [ply]: whether no estimate decided the value
    moves: Any  # [ply, branching]
    probs: Any  # [ply, branching]
    table: Any  # [slot]
    info: Any
    stop: Any  # [1]: set by a clock


NODES, STOPPED, MOST_NODES = 0, 1, 2  # slots of `info`; the last is the limit at which the search stops
LIMIT, ROOM = 1, 2  # why it stopped: a limit, or a line had more plies than there was room for
MAX_DEPTH = 200
NO_LIMIT = 2**62  # of nodes


def slot_dtype(seats: int) -> np.dtype[Any]:
    fields: list[Any] = [
        ("key", "u8"),
        ("values", "f8", (seats,)),
        ("length", "f8"),
        ("move", "i4"),
        ("plies", "i2"),  # depth + 1; 0: an empty slot
        ("exact", "i1"),
    ]
    return np.dtype((Record, np.dtype(fields, align=True)))


def searcher(game: Game) -> Function:
    """`search(w, ply, depth)`: value of `w.states[ply]` to `w.values[ply]`; returns the best move, -1 if none moves."""
    turn, legal, play, score, odds = game.turn, game.legal, game.play, game.score, game.odds or no_odds
    estimate = game.heuristic or score
    seats, key_of = game.seats, keyer(game)
    middle = sum(game.score_range) / 2 if game.bounded else math.inf
    top = game.score_range[1]

    def search(w: Any, ply: int, depth: int) -> int:
        w.info[NODES] += 1
        if w.info[NODES] >= w.info[MOST_NODES] or (w.info[NODES] & 1023 == 0 and stopped(w.stop)):
            w.info[STOPPED] = LIMIT
        if w.info[STOPPED] != 0:
            return -1
        s = w.states[ply]
        t = turn(s)
        w.lengths[ply] = 0.0
        w.exact[ply] = 1
        if t == OVER:
            score(s, w.values[ply])
            return -1
        if depth == 0 and t != CHANCE:
            w.exact[ply] = 0
            estimate(s, w.values[ply])
            return -1
        if ply + 1 == w.states.shape[0]:
            w.info[STOPPED] = ROOM
            return -1
        key = key_of(s, w.raw[ply])
        slot = w.table[key & np.uint64(w.table.shape[0] - 1)]
        if slot.key == key and slot.plies == depth + 1:
            for k in range(seats):
                w.values[ply, k] = slot.values[k]
            w.lengths[ply] = slot.length
            w.exact[ply] = slot.exact
            return slot.move
        best_move, best_exact, all_exact = -1, np.int64(0), np.int64(1)
        if t == CHANCE:
            n = odds(s, w.moves[ply], w.probs[ply])
            for k in range(seats):
                w.values[ply, k] = 0.0
        else:
            n = legal(s, w.moves[ply])
        for i in range(n):
            move = w.moves[ply, i]
            copy(w.states[ply + 1 : ply + 2], w.states[ply : ply + 1])
            play(w.states[ply + 1], move)
            search(w, ply + 1, depth if t == CHANCE else depth - 1)
            if w.info[STOPPED] != 0:
                return -1
            length = w.lengths[ply + 1] + 1.0
            all_exact &= w.exact[ply + 1]
            if t == CHANCE:
                for k in range(seats):
                    w.values[ply, k] += w.probs[ply, i] * w.values[ply + 1, k]
                w.lengths[ply] += w.probs[ply, i] * length
            else:
                value, best = w.values[ply + 1, t], w.values[ply, t]
                sooner = length < w.lengths[ply] if value > middle else length > w.lengths[ply] and value < middle
                if best_move < 0 or value > best or (value == best and sooner):
                    best_move, best_exact = move, w.exact[ply + 1]
                    for k in range(seats):
                        w.values[ply, k] = w.values[ply + 1, k]
                    w.lengths[ply] = length
        # A win that no estimate decided stands, whatever the other moves would bring.
        won = t != CHANCE and best_exact != 0 and w.values[ply, t] >= top
        w.exact[ply] = 1 if won else all_exact
        slot.key = key
        slot.plies = depth + 1
        slot.exact = w.exact[ply]
        slot.move = best_move
        slot.length = w.lengths[ply]
        for k in range(seats):
            slot.values[k] = w.values[ply, k]
        return best_move

    search.recursive = True  # type: ignore[attr-defined]
    return search


def follower(game: Game) -> Function:
    """`follow(w, depth, out)`: play on from `w.states[1]` by the table, write the moves to `out`, -1 after the last."""
    turn, play, key_of = game.turn, game.play, keyer(game)

    def follow(w: Any, depth: int, out: Any) -> None:
        n = 0
        while n < out.shape[0] and turn(w.states[1]) >= 0:
            key = key_of(w.states[1], w.raw[1])
            slot = w.table[key & np.uint64(w.table.shape[0] - 1)]
            if slot.key != key or slot.plies != depth - n + 1:
                break
            out[n] = slot.move
            play(w.states[1], slot.move)
            n += 1
        for i in range(n, out.shape[0]):
            out[i] = -1

    return follow


def root(game: Game) -> Function:
    """Search every move of `w.states[0]` to `depth`; row i of each output belongs to move i."""
    play, search, follow, seats = game.play, searcher(game), follower(game), game.seats

    def kernel(w: Any, depth: int, moves: Any, values: Any, lengths: Any, exact: Any, lines: Any) -> None:
        for i in range(moves.shape[0]):
            copy(w.states[1:2], w.states[0:1])
            play(w.states[1], moves[i])
            search(w, np.int64(1), depth - 1)  # a typed 1: a literal would make a second, recursive copy of `search`
            if w.info[STOPPED] != 0:
                return
            for k in range(seats):
                values[i, k] = w.values[1, k]
            lengths[i] = w.lengths[1] + 1.0
            exact[i] = w.exact[1]
            follow(w, depth - 1, lines[i, : depth - 1])

    return kernel


class Found(NamedTuple):
    """What a search to one depth says about every move."""

    values: Any  # [move, seat]
    lengths: Any  # [move]: plies to the end of the line
    exact: Any  # [move]
    lines: Any  # [move, ply]: the continuation, -1 after its end


class MaxN(Agent):
    """Full-width search to a depth, for any game: MaxN, and Expectimax where there is chance."""

    deterministic = True
    measures = ("seconds", "depth", "nodes")

    def __init__(self, depth: int | None = None, seconds: float | None = None, table_mb: float = 64):
        if depth is None and seconds is None:
            depth = 3
        if depth is not None:
            between("depth", depth, 1, MAX_DEPTH)
        self.limit = Limit(seconds=seconds, depth=depth)
        self.table_mb = table_mb
        table_size(table_mb, 8)  # complains about a size that makes no sense
        self._work: tuple[Game, Work] | None = None

    def _prepare(self, game: Game, plies: int) -> Work:
        """Room for lines of that many plies; the table of the last search stays."""
        if self._work is None or self._work[0] is not game or len(self._work[1].states) < plies:
            same = self._work is not None and self._work[0] is game
            dtype = slot_dtype(game.seats)
            table = self._work[1].table if self._work and same else None
            states = game.states(plies)
            moves, probs = kernels.buffers(game)
            self._work = (
                game,
                Work(
                    states,
                    words(states),
                    np.zeros((plies, game.seats)),
                    np.zeros(plies),
                    np.zeros(plies, np.int64),
                    np.zeros((plies, len(moves)), np.int32),
                    np.zeros((plies, len(probs))),
                    np.zeros(table_size(self.table_mb, dtype.itemsize), dtype) if table is None else table,
                    np.zeros(3, np.int64),
                    self.stop_flag,
                ),
            )
        return self._work[1]

    def reseed(self, seed: int) -> None:
        self._work = None

    def release(self) -> None:
        self._work = None

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        game = state.game
        deepest = min(limit.depth or MAX_DEPTH, MAX_DEPTH, game.longest)
        moves = np.array(state.legal_moves, np.int32)
        nodes = 0

        def nothing(depth: int) -> Found:
            count = len(moves)
            return Found(
                np.zeros((count, game.seats)), np.zeros(count), np.zeros(count, np.int64), np.full((count, depth), -1)
            )

        def look(depth: int) -> Found | None:
            """None: it was stopped before."""
            nonlocal nodes
            found, plies = nothing(depth), (2 * depth if game.chance else depth) + 2
            while True:
                work = self._prepare(game, plies)
                work.states[0] = state.record
                work.info[:] = 0, 0, NO_LIMIT if depth == 1 else max(1, (limit.nodes or NO_LIMIT) - nodes)
                game.kernel(root)(work, np.int64(depth), moves, *found)
                nodes += int(work.info[NODES])
                if work.info[STOPPED] != ROOM:
                    return None if work.info[STOPPED] else found
                plies *= 2  # a game with many chance outcomes in a row

        found = look(1) or nothing(1)  # on the first use this compiles, before the clock starts
        depth = 1
        deepening = limit.seconds is not None or limit.nodes is not None or every < math.inf
        with Pace(self, limit.seconds, every, reports=False) as pace:
            for deeper in range(2, deepest + 1) if deepening else range(deepest, deepest + 1):
                if deeper == 1 or found.exact.all() or pace.over:
                    break
                deep = look(deeper)
                if deep is None:
                    break
                found, depth = deep, deeper
                if pace.due():
                    yield _report(state, moves, found, nodes, depth, pace.seconds)
        yield _report(state, moves, found, nodes, depth, pace.seconds)


def _report(state: State, moves: Any, found: Found, nodes: int, depth: int, seconds: float) -> Analysis:
    game, seat = state.game, state.turn
    middle = sum(game.score_range) / 2 if game.bounded else math.inf

    def rank(i: int) -> tuple[float, float, int]:
        value, length = found.values[i, seat], found.lengths[i]
        return -value, length if value > middle else -length if value < middle else 0.0, i

    infos = []
    for i in sorted(range(len(moves)), key=rank):
        line = [int(moves[i]), *(m for m in found.lines[i].tolist() if m >= 0)]
        infos.append(
            MoveInfo(
                game.moves[moves[i]],
                value=tuple(found.values[i].tolist()),
                proven=bool(found.exact[i]),
                pv=tuple(game.moves[m] for m in line),
            )
        )
    best = infos[0]
    won = best.proven and best.value is not None and best.value[seat] >= game.score_range[1]
    return Analysis(
        turn=seat,
        moves=tuple(infos),
        value=best.value,
        proven=bool(won or found.exact.all()),
        nodes=nodes,
        depth=depth,
        seconds=seconds,
    )
