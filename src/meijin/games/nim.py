"""Nim: take stones from one heap; the last stone decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from meijin.core.boards import heaps as heaps_board
from meijin.core.boards import letters
from meijin.core.catalogue import game
from meijin.core.errors import BadParameter
from meijin.core.game import OVER, Game
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below


@game("nim", title="Nim")
def nim(heaps: Sequence[int] = (1, 3, 5, 7), players: Annotated[int, Range(2, 16)] = 2, misere: bool = False) -> Game:
    """Take one or more stones from the top of one heap: "b3" takes stone b3 and all above it.

    Who takes the last stone wins, or with `misere` loses. That seat scores +1 (`misere`: -1) and the others share
    the opposite equally: -1/(players-1) each (`misere`: +1/(players-1)). So two players score +1 and -1, the
    scores of any number of players add up to 0, and an average above 0 always means better than one's share.
    """
    if not isinstance(heaps, tuple | list) or not 1 <= len(heaps) <= 64:
        raise BadParameter(f"heaps={heaps!r}: give the sizes of 1 to 64 heaps, as in heaps=(3, 5, 7)")
    for h, size in enumerate(heaps):
        if type(size) is not int or not 1 <= size <= 99:
            raise BadParameter(f"heap {letters(h)}={size!r}: choose a whole number from 1 to 99")

    # Moves and cells have one numbering: a stone is a legal move for as long as it lies there.
    count, total = len(heaps), sum(heaps)
    sizes = np.array(heaps, np.int64)  # [heap]
    first = np.cumsum(sizes) - sizes  # [heap] -> its lowest stone
    heap_of = np.repeat(np.arange(count), sizes)  # [stone] -> its heap
    decider = -1.0 if misere else 1.0
    other = -decider / (players - 1)

    state = np.dtype([("heaps", "u1", (count,)), ("left", "i2"), ("seat", "i1")], align=True)

    def start(s: Any) -> None:
        for h in range(count):
            s.heaps[h] = sizes[h]
        s.left = total
        s.seat = 0

    def turn(s: Any) -> int:
        return s.seat if s.left > 0 else OVER

    def legal(s: Any, moves: Any) -> int:
        n = 0
        for h in range(count):
            for stone in range(first[h], first[h] + s.heaps[h]):
                moves[n] = stone
                n += 1
        return n

    def play(s: Any, move: int) -> None:
        h = heap_of[move]
        rest = move - first[h]
        s.left -= s.heaps[h] - rest
        s.heaps[h] = rest
        s.seat = (s.seat + 1) % players

    def score(s: Any, out: Any) -> None:
        for seat in range(players):
            out[seat] = 0.0 if s.left > 0 else other
        if s.left == 0:
            out[(s.seat + players - 1) % players] = decider

    def cells(s: Any, out: Any) -> None:
        for h in range(count):
            for i in range(sizes[h]):
                out[first[h] + i] = 1 if i < s.heaps[h] else 0

    def sample(s: Any, rng: Any) -> int:
        k = below(rng, s.left)  # the k-th stone that is left
        h = 0
        while k >= s.heaps[h]:
            k -= s.heaps[h]
            h += 1
        return first[h] + k

    return Game(
        state=state,
        board=heaps_board(heaps),
        pieces=(Piece("."), Piece("o", fill="#5b6f8c")),
        seats=players,
        num_moves=total,
        longest=total,
        score_range=(min(decider, other), max(decider, other)),
        rules=(start, turn, legal, play, score, cells, sample),
    )
