"""Matches of every two nets of one game, all games of a match at once.

    python experiments/zero/duels.py runs/base runs/muon --games 400 --simulations 64 --device cuda

Every opening of random plies is played twice, with the sides exchanged. Intervals are of 95 %.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

from meijin.agents.registrations import load
from meijin.arena.stats import elo_difference
from meijin.learning import files
from meijin.learning.zero import checkpoint
from meijin.learning.zero.batch_search import BatchSearch
from meijin.learning.zero.duel import duel, points
from meijin.search.forest import Settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="+", help="runs or checkpoints")
    parser.add_argument("--load", help="a file with the game")
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--plies", type=int, default=4, help="random plies that open each pair of games")
    parser.add_argument("--simulations", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    if options.load:
        load(options.load)
    nets = {name: checkpoint.load(files.find(name)).net for name in options.nets}
    settings, batch = Settings(simulations=options.simulations), (options.games + 1) // 2
    players = {name: BatchSearch(net, batch, settings, device=options.device) for name, net in nets.items()}
    print("| net | against | games | points | Elo |\n|---|---|---|---|---|", flush=True)
    for one, other in combinations(options.nets, 2):
        game = nets[one].game
        scores = duel(players[one], players[other], game, options.games, plies=options.plies)
        pairs = ((scores + 1) / 2).reshape(-1, 2)
        found = elo_difference(pairs.tolist())
        low, high = found.interval
        print(
            f"| {Path(one).name} | {Path(other).name} | {options.games} | {points(scores):.1%} "
            f"| {found.value:+.0f} ({low:+.0f} to {high:+.0f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
