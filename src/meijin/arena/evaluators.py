"""Evaluators: how good is an agent? Each is named by an expression, and gives one number with its 95 % interval.

    vs(random)                      share of the points against an agent, seats rotated
    vs(mcts(simulations=500), games=200, openings="random(plies=2)")
    starts(2)                       from every position after 2 plies, in every seat
    accuracy("positions.txt")       share of positions in which its move keeps the exact value
    score                           mean score in a game for one
    solved(5)                       share of cubes solved that 5 random twists scrambled

Every evaluator takes `goal=`: the value that is good enough. `Goal` counts how often in a row that was reached, which
is when training may stop.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meijin.agents.catalogue import build
from meijin.arena.accuracy import Accuracy
from meijin.arena.evaluation import (
    Evaluation,
    Evaluator,
    Goal,
    Trial,
    agent_name,
    at_least_one,
    evaluate,
    evaluation,
    evaluator,
    evaluators,
    goal_value,
    seed_of,
)
from meijin.arena.match import MatchResult
from meijin.arena.openings import AllPositions
from meijin.arena.stats import effective_games, wilson
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.expression import Call
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.solvers import unsolved

__all__ = [
    "Accuracy", "Evaluation", "Evaluator", "Goal", "Score", "Solved", "Starts", "Trial", "Versus",
    "evaluate", "evaluator", "evaluators", "evaluators_for",
]  # fmt: skip

MOST_STARTS = 100_000  # games that `starts` plays unless it is told how many


@evaluators.register("vs")
class Versus(Evaluator):
    """Share of the points against an agent, which takes all the other seats; every seat is played equally often."""

    def __init__(
        self,
        opponent: Call | str,
        games: int = 100,
        openings: Call | str | None = None,
        goal: float | None = None,
    ):
        self.opponent = agent_name("opponent", opponent)
        self.games, self.goal = at_least_one("games", games), goal_value(goal)
        self.openings = None if openings is None else str(openings)

    def unfit(self, game: Game) -> str | None:
        if game.seats == 1:
            return "there is nobody to play against in a game for one; `score` fits"
        return build(self.opponent).unfit(game)

    def measure(self, trial: Trial) -> Evaluation:
        games = -(-self.games // trial.game.seats) * trial.game.seats  # every seat as often
        names = (trial.agent, *(self.opponent for _ in range(trial.game.seats - 1)))
        return _points(trial, trial.play(names, games, openings=self.openings))


@evaluators.register("starts")
class Starts(Evaluator):
    """Share of the points against an agent from every position after `plies` plies, in every seat.

    The opponent is `perfect` where the game is solved, else `mcts(simulations=1000)`. `games`: no more than so many,
    from positions drawn at random.
    """

    def __init__(
        self,
        plies: int,
        opponent: Call | str | None = None,
        games: int | None = None,
        goal: float | None = None,
    ):
        if isinstance(plies, bool) or not isinstance(plies, int) or plies < 0:
            raise BadParameter(f"plies={plies!r}: give a whole number of plies, 0 or more")
        self.plies, self.goal = plies, goal_value(goal)
        self.opponent = None if opponent is None else agent_name("opponent", opponent)
        self.games = None if games is None else at_least_one("games", games)

    def _opponent(self, game: Game) -> str:
        return self.opponent or ("mcts(simulations=1000)" if unsolved(game) else "perfect")

    def unfit(self, game: Game) -> str | None:
        if game.seats == 1:
            return "there is nobody to play against in a game for one; `score` fits"
        return build(self._opponent(game)).unfit(game)

    def measure(self, trial: Trial) -> Evaluation:
        game = trial.game
        source = AllPositions(self.plies, shuffle=self.games is not None)
        source.name = f"all(depth={self.plies})"
        positions = source.count(game)
        games = positions * game.seats
        if self.games is not None:
            games = min(games, -(-self.games // game.seats) * game.seats)
        elif games > MOST_STARTS:
            raise BadParameter(
                f"{self.name}: {game} has {positions:,} positions there, {games:,} games; choose fewer plies, or games="
            )
        names = (trial.agent, *(self._opponent(game) for _ in range(game.seats - 1)))
        found = _points(trial, trial.play(names, games, openings=source))
        return replace(found, details={"opponent": names[1], "positions": games // game.seats, **found.details})


@evaluators.register("score")
class Score(Evaluator):
    """Mean score over games for one seat."""

    def __init__(self, games: int = 100, goal: float | None = None):
        self.games, self.goal = at_least_one("games", games), goal_value(goal)

    def unfit(self, game: Game) -> str | None:
        return None if game.seats == 1 else f"it is for games with one seat, and this has {game.seats}; `vs` fits"

    def measure(self, trial: Trial) -> Evaluation:
        result = trial.play([trial.agent], self.games)
        tally = result.standings[0].total
        details = {"lowest": min(tally.scores), "highest": max(tally.scores), **_forfeits(result)}
        return evaluation(trial, tally.mean, tally.mean_interval, tally.games, details, unit="score")


@evaluators.register("solved")
class Solved(Evaluator):
    """Share of cubes that it solves, each scrambled by so many random twists, in at most `moves` moves.

    The same scrambles for every agent. By default it may use as many moves as the game allows.
    """

    def __init__(self, twists: int, games: int = 100, moves: int | None = None, goal: float | None = None):
        self.twists, self.games, self.goal = (
            at_least_one("twists", twists),
            at_least_one("games", games),
            goal_value(goal),
        )
        self.moves = None if moves is None else at_least_one("moves", moves)

    def unfit(self, game: Game) -> str | None:
        if game.name != "cube":
            return "it is for the cube"
        most = game.params["max_moves"]
        if self.moves is not None and self.moves > most:
            return f"moves={self.moves}, but the game ends after {most}; make it with max_moves={self.moves}"
        return None

    def measure(self, trial: Trial) -> Evaluation:
        game, agent = trial.game, trial.made()
        budget = self.moves or game.params["max_moves"]
        scrambled = make(game.name, **{**game.params, "twists": self.twists})
        solved, lengths = 0, 0
        for number in range(self.games):
            # The record is that of the agent's own game, which may know another number of twists.
            state = State(game, State(scrambled).roll(stream(trial.seed, number)).record)
            agent.seed(seed_of(trial.seed, number))
            while not state.is_over and len(state.history) < budget:
                state = trial.moved(agent, state)
            if state.is_over and state.scores[0] > 0:
                solved, lengths = solved + 1, lengths + len(state.history)
            trial.step(number + 1, self.games)
        share = solved / self.games
        details = {"solved": solved, "moves": budget, "mean_moves": lengths / solved if solved else None}
        return evaluation(trial, share, wilson(share, self.games), self.games, details)


def _points(trial: Trial, result: MatchResult) -> Evaluation:
    mine = result.standings[0]
    tally = mine.total
    # Games of one opening stand or fall together.
    worth = effective_games(result.pairs) if result.pairs else tally.games
    details = {
        "wins": tally.wins,
        "draws": tally.draws,
        "losses": tally.losses,
        "seats": [seat.share for seat in mine.seats],
        "openings": result.openings,
        **_forfeits(result),
    }
    return evaluation(trial, tally.share, wilson(tally.share, worth), tally.games, details)


def _forfeits(result: MatchResult) -> dict[str, Any]:
    return {"forfeits": dict(result.forfeits)} if result.forfeits else {}


# ---- which fit a game ----

#: What is worth knowing of an agent in these games; others have the usual.
_OWN = {
    "tic_tac_toe": ("vs(random)", "vs(perfect)", "accuracy"),
    "nim": ("vs(random)", "vs(perfect)", "accuracy"),
    "sim": ("vs(random)", "vs(perfect)", "accuracy"),
    "connect_four": ("vs(random)", "vs(mcts(simulations=1000))", "accuracy(least=12)"),
    "othello": ("vs(random)", 'vs(weighted("bench"))', "vs(mcts(simulations=500))"),
    "cube": ("solved(3)", "solved(6)", "score"),
}


def evaluators_for(game: Game) -> list[str]:
    """The expressions of evaluators that fit the game, those that its players would look at first."""
    usual = ["score"] if game.seats == 1 else ["vs(random)"]
    if game.seats > 1:
        usual += ["vs(alphabeta(depth=2))"] if game.heuristic else []
        usual += ["vs(mcts(simulations=500))"]
    named = [name for name in _OWN.get(game.name, usual) if evaluator(name).unfit(game) is None]
    return named or [name for name in usual if evaluator(name).unfit(game) is None]
