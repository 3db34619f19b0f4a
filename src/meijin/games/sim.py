"""Sim: colour the links between points; a triangle of your own colour loses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Annotated, Any

import numpy as np

from meijin.core.bits import lowest, nth, without_lowest
from meijin.core.boards import complete, letters
from meijin.core.catalogue import game
from meijin.core.game import OVER, Game, Symmetry
from meijin.core.parameters import Range
from meijin.core.pieces import Piece
from meijin.core.rng import below

PIECES = (
    Piece("."),
    Piece("X", owner=0, fill="#c8342c"),
    Piece("O", owner=1, fill="#2c5ea6"),
    Piece("Y", owner=2, fill="#e0a526"),
)


@game("sim", title="Sim")
def sim(points: Annotated[int, Range(3, 8)] = 6, players: Annotated[int, Range(2, 3)] = 2) -> Game:
    """Colour links between points; a triangle of your own colour loses.

    Goal: do not complete a triangle of your own colour whose corners are three of the points.

    Moves: red begins. The players take turns; each colours one link between two points that has no colour yet.

    End: whoever completes a triangle of their own colour is out and scores -1. Two players: the other one wins. Three
    players (red, blue, yellow): when the first one is out, the others continue; when the second one is out, the last
    one left wins. If every link is coloured, those still in the game draw; with two players and six points or more that
    cannot happen.

    Notation: points are lettered clockwise from the top, and a move is the link between two points, as in ad.

    Set-up: any links and turn. Seats with a triangle are out. Positions are written as the links of each colour:
    X=ad,bc/O=ef 0

    `points`: number of points. With fewer than six there can be draws.
    `players`: number of players, two or three.
    """
    # A seat's links are a matrix of 8 x 8 bits, in both directions: byte a holds the points that a is linked to. A new
    # link completes a triangle exactly if the bytes of its two ends have a point in common.
    links = [(a, b) for a in range(points) for b in range(a + 1, points)]  # in the order of the board's cells
    count = len(links)
    ends = np.array([(8 * a, 8 * b) for a, b in links], np.uint64)  # [link] -> where the bytes of its ends begin
    matrix = np.array([1 << 8 * a + b | 1 << 8 * b + a for a, b in links], np.uint64)  # [link] -> its two bits
    one, byte, zero = np.uint64(1), np.uint64(255), np.uint64(0)
    everything = np.uint64((1 << count) - 1)

    state = np.dtype(
        [
            ("coloured", "u8", (players,)),  # [seat] -> its matrix
            ("free", "u8"),  # bit i for link i
            ("left", "i1"),  # how many links are free
            ("turn", "i1"),
            ("out", "i1"),  # bit k: seat k has lost
        ],
        align=True,
    )

    def start(s: Any) -> None:
        for seat in range(players):
            s.coloured[seat] = zero
        s.free = everything
        s.left = count
        s.turn = 0
        s.out = 0

    def turn(s: Any) -> int:
        return s.turn

    def legal(s: Any, moves: Any) -> int:
        n = 0
        left = s.free
        while left != 0:
            moves[n] = lowest(left)
            left = without_lowest(left)
            n += 1
        return n

    def sample(s: Any, rng: Any) -> int:
        return nth(s.free, below(rng, s.left))

    def play(s: Any, move: int) -> None:
        seat = np.int64(s.turn)
        mine = s.coloured[seat]
        lost = (mine >> ends[move, 0]) & (mine >> ends[move, 1]) & byte != 0
        s.coloured[seat] = mine | matrix[move]
        s.free &= ~(one << np.uint64(move))
        s.left -= 1
        last = players == 2 or s.out != 0  # whether one more loss leaves a single seat
        if lost:
            s.out |= 1 << seat
        following = (seat + 1) % players
        if players > 2 and s.out >> following & 1:
            following = (following + 1) % players
        s.turn = OVER if s.left == 0 or (lost and last) else following

    def score(s: Any, out: Any) -> None:
        gone = 0
        for seat in range(players):
            gone += s.out >> seat & 1
        for seat in range(players):
            out[seat] = -1.0 if s.out >> seat & 1 else 1.0 if gone == players - 1 else 0.0

    def cells(s: Any, out: Any) -> None:
        for link in range(count):
            out[link] = 0
            for seat in range(players):
                if s.coloured[seat] & matrix[link] != 0:
                    out[link] = seat + 1

    def setup(s: Any, values: Any, mover: int) -> int:
        start(s)
        gone = 0
        for link in range(count):
            if values[link] > 0:
                seat = values[link] - 1
                mine = s.coloured[seat]
                if (mine >> ends[link, 0]) & (mine >> ends[link, 1]) & byte != 0 and not s.out >> seat & 1:
                    s.out |= 1 << seat
                    gone += 1
                s.coloured[seat] = mine | matrix[link]
                s.free &= ~(one << np.uint64(link))
                s.left -= 1
        s.turn = OVER if s.left == 0 or gone == players - 1 else mover
        if gone == players:
            return 1
        if s.turn != OVER and s.out >> mover & 1:
            return 2
        return 0

    def ending(s: Any) -> int:
        gone = 0
        for seat in range(players):
            gone += s.out >> seat & 1
        return 0 if gone == players - 1 else 1

    def relabelled(game: Game) -> Iterator[Symmetry]:
        """All ways to letter the points."""
        number = {pair: i for i, (a, b) in enumerate(links) for pair in ((a, b), (b, a))}
        for to in permutations(range(points)):
            cells = tuple(number[to[a], to[b]] for a, b in links)
            name = "points_" + "".join(letters(point) for point in to)
            found = game.symmetry(name, cells, moves=cells, outcomes=())
            assert found is not None
            yield found

    return Game(
        state=state,
        board=complete(points),
        pieces=PIECES[: players + 1],
        seats=players,
        seat_names=("red", "blue", "yellow")[:players],
        num_moves=count,
        longest=count,
        more_symmetries=relabelled if points < 8 else None,  # of 8 points there are 40,320: too many to be of use
        endings=("a triangle", "every link is coloured"),
        refusals=("every side has a triangle", "the side to move has a triangle and is out"),
        rules=(start, turn, legal, play, score, cells, sample, setup, ending),
    )
