"""Strength ladders of the search agents: does more search play better, and which search suits which game?

    python experiments/search/ladders.py --games 40 --seconds 0.2
    python experiments/search/ladders.py --games 40 --seconds 1 --only "same time"

Plays a match for every row and prints a Markdown table. Points are the share of the first agent, a draw counting one
half, with their 95 % Wilson interval; "holds" says whether that interval lies above one half. Where neither agent draws
lots, every pair of games begins with the same four random plies, and each agent has each side once. Matches with a
clock depend on the machine; all the others can be repeated exactly with the same seed.
"""

from __future__ import annotations

import argparse
import datetime
import inspect
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

from meijin import make
from meijin.arena.match import match
from meijin.search.mcts import MCTS

OPENING = 4  # random plies where a clock, and nothing else, would make two games differ


@dataclass(frozen=True)
class Row:
    """One match; `share` of the games asked for, as matches with a clock take long."""

    claim: str
    game: str
    first: str
    second: str
    share: float = 1.0
    plies: int | None = None  # random plies that open each game; None: as `match` decides

    @property
    def text(self) -> str:
        return f"{self.claim} {self.game} {self.first} {self.second}"


def rows(seconds: float) -> list[Row]:
    deeper = "deeper beats shallower"
    more = "more playouts beat fewer"
    found = [
        Row(deeper, "othello", "alphabeta(depth=4)", "alphabeta(depth=2)"),
        Row(deeper, "breakthrough", "alphabeta(depth=4)", "alphabeta(depth=2)"),
        Row(deeper, "abalone", "alphabeta(depth=3)", "alphabeta(depth=1)", 0.5),
        Row(deeper, "minishogi", "alphabeta(depth=4)", "alphabeta(depth=2)"),
        Row(more, "connect_four", "mcts(simulations=2000)", "mcts(simulations=200)"),
        Row(more, "othello", "mcts(simulations=1000)", "mcts(simulations=100)"),
        Row(more, "go(size=9)", "mcts(simulations=1000)", "mcts(simulations=100)", 0.5),
        Row(more, "hex(size=7)", "mcts(simulations=1000)", "mcts(simulations=100)"),
        Row("looking ahead beats not", "othello", "nply(heuristic, depth=3)", "heuristic"),
        Row("looking ahead beats not", "breakthrough", "nply(heuristic, depth=3)", "heuristic"),
    ]
    clock = f"same time, {seconds:g} s per move"
    for game in ("minishogi", "abalone"):
        found.append(Row(clock, game, f"alphabeta(seconds={seconds:g})", f"mcts(seconds={seconds:g})", 0.2))
    for game in ("minishogi", "abalone"):
        usual = f"alphabeta(seconds={seconds:g})"
        blunt = f"alphabeta(seconds={seconds:g}, quiescence=False)"
        found.append(Row(f"quiescence helps, {seconds:g} s per move", game, usual, blunt, 0.3, OPENING))
    if "rave" in inspect.signature(MCTS).parameters:
        for game in ("go(size=9)", "hex(size=7)"):
            found.append(Row("RAVE helps", game, "mcts(simulations=500, rave=500)", "mcts(simulations=500)", 0.5))
    return found


def machine() -> str:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            cpu = line.split(":")[1].strip()
    return f"{cpu}, {os.cpu_count()} cores, Python {platform.python_version()}, {datetime.date.today()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--games", type=int, default=40, help="games of an untimed match on a quick game (default 40)")
    parser.add_argument("--seconds", type=float, default=0.2, help="time a move where a clock decides (default 0.2)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--workers", type=int, default=0, help="games at once; leave a core to each (default: one, here)"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="WORDS",
        help="only rows in which these words occur, such as 'same time', 'RAVE' or 'abalone'; repeatable",
    )
    options = parser.parse_args()
    chosen = [row for row in rows(options.seconds) if any(words in row.text for words in options.only or [""])]
    if not chosen:
        parser.error(f"--only {' --only '.join(options.only)}: no row has these words")

    print(f"{machine()}; --games {options.games} --seconds {options.seconds:g} --seed {options.seed}\n")
    print("| claim | game | first | second | games | won-drawn-lost | points, 95 % | holds | time |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in chosen:
        games = max(2, 2 * round(options.games * row.share / 2))
        began = time.perf_counter()
        names = [row.first, row.second]
        result = match(make(row.game), names, games, options.seed, plies=row.plies, workers=options.workers)
        tally = result.standings[0].total
        spent = time.perf_counter() - began
        low, high = tally.interval
        holds = "yes" if low > 0.5 else "reversed" if high < 0.5 else "open"
        print(
            f"| {row.claim} | {row.game} | `{row.first}` | `{row.second}` | {games} | "
            f"{tally.wins}-{tally.draws}-{tally.losses} | {tally.share:.0%} ({low:.0%} to {high:.0%}) | "
            f"{holds} | {spent:.0f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
