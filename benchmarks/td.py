"""Training moves per second of n-tuple networks, with the tuple sizes that GBG and TDL2048 publish.

    python benchmarks/td.py [GAME ...] [--threads 1 2] [--rounds 5]

The tables are trained first: small new ones lie in the processor's cache and would flatter the figure. Numbers of
threads are measured in turns. "By CPU time" is moves per second that a thread really ran, which other programs on the
machine change less than the clock.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from common import machine

from meijin import training
from meijin.learning.td.network import AnyNetwork
from meijin.learning.td.room import Rule

TUPLES_2048 = ["a4 b4 c4 d4 a3 b3", "a3 b3 c3 d3 a2 b2", "a4 b4 c4 a3 b3 c3", "a3 b3 c3 a2 b2 c2"]
#: game -> (settings, games of training first)
CASES = {
    "tic_tac_toe": ({"tuples.count": 1, "tuples.length": 9}, 100_000),
    "connect_four": ({"tuples.count": 70, "tuples.length": 8}, 10_000),
    "othello": ({"tuples.count": 50, "tuples.length": 6}, 1_000),
    "2048": ({"tuples.cells": TUPLES_2048, "tuples.values": 16, "epsilon": 0.0}, 10_000),
}


def learn(network: AnyNetwork, room: Any, rule: Rule, games: int, seconds: float) -> tuple[float, float]:
    """Train for some seconds, `games` games at a time; moves per second by the clock and by CPU time."""
    moves, began, cpu = 0, time.perf_counter(), time.thread_time()
    while (wall := time.perf_counter() - began) < seconds:
        moves += network.play(room, rule, games)
    return moves / wall, moves / (time.thread_time() - cpu)


def measure(game: str, threads: list[int], rounds: int, seconds: float) -> None:
    settings, games = CASES[game]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max(threads)) as pool:
        run = training.td(game, out=Path(folder) / "run", changes=settings)
        network, rule = run.network, run._rule(0.0)
        rooms = [network.room(run.config.reach, index=k) for k in range(max(threads))]
        network.play(rooms[0], rule, 0)  # compiled once
        list(pool.map(lambda room: network.play(room, rule, games // len(rooms)), rooms))

        def rate(count: int) -> tuple[float, float]:
            each = list(
                pool.map(lambda room: learn(network, room, rule, max(1, games // 1000), seconds), rooms[:count])
            )
            return sum(wall for wall, _ in each), sum(cpu for _, cpu in each) / count

        seen = [[rate(count) for count in threads] for _ in range(rounds)]
        for count, column in zip(threads, zip(*seen, strict=True), strict=True):
            wall, cpu = (median(figures) for figures in zip(*column, strict=True))
            ratio = median(this[0] / row[0][0] for this, row in zip(column, seen, strict=True))
            print(
                f"{game:14} {network.features:4} weights  {count:2} threads  {wall:12,.0f} moves/s  x{ratio:.2f}"
                f"  {cpu:12,.0f} by CPU time of one"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", metavar="GAME", help=f"of {', '.join(CASES)}; all if none is given")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    args = parser.parse_args()
    print(machine())
    for name in args.games or CASES:
        measure(name, args.threads, args.rounds, args.seconds)
