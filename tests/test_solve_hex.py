"""The Hex solver against exhaustive search, which knows nothing but the rules, and against published results."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from meijin.core.agent import Limit
from meijin.core.catalogue import make
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.state import State
from meijin.search.solvers import hex as solving
from meijin.search.solvers.hex import WON, Solver

# ---- exhaustive search ----


@numba.njit
def joined(cells: Any, size: int, value: int) -> bool:
    """Whether a colour's stones (1 black, 2 white) join its sides, by a walk over the cells."""
    seen = np.zeros(size * size, np.bool_)
    stack = np.zeros(size * size, np.int64)
    n = 0
    for i in range(size):
        at = i if value == 1 else i * size
        if cells[at] == value:
            seen[at] = True
            stack[n] = at
            n += 1
    while n > 0:
        n -= 1
        row, column = stack[n] // size, stack[n] % size
        if (row if value == 1 else column) == size - 1:
            return True
        for y, x in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1)):
            at = (row + y) * size + column + x
            if 0 <= row + y < size and 0 <= column + x < size and cells[at] == value and not seen[at]:
                seen[at] = True
                stack[n] = at
                n += 1
    return False


@numba.njit
def wins(cells: Any, size: int, empty: Any, memo: Any, index: int, seat: int) -> bool:
    """Whether the seat to move wins. `memo` has an entry for every way to fill the empty cells."""
    power = 1
    for at in empty:
        if cells[at] == 0:
            after = index + power * (1 + seat)
            if memo[after] == 0:
                cells[at] = 1 + seat
                won = joined(cells, size, 1 + seat) or not wins(cells, size, empty, memo, after, 1 - seat)
                cells[at] = 0
                memo[after] = 1 if won else 2
            if memo[after] == 1:
                return True
        power *= 3
    return False


def exhaustive(cells: Any, size: int, seat: int) -> bool:
    cells = np.array(cells, np.int64)
    empty = np.flatnonzero(cells == 0)
    if joined(cells, size, 1) or joined(cells, size, 2):
        return bool(joined(cells, size, 1 + seat))
    return bool(wins(cells, size, empty, np.zeros(3 ** len(empty), np.int8), 0, seat))


def winners(state: State, solver: Solver) -> dict[str, bool]:
    """Whether each move wins for the seat that makes it."""
    found = solver.analyse(state)
    assert found.proven and found.value == found.moves[0].value
    values = [info.value[state.turn] for info in found.moves if info.value]
    assert values == sorted(values, reverse=True) and {abs(value) for value in values} == {1.0}
    assert sorted(info.move for info in found.moves) == list(state.legal_moves)
    return {info.move.name: value > 0 for info, value in zip(found.moves, values, strict=True)}


def expected(state: State, size: int) -> dict[str, bool]:
    seat = state.turn
    found = {}
    for move in state.legal_moves:
        after = state.copy().play(move)
        found[move.name] = not exhaustive(after.cells, size, 1 - seat)
    return found


@pytest.fixture(scope="module")
def games() -> dict[int, tuple[Game, Solver]]:
    found = {size: make("hex", size=size) for size in (1, 2, 3, 4, 5, 6, 7)}
    return {size: (game, Solver(game)) for size, game in found.items()}


Solvers = dict[int, tuple[Game, Solver]]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_first_moves_agree_with_exhaustive_search(games: Solvers, size: int) -> None:
    game, solver = games[size]
    assert winners(State(game), solver) == expected(State(game), size)


@pytest.mark.parametrize(("size", "count"), [(3, 100), (4, 60), (5, 60), (6, 60), (7, 60)])
def test_random_positions_agree_with_exhaustive_search(games: Solvers, size: int, count: int) -> None:
    (game, solver), rng = games[size], random.Random(size)
    done = 0
    while done < count:
        state = State(game)
        left = rng.randint(1, min(12, size * size))
        while len(state.legal_moves) > left and not state.is_over:
            state.play(rng.choice(state.legal_moves))
        if not state.is_over:
            assert winners(state, solver) == expected(state, size), state.text
            done += 1


@numba.njit
def proven(cells: Any, size: int, order: Any, keys: Any, table: Any, key: Any, seat: int) -> Any:
    """The cells that the winner needs, and bit 63 if that is the seat to move. No connections, no cells filled in."""
    slot = (key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(42)
    if keys[slot] == key:
        return table[slot]
    won, one = np.uint64(1) << np.uint64(63), np.uint64(1)
    must, union, found = won - one, np.uint64(0), np.uint64(0)
    for at in order:
        bit = one << np.uint64(at)
        if cells[at] == 0 and must & bit != 0:
            cells[at] = 1 + seat
            if joined(cells, size, 1 + seat):
                found = won | bit
            else:
                after = key + (np.uint64(1 + seat) << np.uint64(2 * at))
                answer = proven(cells, size, order, keys, table, after, 1 - seat)
                if answer & won == 0:
                    found = won | bit | answer
                else:
                    must &= answer
                    union |= answer & ~won
            cells[at] = 0
            if found != 0:
                break
    keys[slot], table[slot] = key, found if found != 0 else union
    return table[slot]


def test_early_positions_of_five_by_five_agree_with_must_play_alone(games: Solvers) -> None:
    (game, solver), rng = games[5], random.Random(5)
    order = np.array(sorted(range(25), key=lambda i: (abs(i // 5 + i % 5 - 4), abs(i // 5 - i % 5))))
    keys, table = np.zeros(1 << 22, np.uint64), np.zeros(1 << 22, np.uint64)
    for _ in range(10):
        state = State(game).play_line(rng.sample(range(25), 7))
        found = {}
        for move in state.legal_moves:
            cells = np.array(state.copy().play(move).cells)
            key = np.uint64(sum(value << 2 * at for at, value in enumerate(cells.tolist())))
            answer = int(proven(cells, 5, order, keys, table, key, 1 - state.turn))
            found[move.name] = not answer >> 63
        assert winners(state, solver) == found, state.text


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_a_proof_needs_no_other_cells(games: Solvers, size: int) -> None:
    """The winner still wins when the empty cells outside its proof are the loser's stones."""
    game, rng = games[size][0], random.Random(size)
    w, kernel = solving.work(size), game.kernel(solving.solver)
    checked = 0
    while checked < 40:
        state = State(game)
        for _ in range(rng.randint(0 if size == 4 else size * size - 18, size * size - 8)):
            if not state.is_over:
                state.play(rng.choice(state.legal_moves))
        if state.is_over:
            continue
        black, white = (np.uint64(word) for word in state.record.stones[:, 0])
        won = kernel(w, black, white, state.turn) == WON
        loser = 1 - state.turn if won else state.turn
        proof, cells = int(w.proof[0]), np.array(state.cells)
        outside = [i for i, value in enumerate(cells) if value == 0 and not proof >> i & 1]
        if size * size - np.count_nonzero(cells) - len(outside) > 14:
            continue  # too many cells to try out
        cells[outside] = 1 + loser
        assert exhaustive(cells, size, state.turn) == won, state.text
        checked += 1


def test_the_first_moves_of_six_by_six(games: Solvers, test_data: Path) -> None:
    game, solver = games[6]
    lines = (test_data / "hex" / "first-moves-6x6.txt").read_text().splitlines()
    published = dict(line.split() for line in lines if not line.startswith("#"))
    assert len(published) == 36
    assert winners(State(game), solver) == {name: winner == "black" for name, winner in published.items()}


# ---- swap, limits, errors ----


def test_with_swap_the_second_seat_wins(games: Solvers) -> None:
    """White takes over a winning first stone and answers a losing one."""
    game = make("hex", size=4, swap=True)
    solver, plain = Solver(game), winners(State(games[4][0]), games[4][1])
    assert set(winners(State(game), solver).values()) == {False}
    for first, wins_without in plain.items():
        replies = winners(State(game).play(first), solver)
        assert replies["swap"] == wins_without
        assert any(won for reply, won in replies.items() if reply != "swap") != wins_without


def test_solved_positions_are_kept() -> None:
    game = make("hex", size=5)
    solver = Solver(game)
    first, second = solver.analyse(State(game)), solver.analyse(State(game))
    assert first.moves == second.moves and second.nodes < first.nodes


def test_out_of_time_is_an_error_and_the_next_try_is_not_stopped() -> None:
    game = make("hex", size=7)
    solver = Solver(game)
    with pytest.raises(MeijinError, match=r"not solved in 0\.05 s"):
        solver.analyse(State(game), Limit(seconds=0.05))
    late = State(game).play_line("d4 a1 c6 b1 e2 c1")
    assert solver.analyse(late).proven


def test_what_it_cannot_solve_it_names() -> None:
    assert Solver.unfit(make("hex", size=7)) is None
    assert "size=11" in str(Solver.unfit(make("hex")))
    assert Solver.unfit(make("nim")) is not None
    with pytest.raises(MeijinError, match="up to size=7"):
        Solver(make("hex", size=8))
    game = make("hex", size=1)
    with pytest.raises(MeijinError, match="over"):
        Solver(game).analyse(State(game).play("a1"))
