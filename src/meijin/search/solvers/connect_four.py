"""The perfect Connect Four player: the exact score of every move, by search and, early on, by a book.

The score of a win is 1 with the winner's last stone and one more for every stone he has left: on the usual board, 22
minus his stones at the end. A loss is the winner's score negated, a draw 0. So the greatest score is the quickest win
or else the slowest loss.
"""

from __future__ import annotations

import time
from functools import cache
from importlib import resources

import numpy as np

from meijin.core.agent import Analysis, Limit, MoveInfo, must_move
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.state import State
from meijin.search.pace import Alarm
from meijin.search.solvers._connect_four_search import NODES, STOP, bottom_row, empty_table, solve

BOOK = "connect_four_book.npy"
BOOK_PLIES = 5  # stones of its last positions


def canonical(mine: int, mask: int, width: int, height: int) -> int:
    """A number that a position shares with its mirror image alone: what the book calls it."""
    tall = height + 1
    key = mine + mask + bottom_row(width, height)
    columns = [key >> (c * tall) & ((1 << tall) - 1) for c in range(width)]
    return min(key, sum(bits << (c * tall) for c, bits in enumerate(reversed(columns))))


@cache
def book() -> dict[int, int]:
    """The exact scores of early positions of the usual board, by `canonical`; none where the file is missing."""
    file = resources.files("meijin") / "data" / BOOK
    if not file.is_file():
        return {}
    with resources.as_file(file) as path:
        table = np.load(path, allow_pickle=False)
    return dict(zip(table["key"].tolist(), table["score"].tolist(), strict=True))


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
        self._book = book() if use_book and (self._width, self._height) == (7, 6) else {}

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
        ply = int(state.record.ply)
        if self._book and ply < BOOK_PLIES:
            return 0.0
        return float(2.0 ** (self._width * self._height - ply - 33))

    def score(self, state: State) -> int:
        """The exact score of a position for the seat to move."""
        must_move(state)
        return self._exact(*self._position(state))

    def scores(self, state: State) -> dict[Move, int]:
        """The exact score of every legal move for the seat to move."""
        must_move(state)
        return {move: self._after(state, move) for move in state.legal_moves}

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        """Every move's exact value, best first. Moves that `limit.seconds` left unsolved come without one."""
        must_move(state)
        nodes, began = int(self._table[NODES]), time.perf_counter()
        middle = (self._width - 1) / 2
        moves = sorted(state.legal_moves, key=lambda move: abs(move - middle))  # the likely best first
        scores: dict[Move, int] = {}
        with Alarm(limit.seconds, self.stop_flag):
            for move in moves:
                score = self._after(state, move)
                if self.stop_flag[0]:
                    break
                scores[move] = score
        # What is not solved is worth trying before a certain loss.
        ranked = sorted(moves, key=lambda move: -scores.get(move, -0.5))
        infos = tuple(
            MoveInfo(move, value=_vector(scores[move], state.turn), proven=True) if move in scores else MoveInfo(move)
            for move in ranked
        )
        unsolved = len(moves) - len(scores)
        proven = infos[0].proven and (unsolved == 0 or scores[ranked[0]] > 0)
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

    def _after(self, state: State, move: Move) -> int:
        """The exact score of a move for the seat that makes it."""
        mine, mask, ply = self._position(state)
        after = state.copy().play(move)
        if after.is_over:
            return (self._width * self._height + 1 - ply) // 2 if any(after.scores) else 0
        _, mask_after, _ = self._position(after)
        return -self._exact(mine ^ mask, mask_after, ply + 1)

    def _exact(self, mine: int, mask: int, ply: int) -> int:
        if self._book:
            known = self._book.get(canonical(mine, mask, self._width, self._height))
            if known is not None:
                return known
        return int(self._solve(self._table, np.uint64(mine), np.uint64(mask), ply))


def _vector(score: int, seat: int) -> tuple[float, ...]:
    value = float((score > 0) - (score < 0))
    return (value, -value) if seat == 0 else (-value, value)
