"""A match of a net with search against any agent, all games at once.

    python experiments/zero/strength.py CHECKPOINT 'mcts(simulations=5000)' --games 200 --simulations 200 --device cuda

Every opening of random plies is played twice, with the sides exchanged. Prints the net's share of the points, a draw
counting one half, with the 95 % Wilson interval.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from meijin.agents.catalogue import build
from meijin.arena.stats import wilson
from meijin.core.catalogue import make
from meijin.core.game import Game
from meijin.core.state import State
from meijin.learning.zero import checkpoint
from meijin.learning.zero.batch_search import BatchSearch
from meijin.learning.zero.duel import duel, points
from meijin.search.forest import Settings

_AGENT: Any = None  # in a worker process


def _begin(game: str, expression: str, seeds: Any) -> None:
    global _AGENT  # noqa: PLW0603
    _AGENT = build(expression, make(game), seed=seeds.get())


def _moves(game: str, records: Any) -> list[int]:
    return [int(_AGENT.act(State(make(game), record))) for record in records]


class Many:
    """An agent that moves in many positions at once, in processes."""

    def __init__(self, game: Game, expression: str, workers: int, batch: int = 1024):
        self.game, self.batch, self.workers = game, batch, workers
        context = multiprocessing.get_context("spawn")
        seeds = context.SimpleQueue()
        for seed in range(workers):
            seeds.put(seed)
        self.pool = ProcessPoolExecutor(workers, context, _begin, (str(game), expression, seeds))

    def moves(self, records: Any) -> np.ndarray:
        shares = [records[k :: self.workers] for k in range(self.workers)]
        found = np.zeros(len(records), np.int64)
        for k, part in enumerate(self.pool.map(_moves, [str(self.game)] * self.workers, shares)):
            found[k :: self.workers] = part
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("agents", nargs="+")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--plies", type=int, default=6, help="random plies that open each pair of games")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=2, help="processes of the other agent")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    net = checkpoint.load(options.checkpoint).net.to(options.device)
    settings = Settings(simulations=options.simulations)
    searcher = BatchSearch(net, min(options.games, 256), settings, device=options.device)
    print("| game | net with | against | games | points, 95 % | won-drawn-lost | time |\n|---|---|---|---|---|---|---|")
    for agent in options.agents:
        began = time.perf_counter()
        other = Many(net.game, agent, options.workers)
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
