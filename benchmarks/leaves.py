"""Simulations per second of a champion by threads and leaves evaluated together, measured in turns.

    python benchmarks/leaves.py                  # Othello, Connect Four and Go
    python benchmarks/leaves.py --games hex --threads 1 2 4 8

Every search has that many simulations from the start position, in a new tree with an empty cache. "Per second" is by
the clock, the fastest of all rounds, since others may use the machine as well; "per processor second" counts the time
of all threads, and is the median. In brackets: the ratio to one thread and one leaf.
"""

from __future__ import annotations

import argparse
import statistics
import time

from common import human, machine, table

from meijin import make
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.learning import files
from meijin.learning.nets.weights import Weights, load
from meijin.learning.zero.player import Player


def search(player: Player, simulations: int) -> tuple[float, float]:
    """Simulations per second by the clock and by the processor."""
    player.worker.load(player.net)  # forgets what is cached
    state = State(player.game).roll(stream(1))
    player.look(state, keep=False)
    kept = player.begin()
    player.aim(kept + simulations)
    began, worked = time.perf_counter(), time.process_time()
    while not player.finished:
        player.advance()
    spent, work = time.perf_counter() - began, time.process_time() - worked
    done = player.report(state, kept, spent).simulations
    return done / spent, done / work


class Searcher(Player):
    def __init__(self, net: Weights, simulations: int, leaves: int, threads: int):
        super().__init__(net, simulations, c=1.5, fpu=0.15, leaves=leaves, threads=threads)
        self.net = net


def measure(net: Weights, options: argparse.Namespace) -> None:
    kinds = [(threads, leaves * threads) for threads in options.threads for leaves in options.leaves]
    players = [Searcher(net, options.simulations, leaves, threads) for threads, leaves in kinds]
    for player in players:
        search(player, 10)
    seen = [[search(player, options.simulations) for player in players] for _ in range(options.rounds)]
    rates = [(max(r[0] for r in row), statistics.median(r[1] for r in row)) for row in zip(*seen, strict=True)]
    rows = [
        [str(threads), str(leaves), *(f"{human(a)} ({a / b:.2f}x)" for a, b in zip(rate, rates[0], strict=True))]
        for (threads, leaves), rate in zip(kinds, rates, strict=True)
    ]
    config = net.config
    print(f"\n{net.game}, {config.blocks} blocks x {config.channels} channels, {machine()}\n")
    print(table(["threads", "leaves", "simulations per second", "per processor second"], rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="*", default=["othello", "connect_four", "go"])
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--leaves", nargs="*", type=int, default=[1, 4, 8], help="for each thread")
    parser.add_argument("--simulations", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    for name in options.games:
        game = make(name)
        path = files.champion(game)
        if path is None:
            parser.error(f"{name} has no champion")
        measure(load(path).for_game(game), options)


if __name__ == "__main__":
    main()
