"""What several leaves at once cost: a champion with `leaves` against itself with one, at equal simulations.

    python experiments/zero/leaves.py othello connect_four --simulations 200 400

Every opening of random plies is played twice, with the sides exchanged. Prints the share of the points of the side with
several leaves and its 95 % Wilson interval, which holds 50 % if simulations are worth as much.
"""

from __future__ import annotations

import time

from paired import arguments, champions, share

from meijin.learning.zero.batch_search import BatchSearch
from meijin.search.forest import Settings


def main() -> None:
    parser = arguments(__doc__, plies=8)
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--simulations", nargs="*", type=int, default=[200, 400])
    options = parser.parse_args()
    print("| game | simulations | leaves | games | points, 95 % | processor time |\n|---|---|---|---|---|---|")
    for name, net in champions(parser, options.names):
        for simulations in options.simulations:
            began, batch = time.process_time(), (options.games + 1) // 2
            several, one = (
                BatchSearch(net, batch, Settings(simulations=simulations, leaves=leaves), cache=True)
                for leaves in (options.leaves, 1)
            )
            found = share(several, one, options.games, options.plies, seed=simulations)
            row = f"| {name} | {simulations} | {options.leaves} to 1 | {options.games} | {found} |"
            print(f"{row} {time.process_time() - began:.0f} s |", flush=True)


if __name__ == "__main__":
    main()
