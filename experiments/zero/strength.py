"""A match of a net with search against any agent, all games at once.

    python experiments/zero/strength.py CHECKPOINT 'mcts(simulations=5000)' --games 200 --simulations 200 --device cuda

Every opening of random plies is played twice, with the sides exchanged. Prints the net's share of the points, a draw
counting one half, with the 95 % Wilson interval.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from meijin.agents.catalogue import build
from meijin.arena.stats import wilson
from meijin.core.game import Game
from meijin.core.state import State
from meijin.learning.zero import checkpoint
from meijin.learning.zero.searching import Searcher, duel, points
from meijin.search.forest import Settings


class Many:
    """An agent that moves in many positions at once, in threads."""

    def __init__(self, game: Game, expression: str, threads: int, batch: int = 1024):
        self.game, self.batch = game, batch
        self.agents = [build(expression, game, seed=k) for k in range(threads)]
        self.pool = ThreadPoolExecutor(threads)

    def moves(self, records: Any) -> np.ndarray:
        found = np.zeros(len(records), np.int64)

        def work(k: int) -> None:
            for i in range(k, len(records), len(self.agents)):
                found[i] = int(self.agents[k].act(State(self.game, records[i])))

        list(self.pool.map(work, range(len(self.agents))))
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("agents", nargs="+")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--plies", type=int, default=6, help="random plies that open each pair of games")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="of the other agent")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    net = checkpoint.load(options.checkpoint).net.to(options.device)
    settings = Settings(simulations=options.simulations)
    searcher = Searcher(net, min(options.games, 256), settings, device=options.device)
    print("| game | net with | against | games | points, 95 % | won-drawn-lost | time |\n|---|---|---|---|---|---|---|")
    for agent in options.agents:
        began = time.perf_counter()
        other = Many(net.game, agent, options.threads)
        scores = duel(searcher, other, net.game, options.games, plies=options.plies, seed=options.seed)
        low, high = wilson(points(scores), len(scores))
        won, drawn, lost = ((scores > 0).sum(), (scores == 0).sum(), (scores < 0).sum())
        print(
            f"| {net.game} | {options.simulations} simulations | `{agent}` | {len(scores)} | "
            f"{points(scores):.1%} ({low:.1%} to {high:.1%}) | {won}-{drawn}-{lost} | "
            f"{time.perf_counter() - began:.0f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
