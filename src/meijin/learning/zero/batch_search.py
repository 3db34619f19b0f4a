"""Searches of many positions at once, for matches between nets, experiments and tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from meijin.learning.nets.weights import HasWeights
from meijin.learning.zero.worker import make_worker
from meijin.search.forest import Settings, layout

BEST = Settings(c=1.5, fpu=0.15)  # a search that plays at its best: no noise


class BatchSearch:
    """Searches up to `batch` positions at once, each with as many simulations as the settings say."""

    def __init__(
        self,
        net: HasWeights,
        batch: int,
        settings: Settings = BEST,
        *,
        device: str = "cpu",
        dtype: str = "",
        cache: bool = False,  # on a CPU: evaluate equal positions once
    ):
        self.game, self.batch, self.settings = net.game, batch, settings
        self.worker = make_worker(net, batch, settings, selfplay=False, device=device, dtype=dtype, cache=cache)

    def load(self, net: HasWeights) -> None:
        self.worker.load(net)

    def search(self, records: Any) -> None:
        """Search these positions (an array of records, seats to move); then read `visits`."""
        roots = self.game.states(self.batch)
        for i in range(self.batch):
            roots[i] = records[i % len(records)]
        self.worker.forest.restart(roots)
        left = self.settings.simulations + 2
        while left > 0:  # a step makes up to `leaves` simulations
            steps = -(-left // self.settings.leaves)
            self.worker.run(steps)
            self.worker.wait()
            left = 0 if self.worker.forest.finished else left - steps

    def visits(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """[position, move] -> visits, and [position, seat] -> value, of the first `count` positions."""
        forest, seats = self.worker.forest, self.game.seats
        nodes, edges = forest.host("nodes")[:count, 0], forest.host("edges")[:count]
        visits = np.zeros((count, self.game.num_moves), np.int64)
        values = np.zeros((count, seats))
        for i in range(count):
            own = edges[i, nodes["first"][i] : nodes["first"][i] + nodes["count"][i]]
            visits[i, own["move"]] = own["visits"]
            values[i] = own["total"].sum(axis=0) / max(1, own["visits"].sum())
        return visits, values

    def moves(self, records: Any) -> np.ndarray:
        """The best move of every position: the most visited, of those that keep its value where that is proven."""
        self.search(records)
        count = len(records)
        forest, found = self.worker.forest, np.zeros(count, np.int64)
        info, nodes, edges = forest.host("info"), forest.host("nodes")[:, 0], forest.host("edges")
        for i in range(count):
            own = edges[i, nodes["first"][i] : nodes["first"][i] + nodes["count"][i]]
            means = np.where(own["proven"] == 1, own["total"][:, nodes["turn"][i]] / own["visits"].clip(1), -np.inf)
            if info[i, layout.PROVEN]:
                worse = means < means.max() - 1e-6
            else:  # a move much looked at may have been refuted in the end, and the one that is not, never tried
                worse = (own["proven"] == 1) & (means < 1e-6 - 1.0)
            found[i] = own["move"][np.where(worse, -1, own["visits"]).argmax()]
        return found
