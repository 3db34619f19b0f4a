"""The perfect Connect Four player beside bitbully, on the positions of Pons' test sets and on random ones.

    MEIJIN_TEST_DATA=... make bench BENCH="benchmarks/connect_four_solver.py"

One thread. Every answer is checked: against the score in the file, and against the other solver. Both solvers start
each set with an empty table, take the positions in turns of a hundred so that noise of the machine hits both alike, and
are measured without their books and with them. Ours has all positions up to ply 8, bitbully's all up to ply 12.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bitbully import BitBully, Board
from common import machine, table

from meijin import make
from meijin.core.state import State
from meijin.search.solvers.connect_four import Solver

GAME = make("connect_four")
SETS = ("end-easy", "middle-easy", "begin-easy")
TURN = 100  # positions

Row = tuple[State, int | None]  # a position and, if known, its score


def read(path: Path) -> list[Row]:
    rows = (line.split() for line in path.read_text().splitlines())
    return [(State(GAME).play_line(moves), int(score)) for moves, score in rows]


def at_random(count: int, least: int, most: int) -> list[Row]:
    """Positions after that many random moves, the game going on."""
    rng, found = random.Random(1), []
    while len(found) < count:
        state, plies = State(GAME), rng.randint(least, most)
        while not state.is_over and len(state.history) < plies:
            state.play(rng.choice(state.legal_moves))
        if not state.is_over:
            found.append((state, None))
    return found


def timed(solve: Callable[[int], int], indices: Sequence[int]) -> tuple[list[int], float]:
    began = time.process_time()
    return [solve(i) for i in indices], time.process_time() - began


def race(rows: list[Row], books: bool) -> tuple[float, float, int]:
    """Milliseconds a position of ours and of bitbully, and how many answers were wrong or not the same."""
    ours, theirs = Solver(GAME, use_book=books), BitBully("default" if books else None)
    boards = [Board([int(move) for move in state.history]) for state, _ in rows]
    ours.score(rows[0][0])  # compiles
    ours.forget()
    spent, wrong = [0.0, 0.0], 0
    for start in range(0, len(rows), TURN):
        turn = range(start, min(start + TURN, len(rows)))
        mine, seconds = timed(lambda i: ours.score(rows[i][0]), turn)
        spent[0] += seconds
        his, seconds = timed(lambda i: theirs.mtdf(boards[i]), turn)
        spent[1] += seconds
        for i, one, other in zip(turn, mine, his, strict=True):
            wrong += one != other or rows[i][1] not in (None, one)
    return 1e3 * spent[0] / len(rows), 1e3 * spent[1] / len(rows), wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--early", type=int, default=30, help="random positions of ply 8 to 11; bitbully takes seconds")
    options = parser.parse_args()
    folder = os.environ.get("MEIJIN_TEST_DATA")
    if not folder:
        sys.exit("set MEIJIN_TEST_DATA to the folder that holds connect4/*.txt")
    sets = [(name, read(Path(folder) / "connect4" / f"{name}.txt")) for name in SETS]
    sets.append(("random, ply 12 to 41", at_random(300, 12, 41)))
    if options.early:
        sets.append(("random, ply 8 to 11", at_random(options.early, 8, 11)))

    print(machine(), end="\n\n")
    lines, wrong = [], 0
    for name, rows in sets:
        for books in (False, True):
            ours, theirs, bad = race(rows, books)
            wrong += bad
            cells = [name, str(len(rows)), "with" if books else "without"]
            lines.append([*cells, f"{ours:.3f}", f"{theirs:.3f}", f"{theirs / ours:.1f}", str(bad)])
    head = ["positions", "number", "books", "Meijin, ms each", "bitbully, ms each", "times faster", "wrong"]
    print(table(head, lines))

    solver, start = Solver(GAME), State(GAME)
    began = time.perf_counter()
    scores = list(solver.scores(start).values())
    print(f"\nThe empty board with the book: {scores} in {time.perf_counter() - began:.3f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
