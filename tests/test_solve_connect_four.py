"""The perfect Connect Four player against solved positions, another solver, plain minimax, and its own laws."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from meijin import make
from meijin.core.agent import Limit
from meijin.core.compile import interpreted
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.state import State
from meijin.search.solvers._connect_four_search import empty_table, pairing, shapes, solve
from meijin.search.solvers.connect_four import BOOK_PLIES, Solver, book, canonical

GAME = make("connect_four")


@pytest.fixture(scope="module")
def solver() -> Solver:
    return Solver(GAME)


def random_state(rng: random.Random, plies: int, game: Game = GAME) -> State:
    """A position of that many stones, by random moves that do not end the game."""
    while True:
        state = State(game)
        while len(state.history) < plies:
            for move in rng.sample(state.legal_moves, len(state.legal_moves)):
                if not state.play(move).is_over:
                    break
                state.undo()
            else:
                break  # every move ends it
        else:
            return state


def position(state: State) -> tuple[np.uint64, np.uint64, int]:
    """The mover's stones, all stones, and how many there are."""
    mine, his = (state.record.stones[seat, 0] for seat in (state.turn, 1 - state.turn))
    return mine, mine | his, int(state.record.ply)


def by_minimax(state: State) -> int:
    """The score by the rules of the game alone."""

    @cache
    def value(after: State) -> int:
        best = -99
        for move in after.legal_moves:
            then = after.copy().play(move)
            if then.is_over:
                score = (state.game.longest + 1 - int(after.record.ply)) // 2 if any(then.scores) else 0
            else:
                score = -value(then)
            best = max(best, score)
        return best

    return value(state)


@pytest.mark.parametrize("name", ["end-easy", "middle-easy", "begin-easy"])
def test_solved_positions(name: str, solver: Solver, test_data: Path) -> None:
    rows = [line.split() for line in (test_data / "connect4" / f"{name}.txt").read_text().splitlines()]
    assert len(rows) == 1000
    for moves, score in rows:
        assert solver.score(State(GAME).play_line(moves)) == int(score), moves


def test_agrees_with_another_solver(solver: Solver) -> None:
    bitbully = pytest.importorskip("bitbully", reason="compares with bitbully: pip install bitbully")
    other = bitbully.BitBully()
    rng = random.Random(1)
    for i in range(300):
        state = random_state(rng, 12 + i % 28)
        board = bitbully.Board([int(move) for move in state.history])
        assert solver.score(state) == other.mtdf(board), state.text


def test_every_move_of_the_empty_board(solver: Solver) -> None:
    state = State(GAME)
    assert list(solver.scores(state).values()) == [-2, -1, 0, 1, 0, -1, -2]
    assert solver.score(state) == 1
    analysis = solver.analyse(state)
    assert analysis.best.name == "4"
    assert analysis.proven and analysis.value == (1.0, -1.0)
    assert [info.value[0] for info in analysis.moves if info.value] == [1, 0, 0, -1, -1, -1, -1]


def early_states(count: int) -> Iterator[State]:
    """Random positions of the book."""
    rng = random.Random(6)
    for i in range(count):
        yield random_state(rng, i % (BOOK_PLIES + 1))


def booked(state: State) -> tuple[int, int]:
    """The book's score and best move."""
    mine, mask, _ = position(state)
    known = book()
    assert known is not None
    answer = known.look_up(int(mine), int(mask))
    assert answer is not None, state.text
    return answer


def test_the_book_agrees_with_itself() -> None:
    """Every position is worth its best move, and the best of what follows."""
    for state in early_states(400):
        score, best = booked(state)
        after = {int(move): state.copy().play(move) for move in state.legal_moves}
        if len(state.history) < BOOK_PLIES:
            won = (43 - len(state.history)) // 2
            scores = {move: won if then.is_over else -booked(then)[0] for move, then in after.items()}
            assert score == max(scores.values()) == scores[best], state.text


def test_the_book_agrees_with_another_solver() -> None:
    bitbully = pytest.importorskip("bitbully", reason="compares with bitbully: pip install bitbully")
    other = bitbully.BitBully()
    for state in early_states(300):
        scores = other.score_all_moves(bitbully.Board([int(move) for move in state.history]))
        score, best = booked(state)
        assert score == max(scores.values()) == scores[best], state.text


def test_the_book_knows_mirror_images() -> None:
    for state in early_states(50):
        mirrored = State(GAME).play_line([6 - move for move in state.history])
        (score, best), (other, image) = booked(state), booked(mirrored)
        after, after_image = state.copy().play(best), mirrored.copy().play(image)
        assert score == other and key_of(after) == key_of(after_image)


@pytest.mark.parametrize("at_once", [False, True], ids=["soon", "at once"])
def test_the_best_move_is_known_before_the_rest(at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The book names a best move. What the others are worth may take a search, for which there may be no time."""
    if at_once:
        monkeypatch.setattr(threading.Timer, "start", lambda timer: timer.function())
        monkeypatch.setattr(threading.Timer, "join", lambda timer: None)
    solver = Solver(GAME)
    for state in early_states(20):
        analysis = solver.analyse(state, Limit(seconds=1e-6))
        score, best = booked(state)
        assert analysis.proven and analysis.value is not None and analysis.best == best
        assert analysis.value[state.turn] == (score > 0) - (score < 0)


def test_who_loses_in_the_book_resists_as_long_as_possible() -> None:
    solver, rng = Solver(GAME), random.Random(3)
    for _ in range(40):
        state = random_state(rng, BOOK_PLIES)  # what follows is not in the book
        score, best = booked(state)
        if score < 0:
            assert solver.analyse(state, Limit(seconds=1e-6)).best == best, state.text


def test_signs_come_before_distances(solver: Solver) -> None:
    """A position's value costs less than the distance to its end; bounds cut scores off and change nothing else."""
    rng = random.Random(7)
    for _ in range(60):
        state = random_state(rng, rng.randrange(14, 41))
        mine, mask, ply = map(int, position(state))
        score = solver.score(state)
        for most in (1, 3, 42):
            assert solver._exact(mine, mask, ply, most) == max(-most, min(most, score)), state.text


def key_of(state: State) -> tuple[bool, int]:
    if state.is_over:
        return True, 0
    mine, mask, _ = position(state)
    return False, canonical(int(mine), int(mask), 7, 6)[0]


def test_scores_are_the_best_moves(solver: Solver) -> None:
    """A position is worth its best move; mirrored, every move is worth the same."""
    rng = random.Random(2)
    for _ in range(40):
        state = random_state(rng, rng.randrange(16, 41))
        scores = solver.scores(state)
        assert max(scores.values()) == solver.score(state)
        mirrored = State(GAME).play_line([6 - move for move in state.history])
        assert solver.scores(mirrored) == {GAME.moves[6 - move]: score for move, score in scores.items()}
        analysis = solver.analyse(state)
        ranked = [scores[info.move] for info in analysis.moves]
        assert ranked == sorted(scores.values(), reverse=True)
        assert all(info.proven for info in analysis.moves)


@pytest.mark.parametrize("width, height", [(4, 4), (5, 4), (4, 5), (6, 3), (3, 5), (8, 2), (8, 7), (1, 6)])
def test_other_sizes_agree_with_minimax(width: int, height: int) -> None:
    """With even and odd heights, of which only the even ones allow the pairing of cells."""
    game = make("connect_four", width=width, height=height)
    assert Solver.unfit(game) is None
    plain, table = game.kernel(solve, jit=False), empty_table(64)  # compiling eight sizes would take a minute
    rng = random.Random(3)
    cells = width * height
    for _ in range(12):
        state = random_state(rng, rng.randrange(max(0, cells - 7), cells), game)
        assert plain(table, *position(state), -42, 42) == by_minimax(state), state.text


def test_another_size_compiled() -> None:
    """5 x 4 is a draw from the start, and so says alpha-beta to the end."""
    game = make("connect_four", width=5, height=4)
    assert Solver(game).score(State(game)) == 0


def test_pairing_is_sound() -> None:
    """What it says without searching is what minimax finds."""
    held, said = interpreted(pairing(7, 6)), 0
    rng = random.Random(4)
    for _ in range(150):
        state = random_state(rng, rng.randrange(34, 41))
        score = by_minimax(state)
        for alpha in (-2, -1, 0, 1):
            side = held(*position(state), alpha)
            said += side != 0
            assert side == 0 or (side > 0) == (score > alpha), (state.text, alpha)
    assert said > 50


def test_lines_and_winning_cells() -> None:
    winning, lines = shapes(7, 6)
    rng = random.Random(5)
    for _ in range(100):
        state = random_state(rng, rng.randrange(8, 38))
        mine, mask, _ = position(state)
        assert lines(mine) == 0  # the game goes on
        wins = winning(mine, mask)
        for cell in range(49):
            bit = np.uint64(1 << cell)
            if cell % 7 < 6 and not mask & bit:
                assert (lines(mine | bit) != 0) == bool(wins & bit)


def test_the_same_interpreted(test_data: Path) -> None:
    plain, table = GAME.kernel(solve, jit=False), empty_table(64)
    for line in (test_data / "connect4" / "end-easy.txt").read_text().splitlines()[:25]:
        moves, score = line.split()
        state = State(GAME).play_line(moves)
        assert plain(table, *position(state), -42, 42) == int(score)


def test_time_limit() -> None:
    """Out of time it says so, still names legal moves, and knows no less afterwards."""
    solver = Solver(GAME, use_book=False)
    state = State(GAME).play_line("444")
    analysis = solver.analyse(state, Limit(seconds=0.01))
    assert not analysis.proven and analysis.value is None
    assert "time ran out" in analysis.note
    assert {info.move for info in analysis.moves} == set(state.legal_moves)
    assert solver.score(State(GAME).play_line("32164625")) == 11


def test_refuses_what_it_cannot_solve(solver: Solver) -> None:
    assert Solver.unfit(GAME) is None
    assert "connect=5" in (Solver.unfit(make("connect_four", connect=5)) or "")
    assert "9 x 6 is too large" in (Solver.unfit(make("connect_four", width=9)) or "")
    assert "connect_four alone" in (Solver.unfit(make("tic_tac_toe")) or "")
    with pytest.raises(MeijinError, match="lines of four alone"):
        Solver(make("connect_four", connect=3))
    with pytest.raises(MeijinError, match="the game is over"):
        solver.score(State(GAME).play_line("1212121"))
