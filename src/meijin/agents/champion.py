"""`champion`: the net that comes with Meijin for a game, at full strength or weaker; for puzzles, a solver may do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from meijin.agents.solving import Solving
from meijin.agents.td import Td
from meijin.agents.zero import ZeroSearch
from meijin.core.agent import Analysis, Limit
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.options import between
from meijin.core.rng import below, choose, fresh_seed, stream, uniform
from meijin.core.state import State
from meijin.learning import files
from meijin.search.mcts import MCTS
from meijin.search.solvers import unsolved

if TYPE_CHECKING:
    from meijin.learning.nets.weights import Weights

FULL = 10  # the level without mistakes on purpose
ALONE = 2.0  # seconds that a solver may take in a puzzle that has no net where no time is given; else all of that
PLAIN = 200  # simulations of the search for a move in a puzzle without a net that the solver does not solve in time

#: (simulations for each move, temperature of the choice among the moves) of the levels below full strength, lowest
#: first. A champion that comes with Meijin has its own in data/levels.json, from matches; this is for all others.
LEVELS = ((1, 2.5), (1, 1.9), (1, 1.5), (2, 1.25), (4, 1.05), (8, 0.85), (16, 0.65), (32, 0.45), (96, 0.25))
#: The same for n-tuple networks: the share of the moves that are random.
CHANCE_MOVES = (0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05)
AHEAD = 3  # moves that an n-tuple network looks ahead at full strength


def chances(visits: NDArray[Any], priors: NDArray[Any], temperature: float) -> NDArray[np.float64]:
    """The probabilities of the moves: a move counts by its visits, and where there are few, by the net's prior."""
    worth = (visits + priors.astype(np.float64)) ** (1 / temperature)
    shares: NDArray[np.float64] = worth / worth.sum()
    return shares


class Champion(Solving, ZeroSearch):
    """The strongest net that comes with Meijin for a game; see `meijin champion list`.

    It plays by AlphaZero's search, or by an n-tuple network where that is as good: in 2048, the cube and small games.

    `simulations` or `seconds` for each move. `level`: 10 is full strength; from 9 down to 1, a beginner, it thinks less
    and chooses its moves more by chance. Matches have set by how much, game by game, and it decides by itself how long
    to think. Where the game has a solver that is expected to answer in time, its exact answer counts, unless
    `exact=False` (levels below 10 never ask). A game for one that has a solver needs no net: the 3x3x3 cube. Other
    parameters as for `zero`; `threads=2` makes it about twice as fast on two cores.
    """

    def __init__(
        self,
        simulations: int | None = None,
        c: float = 1.5,
        fpu: float = 0.15,
        reuse: bool = True,
        device: str = "cpu",
        seconds: float | None = None,
        seed: int | None = None,
        level: int = FULL,
        exact: bool = True,
        threads: int = 1,
        leaves: int | None = None,
    ):
        between("level", level, 1, FULL)
        if level < FULL and (simulations is not None or seconds is not None):
            given = "simulations" if simulations is not None else "seconds"
            raise BadParameter(
                f"level={level}: a level below {FULL} has its own number of simulations; leave {given} out"
            )
        self.level, self.exact = level, exact and level == FULL
        if level < FULL:
            reuse = False
            self.deterministic = self.ponders = False
        super().__init__(simulations, seconds, c, fpu, reuse, device, seed, threads, leaves)
        self._rng = stream(fresh_seed() if seed is None else seed)
        self._found: tuple[Game, Td | None] | None = None
        self._scale: tuple[Game, Sequence[Any]] | None = None

    def reseed(self, seed: int) -> None:
        super().reseed(seed)
        self._rng = stream(seed)

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        if self.exact:
            alone = self._alone(state.game)
            found, limit = self.solved_in_time(state, limit, *(ALONE, 1.0) if alone else ())
            if found is not None:
                yield found
                return
        if (tuples := self._tuples(state.game)) is not None:
            yield from tuples.think(state, limit, every)
            return
        if self._alone(state.game):
            yield from MCTS(seed=self._seed).think(state, Limit(simulations=PLAIN), every)
            return
        if self.level < FULL:
            limit = Limit(simulations=self.scale(state.game)[self.level - 1][0])
        yield from super().think(state, limit, every)

    def chosen(self, state: State, analysis: Analysis) -> Analysis:
        moves = analysis.moves
        if self.level == FULL:
            return super().chosen(state, analysis)
        if len(moves) == 1:
            return analysis
        scale = self.scale(state.game)[self.level - 1]
        with np.errstate(over="ignore"):
            if self._tuples(state.game) is not None:
                pick = int(below(self._rng, len(moves))) if uniform(self._rng) < scale else 0
            else:
                visits, priors = (np.array([getattr(info, name) for info in moves]) for name in ("visits", "prior"))
                shares = chances(visits, priors, scale[1])
                pick = int(choose(self._rng, shares, len(shares)))
        return replace(analysis, moves=(moves[pick], *moves[:pick], *moves[pick + 1 :]), random=pick > 0)

    def unfit(self, game: Game) -> str | None:
        if files.champion(game) is not None or self._alone(game):
            return None
        known = sorted({said["game"] for _, said in files.champions()})
        return f"it has no champion yet; {'games that have one: ' + ', '.join(known) if known else 'no game has one'}"

    def has_net(self, game: Game) -> bool:
        path = files.champion(game)
        return path is not None and files.kind(path) != "td"

    def scale(self, game: Game) -> Sequence[Any]:
        """What the levels below full strength are in that game: like `LEVELS`, or `CHANCE_MOVES` of n-tuples."""
        if self._scale is None or self._scale[0] is not game:
            path = files.champion(game)
            own = None if path is None else files.scale(path)
            self._scale = game, own or (LEVELS if self.has_net(game) else CHANCE_MOVES)
        return self._scale[1]

    def _alone(self, game: Game) -> bool:
        """Whether it plays by a solver alone: in a game for one, whose solution is a line of moves to the end."""
        return self.exact and game.seats == 1 and files.champion(game) is None and unsolved(game) is None

    def _tuples(self, game: Game) -> Td | None:
        """The n-tuple network of a game whose champion is one."""
        if self._found is None or self._found[0] is not game:
            path = None if self.has_net(game) else files.champion(game)
            ahead = AHEAD if self.level == FULL and game.seats == 1 else 1
            self._found = game, None if path is None else Td(str(path), ahead)
        return self._found[1]

    def net(self, game: Game) -> Weights:
        path = files.champion(game)
        if path is None:
            raise MeijinError(f"{self.name} cannot play {game}: {self.unfit(game)}")
        from meijin.learning.nets.weights import load

        return load(path).for_game(game)
