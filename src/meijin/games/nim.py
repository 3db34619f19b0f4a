"""Nim: take stones from one heap; the last stone decides."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Annotated, Any

import numpy as np

from meijin.core.boards import heaps as heaps_board
from meijin.core.boards import letters
from meijin.core.catalogue import game
from meijin.core.errors import BadParameter
from meijin.core.game import OVER, Game, Symmetry
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below

MOST_SYMMETRIES = 720


@game("nim", title="Nim")
def nim(heaps: Sequence[int] = (1, 3, 5, 7), players: Annotated[int, Range(2, 16)] = 2, misere: bool = False) -> Game:
    """Take stones from one heap; whoever takes the last stone wins.

    Goal: take the last stone of all. With `misere`: do not take it.

    Moves: the players take turns; each takes one or more stones, all from the same heap.

    End: the game ends with the last stone. Whoever took it scores +1 (with `misere` -1), and the others share the
    opposite equally: with two players the scores are +1 and -1, and with any number they add up to 0.

    Notation: heaps are lettered from the left and stones numbered from the bottom. A move is the lowest stone taken: b3
    takes stone b3 and all above it.

    Set-up: any heaps that are no higher than at the start, and any turn. Positions are written as the size of each heap
    and the seat to move: 1,0,4,7 0

    `heaps`: the size of each heap, 1 to 99 stones.
    `players`: number of players.
    `misere`: whether taking the last stone loses.
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

    def setup(s: Any, values: Any, mover: int) -> int:
        s.left = 0
        s.seat = mover
        for h in range(count):
            s.heaps[h] = 0
            for i in range(sizes[h]):
                if values[first[h] + i] > 0:
                    if s.heaps[h] != i:
                        return 1
                    s.heaps[h] += 1
                    s.left += 1
        return 0

    def ending(s: Any) -> int:
        return 0

    def write(values: Sequence[int], mover: int) -> str:
        lying = (sum(values[at : at + size]) for at, size in zip(first.tolist(), heaps, strict=True))
        return f"{','.join(map(str, lying))} {mover}"

    def read(text: str) -> tuple[list[int], int]:
        words = re.fullmatch(r"\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)\s+(\d{1,9})\s*", text)
        if words is None:
            raise BadParameter(f"position '{text}': write the heaps and the seat to move, as in '1,3,5,7 0'")
        lying = [int(size) for size in words[1].split(",")]
        if len(lying) != count:
            raise BadParameter(f"position '{text}' has {len(lying)} heaps; there are {count}")
        for h, size in enumerate(lying):
            if size > heaps[h]:
                raise BadParameter(f"position '{text}': heap {letters(h)} has at most {heaps[h]} stones, not {size}")
        return [int(i < size) for size, most in zip(lying, heaps, strict=True) for i in range(most)], int(words[2])

    def reordered(game: Game) -> Iterator[Symmetry]:
        """All ways to exchange heaps of equal size; where they are too many, the board's exchanges of two remain."""
        equal = [[h for h in range(count) if heaps[h] == size] for size in sorted(set(heaps))]
        if math.prod(math.factorial(len(group)) for group in equal) > MOST_SYMMETRIES:
            return
        for orders in product(*(permutations(group) for group in equal)):
            to = dict(zip((h for group in equal for h in group), (h for group in orders for h in group), strict=True))
            cells = [int(first[to[h]]) + i for h in range(count) for i in range(heaps[h])]
            if found := game.symmetry("heaps_" + "_".join(letters(to[h]) for h in range(count)), cells):
                yield found

    return Game(
        state=state,
        board=heaps_board(heaps),
        pieces=(Piece("."), Piece("o", fill="#5b6f8c")),
        seats=players,
        num_moves=total,
        longest=total,
        score_range=(min(decider, other), max(decider, other)),
        more_symmetries=reordered,
        endings=("the last stone was taken",),
        refusals=("a stone hangs in the air",),
        write=write,
        read=read,
        rules=(start, turn, legal, play, score, cells, sample, setup, ending),
    )
