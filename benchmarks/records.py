"""The database of games: how fast it is written, how large it gets, and how long queries take.

    python benchmarks/records.py
    python benchmarks/records.py --agents 20 --games 10000 --plies 60

A round robin of made-up games, with the time and value of every ply, is written one game at a time (as tournaments do)
and in batches, and then queried. Memory is the growth of the process during a query. The file formats are timed with
random games of Connect Four, which are replayed by the rules when they are read.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

from common import machine, table

from meijin.arena import formats
from meijin.arena.record import GameRecord, MoveNote, Task
from meijin.arena.stepper import Stepper
from meijin.arena.store import Store
from meijin.core.agent import Limit
from meijin.core.catalogue import make
from meijin.core.game import OVER

BATCH = 100


def made_up(agents: int, games: int, plies: int, event: str) -> Iterator[GameRecord]:
    rng = random.Random(event)
    names = [f"mcts(simulations={100 * (k + 1)})" for k in range(agents)]
    pairs = list(permutations(names, 2))
    for number in range(games):
        moves = tuple(rng.randrange(64) for _ in range(plies))
        yield GameRecord(
            Task("othello", pairs[number % len(pairs)], moves[:4], number, (Limit(seconds=1.0),) * 2, event, number),
            moves,
            rng.choice([(1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)]),
            notes=tuple(MoveNote(rng.random(), (v := rng.uniform(-1, 1), -v)) for _ in moves),
            began="2026-08-01T12:00:00Z",
            seconds=plies / 2,
        )


def real(games: int) -> Iterator[GameRecord]:
    rng, stepper = random.Random(0), Stepper(make("connect_four"))
    for number in range(games):
        stepper.restart()
        moves = []
        while stepper.turn != OVER:
            moves.append(int(stepper.play(rng.choice(stepper.legal))))
        yield GameRecord(Task("connect_four", ("random", "random"), number=number), tuple(moves), stepper.scores)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    done = work()
    return time.perf_counter() - began, done


def resident() -> int:
    """Memory of this process in kB, 0 if the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--games", type=int, default=10_000)
    parser.add_argument("--plies", type=int, default=60)
    options = parser.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        database(Path(folder) / "games.db", options.agents, options.games, options.plies)
        print()
        files(Path(folder), 1000)


def database(path: Path, agents: int, games: int, plies: int) -> None:
    store = Store(path)
    records = list(made_up(agents, games, plies, "singles"))
    seconds, _ = timed(lambda: [store.add([record]) for record in records])
    rows = [["write, one game per transaction", f"{games / seconds:,.0f} games/s"]]
    size = path.stat().st_size + sum(p.stat().st_size for p in path.parent.glob("*-wal"))
    records = list(made_up(agents, games, plies, "batched"))
    seconds, _ = timed(lambda: [store.add(records[k : k + BATCH]) for k in range(0, games, BATCH)])
    rows.append([f"write, {BATCH} games per transaction", f"{games / seconds:,.0f} games/s"])
    rows.append(["size", f"{size / games:,.0f} bytes per game, {size / 1e6:.1f} MB"])
    records.clear()  # so that it does not count as memory below
    store.close()
    questions: list[tuple[str, Callable[[], Any]]] = [
        ("open the file", lambda: Store(path, create=False)),
        ("crosstable", lambda: store.crosstable("singles")),
        ("results of every game", lambda: sum(1 for _ in store.results("singles"))),
        ("results of every agent", lambda: store.agents(event="singles")),
        ("numbers of finished games", lambda: store.finished("singles")),
        ("opening tree, first move", lambda: store.tree("othello")),
        ("every whole game", lambda: sum(1 for _ in store.games(event="singles"))),
    ]
    for name, ask in questions:
        before = resident()
        seconds, _ = timed(ask)
        rows.append([name, f"{1000 * seconds:,.0f} ms, {max(0, resident() - before) / 1000:.1f} MB"])
    title = f"{agents} agents, {games:,} games of {plies} plies, in a file with as many others"
    print(table([title, ""], rows))


def files(folder: Path, games: int) -> None:
    records, rows = list(real(games)), []
    for name in ("jsonl", "sgf", "pgn"):
        path = folder / f"games.{name}"
        out, _ = timed(lambda path=path: formats.write(records, path))
        back, found = timed(lambda path=path: list(formats.read(path)))
        if [record.moves for record in found] != [record.moves for record in records]:
            sys.exit(f"{name}: what was read is not what was written")
        size = os.path.getsize(path) / games  # noqa: PTH202
        rows.append([name, f"{games / out:,.0f}", f"{games / back:,.0f}", f"{size:,.0f}"])
    print(table(["format", "written /s", "read and replayed /s", "bytes per game"], rows))


if __name__ == "__main__":
    main()
