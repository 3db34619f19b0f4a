"""Training moves per second of n-tuple networks, one thread, with the tuple sizes that GBG and TDL2048 publish.

python benchmarks/td.py [GAME ...]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from meijin import training

TUPLES_2048 = ["a4 b4 c4 d4 a3 b3", "a3 b3 c3 d3 a2 b2", "a4 b4 c4 a3 b3 c3", "a3 b3 c3 a2 b2 c2"]
#: game -> (settings, games)
CASES = {
    "tic_tac_toe": ({"tuples.count": 1, "tuples.length": 9}, 100_000),
    "connect_four": ({"tuples.count": 70, "tuples.length": 8}, 10_000),
    "othello": ({"tuples.count": 50, "tuples.length": 6}, 1_000),
    "2048": ({"tuples.cells": TUPLES_2048, "tuples.values": 16, "epsilon": 0.0}, 1_000),
}


def measure(game: str) -> None:
    settings, games = CASES[game]
    with tempfile.TemporaryDirectory() as folder:
        run = training.td(game, out=Path(folder) / "run", changes=settings)
        room, rule = run.network.room(run.config.reach), run._rule(0.0)
        run.network.play(room, rule, games)  # compiled, and the tables are not blank
        began, cpu = time.perf_counter(), time.process_time()
        moves = run.network.play(room, rule, games)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(
        f"{game:14} {run.network.features:4} weights  {moves / wall:12,.0f} moves/s  {moves / cpu:12,.0f} by CPU time"
    )


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        measure(name)
