"""Make the harder test positions of Connect Four in experiments/zero/connect_four/: random play, labelled by bitbully.

    python tools/connect_four_positions.py experiments/zero/connect_four

A line is the moves as 1-based columns and the exact scores of the seven columns for the side to move ("." where the
column is full): 22 minus the winner's stones at the end, negative for a loss, 0 for a draw. Classes by the plies that
have been played and the plies that are left under best play.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import bitbully

COUNT = 500
#: name -> (fewest and most plies played, fewest and most plies left)
CLASSES = {"begin-medium": (8, 14, 15, 28), "middle-medium": (15, 28, 15, 28), "begin-hard": (8, 14, 29, 42)}


def left(score: int, plies: int) -> int:
    """Plies left under best play."""
    if score == 0:
        return 42 - plies
    stones = 22 - abs(score)  # of the winner at the end
    mover = plies % 2  # 0: the first player is to move
    winner = mover if score > 0 else 1 - mover
    return (2 * stones - 1 if winner == 0 else 2 * stones) - plies


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(20261115)
    solver = bitbully.BitBully()
    found: dict[str, set[str]] = {name: set() for name in CLASSES}
    while any(len(lines) < COUNT for lines in found.values()):
        wanted = [name for name in CLASSES if len(found[name]) < COUNT]
        low, high, _, _ = CLASSES[rng.choice(wanted)]
        board, moves = bitbully.Board(), ""
        for _ in range(rng.randint(low, high)):
            column = rng.randrange(7)
            if not board.is_legal_move(column) or board.can_win_next(column):
                continue
            board.play(column)
            moves += str(column + 1)
        if board.can_win_next() or board.is_game_over():
            continue
        scores = solver.score_all_moves(board)
        if not scores:
            continue
        distance = left(max(scores.values()), len(moves))
        for name in wanted:
            low, high, near, far = CLASSES[name]
            if low <= len(moves) <= high and near <= distance <= far:
                listed = " ".join(str(scores[c]) if c in scores else "." for c in range(7))
                found[name].add(f"{moves} {listed}")
                if len(found[name]) % 50 == 0:
                    print(name, len(found[name]), flush=True)
    for name, lines in found.items():
        (folder / f"{name}.txt").write_text("\n".join(sorted(lines)) + "\n")


if __name__ == "__main__":
    main()
