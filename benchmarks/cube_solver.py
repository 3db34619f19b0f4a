"""How long the solver of the 3x3x3 cube takes, how many cubes it solves and how short its solutions are.

    python benchmarks/cube_solver.py --twists 13 --metric half quarter --cubes 300

The solver has as long as `champion` gives it. Seconds are of processor time.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from common import machine

from meijin import make
from meijin.agents.champion import ALONE
from meijin.core.agent import Limit
from meijin.core.errors import MeijinError
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.solvers import solver_for


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twists", type=int, default=13)
    parser.add_argument("--max-moves", type=int, default=20)
    parser.add_argument("--metric", nargs="+", default=["half", "quarter"])
    parser.add_argument("--cubes", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=ALONE)
    options = parser.parse_args()
    print(machine())
    for metric in options.metric:
        game = make("cube", size=3, metric=metric, twists=options.twists, max_moves=options.max_moves)
        began = time.process_time()
        solver = solver_for(game)
        print(f"{game}: {time.process_time() - began:.2f} s to make the tables")
        spent, lengths, fewest = [], Counter[int](), 0
        for seed in range(options.cubes):
            state = State(game).roll(stream(seed))
            if state.is_over:
                continue
            began = time.process_time()
            try:
                found = solver.analyse(state, Limit(seconds=options.seconds))
            except MeijinError:
                found = None
            spent.append(time.process_time() - began)
            if found is not None and found.value == (1.0,):
                assert state.play_line(found.pv).scores == (1.0,)
                lengths[found.depth] += 1
                fewest += "perhaps" not in found.note
        spent.sort()
        print(f"  {lengths.total()} of {len(spent)} solved, {fewest} of them in the fewest moves")
        print(
            f"  seconds: mean {sum(spent) / len(spent):.3f}, median {spent[len(spent) // 2]:.3f}, most {spent[-1]:.3f}"
        )
        print("  cubes by moves: " + ", ".join(f"{moves}: {n}" for moves, n in sorted(lengths.items())))


if __name__ == "__main__":
    main()
