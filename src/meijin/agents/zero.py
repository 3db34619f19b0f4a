"""`zero("runs/c4")`: AlphaZero's search with a net that a run has trained."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.agents.solving import Solving
from meijin.core.agent import Agent, Analysis, Limit
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.options import at_least, between
from meijin.core.state import State
from meijin.learning import files
from meijin.search.pace import Pace

if TYPE_CHECKING:
    from meijin.learning.nets.weights import HasWeights, Weights
    from meijin.learning.zero.player import Player


LEAVES = 4  # of a tree that are evaluated together, for each thread
CONCEDED = 0.1  # points that a net that avoids draws gives up at most, not to come back to where the game has been


def onward(state: State, analysis: Analysis, draw: float) -> Analysis:
    """With the best move first that leads to cells and a turn which the game has not seen, if it is nearly as good.

    `draw` is what the net takes a draw to be worth; a seat that expects less may well come back.
    """
    moves, seat = analysis.moves, state.turn
    if analysis.proven or moves[0].value is None or moves[0].value[seat] < draw:
        return analysis
    past, seen = state.copy(), {(state.turn, state.cells)}
    while past.history:
        past.undo()
        seen.add((past.turn, past.cells))
    for at, found in enumerate(moves):
        if found.value is None or found.value[seat] < moves[0].value[seat] - (0 if found.proven else CONCEDED):
            continue
        after = state.copy().play(found.move)
        if (after.turn, after.cells) not in seen:
            return replace(analysis, moves=(found, *moves[:at], *moves[at + 1 :])) if at else analysis
    return analysis


class ZeroSearch(Agent):
    """AlphaZero's search; subclasses say which net it asks."""

    deterministic = True  # except where chance moves: it looks at a few outcomes
    measures = ("seconds", "simulations")
    ponders = True

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.5,
        fpu: float = 0.15,
        reuse: bool = True,
        device: str = "cpu",
        seed: int | None = None,
        threads: int = 1,
        leaves: int | None = None,
    ):
        if simulations is None and seconds is None:
            simulations = 200
        between("threads", threads, 1, 256)
        if leaves is None:
            leaves = LEAVES * threads if device == "cpu" else 1
        between("leaves", leaves, 1, 256)
        self.threads, self.leaves = threads, leaves
        at_least("c", c, 0)
        at_least("fpu", fpu, 0)
        self.limit = Limit(seconds, simulations)
        self.c, self.fpu, self.reuse, self.device = float(c), float(fpu), reuse, device
        self._seed = 0 if seed is None else seed
        self._player: Player | None = None

    @abstractmethod
    def net(self, game: Game) -> HasWeights:
        """The net for that game; an error says why there is none."""

    def has_net(self, game: Game) -> bool:
        """Whether it asks a net of AlphaZero's kind in that game."""
        return True

    def load(self, net: HasWeights) -> None:
        """Continue with these weights, from a net of the same shape."""
        if self._player is not None:
            self._player.load(net)

    def reseed(self, seed: int) -> None:
        self._seed = seed  # of random numbers that decide which outcomes of chance a search looks at
        if self._player is not None:
            self._player.seed(seed)

    def release(self) -> None:
        self._player = None

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        player = self._player_of(state.game, limit)
        player.look(state, self.reuse)
        kept = player.begin()  # on the first use this compiles, before the clock starts
        player.aim(None if limit.simulations is None else kept + limit.simulations)
        with Pace(self, limit.seconds, every, reports=False) as pace:
            while not player.finished and not pace.over:
                player.advance()
                if pace.due():
                    yield player.report(state, kept, pace.seconds)
        yield player.report(state, kept, pace.seconds)

    def decide(self, state: State, limit: Limit) -> Move:
        return state.legal_moves[0] if len(state.legal_moves) == 1 else super().decide(state, limit)

    def chosen(self, state: State, analysis: Analysis) -> Analysis:
        player = self._player
        if player is None or player.game is not state.game or player.forest.draw >= 0:
            return analysis
        return onward(state, analysis, player.forest.draw)

    def _player_of(self, game: Game, limit: Limit) -> Player:
        if self._player is None or self._player.game is not game:
            from meijin.learning.zero.player import Player

            size = limit.simulations or self.limit.simulations or 200
            net = self.net(game)
            self._player = Player(
                net,
                size,
                c=self.c,
                fpu=self.fpu,
                device=self.device,
                seed=self._seed,
                leaves=self.leaves,
                threads=self.threads,
            )
        return self._player


class Zero(Solving, ZeroSearch):
    """AlphaZero: a tree search with a net of your own, trained by `meijin train GAME zero`.

    `path`: a run's directory, whose newest net plays, or a checkpoint. `simulations` or `seconds` for each move; what
    an earlier search found about the position comes on top, unless `reuse=False`. `c` weighs the net's opinion of moves
    against what the search has seen of them; `fpu` is how much less than its parent an untried move is assumed to be
    worth. `device`: "cpu", or "cuda", which needs PyTorch. `threads` of the CPU share the evaluations of the net.
    `leaves`: at most so many positions of the tree are evaluated together, fewer in a search of few simulations; by
    default 4 for each thread, and 1 on a GPU. `exact`: where the game has a solver that expects to answer within half
    of the time, or half a second where the limit is not a time, its answer counts. Leave it out to measure the net.
    """

    def __init__(
        self,
        path: str,
        simulations: int | None = None,
        c: float = 1.5,
        fpu: float = 0.15,
        reuse: bool = True,
        device: str = "cpu",
        seconds: float | None = None,
        seed: int | None = None,
        threads: int = 1,
        leaves: int | None = None,
        exact: bool = False,
    ):
        super().__init__(simulations, seconds, c, fpu, reuse, device, seed, threads, leaves)
        self.exact = exact
        if not isinstance(path, str | Path):
            raise BadParameter(f'path={path!r}: give a run\'s directory or a checkpoint, as in zero("runs/c4")')
        from meijin.learning.nets.weights import load

        self.path = files.find(path)
        self._net = load(self.path)

    def think(self, state: State, limit: Limit, every: float) -> Iterator[Analysis]:
        if self.exact:
            found, limit = self.solved_in_time(state, limit)
            if found is not None:
                yield found
                return
        yield from super().think(state, limit, every)

    def net(self, game: Game) -> Weights:
        if why := self.unfit(game):
            raise BadParameter(f"{self.name} cannot play {game}: {why}")
        return self._net.for_game(game)

    def unfit(self, game: Game) -> str | None:
        why = self._net.unfit(game)
        return why and f"its net is one of {self._net.game}: {why}"


class OfNet(ZeroSearch):
    """Plays with a given net, such as one in training."""

    name = "zero"

    def __init__(self, net: HasWeights, simulations: int, **options: Any):
        super().__init__(simulations, **options)
        self._net = net

    def net(self, game: Game) -> HasWeights:
        return self._net

    def unfit(self, game: Game) -> str | None:
        return self._net.weights().unfit(game)


__all__ = ["OfNet", "Zero", "ZeroSearch"]
