"""What several leaves at once cost: a champion with `leaves` against itself with one, at equal simulations.

    python experiments/zero/leaves.py othello connect_four --simulations 200 400

Every opening of random plies is played twice, with the sides exchanged. Prints the share of the points of the side with
several leaves and its 95 % Wilson interval, which holds 50 % if simulations are worth as much.
"""

from __future__ import annotations

import argparse
import time

from meijin.arena.stats import wilson
from meijin.core.catalogue import make
from meijin.learning import files
from meijin.learning.nets.weights import load
from meijin.learning.zero.batch_search import BatchSearch
from meijin.learning.zero.duel import duel, points
from meijin.search.forest import Settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="GAME")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--plies", type=int, default=8, help="random plies that open each pair of games")
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--simulations", nargs="*", type=int, default=[200, 400])
    options = parser.parse_args()
    print("| game | simulations | leaves | games | points, 95 % | processor time |\n|---|---|---|---|---|---|")
    for name in options.names:
        game = make(name)
        path = files.champion(game)
        if path is None:
            parser.error(f"{name} has no champion")
        net = load(path).for_game(game)
        for simulations in options.simulations:
            began, batch = time.process_time(), (options.games + 1) // 2
            several, one = (
                BatchSearch(net, batch, Settings(simulations=simulations, leaves=leaves), cache=True)
                for leaves in (options.leaves, 1)
            )
            found = points(duel(several, one, game, options.games, plies=options.plies, seed=simulations))
            least, most = wilson(found, options.games)
            cells = f"{options.games} | {found:.1%} ({least:.1%} to {most:.1%})"
            row = f"| {name} | {simulations} | {options.leaves} to 1 | {cells} |"
            print(f"{row} {time.process_time() - began:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
