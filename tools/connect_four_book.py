"""Make the opening book of the perfect Connect Four player: exact scores of every position up to a ply.

    python tools/connect_four_book.py --plies 5

One process; takes about an hour for 5 plies. What has been solved is kept in a file beside
the book every few seconds, so a killed run goes on where it was. The book holds one entry for a position and its
mirror image, and scores for the seat to move.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import meijin
from meijin.core.catalogue import make
from meijin.core.state import State
from meijin.search.solvers.connect_four import BOOK, Solver, canonical

ENTRY = np.dtype([("key", "<u8"), ("score", "i1")])
FOLDER = Path(meijin.__file__).parent / "data"


def key_of(state: State) -> int:
    stones = state.record.stones
    mine, his = int(stones[state.turn, 0]), int(stones[1 - state.turn, 0])
    return canonical(mine, mine | his, 7, 6)


def levels(plies: int) -> list[dict[int, State]]:
    """[ply] -> the positions of that many stones where the game goes on, one of each two mirror images.

    Neighbours share most of what follows them, so those that come from the same position stand together.
    """
    found = [{key_of(start): start for start in (State(make("connect_four")),)}]
    for _ in range(plies):
        below: dict[int, State] = {}
        for state in found[-1].values():
            for move in sorted(state.legal_moves, key=lambda m: abs(m - 3)):
                after = state.copy().play(move)
                if not after.is_over:
                    below.setdefault(key_of(after), after)
        found.append(below)
    return found


def save(path: Path, scores: dict[int, int]) -> None:
    part = path.with_suffix(".part.npy")
    np.save(part, np.array(sorted(scores.items()), ENTRY), allow_pickle=False)
    part.replace(path)


def load(path: Path) -> dict[int, int]:
    if not path.exists():
        return {}
    table = np.load(path, allow_pickle=False)
    return dict(zip(table["key"].tolist(), table["score"].tolist(), strict=True))


def from_followers(state: State, scores: dict[int, int]) -> int | None:
    """A position's score from those of all that follow it at once; None unless all are known."""
    best = -99
    for move in state.legal_moves:
        after = state.copy().play(move)
        if after.is_over:
            score = (43 - int(state.record.ply)) // 2  # won: nothing is full this early
        elif (key := key_of(after)) in scores:
            score = -scores[key]
        else:
            return None
        best = max(best, score)
    return best


def fill(solver: Solver, states: dict[int, State], scores: dict[int, int], progress: Path) -> None:
    """Add the scores of positions that `scores` lacks."""
    began = saved = time.monotonic()
    for done, (key, state) in enumerate(states.items(), start=1):
        if key in scores:
            continue
        known = from_followers(state, scores)
        scores[key] = solver.score(state) if known is None else known
        if time.monotonic() - saved > 10:
            saved = time.monotonic()
            save(progress, scores)
            print(f"{done} of {len(states)}, {saved - began:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plies", type=int, default=5, help="the book's depth")
    parser.add_argument("--table-mb", type=float, default=1024, help="memory for the search")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the book goes")
    options = parser.parse_args()
    book = options.folder / BOOK
    progress = book.with_suffix(".progress.npy")
    positions = levels(options.plies)
    scores = load(progress)
    solver = Solver(make("connect_four"), table_mb=options.table_mb, use_book=False)
    for states in reversed(positions):  # all but the last level follow from the one below
        fill(solver, states, scores, progress)
    wanted = {key for states in positions for key in states}
    save(book, {key: score for key, score in scores.items() if key in wanted})
    progress.unlink(missing_ok=True)
    print(f"{len(wanted)} positions, {book.stat().st_size} bytes in {book}")


if __name__ == "__main__":
    main()
