"""Othello played out exactly: the disc difference and the outcome of endgames, and of whole games on 4 x 4.

Othello on 8 x 8 is too large to be solved here from the start. From about 22 empty cells on every value is a matter of
seconds; each further cell about doubles the time.
"""

from __future__ import annotations

import time
from types import TracebackType

import numpy as np

from meijin.core.agent import Analysis, Limit, MoveInfo, must_move
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.state import State
from meijin.search.pace import Alarm
from meijin.search.solvers._othello_search import NONE, PASS, SLOT, WORK, endgame

_NO_LINE = np.zeros(0, np.int64)


class Solver:
    """Exact values of positions with few empty cells. What it finds stays in its table and serves later calls."""

    def __init__(self, game: Game, max_empties: int = 22, table_mb: float = 64):
        """More empty cells than `max_empties` are refused, unless a limit in seconds is given."""
        if why := self.unfit(game):
            raise BadParameter(f"{game} cannot be solved: {why}")
        if not 0 <= max_empties <= 64:
            raise BadParameter(f"max_empties={max_empties!r}: choose from 0 to 64 empty cells")
        if not table_mb > 0:
            raise BadParameter(f"table_mb={table_mb!r}: give the size of the table in megabytes")
        self.game, self.max_empties = game, max_empties
        self.size = int(game.params["size"])
        slots = 1 << max(10, int(table_mb * 1e6 / SLOT.itemsize).bit_length() - 1)
        self._work, self._table = np.zeros(1, WORK), np.zeros(slots, SLOT)
        self.stop_flag = self._work["stop"]

    @staticmethod
    def unfit(game: Game) -> str | None:
        if game.name != "othello":
            return "this solver knows Othello only"
        if game.params["size"] > 8:
            return f"it plays on up to 8 x 8 cells, and here there are {game.params['size']} x {game.params['size']}"
        return None

    @property
    def nodes(self) -> int:
        """How many positions the latest answer took."""
        return int(self._work["nodes"][0])

    def forget(self) -> None:
        """Empty the table, so that a measurement owes nothing to earlier answers."""
        self._table[:] = 0

    # ---- what it answers ----

    def expected_seconds(self, state: State) -> float:
        return float(0.2 * 2.0 ** (state.cells.count(0) - 18))

    def score(self, state: State, limit: Limit = Limit()) -> int:  # noqa: B008 - frozen
        """The final disc difference with best play, from the mover's view. Empty cells at the end are the winner's."""
        with _Search(self, state, limit) as search:
            return search.value(*self._words(state))

    def outcome(self, state: State, limit: Limit = Limit()) -> int:  # noqa: B008
        """1 if the mover wins with best play, 0 for a draw, -1 for a loss: two windows at most, unlike `score`."""
        with _Search(self, state, limit) as search:
            return int(np.sign(search.value(*self._words(state), low=-2, high=2)))

    def scores(self, state: State, limit: Limit = Limit()) -> dict[Move, int]:  # noqa: B008
        """Every move's disc difference, from the mover's view; the best first."""
        with _Search(self, state, limit) as search:
            return self._scores(state, search)

    def best(self, state: State, limit: Limit = Limit()) -> Move:  # noqa: B008
        """A move that keeps the best disc difference, without the values of the others."""
        with _Search(self, state, limit) as search:
            return self._line(state, search, length=1)[0]

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        """Every move's exact outcome, ordered by disc difference, and best play to the end."""
        began = time.perf_counter()
        with _Search(self, state, limit) as search:
            scores = self._scores(state, search)
            best = max(scores, key=lambda move: scores[move])
            after = state.copy().play(best)
            line = () if after.is_over else self._line(after, search, length=128)
        seat, infos = state.turn, []
        for move, score in scores.items():
            mine = float(np.sign(score))
            value = (mine, -mine) if seat == 0 else (-mine, mine)
            infos.append(MoveInfo(move, value=value, proven=True, pv=(best, *line) if move is best else ()))
        return Analysis(
            turn=seat,
            moves=tuple(infos),
            value=infos[0].value,
            proven=True,
            nodes=self.nodes,
            depth=search.empties,
            seconds=time.perf_counter() - began,
            note="discs: " + ", ".join(f"{move} {score:+d}" for move, score in scores.items()),
        )

    # ---- how ----

    def _scores(self, state: State, search: _Search) -> dict[Move, int]:
        found: dict[Move, int] = {}
        guess = search.value(*self._words(state))
        for move in state.legal_moves:
            after = state.copy().play(move)
            mine, theirs = self._words(after, 1 - state.turn)
            found[move] = guess = -search.value(mine, theirs, guess=-guess)
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def _line(self, state: State, search: _Search, length: int) -> tuple[Move, ...]:
        line = np.full(length, -1, np.int64)
        search.value(*self._words(state), line=line)
        skip, size = self.size * self.size, self.size
        return tuple(
            self.game.moves[skip if cell == PASS else cell // 8 * size + cell % 8]
            for cell in line.tolist()
            if cell >= 0
        )

    def _words(self, state: State, mover: int | None = None) -> tuple[np.uint64, np.uint64]:
        """The discs of the mover and of the other as words of 8 x 8 bits."""
        seat, size = state.turn if mover is None else mover, self.size
        row = (1 << size) - 1
        black, white = (
            np.uint64(sum((int(discs[0]) >> r * size & row) << 8 * r for r in range(size)))
            for discs in state.record.discs
        )
        return (black, white) if seat == 0 else (white, black)


class _Search:
    """One answer of a solver: refuses what would take too long, and watches the clock."""

    def __init__(self, solver: Solver, state: State, limit: Limit):
        if state.game.id != solver.game.id:
            raise BadParameter(f"a position of {state.game} was given to the solver of {solver.game}")
        must_move(state)
        self.solver, self.seconds = solver, limit.seconds
        self.empties = state.cells.count(0)
        if self.empties > solver.max_empties and limit.seconds is None:
            raise MeijinError(
                f"{solver.game} is not solved with {self.empties} empty cells, only from {solver.max_empties} on: "
                f"play on until then, or set a limit in seconds to try"
            )
        self._kernel = solver.game.kernel(endgame)

    def __enter__(self) -> _Search:
        self.value(np.uint64(0), np.uint64(0), low=0, high=0)  # on the first use this compiles, before the clock starts
        self.solver._work["nodes"] = 0
        self._clock = Alarm(self.seconds, self.solver.stop_flag).__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clock.__exit__(kind, error, trace)

    def value(
        self,
        mine: np.uint64,
        theirs: np.uint64,
        *,
        low: int = -64,
        high: int = 64,
        guess: int = NONE,
        line: np.ndarray[tuple[int], np.dtype[np.int64]] = _NO_LINE,
    ) -> int:
        """The difference for the mover, at least `low` and at most `high`."""
        work, table, area = self.solver._work, self.solver._table, self.solver.size**2
        found = self._kernel(work, table, mine, theirs, max(low, -area), min(high, area), guess, line)
        if found == NONE or self.solver.stop_flag[0]:
            raise MeijinError(
                f"{self.empties} empty cells are too many for {self.seconds} seconds: allow more time, or play on"
            )
        return int(found)
