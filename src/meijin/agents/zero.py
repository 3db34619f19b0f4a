"""`zero("runs/c4")`: AlphaZero's search with a net that a run has trained, or that came with the package."""

from __future__ import annotations

import time
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
    from meijin.learning.zero.nets import Net
    from meijin.learning.zero.tree import Tree


class Searching(Agent):
    """A net that searches; where the net comes from is for others to say."""

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
            raise BadParameter(f"c={c!r}: the exploration constant is zero or more")
        self.limit = Limit(seconds, simulations)
        self.c, self.fpu, self.reuse, self.device = float(c), float(fpu), reuse, device
        self._seed = 0 if seed is None else seed
        self._tree: Tree | None = None

    def net(self, game: Game) -> Net:
        """The net for that game; an error says why there is none."""
        raise NotImplementedError

    def load(self, net: Net) -> None:
        """Go on with these weights, of the same shape."""
        if self._tree is not None:
            self._tree.worker.load(net)
            self._tree.forget()

    def seed(self, seed: int) -> None:
        """Forget what was kept; random numbers decide which outcomes of chance a search looks at."""
        self._seed = seed
        if self._tree is not None:
            self._tree.seed(seed)

    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008
        must_move(state)
        if limit.seconds is None and limit.simulations is None:  # a depth alone would never end this search
            limit = self.limit
        tree = self._planted(state.game, limit)
        tree.look(state, self.reuse)
        kept = tree.begin()  # on the first use this compiles, before the clock starts
        began = time.perf_counter()
        from meijin.learning.zero.tree import FOREVER

        tree.think(FOREVER if limit.simulations is None else kept + limit.simulations, limit.seconds)
        return tree.report(state, kept, time.perf_counter() - began)

    def act(self, state: State, limit: Limit = Limit()) -> Move:  # noqa: B008
        return state.legal_moves[0] if len(state.legal_moves) == 1 else super().act(state, limit)

    def _planted(self, game: Game, limit: Limit) -> Tree:
        if self._tree is None or self._tree.game is not game:
            from meijin.learning.zero.tree import Tree

            size = limit.simulations or self.limit.simulations or 200
            net = self.net(game)
            self._tree = Tree(net, size, c=self.c, fpu=self.fpu, device=self.device, seed=self._seed)
        return self._tree


@agents.register("zero")
class Zero(Searching):
    """AlphaZero: a tree search with a net of your own, trained by `meijin train GAME zero`.

    `path`: a run's directory, whose newest net plays, or a checkpoint. `simulations` of every move, or `seconds`; what
    an earlier search found about the position comes on top, unless `reuse=False`. `c` weighs the net's opinion of moves
    against what the search has seen of them; `fpu` is how much less than its parent an untried move is taken to be
    worth. `device`: "cpu" or "cuda".
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
        files.need_torch(f'zero("{path}")')
        from meijin.learning.zero.tree import net_of

        self.path = files.find(path)
        self._net = net_of(self.path)

    def net(self, game: Game) -> Net:
        if why := self.unfit(game):
            raise BadParameter(f"{self.name} cannot play {game}: {why}")
        return self._net if game is self._net.game else self._net.for_game(game)

    def unfit(self, game: Game) -> str | None:
        why = self._net.unfit(game)
        return why and f"its net is one of {self._net.game}: {why}"


class OfNet(Searching):
    """A net at hand that plays, such as one in training."""

    name = "zero"

    def __init__(self, net: Net, simulations: int, **options: Any):
        super().__init__(simulations, **options)
        self._net = net

    def net(self, game: Game) -> Net:
        return self._net

    def unfit(self, game: Game) -> str | None:
        return self._net.unfit(game)


@agents.register("champion")
class Champion(Searching):
    """The strongest net that comes with Meijin for a game, in AlphaZero's search; see `meijin champion list`.

    `simulations` of every move, or `seconds`. Others as for `zero`.
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
        if files.champion(game) is None:
            known = sorted({said["game"] for _, said in files.champions()})
            return (
                f"there is no champion of it yet; {'there are for ' + ', '.join(known) if known else 'nor of others'}"
            )
        if missing := files.torch_missing():
            return f"its champion is a net, and there is no module '{missing}' here: pip install 'meijin[nn]'"
        return None

    def net(self, game: Game) -> Net:
        if why := self.unfit(game):
            raise MeijinError(f"{self.name} cannot play {game}: {why}")
        from meijin.learning.zero.tree import net_of

        path = files.champion(game)
        assert path is not None
        found = net_of(path)
        return found if found.game is game else found.for_game(game)


__all__ = ["Champion", "OfNet", "Searching", "Zero"]
