"""How long the Hex solver takes for the value of every first move, and whether it agrees with published results.

    python benchmarks/hex_solver.py --size 6

With MEIJIN_TEST_DATA set, the winners are compared with its hex/first-moves-*.txt.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from common import machine

from meijin import make
from meijin.core.agent import Limit
from meijin.core.state import State
from meijin.search.solvers.hex import Solver


def published(size: int) -> dict[str, str]:
    file = Path(os.environ.get("MEIJIN_TEST_DATA", ".")) / "hex" / f"first-moves-{size}x{size}.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    return dict(line.split() for line in lines if not line.startswith("#"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=3600.0, help="give up after this long")
    options = parser.parse_args()
    game = make("hex", size=options.size)
    found = Solver(game).analyse(State(game), Limit(seconds=options.seconds))
    winner = {info.move.name: "black" if info.value and info.value[0] > 0 else "white" for info in found.moves}
    print(f"{machine()}\n{game}: {found.seconds:.1f} s, {found.nodes} positions searched")
    if known := published(options.size):
        wrong = [name for name in known if known[name] != winner[name]]
        print(f"{len(known) - len(wrong)} of {len(known)} first moves agree with the published winners", *wrong)


if __name__ == "__main__":
    main()
