"""Othello endgames of the FFO suite: exact scores, times and nodes per second on one core, each with an empty table.

    MEIJIN_TEST_DATA=... make bench BENCH="benchmarks/othello_endgame.py"
    ... BENCH="benchmarks/othello_endgame.py --first 40 --last 44 --every"

Reads othello/ffo-*.obf in the folder MEIJIN_TEST_DATA: squares, side to move, and every move's exact score.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from common import human, machine, table

from meijin import make
from meijin.core.agent import Limit
from meijin.core.state import State
from meijin.search.solvers.othello import Solver

HOUR = Limit(seconds=3600)  # any number of empty cells may be tried


def suite(folder: Path) -> list[tuple[str, dict[str, int]]]:
    """(position, move -> exact score), FFO 1 first."""
    found = []
    for name in ("ffo-1-19.obf", "ffo-20-39.obf", "ffo-40-59.obf"):
        for line in (folder / "othello" / name).read_text().splitlines():
            position, *moves = [part.strip() for part in line.split(";") if part.strip()]
            pairs = (move.split(":") for move in moves)
            found.append((position, {cell.lower(): int(score) for cell, score in pairs}))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=1, help="number of the first position")
    parser.add_argument("--last", type=int, default=44, help="number of the last, up to 59; those take much longer")
    parser.add_argument("--every", action="store_true", help="every move's exact score, not only the best")
    parser.add_argument("--table-mb", type=float, default=64, help="memory of the table")
    options = parser.parse_args()
    folder = os.environ.get("MEIJIN_TEST_DATA")
    if not folder:
        sys.exit("set MEIJIN_TEST_DATA to the folder with othello/ffo-*.obf")
    game, positions = make("othello"), suite(Path(folder))
    solver = Solver(game, table_mb=options.table_mb)
    print(f"{machine()}\n")
    solver.score(State.from_position(game, positions[0][0]))  # compile
    rows, wrong = [], 0
    total_seconds, total_nodes = 0.0, 0
    for number in range(options.first, options.last + 1):
        position, moves = positions[number - 1]
        state = State.from_position(game, position)
        solver.forget()
        began = time.perf_counter()
        if options.every:
            found = {move.name: score for move, score in solver.scores(state, HOUR).items()}
            best, right = max(found.values()), found == moves
        else:
            best = solver.score(state, HOUR)
            right = best == max(moves.values())
        seconds, nodes = time.perf_counter() - began, solver.nodes
        total_seconds, total_nodes, wrong = total_seconds + seconds, total_nodes + nodes, wrong + (not right)
        rows.append(
            [
                str(number),
                str(state.cells.count(0)),
                f"{best:+d}",
                "exact" if right else f"wrong: {max(moves.values()):+d}",
                f"{seconds:.2f}",
                human(nodes),
                human(nodes / seconds),
            ]
        )
        print(f"FFO {number} done in {seconds:.2f} s", file=sys.stderr)
    rows.append(["all", "", "", "", f"{total_seconds:.2f}", human(total_nodes), human(total_nodes / total_seconds)])
    print(table(["FFO", "empty", "score", "", "seconds", "nodes", "nodes/s"], rows))
    if wrong:
        sys.exit(f"{wrong} wrong")


if __name__ == "__main__":
    main()
