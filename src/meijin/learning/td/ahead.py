"""Expectimax over a network's values, in games for one: what moves are worth when some more are looked ahead."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meijin.core.compile import Function
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import copy, no_odds
from meijin.learning.td.kernels import make_enter
from meijin.learning.td.room import TD, scale
from meijin.learning.td.weigh import make_look, make_weigh

SLOTS = 2**16  # of the cache
DEEPEST = 5


class Search(NamedTuple):
    """What a search works with."""

    states: Any  # records [ply]
    moves: Any  # int32 [ply, branching]
    probs: Any  # float64 [ply, branching]
    keys: Any  # uint64 [slot]: the cells of an afterstate and the depth; 0: nothing
    found: Any  # float64 [slot]: what is still to be scored there
    leaves: Any  # int64 [1]: positions whose moves were weighed


def make_search(game: Game) -> Search:
    plies, width = 2 * DEEPEST + 1, game.branching or 1
    return Search(
        states=game.states(plies),
        moves=np.zeros((plies, width), np.int32),
        probs=np.zeros((plies, width)),
        keys=np.zeros(SLOTS, np.uint64),
        found=np.zeros(SLOTS),
        leaves=np.zeros(1, np.int64),
    )


def ahead(game: Game) -> Function:
    """The final score to expect after each move, for the only seat; returns how many moves there are.

    Depth counts the moves looked at, so that 1 asks the network alone. What is still to be scored after a move is kept
    in a cache; positions with equal cells count as equal.
    """
    turn, legal, play, score, odds = game.turn, game.legal, game.play, game.score, game.odds or no_odds
    weigh, enter, look, cells = make_weigh(game), make_enter(game), make_look(game), len(game.board.cells)
    (middle, half), bounded = scale(game), game.bounded

    def best(layout: Any, table: Any, room: Any, search: Any, squashes: int, gamma: float, ply: Any, depth: Any) -> Any:
        """Of the position at `ply`, in which the seat is to move. At the first one, every move's value is written."""
        if depth == 1:
            copy(room.states[0:1], search.states[ply : ply + 1])
            t, start = enter(layout, room)
            n = legal(room.states[0], room.moves)
            weigh(layout, table, room, TD, squashes, gamma, t, start, 0, n)
            search.leaves[0] += 1
            most = room.values[0]
            for k in range(1, n):
                most = max(most, room.values[k])
            return most
        s, after, then = search.states[ply], search.states[ply + 1], search.states[ply + 2]
        n = legal(s, search.moves[ply])
        most = -np.inf
        for k in range(n):
            copy(search.states[ply + 1 : ply + 2], search.states[ply : ply + 1])
            play(after, search.moves[ply, k])
            score(after, room.scores)
            value = (room.scores[0] - middle) / half
            t = turn(after)
            if t != OVER:
                so_far = 0.0 if bounded else value
                look(after, room.next)
                key = np.uint64(depth) * np.uint64(0x9E3779B97F4A7C15)
                for c in range(cells):
                    key = (key ^ np.uint64(room.next[c])) * np.uint64(0x9E3779B97F4A7C15)
                    key ^= key >> np.uint64(29)
                slot = np.int64(key % np.uint64(SLOTS))
                if search.keys[slot] != key:
                    later = 0.0
                    if t == CHANCE:
                        m = odds(after, search.moves[ply + 1], search.probs[ply + 1])
                        for j in range(m):
                            copy(search.states[ply + 2 : ply + 3], search.states[ply + 1 : ply + 2])
                            play(then, search.moves[ply + 1, j])
                            if turn(then) == OVER:
                                score(then, room.scores)
                                worth = (room.scores[0] - middle) / half
                            else:
                                worth = best(layout, table, room, search, squashes, gamma, ply + 2, depth - 1)
                            later += search.probs[ply + 1, j] * worth
                    else:
                        copy(search.states[ply + 2 : ply + 3], search.states[ply + 1 : ply + 2])
                        later = best(layout, table, room, search, squashes, gamma, ply + 2, depth - 1)
                    search.keys[slot], search.found[slot] = key, gamma * (later - so_far)
                value = so_far + search.found[slot]
            if ply == 0:
                search.probs[0, k] = value
            most = max(most, value)
        return most

    best.recursive = True  # type: ignore[attr-defined]

    def kernel(
        layout: Any, table: Any, room: Any, search: Any, squashes: int, gamma: float, depth: int, values: Any
    ) -> Any:
        search.leaves[0] = 0
        best(layout, table, room, search, squashes, gamma, np.int64(0), np.int64(depth))
        for k in range(values.shape[0]):
            values[k] = middle + half * (search.probs[0, k] if depth > 1 else room.values[k])
        return values.shape[0]

    return kernel
