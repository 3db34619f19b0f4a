"""Does a champion play as well with its net in 8-bit integers? Needs a Hopper GPU.

    python experiments/zero/precision.py othello go connect_four

Every opening of random plies is played twice, with the sides exchanged. Prints the share of the points that `int8`
makes against the precision that is used otherwise, and its 95 % Wilson interval, which holds 50 % if both are as good.
"""

from __future__ import annotations

import argparse

from meijin.arena.stats import wilson
from meijin.core.catalogue import make
from meijin.learning import files
from meijin.learning.zero import checkpoint
from meijin.learning.zero.batch_search import BatchSearch
from meijin.learning.zero.duel import duel, points
from meijin.search.forest import Settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="GAME")
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--plies", type=int, default=6, help="random plies that open each pair of games")
    parser.add_argument("--simulations", type=int, default=200)
    options = parser.parse_args()
    print("| game | simulations | games | points, 95 % |\n|---|---|---|---|", flush=True)
    for name in options.names:
        path = files.champion(make(name))
        if path is None:
            parser.error(f"{name} has no champion")
        net = checkpoint.load(path).net
        settings = Settings(simulations=options.simulations)
        batch = (options.games + 1) // 2
        coarse, fine = (BatchSearch(net, batch, settings, device="cuda", dtype=dtype) for dtype in ("int8", ""))
        share = points(duel(coarse, fine, net.game, options.games, plies=options.plies))
        low, high = wilson(share, options.games)
        print(
            f"| {name} | {options.simulations} | {options.games} | {share:.1%} ({low:.1%} to {high:.1%}) |", flush=True
        )


if __name__ == "__main__":
    main()
