"""Exact play: one module per game, named after it, whose `Solver` knows the value of every move.

`solver_for(game)` finds it. A new module here needs no entry anywhere else.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

from meijin.core.agent import Analysis, Limit
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.state import State

#: Games that another game's solver understands too.
_SAME_RULES = {"gomoku": "tic_tac_toe"}


class Solver(Protocol):
    """Solves one game with its parameters, and keeps its tables between calls. Not for two threads at once."""

    stop_flag: Any  # int64 [1]: another thread may set it, and the solver gives up as if its time were over

    def __init__(self, game: Game): ...

    @staticmethod
    def unfit(game: Game) -> str | None:
        """Why it cannot solve this game with these parameters; None when it can."""

    def expected_seconds(self, state: State) -> float:
        """About how long an answer takes on one core, known at once: an agent decides by it whether to ask."""

    def analyse(self, state: State, limit: Limit) -> Analysis:
        """Every move's exact value, the best first: the shortest win, the longest loss, where the distance is known.

        A solver that knows the distance says it by the length of each move's line. When the position is out of reach
        or the limit too tight it raises `MeijinError`, or leaves the value of what it does not know out.
        """


@cache
def solved_games() -> tuple[str, ...]:
    """The names of the games that have a solver, for some of their parameters at least."""
    own = {module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")}
    return tuple(sorted(own | {name for name, as_ in _SAME_RULES.items() if as_ in own}))


def unsolved(game: Game) -> str | None:
    """Why no solver can take this game; None when one can."""
    names = solved_games()
    if game.name not in names:
        return f"{game.name} is not solved; there are solvers of {', '.join(names)}"
    return _solver_class(game).unfit(game)


def solver_for(game: Game) -> Solver:
    """A solver of the game, or an error that says why there is none."""
    if why := unsolved(game):
        raise BadParameter(f"{game} cannot be solved: {why}")
    return _solver_class(game)(game)


def _solver_class(game: Game) -> type[Solver]:
    module = import_module(f"{__name__}.{_SAME_RULES.get(game.name, game.name)}")
    return cast("type[Solver]", module.Solver)
