"""The Othello endgame against the FFO suite, plain negamax on the rules, and the whole of 4 x 4."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from meijin.core import compile as compiling
from meijin.core.agent import Limit
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import OVER, Game
from meijin.core.state import State
from meijin.search.solvers import _othello_bits as bits
from meijin.search.solvers.othello import Solver

# ---- an independent solver: lists of cells, full width, no table but a memory of exact values ----

Cells = tuple[int, ...]  # 1: the mover's, -1: the other's, 0: empty


@cache
def rays(size: int) -> list[list[list[int]]]:
    """[cell] -> the cells in each of the eight directions, nearest first."""
    found = []
    for cell in range(size * size):
        lines = []
        for right, down in ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)):
            column, row, line = cell % size + right, cell // size + down, []
            while 0 <= column < size and 0 <= row < size:
                line.append(row * size + column)
                column, row = column + right, row + down
            lines.append(line)
        found.append(lines)
    return found


def turned(cells: Cells, at: int, size: int) -> list[int]:
    found: list[int] = []
    for line in rays(size)[at]:
        run = 0
        while run < len(line) and cells[line[run]] == -1:
            run += 1
        if 0 < run < len(line) and cells[line[run]] == 1:
            found += line[:run]
    return found


def after(cells: Cells, at: int, flipped: list[int]) -> Cells:
    """The position for the other side."""
    new = list(cells)
    for cell in (at, *flipped):
        new[cell] = 1
    return tuple(-v for v in new)


def naive(cells: Cells, size: int, memory: dict[Cells, int]) -> int:
    """The final difference with best play; the winner gets the empty cells."""
    if cells in memory:
        return memory[cells]
    moves = [(c, f) for c, v in enumerate(cells) if v == 0 and (f := turned(cells, c, size))]
    if moves:
        value = max(-naive(after(cells, c, f), size, memory) for c, f in moves)
    else:
        other = tuple(-v for v in cells)
        if any(v == 0 and turned(other, c, size) for c, v in enumerate(other)):
            value = -naive(other, size, memory)
        else:
            lead = sum(cells)
            value = lead + cells.count(0) * ((lead > 0) - (lead < 0))
    memory[cells] = value
    return value


def naive_scores(state: State, size: int, memory: dict[Cells, int]) -> dict[str, int]:
    signs = (0, 1, -1) if state.turn == 0 else (0, -1, 1)
    cells = tuple(signs[v] for v in state.cells)
    found = {
        state.game.board.cells[c].name: -naive(after(cells, c, f), size, memory)
        for c, v in enumerate(cells)
        if v == 0 and (f := turned(cells, c, size))
    }
    return found or {"pass": naive(cells, size, memory)}


# ---- fixtures ----


@pytest.fixture(scope="module")
def game() -> Game:
    return make("othello")


@pytest.fixture(scope="module")
def solver(game: Game) -> Solver:
    return Solver(game)


def walk(game: Game, empties: int, rng: random.Random) -> State:
    """Random play until so few cells are empty, or the game ends."""
    state = State(game)
    while not state.is_over and state.cells.count(0) > empties:
        state.play(rng.choice(state.legal_moves))
    return state


def suite(folder: Path, name: str) -> list[tuple[str, dict[str, int]]]:
    """(squares and side, move -> exact difference) of each line of a file."""
    found = []
    for line in (folder / "othello" / name).read_text().splitlines():
        position, *moves = [part.strip() for part in line.split(";") if part.strip()]
        found.append((position, {m.split(":")[0].lower(): int(m.split(":")[1]) for m in moves}))
    return found


# ---- exactness ----


@pytest.mark.parametrize(
    ("size", "games", "jit"),
    [(4, 60, False), pytest.param(4, 200, True, marks=pytest.mark.soak), (6, 30, False), (8, 150, True)],
)
def test_every_move_has_the_value_of_plain_negamax(
    size: int, games: int, jit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many random games, up to 7 cells before their end, passes and early ends included."""
    monkeypatch.setattr(compiling, "JIT", jit)
    game = make(f"othello(size={size})")
    solver, rng = Solver(game), random.Random(size)
    passes = 0
    for n in range(games):
        state = walk(game, empties=n % (8 if jit else 5), rng=rng)
        if state.is_over:
            continue
        memory: dict[Cells, int] = {}
        expected = naive_scores(state, size, memory)
        passes += "pass" in expected
        found = solver.scores(state)
        assert {move.name: score for move, score in found.items()} == expected, state.text
        assert solver.score(state) == max(expected.values())
        assert solver.outcome(state) == np.sign(max(expected.values()))
        assert found[solver.best(state)] == max(expected.values())
    assert passes > 0


def test_the_table_and_mobility_regimes_agree_with_plain_negamax(game: Game, solver: Solver) -> None:
    """8 and 9 empty cells are enough to leave the leaf functions; one position in each of several games."""
    rng = random.Random(5)
    for empties in (8, 8, 9, 9):
        state = walk(game, empties, rng)
        if not state.is_over:
            expected = naive_scores(state, 8, {})
            assert {m.name: v for m, v in solver.scores(state).items()} == expected, state.text


def test_othello_on_4x4_is_solved_from_the_start() -> None:
    game = make("othello(size=4)")
    start = State(game)
    expected = naive_scores(start, 4, {})
    solver = Solver(game)
    assert solver.score(start) == max(expected.values()) == -10
    end = start.copy().play_line(solver.analyse(start, Limit()).pv)
    assert (end.cells.count(1), end.cells.count(2)) == (3, 11)  # and the two empty cells are the winner's
    assert {m.name: v for m, v in solver.scores(start).items()} == expected
    assert solver.outcome(start) == -1


def test_symmetric_positions_have_equal_values(game: Game, solver: Solver) -> None:
    """Twelve empty cells, which no naive solver reaches: each of the eight images must agree, move by move."""
    state = walk(game, 12, random.Random(11))
    scores = solver.scores(state)
    for symmetry in game.symmetries:
        cells = [0] * 64
        for cell, value in enumerate(state.cells):
            cells[symmetry.cells[cell]] = value
        image = State.from_position(game, "".join("-XO"[v] for v in cells) + "XO"[state.turn])
        fresh = Solver(game, table_mb=1)  # that it remembers nothing
        assert fresh.scores(image) == {game.moves[symmetry.moves[m]]: v for m, v in scores.items()}, symmetry.name


def test_ffo_1_to_19_every_move(game: Game, solver: Solver, test_data: Path) -> None:
    for number, (position, moves) in enumerate(suite(test_data, "ffo-1-19.obf"), 1):
        found = solver.scores(State.from_position(game, position))
        assert {move.name: score for move, score in found.items()} == moves, f"FFO {number}"


@pytest.mark.slow
def test_ffo_20_to_36(game: Game, solver: Solver, test_data: Path) -> None:
    for number, (position, moves) in enumerate(suite(test_data, "ffo-20-39.obf")[:17], 20):
        state = State.from_position(game, position)
        assert solver.score(state) == max(moves.values()), f"FFO {number}"
        assert moves[solver.best(state).name] == max(moves.values()), f"FFO {number}"


# ---- the analysis ----


def test_analysis_is_ranked_by_discs_and_its_line_is_best_play(game: Game, solver: Solver) -> None:
    for seed in range(8):
        state = walk(game, 10, random.Random(seed))
        if state.is_over:
            continue
        analysis, scores = solver.analyse(state, Limit()), solver.scores(state)
        assert analysis.turn == state.turn and analysis.proven and all(info.proven for info in analysis.moves)
        assert [info.move for info in analysis.moves] == sorted(scores, key=lambda m: (-scores[m], m))
        for info in analysis.moves:
            assert info.value is not None and info.value[state.turn] == np.sign(scores[info.move])
            assert sum(info.value) == 0
        assert analysis.nodes > 0 and analysis.depth == state.cells.count(0)
        line = state.copy().play_line(analysis.pv)
        assert line.turn == OVER and line.scores == analysis.value
        black, white = line.cells.count(1), line.cells.count(2)
        lead = (black - white) * (1 if state.turn == 0 else -1)
        assert lead + line.cells.count(0) * np.sign(lead) == scores[analysis.best]


def test_too_many_empty_cells_are_refused_with_a_reason(game: Game) -> None:
    start = State(game)
    with pytest.raises(MeijinError, match=r"not solved with 60 empty cells, only from 22 on: .* limit in seconds"):
        Solver(game).analyse(start, Limit())
    with pytest.raises(MeijinError, match=r"60 empty cells are too many for 0\.05 seconds"):
        Solver(game).analyse(start, Limit(seconds=0.05))


def test_after_a_stop_the_table_is_still_right(game: Game) -> None:
    state = walk(game, 14, random.Random(2))
    solver = Solver(game)
    for seconds in (1e-6, 1e-4, 1e-3, 1e-2):
        try:
            solver.scores(state, Limit(seconds=seconds))
        except MeijinError:
            continue
    assert solver.scores(state) == Solver(game).scores(state)


def test_what_it_cannot_solve_is_named(game: Game, solver: Solver) -> None:
    assert Solver.unfit(game) is None
    assert "up to 8 x 8" in str(Solver.unfit(make("othello(size=10)")))
    assert "Othello only" in str(Solver.unfit(make("connect_four")))
    with pytest.raises(BadParameter, match="10 x 10"):
        Solver(make("othello(size=10)"))
    with pytest.raises(BadParameter, match="max_empties=-1"):
        Solver(game, max_empties=-1)
    with pytest.raises(BadParameter, match="solver of othello"):
        solver.score(State(make("othello(size=4)")))
    over = State.from_position(game, "X" * 64 + "O")
    assert over.is_over
    with pytest.raises(MeijinError, match="the game is over"):
        solver.score(over)


# ---- words and diagrams ----


@pytest.mark.parametrize("size", [4, 6, 8])
def test_words_agree_with_lists_of_cells(size: int) -> None:
    """Flips, places, stable discs: on random boards, interpreted."""
    rng = random.Random(size)
    spread = [8 * (c // size) + c % size for c in range(size * size)]
    outside = np.uint64(~sum(1 << at for at in spread) & (1 << 64) - 1)

    def word(cells: list[int] | Cells, value: int) -> np.uint64:
        return np.uint64(sum(1 << spread[c] for c, v in enumerate(cells) if v == value))

    with np.errstate(over="ignore"):
        for _ in range(60):
            cells = tuple(rng.choices((0, 1, -1), weights=(1, 2, 2), k=size * size))
            mine, theirs, empty = word(cells, 1), word(cells, -1), word(cells, 0)
            where = 0
            for c, v in enumerate(cells):
                if v == 0:
                    expected = turned(cells, c, size)
                    found = bits.flips(mine, theirs, np.uint64(spread[c]))
                    assert found == np.uint64(sum(1 << spread[f] for f in expected))
                    where |= (1 << spread[c]) if expected else 0
            assert bits.places(mine, theirs, empty) == np.uint64(where)
            full = list(rng.choices((1, -1), k=size * size))
            at = rng.randrange(size * size)
            full[at] = 0
            assert bits.last_flips(word(full, 1), np.uint64(spread[at])) == len(turned(tuple(full), at, size))
            # Whoever plays on at random, stable discs stay.
            safe = bits.stable(mine, empty, outside)
            assert safe & ~mine == 0
            for _ in range(3):
                board, sign = cells, 1
                for _ in range(2 * size * size):
                    moves = [(c, f) for c, v in enumerate(board) if v == 0 and (f := turned(board, c, size))]
                    board = after(board, *rng.choice(moves)) if moves else tuple(-v for v in board)
                    sign = -sign
                assert safe & ~word(board, sign) == 0


def test_corners_and_full_edges_are_stable() -> None:
    row = np.uint64(0xFF)
    with np.errstate(over="ignore"):
        assert bits.stable(row, ~row, np.uint64(0)) == row
        assert bits.stable(row ^ np.uint64(0x80), ~row | np.uint64(0x80), np.uint64(0)) == row ^ np.uint64(0x80)
        inner = np.uint64(0x7E)
        assert bits.stable(inner, ~inner, np.uint64(0)) == 0


def test_diagrams_are_read(game: Game) -> None:
    start = State(game)
    text = "-" * 27 + "OX" + "-" * 6 + "XO" + "-" * 27
    assert State.from_position(game, text + " X") == start
    assert State.from_position(game, text.replace("-", ".").lower() + "x; anything") == start
    spaced = "\n".join(text[i : i + 8] for i in range(0, 64, 8))
    assert State.from_position(game, spaced + "\nO").turn == 1
    must_pass = State.from_position(game, "XXXXXXX" + "-" + "X" * 24 + "O" * 32 + "X")
    assert [m.name for m in must_pass.legal_moves] == ["pass"]
    assert start.position == text + " X" and State.parse(f"othello [{start.position}] d3") == State(game).play("d3")
    for size in (4, 10):
        small = make(f"othello(size={size})")
        played = walk(small, 6, random.Random(1))
        marks = "".join("-XO"[v] for v in played.cells)
        if not played.is_over:
            assert State.from_position(small, marks + "XO"[played.turn]) == played


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-" * 63 + " X", "has 64 marks; give 64 cells"),
        ("-" * 64, "64 marks"),
        ("-" * 63 + "# X", "'#' is neither a cell"),
        ("-" * 64 + " -", "'-' is neither a cell"),
    ],
)
def test_broken_diagrams_are_errors(game: Game, text: str, words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        State.from_position(game, text)
