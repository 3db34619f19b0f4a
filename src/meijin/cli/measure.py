"""`meijin perft` and `meijin bench`: the count of lines, and speed."""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from rich.text import Text

from meijin.cli.common import position, prepare
from meijin.cli.console import busy, out, print_json, table
from meijin.cli.program import interruptible
from meijin.core import kernels
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.search.mcts import MCTS

PERFT_ROW = "{:>5} {:>20} {:>10} {:>8}"
DEPTHS = 100  # more than anybody can wait for
SEARCH = 10_000  # simulations of the search that is timed
SEARCHES = 3  # at least; the median counts
GPU_THREADS = 1 << 17


def perft(name: str, depth: int, begin: str, moves: str, load: Sequence[Path], as_json: bool) -> None:
    if not 1 <= depth <= DEPTHS:
        raise BadParameter(f"--depth {depth}: choose from 1 to {DEPTHS}")
    prepare(load)
    game = make(name)
    state = position(game, moves, begin)
    _count(state, 1)  # compiles, so that the time of depth 1 does not include it
    rows: list[tuple[int, float]] = []
    stopped, console = False, out()
    if not as_json:
        console.print(Text(game.title, "bold"))
        console.print(Text(PERFT_ROW.format("depth", "nodes", "seconds", "nodes/s"), "bold"))
    try:
        for plies in range(1, depth + 1):
            began = time.perf_counter()
            with busy(f"counting lines of {plies} plies"):
                nodes = interruptible(lambda plies=plies: _count(state, plies))  # type: ignore[misc]
            seconds = time.perf_counter() - began
            rows.append((nodes, seconds))
            if not as_json:  # at once: the next depth may take hours
                # Below a millisecond the rate would be that of Python and not of the game.
                rate = brief(nodes / seconds) if seconds > 0.001 else "-"
                console.print(PERFT_ROW.format(plies, f"{nodes:,}", f"{seconds:.3f}", rate))
                sys.stdout.flush()
    except KeyboardInterrupt:  # the depths that were finished
        stopped = True
    if as_json:
        print_json(
            {
                "game": str(game),
                "position": begin,
                "moves": [move.name for move in state.history],
                "nodes": [nodes for nodes, _ in rows],
                "seconds": [seconds for _, seconds in rows],
                "stopped": stopped,
            }
        )
    if stopped:
        raise KeyboardInterrupt


def _count(state: State, depth: int) -> int:
    game = state.game
    states = game.states(depth + 1)
    states[0] = state.record
    moves = np.zeros((depth, game.branching or 1), np.int32)
    _, probs = kernels.buffers(game)
    counts, nexts = np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    return int(game.kernel(kernels.perft)(states, depth, moves, probs, counts, nexts))


def bench(name: str, seconds: float, device: str, threads: int | None, load: Sequence[Path], as_json: bool) -> None:
    if device not in ("cpu", "cuda"):
        raise BadParameter(f"--device {device}: choose cpu or cuda")
    if not 0 < seconds <= 3600:
        raise BadParameter(f"--seconds {seconds:g}: measure for more than 0 and at most 3600 seconds")
    most = 256 if device == "cpu" else 1 << 24
    if threads is not None and not 1 <= threads <= most:
        raise BadParameter(f"--threads {threads}: choose from 1 to {most} on {device}")
    prepare(load)
    game = make(name)
    lanes = threads or (GPU_THREADS if device == "cuda" else 1)
    playouts = None
    if device == "cuda":
        from meijin.core import cuda

        cuda.require()
        with busy(f"playing random games of {game} on the GPU"):
            moves = interruptible(lambda: _gpu_moves(game, seconds, lanes))
        machine = cuda.device_name()
    else:
        with busy(f"playing random games of {game}"):
            moves = interruptible(lambda: _cpu_moves(game, seconds, lanes))
        with busy(f"searching {game} with {SEARCH:,} simulations"):
            playouts = interruptible(lambda: _playouts(game, seconds, lanes))
        machine = _cpu_name()
    if as_json:
        print_json(
            {
                "game": str(game),
                "moves_per_second": moves,
                "playouts_per_second": playouts,
                "threads": lanes,
                "device": device,
                "machine": machine,
            }
        )
        return
    shown = table("", "per second", right=("per second",))
    shown.add_row("random moves", Text(brief(moves), "bold"))
    if playouts is not None:
        shown.add_row(f"MCTS playouts ({SEARCH:,} from the start)", Text(brief(playouts), "bold"))
    console = out()
    where = f"{lanes:,} thread{'s' * (lanes > 1)} on {machine}"
    console.print(Text.assemble((game.title, "bold"), (f"  {where}", "dim")))
    console.print(shown)


def _cpu_moves(game: Game, seconds: float, threads: int) -> float:
    """Random moves per second. Every thread plays whole games in a record of its own until the time is up."""
    kernel = game.kernel(kernels.random_games)

    def work(thread: int, deadline: float) -> int:
        states, rng, (moves, probs) = game.states(1), stream(1, thread), kernels.buffers(game)
        scores, totals = np.zeros(game.seats), np.zeros(game.seats)
        plies, games = 0, 1
        while True:  # once at least: a thread may get no core until its time is up
            before = time.perf_counter()
            plies += int(kernel(states, games, rng, moves, probs, scores, totals))
            now = time.perf_counter()
            if now >= deadline:
                return plies
            if now - before < 0.01:  # a call from Python costs microseconds; make each do more
                games *= 2

    work(0, time.perf_counter() + 0.02)  # compiles; the clock starts afterwards
    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter()
        plies = sum(pool.map(lambda thread: work(thread, began + seconds), range(threads)))
        return plies / (time.perf_counter() - began)


def _playouts(game: Game, seconds: float, threads: int) -> float:
    """Playouts per second of a search from the start: the median of several, each with a new tree."""
    state = State(game).roll(stream(1))
    rates: list[float] = []
    MCTS(simulations=10 * threads, threads=threads, seed=1).analyse(state)  # compiles
    began = time.perf_counter()
    while len(rates) < SEARCHES or time.perf_counter() - began < seconds:
        analysis = MCTS(simulations=SEARCH, threads=threads, seed=len(rates)).analyse(state)
        rates.append(analysis.simulations / max(analysis.seconds, 1e-9))
    return statistics.median(rates)


def _gpu_moves(game: Game, seconds: float, threads: int) -> float:
    from meijin.core import cuda

    _, _, once = cuda.random_games(game, threads, 1, 1)
    plies, _, took = cuda.random_games(game, threads, max(1, int(seconds / max(once, 1e-6))), 1)
    return plies / took


def _cpu_name() -> str:
    try:
        for row in Path("/proc/cpuinfo").read_text().splitlines():
            if row.startswith("model name"):
                return row.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def brief(rate: float) -> str:
    """A large number with three digits: 63.1 M."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if rate >= size:
            return f"{rate / size:.{2 if rate < 10 * size else 1 if rate < 100 * size else 0}f}{unit}"
    return f"{rate:.0f}"
