"""Every game as WebAssembly, against the CPU: random games, perft, and searches, by Node or by Chromium.

    python tests/soak/wasm.py [EXPRESSION ...] [--games 1000] [--searches mcts forest] [--chromium]

For every game, its parameter sets of the golden playthroughs and the examples: the records that random games leave, the
counts of perft, and the whole tree of a Monte Carlo search must be equal byte for byte; alpha-beta, maxn and the search
with nets must find the same values and lines. --chromium has Chromium run all of that (it needs Playwright).
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the helpers of the tests
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import wasm_compare
from golden import own_games, playthroughs
from meijin.core.catalogue import games
from meijin.core.registry import load_file

EXAMPLES = Path(__file__).parents[2] / "examples"


def expressions() -> list[str]:
    found = [expression for name in own_games() for expression in playthroughs(name).values()]
    for file in sorted(EXAMPLES.glob("*.py")):
        found += [entry.name for entry in load_file(file, games)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("expressions", nargs="*")
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--counted", type=int, default=1_000_000, help="positions that perft counts, about")
    parser.add_argument("--simulations", type=int, default=10_000)
    parser.add_argument("--searches", nargs="*", default=wasm_compare.ALL, choices=wasm_compare.ALL)
    parser.add_argument("--chromium", action="store_true")
    options = parser.parse_args()
    known = expressions()  # which also loads the examples
    with ExitStack() as stack:
        if options.chromium:
            from chromium import chromium

            wasm_compare.run = stack.enter_context(chromium()).call
        for expression in options.expressions or known:
            began = time.perf_counter()
            module = wasm_compare.check_all(
                expression, options.games, options.counted, options.simulations, options.searches
            )
            seconds = time.perf_counter() - began
            print(f"{expression}: equal; {len(module.code):,} bytes, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
