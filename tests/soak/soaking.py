"""The loop of every soak test: attempts that are counted, failures that are printed once each with their seed."""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the helpers of the tests

SLOW = 20  # seconds of one attempt that are worth a word


def soak(about: str | None, mutations: int, attempt: Callable[[random.Random], tuple[str, str]]) -> int:
    """Make attempts; the exit status. An attempt returns (what it tried, what came out) and fails by an exception."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=mutations, help=f"how many (default {mutations:,})")
    parser.add_argument("--seed", type=int, default=1, help="equal seeds make equal mutations (default 1)")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    counts, broken, began = Counter[str](), Counter[str](), time.monotonic()
    for number in range(options.mutations):
        started = time.monotonic()
        place = f"mutation {number}, seed {options.seed}"
        try:
            tried, outcome = attempt(rng)
            counts[outcome] += 1
            place = f"{place}: {tried}"
        except Exception as error:
            counts["BROKEN"] += 1
            frame = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"
            broken[what] += 1
            if broken[what] == 1:
                notes = " ".join(getattr(error, "__notes__", []))
                print(f"{place}: {what}: {str(error)[:300]!a} {notes}", flush=True)
        if (took := time.monotonic() - started) > SLOW:
            print(f"{place}: took {took:.0f} s", flush=True)
    seconds = time.monotonic() - began
    print(f"{Path(sys.argv[0]).stem}: {options.mutations:,} mutations, seed {options.seed}, {seconds:.0f} s:", end=" ")
    print(", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items())))
    for what, count in broken.most_common():
        print(f"  {count} x {what}")
    return 1 if broken else 0
