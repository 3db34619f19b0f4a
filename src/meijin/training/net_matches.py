"""Matches between nets of a run, many games at once: the gate, and Elo between two evaluations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meijin.core.game import Game
from meijin.core.statistics import PAIR, Sprt, pentanomial
from meijin.learning.zero.batch_search import BatchSearch
from meijin.learning.zero.config import ZeroConfig
from meijin.learning.zero.duel import duel
from meijin.learning.zero.nets import Net
from meijin.search.forest import Settings

MOST = 256  # games played at once
LOOK = 32  # pairs of games between two looks of a sequential test
TINY = 1e-6  # log-likelihood ratios closer to 0 say nothing


class NetMatches:
    """Plays them on one device; the searchers are kept from match to match."""

    def __init__(self, game: Game, config: ZeroConfig, device: str):
        self.game, self.config, self.device = game, config, device
        self._searchers: dict[int, tuple[BatchSearch, BatchSearch]] = {}

    def results(
        self,
        one: Net,
        other: Net,
        games: int,
        simulations: int,
        plies: int,
        seed: int,
        first: int = 0,
        check: Callable[[], None] = lambda: None,
    ) -> np.ndarray:
        """[game] -> the first net's points: 1, 1/2 or 0. Pairs of games share an opening; `first` numbers the first.

        `check` is called before every move and may raise.
        """
        if simulations not in self._searchers:
            settings = Settings(simulations=simulations, c=self.config.search.c, fpu=self.config.search.fpu)
            batch = min(games, MOST)
            made = [BatchSearch(net, batch, settings, device=self.device) for net in (one, other)]
            self._searchers[simulations] = made[0], made[1]
        pair = self._searchers[simulations]
        for searcher, net in zip(pair, (one, other), strict=True):
            searcher.load(net)
        mine, theirs = (_Checked(searcher, check) for searcher in pair)
        scores = duel(mine, theirs, self.game, games, plies=plies, seed=seed, first=first)
        return np.asarray((np.sign(scores) + 1) / 2)

    def gate(self, new: Net, old: Net, seed: int, check: Callable[[], None] = lambda: None) -> tuple[float, int, bool]:
        """The new net's share of the points, in how many games, and whether that is enough for it to play."""
        gate = self.config.gate
        settings = gate.simulations, gate.plies, seed
        if not gate.sprt:
            share = float(self.results(new, old, gate.games, *settings, check=check).mean())
            return share, gate.games, share >= gate.threshold
        test, found = Sprt(*gate.sprt), np.zeros(0)
        while True:
            count = min(PAIR * LOOK, gate.games - len(found))
            part = self.results(new, old, count, *settings, first=len(found) // PAIR, check=check)
            found = np.concatenate([found, part])
            whole = found[: len(found) // PAIR * PAIR].reshape(-1, PAIR)
            progress = test.judge(pentanomial(whole.tolist()))
            if progress.decision or len(found) >= gate.games:
                # Undecided at the last game, the more likely of the two hypotheses is taken.
                return float(found.mean()), len(found), progress.llr > TINY


class _Checked:
    """A searcher that calls `check` before it searches."""

    def __init__(self, searcher: BatchSearch, check: Callable[[], None]):
        self.batch, self._searcher, self._check = searcher.batch, searcher, check

    def moves(self, records: Any) -> np.ndarray:
        self._check()
        return self._searcher.moves(records)
