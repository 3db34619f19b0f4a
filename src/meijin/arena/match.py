"""A match: the same agents play a game again and again with the seats rotated."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from meijin.agents.catalogue import build
from meijin.core.agent import Agent, Limit
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.rng import below, stream
from meijin.core.state import State

OPENING_PLIES = 4  # random plies before the first choice of deterministic agents


@dataclass(slots=True)
class Tally:
    """Results of one agent, in all or in one seat. A win is the highest score alone, a draw the highest shared."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    scores: list[float] = field(default_factory=list)  # the game's own score of every game

    def add(self, score: float, others: Sequence[float]) -> None:
        self.scores.append(score)
        best = max(others, default=-math.inf)
        if others and score < best:
            self.losses += 1
        elif others and score == best:
            self.draws += 1
        else:
            self.wins += 1

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Share of the points: a win counts 1, a draw 1/2."""
        return (self.wins + self.draws / 2) / self.games if self.games else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of `points`; draws make it a little wide, never narrow."""
        return wilson(self.points, self.games)

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores)) if self.scores else math.nan

    @property
    def mean_interval(self) -> tuple[float, float]:
        """95 % interval of the mean score by its standard error."""
        if len(self.scores) < 2:
            return (math.nan, math.nan)
        margin = 1.96 * float(np.std(self.scores, ddof=1)) / math.sqrt(len(self.scores))
        return self.mean - margin, self.mean + margin


def wilson(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's score interval of a share observed over n trials."""
    if n == 0:
        return (0.0, 1.0)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    margin = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # The share lies inside; rounding must not leave it out where it is 0 or 1.
    return max(0.0, min(share, centre - margin)), min(1.0, max(share, centre + margin))


@dataclass(frozen=True, slots=True)
class Standing:
    """One agent of a match: its results in all and by seat."""

    name: str
    total: Tally
    seats: tuple[Tally, ...]


@dataclass(frozen=True, slots=True)
class MatchResult:
    game: Game
    standings: tuple[Standing, ...]
    games: int
    plies: int


def play_out(state: State, seated: Sequence[Agent], rng: np.ndarray, limit: Limit = Limit()) -> State:  # noqa: B008
    """Let the agents play the state to its end; `seated[k]` plays seat k and chance draws from `rng`."""
    while not state.roll(rng).is_over:
        state.play(seated[state.turn].act(state, limit))
    return state


def opening(game: Game, plies: int, rng: np.ndarray) -> State:
    """A position after that many random plies that is not over."""
    for _ in range(1000):
        state = State(game)
        for _ in range(plies):
            if state.roll(rng).is_over:
                break
            with np.errstate(over="ignore"):
                state.play(state.legal_moves[below(rng, len(state.legal_moves))])
        if not state.roll(rng).is_over:
            return state
    raise MeijinError(f"{game}: random play of {plies} plies always ends the game; use a shorter opening")


def _longest_opening(game: Game) -> int:
    """`OPENING_PLIES`, or as many as a very short game can bear."""
    for plies in range(OPENING_PLIES, 0, -1):
        try:
            opening(game, plies, stream(0))
        except MeijinError:
            continue
        return plies
    return 0


def match(
    game: Game,
    names: Sequence[str],
    games: int,
    seed: int = 0,
    limit: Limit = Limit(),  # noqa: B008
    plies: int | None = None,
    on_game: Callable[[State], None] = lambda state: None,
) -> MatchResult:
    """Play `games` games between agents named by expressions.

    Every rotation of the seats plays the same opening before the next one comes. `plies` random plies open each
    game: by default none, or `OPENING_PLIES` when no agent and no chance would make two games differ.
    """
    if games < 1:
        raise BadParameter(f"games={games}: a match has at least one game")
    if game.seats > 1 and len(names) != game.seats:
        raise BadParameter(f"{game} has {game.seats} seats; name that many agents, not {len(names)}")
    if not names:
        raise BadParameter("name at least one agent")
    players = [build(name, game, seed=seed + k) for k, name in enumerate(names)]
    if plies is None:
        repeats = all(player.deterministic for player in players) and not game.chance
        plies = _longest_opening(game) if repeats else 0
    tables = range(len(names)) if game.seats > 1 else range(1)  # rotations of the seats
    standings = tuple(Standing(p.name, Tally(), tuple(Tally() for _ in range(game.seats))) for p in players)
    total_plies = 0
    for number in range(games):
        turn_of_table, table = divmod(number, len(tables))
        for solo in range(len(players)) if game.seats == 1 else range(1):
            state = opening(game, plies, stream(seed, 2 * turn_of_table))
            order = [solo] if game.seats == 1 else [(k + table) % len(players) for k in range(game.seats)]
            # seat k is taken by player order[k]
            play_out(state, [players[k] for k in order], stream(seed, 2 * turn_of_table + 1), limit)
            total_plies += len(state.history)
            for seat, k in enumerate(order):
                others = [s for other, s in enumerate(state.scores) if other != seat]
                for tally in (standings[k].total, standings[k].seats[seat]):
                    tally.add(state.scores[seat], others)
            on_game(state)
    return MatchResult(game, standings, games, total_plies)
