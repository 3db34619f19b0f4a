"""The perfect Connect Four player: the exact score of every move, by search and, early on, by a book.

The score of a win is 1 with the winner's last stone and one more for every stone he has left: on the usual board, 22
minus his stones at the end. A loss is the winner's score negated, a draw 0. So the greatest score is the quickest win
or else the slowest loss.
"""

from __future__ import annotations

import time
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.agent import Analysis, Limit, MoveInfo, must_move
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.state import State
from meijin.search.pace import Alarm
from meijin.search.solvers._connect_four_search import NODES, STOP, bottom_row, empty_table, solve

BOOK = "connect_four_book.npy"
BOOK_PLIES = 8  # stones of its last positions
ENTRY = np.dtype([("key", "<u8"), ("score", "i1"), ("best", "i1")])  # `best`: the column of a best move


def canonical(mine: int, mask: int, width: int, height: int) -> tuple[int, bool]:
    """A number that a position shares with its mirror image alone, and whether it is that of the image."""
    tall = height + 1
    key = mine + mask + bottom_row(width, height)
    columns = [key >> (c * tall) & ((1 << tall) - 1) for c in range(width)]
    image = sum(bits << (c * tall) for c, bits in enumerate(reversed(columns)))
    return min(key, image), image < key


class Book:
    """The exact scores of early positions of the usual board, and a best move of each."""

    def __init__(self, entries: NDArray[Any]):
        self.entries = entries
        self._keys = np.ascontiguousarray(entries["key"])  # sorted

    def look_up(self, mine: int, mask: int) -> tuple[int, int] | None:
        """The score of a position and the column of a best move; None if it is not in the book."""
        key, mirrored = canonical(mine, mask, 7, 6)
        at = int(np.searchsorted(self._keys, np.uint64(key)))
        if at == len(self._keys) or int(self._keys[at]) != key:
            return None
        score, best = int(self.entries["score"][at]), int(self.entries["best"][at])
        return score, 6 - best if mirrored else best


@cache
def book() -> Book | None:
    """The book that comes with Meijin, if it is there."""
    file = resources.files("meijin") / "data" / BOOK
    if not file.is_file():
        return None
    with resources.as_file(file) as path:
        return Book(np.load(path, allow_pickle=False))


class Solver:
    """Solves positions of one game. What it learns of them stays in its table for the next call."""

    def __init__(self, game: Game, *, table_mb: float = 128, use_book: bool = True):
        if why := self.unfit(game):
            raise BadParameter(f"{game} is not solved: {why}")
        self.game = game
        self._width, self._height = game.params["width"], game.params["height"]
        self._table = empty_table(table_mb)
        self.stop_flag = self._table[STOP : STOP + 1]
        self._solve = game.kernel(solve)
        self._most = self._width * self._height  # more than any score
        self._book = book() if use_book and (self._width, self._height) == (7, 6) else None

    @staticmethod
    def unfit(game: Game) -> str | None:
        """Why it cannot solve this game with these parameters; None when it can."""
        if game.name != "connect_four":
            return "this solver knows connect_four alone"
        width, height, connect = (game.params[name] for name in ("width", "height", "connect"))
        if connect != 4:
            return f"connect={connect}: lines of four alone are solved"
        if width > 8 or width * (height + 1) > 64:
            return f"{width} x {height} is too large: at most 8 columns, and width * (height + 1) at most 64"
        return None

    def forget(self) -> None:
        """Empty the table: the next search starts from nothing."""
        self._table[:] = 0

    def expected_seconds(self, state: State) -> float:
        """Until it knows a best move; how quick its win is may take three times as long."""
        ply = int(state.record.ply)
        if self._book and ply <= BOOK_PLIES:
            return 0.0
        return float(2.0 ** (self._width * self._height - ply - 35))

    def score(self, state: State) -> int:
        """The exact score of a position for the seat to move."""
        must_move(state)
        return self._exact(*self._position(state), self._most)

    def scores(self, state: State) -> dict[Move, int]:
        """The exact score of every legal move for the seat to move."""
        must_move(state)
        return {move: self._after(state, move, self._most) for move in state.legal_moves}

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        """Every move's exact value, best first: first who wins, then how soon. Where `limit.seconds` is not enough for
        all of it, moves come without a value or in no order among equals."""
        must_move(state)
        nodes, began = int(self._table[NODES]), time.perf_counter()
        middle = (self._width - 1) / 2
        moves = sorted(state.legal_moves, key=lambda move: abs(move - middle))  # the likely best first
        position = self._position(state)
        signs: dict[int, int] = {}
        scores: dict[int, int] = {}
        best = None
        if (known := self._booked(*position)) is not None:
            score, best = known
            signs[best], scores[best] = (score > 0) - (score < 0), score
        with Alarm(limit.seconds, self.stop_flag):
            sign = self._exact(*position, 1)
            for most, found in ((1, signs), (self._most, scores)):
                for move in moves:
                    if move in found:
                        continue
                    score = sign if sign < 0 and most == 1 else self._after(state, move, most)
                    if self.stop_flag[0]:
                        break
                    found[move] = score
        # What is not solved is worth trying before a certain loss.
        ranked = sorted(moves, key=lambda move: (move != best, -scores.get(move, signs.get(move, -0.5))))
        infos = tuple(
            MoveInfo(move, value=_vector(signs[move], state.turn), proven=True) if move in signs else MoveInfo(move)
            for move in ranked
        )
        unsolved = len(moves) - len(signs)
        proven = infos[0].proven and (unsolved == 0 or signs[ranked[0]] == sign)
        return Analysis(
            turn=state.turn,
            moves=infos,
            value=infos[0].value if proven else None,
            proven=proven,
            nodes=int(self._table[NODES]) - nodes,
            seconds=time.perf_counter() - began,
            note=f"time ran out with {unsolved} of {len(moves)} moves unsolved" if unsolved else "",
        )

    def _position(self, state: State) -> tuple[int, int, int]:
        """The mover's stones, all stones, and how many there are."""
        stones = state.record.stones
        seat = state.turn
        mine, his = int(stones[seat, 0]), int(stones[1 - seat, 0])
        return mine, mine | his, int(state.record.ply)

    def _after(self, state: State, move: Move, most: int) -> int:
        """The score of a move for the seat that makes it; see `_exact`."""
        mine, mask, ply = self._position(state)
        after = state.copy().play(move)
        if after.is_over:
            return min(most, (self._width * self._height + 1 - ply) // 2) if any(after.scores) else 0
        _, mask_after, _ = self._position(after)
        return -self._exact(mine ^ mask, mask_after, ply + 1, most)

    def _exact(self, mine: int, mask: int, ply: int, most: int) -> int:
        """The score of a position, exact from `-most` to `most`; what is beyond comes as that bound."""
        if (known := self._booked(mine, mask, ply)) is not None:
            return max(-most, min(most, known[0]))
        return int(self._solve(self._table, np.uint64(mine), np.uint64(mask), ply, -most, most))

    def _booked(self, mine: int, mask: int, ply: int) -> tuple[int, int] | None:
        return self._book.look_up(mine, mask) if self._book and ply <= BOOK_PLIES else None


def _vector(score: int, seat: int) -> tuple[float, ...]:
    value = float((score > 0) - (score < 0))
    return (value, -value) if seat == 0 else (-value, value)
