"""Games in worker processes: games per second with one and two workers, and the overhead per game.

    python benchmarks/arena.py
    python benchmarks/arena.py --games 1000 --rounds 5 --workers 4

"here" plays in this process, without a pool. The overhead is the additional time per game with one worker: sending
tasks and records, and the clock that the parent reads. Rates are medians over rounds, measured in turns, with pools
that are already running; "start" is the time until the first worker is ready, and for a second one.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from common import machine, table

from meijin import make
from meijin.arena.match import match_tasks
from meijin.arena.pool import WorkerPool, play_tasks
from meijin.arena.record import Task

MATCHES = (
    ("tic_tac_toe", "random", "random"),
    ("connect_four", "random", "random"),
    ("connect_four", "mcts(simulations=50)", "mcts(simulations=50)"),
)


def rate(play: Callable[[list[Task]], object], tasks: list[Task]) -> float:
    began = time.perf_counter()
    play(tasks)
    return len(tasks) / (time.perf_counter() - began)


def measure(game: str, agents: list[str], games: int, rounds: int, many: WorkerPool, one: WorkerPool) -> list[str]:
    tasks = list(match_tasks(make(game), agents, games, seed=1))
    plays: list[Callable[[list[Task]], object]] = [
        lambda tasks: list(play_tasks(tasks)),
        lambda tasks: list(one.play(tasks, ordered=True)),
        lambda tasks: list(many.play(tasks, ordered=True)),
    ]
    for play in plays:
        play(tasks[: max(20, games // 10)])  # compile or load what is needed, in every process
    seen = [[rate(play, tasks) for play in plays] for _ in range(rounds)]
    here, single, several = (statistics.median(column) for column in zip(*seen, strict=True))
    ratio = statistics.median(row[2] / row[1] for row in seen)
    overhead = 1e6 * (1 / single - 1 / here)
    return [
        game, f"`{agents[0]}`", f"{games:,}", f"{here:,.0f}", f"{single:,.0f}", f"{several:,.0f}", f"{ratio:.2f}",
        f"{overhead:.0f}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--games", type=int, default=1000, help="games per match (default 1000)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (default 3)")
    parser.add_argument("--workers", type=int, default=2, help="processes to compare with one (default 2)")
    options = parser.parse_args()
    with WorkerPool(1) as one, WorkerPool(options.workers) as many:
        began = time.perf_counter()
        one.start()
        first = time.perf_counter() - began
        many.start()
        rest = (time.perf_counter() - began - first) / options.workers
        rows = [measure(game, list(agents), options.games, options.rounds, many, one) for game, *agents in MATCHES]
    print(f"{machine()}; start {first:.2f} s, another worker {rest:.2f} s\n")
    head = ["game", "both agents", "games", "here /s", "1 worker /s", f"{options.workers} workers /s", "ratio"]
    print(table([*head, "overhead, µs per game"], rows))


if __name__ == "__main__":
    main()
