"""`accuracy`: how often an agent's move keeps the exact value of a position."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from meijin.agents.catalogue import build
from meijin.arena.evaluation import EvaluationJob, EvaluationResult, Evaluator, evaluators, measured
from meijin.arena.labelled_positions import LabelledPosition, random_position, read_positions
from meijin.arena.record import derive
from meijin.arena.stats import wilson
from meijin.core.agent import Agent
from meijin.core.errors import BadParameter, MeijinError, RuleError
from meijin.core.game import Game
from meijin.core.state import State
from meijin.search.solvers import unsolved

MISTAKES = 10  # named in a result
CLOSE = 1e-9  # values that differ by less are equal
GIVE_UP = 200  # random positions in a row that the solver cannot solve


@evaluators.register("accuracy")
@dataclass
class Accuracy(Evaluator):
    """Share of positions in which its move keeps the exact value: it wins won positions and draws drawn ones.

    The positions come from a file (its format: `arena.labelled_positions`), or else from random games: positions with
    a choice of moves, `least` plies or more from the start. `count` is their number, by default all of a file or 100
    random ones. The game's solver says what a move is worth, unless the file names the moves that keep the value.
    """

    name = "accuracy"
    path: str | None = None
    count: Annotated[int, Meta(ge=1)] | None = None
    least: Annotated[int, Meta(ge=0)] = 0
    goal: float | None = None

    def unfit(self, game: Game) -> str | None:
        return unsolved(game) if self.path is None else None  # a file may name the moves

    def measure(self, job: EvaluationJob) -> EvaluationResult:
        agent, exact = job.made(), _ExactValues(job.game)
        total, positions = self._positions(job, exact)
        kept, asked = Counter[str](), Counter[str]()
        mistakes: list[dict[str, str]] = []
        for number, position in enumerate(positions):
            state = position.state
            agent.seed(derive(job.seed, number))
            move = job.moved(agent, state).history[-1]
            right, value = exact.keeps(position, int(move))
            kind = "all" if value is None else "won" if value > 0 else "lost" if value < 0 else "drawn"
            asked[kind] += 1
            kept[kind] += right
            if not right and len(mistakes) < MISTAKES:
                line = " ".join(m.name for m in state.history)
                mistakes.append({"position": line, "place": position.place, "move": move.name})
            job.step(number + 1, total)
            if job.stopping():
                break
        games = asked.total()
        by_value = {kind: {"kept": kept[kind], "positions": n} for kind, n in sorted(asked.items()) if kind != "all"}
        share = kept.total() / games
        details = {"kept": kept.total(), "by_value": by_value, "mistakes": mistakes}
        return measured(job, share, wilson(share, games), games, details)

    def _positions(self, job: EvaluationJob, exact: _ExactValues) -> tuple[int, Iterator[LabelledPosition]]:
        """Their number, and the positions."""
        if self.path is not None:
            found = read_positions(self.path, job.game)
            if self.count is not None and self.count < len(found):  # spread over the file
                found = [found[k * len(found) // self.count] for k in range(self.count)]
            return len(found), iter(found)
        total = self.count or 100
        drawn = (random_position(job.game, job.seed, number, self.least) for number in itertools.count())
        known = (position for position in drawn if exact.knows(position))
        return total, itertools.islice(known, total)


class _ExactValues:
    """Which moves keep the value of a position: from its label, or by a solver."""

    def __init__(self, game: Game):
        self.game = game
        self._perfect: Agent | None = None
        self._latest: tuple[State, dict[int, float]] | None = None
        self._unknown = 0  # positions in a row that the solver could not solve

    @property
    def perfect(self) -> Agent:
        if self._perfect is None:
            self._perfect = build("perfect", self.game)
        return self._perfect

    def _worths(self, state: State) -> dict[int, float]:
        """The value of each move for the mover."""
        if self._latest is None or self._latest[0] is not state:
            moves = self.perfect.analyse(state).moves
            known = {int(info.move): info.value[state.turn] for info in moves if info.value is not None}
            self._latest = state, known
        return self._latest[1]

    def knows(self, position: LabelledPosition) -> bool:
        """Whether the solver knows the value of every move; raises after too many positions that it does not know."""
        try:
            known = len(self._worths(position.state)) == len(position.state.legal_moves)
        except RuleError:
            raise
        except MeijinError:  # out of its reach
            known = False
        self._unknown = 0 if known else self._unknown + 1
        if self._unknown == GIVE_UP:
            raise MeijinError(
                f"the solver of {self.game} solves none of {GIVE_UP} random positions; give accuracy a file"
            )
        return known

    def keeps(self, position: LabelledPosition, move: int) -> tuple[bool, float | None]:
        """Whether the move keeps the value of the position for its mover, and that value if known."""
        state, value = position.state, position.value
        if position.best is not None:
            return move in position.best, None
        try:
            if value is None:
                worths = self._worths(state)
                value = max(worths.values())
                return worths[move] >= value - CLOSE, value
            after = state.copy().play(move)
            worth = self.perfect.value(after)[state.turn]
        except RuleError:
            raise
        except MeijinError as error:
            raise BadParameter(f"{position.place}: {error}; write the moves that keep the value after 'bm'") from None
        if worth > value + CLOSE:
            name = self.game.moves[move].name
            raise BadParameter(f"{position.place}: the label is {value:g}, but the move {name} is worth {worth:g}")
        return worth >= value - CLOSE, value
