"""`zero("runs/c4")`: AlphaZero's search with a net that a run has trained, or that came with the package."""

from __future__ import annotations

import time
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.agents.catalogue import agents
from meijin.core.agent import Agent, Analysis, Limit
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.state import State
from meijin.learning import files
from meijin.search.clock import must_move

if TYPE_CHECKING:
    from meijin.learning.nets.weights import HasWeights, Weights
    from meijin.learning.zero.player import Player


class ZeroSearch(Agent):
    """AlphaZero's search; subclasses say which net it asks."""

    deterministic = True  # but for a game's chance, of which it looks at a few outcomes

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        c: float = 1.5,
        fpu: float = 0.15,
        reuse: bool = True,
        device: str = "cpu",
        seed: int | None = None,
    ):
        if simulations is None and seconds is None:
            simulations = 200
        if not c >= 0:
            raise BadParameter(f"c={c!r}: the exploration constant must be at least 0")
        self.limit = Limit(seconds, simulations)
        self.c, self.fpu, self.reuse, self.device = float(c), float(fpu), reuse, device
        self._seed = 0 if seed is None else seed
        self._player: Player | None = None

    @abstractmethod
    def net(self, game: Game) -> HasWeights:
        """The net for that game; an error says why there is none."""

    def load(self, net: HasWeights) -> None:
        """Go on with these weights, of a net of the same shape."""
        if self._player is not None:
            self._player.load(net)

    def seed(self, seed: int) -> None:
        """Forget what was kept; random numbers decide which outcomes of chance a search looks at."""
        self._seed = seed
        if self._player is not None:
            self._player.seed(seed)

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        must_move(state)
        if limit.seconds is None and limit.simulations is None:  # a depth alone would never end this search
            limit = self.limit
        player = self._player_of(state.game, limit)
        player.look(state, self.reuse)
        kept = player.begin()  # on the first use this compiles, before the clock starts
        began = time.perf_counter()
        player.think(None if limit.simulations is None else kept + limit.simulations, limit.seconds)
        return player.report(state, kept, time.perf_counter() - began)

    def act(self, state: State, limit: Limit = Limit()) -> Move:  # noqa: B008
        return state.legal_moves[0] if len(state.legal_moves) == 1 else super().act(state, limit)

    def _player_of(self, game: Game, limit: Limit) -> Player:
        if self._player is None or self._player.game is not game:
            from meijin.learning.zero.player import Player

            size = limit.simulations or self.limit.simulations or 200
            net = self.net(game)
            self._player = Player(net, size, c=self.c, fpu=self.fpu, device=self.device, seed=self._seed)
        return self._player


@agents.register("zero")
class Zero(ZeroSearch):
    """AlphaZero: a tree search with a net of your own, trained by `meijin train GAME zero`.

    `path`: a run's directory, whose newest net plays, or a checkpoint. `simulations` or `seconds` for each move; what
    an earlier search found about the position comes on top, unless `reuse=False`. `c` weighs the net's opinion of moves
    against what the search has seen of them; `fpu` is how much less than its parent an untried move is assumed to be
    worth. `device`: "cpu", or "cuda", which needs PyTorch.
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
    ):
        super().__init__(simulations, seconds, c, fpu, reuse, device, seed)
        if not isinstance(path, str | Path):
            raise BadParameter(f'path={path!r}: give a run\'s directory or a checkpoint, as in zero("runs/c4")')
        from meijin.learning.nets.weights import load

        self.path = files.find(path)
        self._net = load(self.path)

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


@agents.register("champion")
class Champion(ZeroSearch):
    """The strongest net that comes with Meijin for a game, in AlphaZero's search; see `meijin champion list`.

    `simulations` or `seconds` for each move. Other parameters as for `zero`.
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
    ):
        super().__init__(simulations, seconds, c, fpu, reuse, device, seed)

    def unfit(self, game: Game) -> str | None:
        if files.champion(game) is not None:
            return None
        known = sorted({said["game"] for _, said in files.champions()})
        return f"there is no champion of it yet; {'games with one: ' + ', '.join(known) if known else 'nor of others'}"

    def net(self, game: Game) -> Weights:
        path = files.champion(game)
        if path is None:
            raise MeijinError(f"{self.name} cannot play {game}: {self.unfit(game)}")
        from meijin.learning.nets.weights import load

        return load(path).for_game(game)


__all__ = ["Champion", "OfNet", "Zero", "ZeroSearch"]
