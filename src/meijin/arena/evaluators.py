"""Evaluators: how good is an agent? Each has an expression and gives one number with its 95 % interval.

    vs(random)                      share of the points against an agent, seats rotated
    vs(mcts(simulations=500), games=200, openings="random(plies=2)")
    starts(2)                       from every position after 2 plies, in every seat
    accuracy("positions.txt")       share of positions in which its move keeps the exact value
    score                           mean score in a game for one
    solved(5)                       share of cubes solved after 5 random twists

Every evaluator takes `goal=`, the value that is good enough. `Goal` counts how often in a row it was reached, so that
training can stop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from msgspec import Meta

from meijin.agents.catalogue import build
from meijin.arena.accuracy import Accuracy
from meijin.arena.evaluation import (
    EvaluationJob,
    EvaluationResult,
    Evaluator,
    Goal,
    evaluate,
    evaluator,
    evaluators,
    measured,
)
from meijin.arena.match import MatchResult
from meijin.arena.openings import AllPositions, Plies, expression
from meijin.arena.record import derive
from meijin.arena.stats import effective_games, wilson
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.solvers import unsolved

__all__ = [
    "Accuracy", "EvaluationJob", "EvaluationResult", "Evaluator", "Goal", "Score", "Solved", "Starts", "Versus",
    "evaluate", "evaluator", "evaluators", "evaluators_for",
]  # fmt: skip

MAX_STARTS = 100_000  # games that `starts` plays unless `games` says how many
ALONE = "a game for one has no opponents; use `score`"

Count = Annotated[int, Meta(ge=1)]


@evaluators.register("vs")
@dataclass
class Versus(Evaluator):
    """Share of the points against an agent, which takes all other seats; every seat is played equally often."""

    name = "vs"
    opponent: str
    games: Count = 100
    openings: str | None = None
    goal: float | None = None

    def __post_init__(self) -> None:
        self.opponent = expression(self.opponent, "vs: opponent")
        self.openings = None if self.openings is None else expression(self.openings, "vs: openings")
        super().__post_init__()

    def unfit(self, game: Game) -> str | None:
        return ALONE if game.seats == 1 else build(self.opponent).unfit(game)

    def measure(self, job: EvaluationJob) -> EvaluationResult:
        games = -(-self.games // job.game.seats) * job.game.seats  # every seat equally often
        names = (job.agent, *(self.opponent for _ in range(job.game.seats - 1)))
        return _points(job, job.play(names, games, openings=self.openings))


@evaluators.register("starts")
@dataclass
class Starts(Evaluator):
    """Share of the points against an agent from every position after `plies` plies, in every seat.

    The default opponent is `perfect` if the game is solved, else `mcts(simulations=1000)`. With `games`, at most so
    many are played, from random positions.
    """

    name = "starts"
    plies: Plies
    opponent: str | None = None
    games: Count | None = None
    goal: float | None = None

    def __post_init__(self) -> None:
        self.opponent = None if self.opponent is None else expression(self.opponent, "starts: opponent")
        super().__post_init__()

    def _opponent(self, game: Game) -> str:
        return self.opponent or ("mcts(simulations=1000)" if unsolved(game) else "perfect")

    def unfit(self, game: Game) -> str | None:
        return ALONE if game.seats == 1 else build(self._opponent(game)).unfit(game)

    def measure(self, job: EvaluationJob) -> EvaluationResult:
        game = job.game
        source = AllPositions(self.plies, shuffle=self.games is not None)
        source.name = f"all(depth={self.plies})"
        positions = source.count(game)
        games = positions * game.seats
        if self.games is not None:
            games = min(games, -(-self.games // game.seats) * game.seats)
        elif games > MAX_STARTS:
            raise BadParameter(
                f"{self.name}: {positions:,} positions of {game} make {games:,} games; choose fewer plies, or games=N"
            )
        names = (job.agent, *(self._opponent(game) for _ in range(game.seats - 1)))
        found = _points(job, job.play(names, games, openings=source))
        return replace(found, details={"opponent": names[1], "positions": games // game.seats, **found.details})


@evaluators.register("score")
@dataclass
class Score(Evaluator):
    """Mean score in a game for one."""

    name = "score"
    games: Count = 100
    goal: float | None = None

    def unfit(self, game: Game) -> str | None:
        return None if game.seats == 1 else f"it is for games with one seat, and this has {game.seats}; use `vs`"

    def measure(self, job: EvaluationJob) -> EvaluationResult:
        result = job.play([job.agent], self.games)
        tally = result.standings[0].total
        details = {"lowest": min(tally.scores), "highest": max(tally.scores), **_forfeits(result)}
        return measured(job, tally.mean, tally.mean_interval, tally.games, details, unit="score")


@evaluators.register("solved")
@dataclass
class Solved(Evaluator):
    """Share of cubes solved in at most `moves` moves, after a number of random twists.

    All agents get the same scrambles. By default they may use as many moves as the game allows.
    """

    name = "solved"
    twists: Count
    games: Count = 100
    moves: Count | None = None
    goal: float | None = None

    def unfit(self, game: Game) -> str | None:
        if game.name != "cube":
            return "it is for the cube"
        most = game.params["max_moves"]
        if self.moves is not None and self.moves > most:
            return f"moves={self.moves}, but the game ends after {most}; make it with max_moves={self.moves}"
        return None

    def measure(self, job: EvaluationJob) -> EvaluationResult:
        game, agent = job.game, job.made()
        budget = self.moves or game.params["max_moves"]
        scrambled = make(game.name, **{**game.params, "twists": self.twists})
        solved, lengths = 0, 0
        for number in range(self.games):
            # The record of the agent's own game, which may have another number of twists.
            state = State(game, State(scrambled).roll(stream(job.seed, number)).record)
            agent.seed(derive(job.seed, number))
            while not state.is_over and len(state.history) < budget:
                state = job.moved(agent, state)
            if state.is_over and state.scores[0] > 0:
                solved, lengths = solved + 1, lengths + len(state.history)
            job.step(number + 1, self.games)
            if job.stopping():
                break
        tried = number + 1
        share = solved / tried
        details = {"solved": solved, "moves": budget, "mean_moves": lengths / solved if solved else None}
        return measured(job, share, wilson(share, tried), tried, details)


def _points(job: EvaluationJob, result: MatchResult) -> EvaluationResult:
    mine = result.standings[0]
    tally = mine.total
    # Games of one opening depend on each other.
    worth = effective_games(result.pairs) if result.pairs else tally.games
    details = {
        "wins": tally.wins,
        "draws": tally.draws,
        "losses": tally.losses,
        "seats": [seat.share for seat in mine.seats],
        "openings": result.openings,
        **_forfeits(result),
    }
    return measured(job, tally.share, wilson(tally.share, worth), tally.games, details)


def _forfeits(result: MatchResult) -> dict[str, Any]:
    return {"forfeits": dict(result.forfeits)} if result.forfeits else {}


# ---- which fit a game ----

#: The most telling evaluators of these games; others have the usual ones.
_OWN = {
    "tic_tac_toe": ("vs(random)", "vs(perfect)", "accuracy"),
    "nim": ("vs(random)", "vs(perfect)", "accuracy"),
    "sim": ("vs(random)", "vs(perfect)", "accuracy"),
    "connect_four": ("vs(random)", "vs(mcts(simulations=1000))", "accuracy(least=12)"),
    "othello": ("vs(random)", 'vs(weighted("bench"))', "vs(mcts(simulations=500))"),
    "cube": ("solved(3)", "solved(6)", "score"),
}


def evaluators_for(game: Game) -> list[str]:
    """Expressions of the evaluators to use for a game unless others are named."""
    usual = ["score"] if game.seats == 1 else ["vs(random)"]
    if game.seats > 1:
        usual += ["vs(alphabeta(depth=2))"] if game.heuristic else []
        usual += ["vs(mcts(simulations=500))"]
    named = [name for name in _OWN.get(game.name, usual) if evaluator(name).unfit(game) is None]
    return named or [name for name in usual if evaluator(name).unfit(game) is None]
