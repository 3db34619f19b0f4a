"""The Hex heuristic against distances found by a plain search over the cells."""

from __future__ import annotations

import random

import numpy as np
import pytest

from meijin.core import kernels
from meijin.core.catalogue import make
from meijin.core.state import State

RING = ((0, 1), (1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1))


def distance(cells: tuple[int, ...], size: int, seat: int) -> int:
    """Stones needed to join the sides over neighbours and bridges; each side is a row of stones off the board."""
    board = {divmod(i, size): value for i, value in enumerate(cells)}
    if seat == 1:  # see white's way from the left to the right as one from the top down
        board = {(column, row): {0: 0, 1: 2, 2: 1}[value] for (row, column), value in board.items()}
    for column in range(-1, size + 1):
        board[-1, column] = board[size, column] = 1
    reached = {(-1, column): 0 for column in range(-1, size + 1)}
    wave = list(reached)
    for cost in range(size * size):
        later = []
        while wave:
            row, column = wave.pop()
            targets = [(row + y, column + x) for y, x in RING]
            for (y, x), (v, u) in zip(RING, (*RING[1:], RING[0]), strict=True):
                if board.get((row + y, column + x)) == 0 and board.get((row + v, column + u)) == 0:
                    targets.append((row + y + v, column + x + u))
            for at in targets:
                if board.get(at) == 1 and at not in reached:
                    reached[at] = cost
                    wave.append(at)
                    if at[0] == size:
                        return cost
                elif board.get(at) == 0 and at not in reached:
                    later.append(at)
        wave = [at for at in set(later) if at not in reached]
        reached.update(dict.fromkeys(wave, cost + 1))
    return size * size


@pytest.mark.parametrize(("size", "games"), [(1, 1), (2, 5), (5, 8), (8, 1), (9, 1), (14, 1)])
def test_distances_agree_with_a_search_over_the_cells(size: int, games: int, compiled_in_soak: bool) -> None:
    compare_distances(size, games, every=1 if compiled_in_soak or size < 8 else 2 if size < 14 else 10)


def test_compiled_distances_agree_with_a_search_over_the_cells() -> None:
    compare_distances(11, 3)


def compare_distances(size: int, games: int, every: int = 1) -> None:
    game, rng = make("hex", size=size), random.Random(size)
    kernel, out = game.kernel(kernels.heuristic), np.zeros(2)
    for _ in range(games):
        state = State(game)
        while not state.is_over:
            if len(state.history) % every == 0:
                before = state.records.tobytes()
                kernel(state.records, 0, out)
                assert state.records.tobytes() == before
                lead = distance(state.cells, size, 1) - distance(state.cells, size, 0) + (0.5, -0.5)[state.turn]
                assert out[0] == pytest.approx(lead / (abs(lead) + 2)) and out[1] == -out[0], state.text
            state.play(rng.choice(state.legal_moves))
        kernel(state.records, 0, out)
        assert tuple(out) == state.scores
