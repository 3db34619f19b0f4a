"""How far the levels of a champion lie apart: every level against the one below it, all games at once.

    python experiments/zero/levels.py connect_four othello --games 200

Every opening of random plies is played twice, with the sides exchanged. Prints the share of the points of the higher
level with its 95 % Wilson interval; a good scale has 60 to 65 %.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from meijin.agents.champion import FULL, LEVELS, chances
from meijin.arena.stats import wilson
from meijin.core.catalogue import make
from meijin.learning import files
from meijin.learning.nets.weights import Weights, load
from meijin.learning.zero.batch_search import BatchSearch
from meijin.learning.zero.duel import duel, points
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="GAME")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--plies", type=int, default=4, help="random plies that open each pair of games")
    parser.add_argument("--levels", nargs="*", type=int, default=list(range(2, FULL + 1)), help="the higher ones")
    options = parser.parse_args()
    print("| game | level | against | games | points, 95 % | time |\n|---|---|---|---|---|---|")
    for name in options.names:
        game = make(name)
        path = files.champion(game)
        if path is None:
            parser.error(f"{name} has no champion")
        net = load(path).for_game(game)
        for level in options.levels:
            began, batch = time.perf_counter(), (options.games + 1) // 2
            high, low = Level(net, level, batch), Level(net, level - 1, batch)
            share = points(duel(high, low, game, options.games, plies=options.plies, seed=level))
            least, most = wilson(share, options.games)
            print(
                f"| {name} | {level} | {level - 1} | {options.games} | {share:.1%} ({least:.1%} to {most:.1%}) | "
                f"{time.perf_counter() - began:.0f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
