"""What the benchmarks share: the machine's name, measuring, and tables."""

from __future__ import annotations

import datetime
import itertools
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from meijin.core import kernels
from meijin.core.agent import Limit
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.mcts import MCTS

Rate = Callable[[], float]


def machine() -> str:
    """Processor, cores, Python and date: what a figure needs to be read by."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            cpu = line.split(":")[1].strip()
    return f"{cpu}, {os.cpu_count()} cores, Python {platform.python_version()}, {datetime.date.today()}"


def compare(rates: Sequence[Rate], rounds: int) -> list[float]:
    """The median rate of each, measured in turns so that noise of the machine hits all alike."""
    for rate in rates:
        rate()  # compile and warm up
    seen = [[rate() for rate in rates] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*seen, strict=True)]


def moves_per_second(game: Game, seconds: float) -> Rate:
    """Random moves per second of a compiled game on one thread."""
    kernel, states, rng = game.kernel(kernels.random_games), game.states(1), stream(1)
    moves, probs = kernels.buffers(game)
    scores, totals = np.zeros(game.seats), np.zeros(game.seats)

    def rate() -> float:
        plies, games, began = 0, 10, time.perf_counter()
        while True:
            plies += kernel(states, games, rng, moves, probs, scores, totals)
            spent = time.perf_counter() - began
            if spent >= seconds:
                return plies / spent
            if spent < seconds / 10:
                games *= 2

    return rate


def playouts_per_second(game: Game, simulations: int, threads: int = 1) -> Rate:
    """MCTS playouts per second from the start position, a new tree each time."""
    agent, state, seeds = MCTS(threads=threads), State(game), itertools.count()
    state.roll(stream(0))

    def rate() -> float:
        agent.seed(next(seeds))
        began = time.perf_counter()
        done = agent.analyse(state, Limit(simulations=simulations)).simulations
        return done / (time.perf_counter() - began)

    return rate


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def human(rate: float) -> str:
    """1234567 -> 1.23 M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= size:
            return f"{rate / size:.3g} {unit}"
    return f"{rate:.3g}"
