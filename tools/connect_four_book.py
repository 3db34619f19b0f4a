"""Make the opening book of the perfect Connect Four player: exact scores of every position up to a ply.

    pip install bitbully
    python tools/connect_four_book.py --plies 8

Takes a few minutes. The scores of the last ply are bitbully's, those before follow from them; Meijin's own solver,
without a book, must agree on a random sample. The book holds one entry for a position and its mirror image, sorted by
key: the score for the seat to move, and a best move.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

import bitbully
import numpy as np

import meijin
from meijin.core.catalogue import make
from meijin.core.state import State
from meijin.search.solvers.connect_four import BOOK, BOOK_PLIES, ENTRY, Solver, canonical

FOLDER = Path(meijin.__file__).parent / "data"
GAME = make("connect_four")

Line = list[int]  # columns
Level = dict[int, Line]  # key -> moves that lead to that position, and not to its mirror image
Answer = tuple[int, int]  # score, best move


def state_after(line: Line) -> State:
    return State(GAME).play_line(line)


def key_of(state: State) -> tuple[int, bool]:
    stones = state.record.stones
    mine, his = int(stones[state.turn, 0]), int(stones[1 - state.turn, 0])
    return canonical(mine, mine | his, 7, 6)


def levels(plies: int) -> list[Level]:
    """[ply] -> the positions of that many stones where the game goes on."""
    found: list[Level] = [{key_of(State(GAME))[0]: []}]
    for _ in range(plies):
        below: Level = {}
        for line in found[-1].values():
            state = state_after(line)
            for move in state.legal_moves:
                after = state.copy().play(move)
                if not after.is_over:
                    key, mirrored = key_of(after)
                    there = [*line, int(move)]
                    below.setdefault(key, [6 - column for column in there] if mirrored else there)
        found.append(below)
    return found


def from_oracle(line: Line, oracle: bitbully.BitBully) -> Answer:
    scores = oracle.score_all_moves(bitbully.Board(line))
    return max((score, column) for column, score in scores.items())


def from_followers(line: Line, answers: dict[int, Answer]) -> Answer:
    """The answer that follows from those of all positions one move later."""
    state = state_after(line)
    found = []
    for move in state.legal_moves:
        after = state.copy().play(move)
        won = (43 - len(line)) // 2  # nothing is full this early
        found.append((won if after.is_over else -answers[key_of(after)[0]][0], int(move)))
    return max(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plies", type=int, default=BOOK_PLIES, help="the book's depth; BOOK_PLIES must say the same")
    parser.add_argument("--check", type=int, default=200, help="positions that our own solver solves as well")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the book goes")
    options = parser.parse_args()
    positions = levels(options.plies)
    oracle = bitbully.BitBully()
    answers = {key: from_oracle(line, oracle) for key, line in positions[-1].items()}
    for level in reversed(positions[:-1]):
        answers |= {key: from_followers(line, answers) for key, line in level.items()}

    solver, rng = Solver(GAME, table_mb=1024, use_book=False), random.Random(1)
    for key in rng.sample(sorted(positions[-1]), options.check):
        state = state_after(positions[-1][key])
        scores = solver.scores(state)
        score, best = answers[key]
        if not score == max(scores.values()) == scores[GAME.moves[best]]:
            sys.exit(f"{state.text}: bitbully says {score} by {best + 1}, our solver {scores}")

    book = options.folder / BOOK
    part = book.with_suffix(".part.npy")
    np.save(part, np.array(sorted((key, *answer) for key, answer in answers.items()), ENTRY), allow_pickle=False)
    part.replace(book)
    print(f"{len(answers)} positions, {book.stat().st_size} bytes in {book}")


if __name__ == "__main__":
    main()
