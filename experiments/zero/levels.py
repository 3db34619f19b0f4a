"""How far the levels of a champion lie apart: every level against the one below it, all games at once.

    python experiments/zero/levels.py connect_four othello --games 200

Every opening of random plies is played twice, with the sides exchanged. Prints the share of the points of the higher
level with its 95 % Wilson interval; a good scale has 60 to 65 %.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from paired import arguments, champions, share

from meijin.agents.champion import FULL, LEVELS, chances
from meijin.learning.nets.weights import Weights
from meijin.learning.zero.batch_search import BatchSearch
from meijin.search.forest import Settings


class Level(BatchSearch):
    """A champion at that level, without the solvers that the highest one asks."""

    def __init__(self, net: Weights, level: int, batch: int, seed: int = 1):
        simulations, self.temperature = LEVELS.get(level, (200, 0.0))
        super().__init__(net, batch, Settings(simulations=simulations))
        self.rng = np.random.default_rng(seed + level)

    def moves(self, records: Any) -> np.ndarray:
        if not self.temperature:
            return super().moves(records)
        self.search(records)
        nodes, edges = self.worker.forest.host("nodes")[:, 0], self.worker.forest.host("edges")
        found = np.zeros(len(records), np.int64)
        for i in range(len(records)):
            own = edges[i, nodes["first"][i] : nodes["first"][i] + nodes["count"][i]]
            found[i] = self.rng.choice(own["move"], p=chances(own["visits"], own["prior"], self.temperature))
        return found


def main() -> None:
    parser = arguments(__doc__, plies=4)
    parser.add_argument("--levels", nargs="*", type=int, default=list(range(2, FULL + 1)), help="the higher ones")
    options = parser.parse_args()
    print("| game | level | against | games | points, 95 % | time |\n|---|---|---|---|---|---|")
    for name, net in champions(parser, options.names):
        for level in options.levels:
            began, batch = time.perf_counter(), (options.games + 1) // 2
            high, low = Level(net, level, batch), Level(net, level - 1, batch)
            found = share(high, low, options.games, options.plies, seed=level)
            spent = time.perf_counter() - began
            print(f"| {name} | {level} | {level - 1} | {options.games} | {found} | {spent:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
