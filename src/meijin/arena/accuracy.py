"""`accuracy`: how often an agent's move keeps the exact value of a position."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from meijin.agents.catalogue import build
from meijin.arena.evaluation import (
    Evaluation,
    Evaluator,
    Trial,
    at_least_one,
    evaluation,
    evaluators,
    goal_value,
    seed_of,
)
from meijin.arena.labelled_positions import Position, random_position, read_positions
from meijin.arena.stats import wilson
from meijin.core.agent import Agent
from meijin.core.errors import BadParameter, MeijinError, RuleError
from meijin.core.game import Game
from meijin.core.state import State
from meijin.search.solvers import unsolved

MISTAKES = 10  # that an evaluation names
CLOSE = 1e-9  # values that differ by less are equal
GIVE_UP = 200  # random positions in a row that a solver does not know


@evaluators.register("accuracy")
class Accuracy(Evaluator):
    """Share of positions in which its move keeps the exact value: it wins what is won and draws what can be drawn.

    Positions are those of a file (see `arena.positions` for its format), or without one random positions of random
    games in which the mover has a choice, `least` plies or more from the start. `count`: so many of them, by default
    all of a file and 100 random ones. A solver of the game says what a move is worth, unless the file names the moves
    that keep the value.
    """

    def __init__(self, path: str | None = None, count: int | None = None, least: int = 0, goal: float | None = None):
        if isinstance(least, bool) or not isinstance(least, int) or least < 0:
            raise BadParameter(f"least={least!r}: give a whole number of plies, 0 or more")
        self.path, self.least, self.goal = path, least, goal_value(goal)
        self.count = None if count is None else at_least_one("count", count)

    def unfit(self, game: Game) -> str | None:
        return unsolved(game) if self.path is None else None  # a file may name the moves

    def measure(self, trial: Trial) -> Evaluation:
        agent, judge = trial.made(), _Judge(trial.game)
        total, positions = self._positions(trial, judge)
        kept, asked = Counter[str](), Counter[str]()
        mistakes: list[dict[str, str]] = []
        for number, position in enumerate(positions):
            state = position.state
            agent.seed(seed_of(trial.seed, number))
            move = trial.moved(agent, state).history[-1]
            right, value = judge.keeps(position, int(move))
            kind = "all" if value is None else "won" if value > 0 else "lost" if value < 0 else "drawn"
            asked[kind] += 1
            kept[kind] += right
            if not right and len(mistakes) < MISTAKES:
                line = " ".join(m.name for m in state.history)
                mistakes.append({"position": line, "place": position.place, "move": move.name})
            trial.step(number + 1, total)
        games = asked.total()
        by_value = {kind: {"kept": kept[kind], "positions": n} for kind, n in sorted(asked.items()) if kind != "all"}
        share = kept.total() / games
        details = {"kept": kept.total(), "by_value": by_value, "mistakes": mistakes}
        return evaluation(trial, share, wilson(share, games), games, details)

    def _positions(self, trial: Trial, judge: _Judge) -> tuple[int, Iterator[Position]]:
        """How many, and which."""
        if self.path is not None:
            found = read_positions(self.path, trial.game)
            if self.count is not None and self.count < len(found):  # spread over the file
                found = [found[k * len(found) // self.count] for k in range(self.count)]
            return len(found), iter(found)
        total = self.count or 100
        drawn = (random_position(trial.game, trial.seed, number, self.least) for number in itertools.count())
        known = (position for position in drawn if judge.knows(position))
        return total, itertools.islice(known, total)


class _Judge:
    """Knows which moves keep the value of a position: from the file it is in, or by a solver."""

    def __init__(self, game: Game):
        self.game = game
        self._perfect: Agent | None = None
        self._latest: tuple[State, dict[int, float]] | None = None
        self._unknown = 0  # positions in a row that the solver could not tell

    @property
    def perfect(self) -> Agent:
        if self._perfect is None:
            self._perfect = build("perfect", self.game)
        return self._perfect

    def _worths(self, state: State) -> dict[int, float]:
        """What each move is worth to the mover."""
        if self._latest is None or self._latest[0] is not state:
            moves = self.perfect.analyse(state).moves
            known = {int(info.move): info.value[state.turn] for info in moves if info.value is not None}
            self._latest = state, known
        return self._latest[1]

    def knows(self, position: Position) -> bool:
        """Whether the solver can tell what the moves are worth; raises when it hardly ever can."""
        try:
            known = len(self._worths(position.state)) == len(position.state.legal_moves)
        except RuleError:
            raise
        except MeijinError:  # out of its reach
            known = False
        self._unknown = 0 if known else self._unknown + 1
        if self._unknown == GIVE_UP:
            raise MeijinError(
                f"the solver of {self.game} knows none of {GIVE_UP} random positions; give accuracy a file"
            )
        return known

    def keeps(self, position: Position, move: int) -> tuple[bool, float | None]:
        """Whether the move keeps the value of the position for its mover, and that value if it is known."""
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
            raise BadParameter(f"{position.place}: says {value:g}, but the move {name} is worth {worth:g}")
        return worth >= value - CLOSE, value
