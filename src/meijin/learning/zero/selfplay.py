"""Self-play: forests that play against themselves on one device, and the positions they leave."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np

from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.learning.nets.weights import HasWeights
from meijin.learning.zero.gpu import GpuWorker, run_together
from meijin.learning.zero.positions import Positions, harvest, policy_width
from meijin.learning.zero.worker import make_worker
from meijin.search.forest import Settings, layout
from meijin.search.forest.scale import evened

FORESTS = 2  # on a GPU: while the net answers one, the trees of the other move
SLOTS = 128  # more than the longest game needs, so that finished games wait for the harvest a while


class SelfPlay:
    """Games played at once by the workers of one device; `play` gives the positions of those that end."""

    def __init__(
        self,
        net: HasWeights,
        games: int,
        settings: Settings,
        *,
        device: str = "cpu",
        threads: int = 1,
        dtype: str = "",
        width: int = 64,
        seed: int = 0,
        pool_share: float = 0.0,
    ):
        game: Game = net.game
        self.game, self.width, self.games = game, policy_width(game, width), games
        longest = min(game.longest, settings.cap or game.longest, 4096)
        self.device = device
        workers = max(1, min(threads if device == "cpu" else FORESTS, games))
        shares = [games // workers + (k < games % workers) for k in range(workers)]
        net = self._shared(net)
        self.workers = [
            make_worker(
                net,
                share,
                settings,
                device=device,
                dtype=dtype,
                seed=seed * 1000 + k,
                slots=longest + SLOTS,
                rivals=math.ceil(pool_share * share),
            )
            for k, share in enumerate(shares)
        ]
        self._pool = ThreadPoolExecutor(workers) if device == "cpu" else None
        self.simulations = settings.simulations
        self._counted = np.zeros(layout.STATS_SIZE, np.int64)

    def _shared(self, net: HasWeights) -> HasWeights:
        """On a CPU, weights that all threads have in common."""
        return net.weights() if self.device == "cpu" else net

    def load(
        self, net: HasWeights, settings: Settings | None = None, past: HasWeights | None = None, number: int = 0
    ) -> None:
        """Play on with these weights and settings, and against that net where a past one is wanted.

        `number` is that of the net: the positions it plays carry it.
        """
        net, past = self._shared(net), None if past is None else self._shared(past)
        for worker in self.workers:
            worker.load(net)
            if settings is not None:
                worker.set(settings, past, number)
                self.simulations = settings.simulations

    @property
    def stride(self) -> int:
        """Steps between two harvests: a move or so, and a few on a GPU, which has to wait meanwhile."""
        return max(16, self.simulations) * (1 if self.device == "cpu" else 4)

    def advance(self, steps: int) -> Positions:
        """So many steps of every tree, and the positions of the games that ended."""
        if self._pool is None:
            run_together(cast(list[GpuWorker], self.workers), steps)
        else:
            list(self._pool.map(lambda worker: worker.run(steps), self.workers))
        return Positions.cat([harvest(worker.forest, self.width, worker.device) for worker in self.workers])

    def play(self, positions: int, on_progress: Any = None) -> Positions:
        """Play until there are at least that many positions of finished games."""
        parts: list[Positions] = []
        count = 0
        while count < positions:
            part = self.advance(self.stride)
            count += len(part)
            parts.append(part)
            if on_progress:
                on_progress(min(count, positions), positions)
        self.check()
        return Positions.cat(parts)

    def check(self) -> None:
        """Raise if a position could not be packed."""
        for worker in self.workers:
            fault = int(worker.forest.host("stats")[:, layout.FAULT].max())
            if fault:
                raise MeijinError(
                    f"{self.game}: plane {fault - 1} is not what random play showed it to be; write `planes` so that "
                    "it is always 0 and 1, or always one number for all cells, or neither from the start"
                )

    def stats(self) -> dict[str, float]:
        """Counts since the last call, and means."""
        stats = sum(worker.forest.host("stats").sum(0) for worker in self.workers)
        new = np.asarray(stats) - self._counted
        self._counted = np.asarray(stats).copy()
        games = int(new[layout.GAMES])
        found = {
            "games": games,
            "simulations": int(new[layout.SIMULATIONS]),
            "evaluations": int(new[layout.EVALUATIONS]),
            "game_length": new[layout.PLIES] / games if games else 0.0,
            "resigned": int(new[layout.RESIGNED]),
            "cut": int(new[layout.CUT]),
            "lost_positions": int(new[layout.LOST]),
            "resign_wrong": new[layout.WRONGED] / new[layout.DOUBTED] if new[layout.DOUBTED] else 0.0,
        }
        if any(worker.past is not None for worker in self.workers):
            found |= {"pool_games": int(new[layout.RIVAL_GAMES]), "pool_points": new[layout.RIVAL_POINTS] / 2}
        sums = np.asarray(sum(worker.forest.host("sums").sum(0) for worker in self.workers))
        before = getattr(self, "_sums", np.zeros_like(sums))
        self._sums = sums.copy()
        own = sums - before
        if self.workers[0].forest.draw:
            own = evened(own)
        for seat in range(self.game.seats):
            found[f"score_seat_{seat}"] = float(own[seat] / games) if games else 0.0
        return found
