"""Tic-tac-toe, gomoku, Connect Four and Othello against OpenSpiel, published counts and naive rules."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driving import Runner, perft
from meijin.core import bits, kernels
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import OVER, Game
from meijin.core.rng import stream, streams
from meijin.core.state import State

PERFT = {
    "tic_tac_toe": [9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872],
    "connect_four": [7, 49, 343, 2401, 16807, 117649, 823536],
    "othello": [4, 12, 56, 244, 1396, 8200, 55092],
}

# ---- against OpenSpiel ----


@pytest.mark.parametrize("name", PERFT)
def test_random_games_agree_with_open_spiel(name: str) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    peer = pyspiel.load_game(name)
    ours, rng = Runner(make(name)), random.Random(1)
    for _ in range(2000):
        ours.start()
        theirs = peer.new_initial_state()
        while True:
            over = theirs.is_terminal()
            legal = theirs.legal_actions()
            expected = (OVER if over else theirs.current_player(), legal, theirs.returns())
            assert ours.look() == expected, theirs.history_str()
            if over:
                break
            move = rng.choice(legal)
            ours.play(move)
            theirs.apply_action(move)


# ---- counts of positions ----


@pytest.mark.parametrize("name", PERFT)
def test_perft(name: str) -> None:
    game = make(name)
    assert [perft(game, depth) for depth in range(1, len(PERFT[name]) + 1)] == PERFT[name]


def test_perft_of_the_reference_data(test_data: Path) -> None:
    tables = json.loads((test_data / "perft.json").read_text())
    for name in PERFT:
        game = make(name)
        assert [perft(game, depth) for depth in range(1, len(tables[name]) + 1)] == tables[name], name


# ---- against naive rules: a board is a list of rows, 0 is empty and seat + 1 a stone ----


class Lines:
    """Tic-tac-toe, gomoku and Connect Four: a line is found in the whole board, written out in every direction."""

    def __init__(self, width: int, height: int, connect: int, falls: bool):
        self.width, self.height, self.connect, self.falls = width, height, connect, falls
        self.rows = [[0] * width for _ in range(height)]
        self.turn, self.scores = 0, [0.0, 0.0]

    def directions(self) -> Iterator[str]:
        text = ["".join(map(str, row)) for row in self.rows]
        yield from text
        yield from map("".join, zip(*text, strict=True))
        blank = " " * self.height
        for board in (text, text[::-1]):  # shear the board, and diagonals become columns
            sheared = [blank[i:] + row + blank[:i] for i, row in enumerate(board)]
            yield from map("".join, zip(*sheared, strict=True))

    def legal(self) -> list[int]:
        if self.turn == OVER:
            return []
        if self.falls:
            return [column for column in range(self.width) if not self.rows[0][column]]
        return [i for i, value in enumerate(self.cells()) if not value]

    def play(self, move: int) -> None:
        if self.falls:
            row = max(r for r in range(self.height) if not self.rows[r][move])
            self.rows[row][move] = self.turn + 1
        else:
            self.rows[move // self.width][move % self.width] = self.turn + 1
        if any(str(self.turn + 1) * self.connect in line for line in self.directions()):
            self.scores = [1.0, -1.0] if self.turn == 0 else [-1.0, 1.0]
            self.turn = OVER
        else:
            self.turn = 1 - self.turn if 0 in self.cells() else OVER

    def cells(self) -> list[int]:
        return [value for row in self.rows for value in row]


class Discs:
    """Othello on a board with a border of 3s."""

    def __init__(self, size: int):
        self.size, self.wide = size, size + 2
        self.turn, self.scores = 0, [0.0, 0.0]
        inside = range(1, size + 1)
        self.board = [0 if {r, c} <= set(inside) else 3 for r in range(self.wide) for c in range(self.wide)]
        half = size // 2
        for row, column, value in ((0, 0, 2), (0, 1, 1), (1, 0, 1), (1, 1, 2)):
            self.board[(half + row) * self.wide + half + column] = value

    def at(self, move: int) -> int:
        return (move // self.size + 1) * self.wide + move % self.size + 1

    def turned(self, seat: int, move: int) -> list[int]:
        found: list[int] = []
        if self.board[self.at(move)]:
            return found
        for step in (1, -1, self.wide, -self.wide, self.wide + 1, self.wide - 1, 1 - self.wide, -1 - self.wide):
            line, place = [], self.at(move) + step
            while self.board[place] == 2 - seat:
                line.append(place)
                place += step
            if self.board[place] == seat + 1:
                found += line
        return found

    def places(self, seat: int) -> list[int]:
        return [move for move in range(self.size**2) if self.turned(seat, move)]

    def legal(self) -> list[int]:
        return [] if self.turn == OVER else self.places(self.turn) or [self.size**2]

    def play(self, move: int) -> None:
        if move < self.size**2:
            for place in [*self.turned(self.turn, move), self.at(move)]:
                self.board[place] = self.turn + 1
        if self.places(0) or self.places(1):
            self.turn = 1 - self.turn
        else:
            black, white = self.board.count(1), self.board.count(2)
            self.scores = [float(np.sign(black - white)), float(np.sign(white - black))]
            self.turn = OVER

    def cells(self) -> list[int]:
        return [value for value in self.board if value != 3]


@pytest.mark.parametrize(
    ("expression", "naive", "games"),
    [
        ("tic_tac_toe(width=5, height=4, connect=4)", lambda: Lines(5, 4, 4, falls=False), 50),
        ("tic_tac_toe(width=9, height=8, connect=5)", lambda: Lines(9, 8, 5, falls=False), 20),
        ("tic_tac_toe(width=1, height=26, connect=2)", lambda: Lines(1, 26, 2, falls=False), 20),
        ("gomoku(size=19)", lambda: Lines(19, 19, 5, falls=False), 5),
        ("gomoku(size=26, connect=7)", lambda: Lines(26, 26, 7, falls=False), 2),
        ("connect_four(width=26, height=26, connect=7)", lambda: Lines(26, 26, 7, falls=True), 2),
        ("othello(size=4)", lambda: Discs(4), 50),
        ("othello(size=6)", lambda: Discs(6), 20),
        ("othello(size=10)", lambda: Discs(10), 5),
    ],
)
def test_random_games_agree_with_naive_rules(
    expression: str, naive: Callable[[], Lines | Discs], games: int, compiled_in_soak: bool
) -> None:
    compare(expression, naive, games if compiled_in_soak else -(-games // 3))


@pytest.mark.parametrize(
    ("expression", "naive", "games"),
    [
        ("gomoku", lambda: Lines(15, 15, 5, falls=False), 10),
        ("connect_four(width=10, height=10, connect=5)", lambda: Lines(10, 10, 5, falls=True), 30),
        ("othello", lambda: Discs(8), 10),
    ],
)
def test_compiled_random_games_agree_with_naive_rules(
    expression: str, naive: Callable[[], Lines | Discs], games: int
) -> None:
    compare(expression, naive, games)


def compare(expression: str, naive: Callable[[], Lines | Discs], games: int) -> None:
    ours, rng = Runner(make(expression)), random.Random(2)
    for _ in range(games):
        ours.start()
        theirs = naive()
        played: list[int] = []
        while True:
            legal = theirs.legal()
            assert (ours.look(), ours.cells()) == ((theirs.turn, legal, theirs.scores), theirs.cells()), played
            if not legal:
                break
            played.append(rng.choice(legal))
            ours.play(played[-1])
            theirs.play(played[-1])


def test_perft_of_small_othello_agrees_with_naive_rules() -> None:
    def count(line: list[int], depth: int) -> int:
        position = Discs(6)
        for move in line:
            position.play(move)
        legal = position.legal()
        return len(legal) if depth == 1 else sum(count([*line, move], depth - 1) for move in legal)

    game = make("othello(size=6)")
    assert [perft(game, depth) for depth in range(1, 6)] == [count([], depth) for depth in range(1, 6)]


# ---- the same source, interpreted ----

EVERY_KIND = [
    "tic_tac_toe",
    "gomoku(size=9)",
    "connect_four",
    "connect_four(width=10, height=10, connect=5)",
    "othello",
    "othello(size=10)",
]


@pytest.mark.parametrize("expression", EVERY_KIND)
def test_interpreted_equals_compiled(expression: str) -> None:
    game = make(expression)
    fast, slow = Runner(game, jit=True), Runner(game, jit=False)
    for plies in (0, 1, 7, 30, game.longest):
        for runner, jit in ((fast, True), (slow, False)):
            walks = game.kernel(kernels.random_walks, jit)
            walks(runner.states, plies, streams(plies, 1), *kernels.buffers(game))
        assert fast.states.tobytes() == slow.states.tobytes()
        assert fast.look() == slow.look()
        assert fast.cells() == slow.cells()
    assert fast.look()[0] == OVER


# ---- random moves ----


def draws(game: Game) -> Callable[..., None]:
    sample = game.sample
    assert sample is not None

    def kernel(states: Any, rng: Any, out: Any) -> None:
        for i in range(out.shape[0]):
            out[i] = sample(states[0], rng)

    return kernel


@pytest.mark.parametrize("expression", ["tic_tac_toe", "gomoku(size=9)", "othello", "othello(size=10)"])
def test_sample_draws_every_legal_move_and_no_other(expression: str) -> None:
    game = make(expression)
    ours, rng = Runner(game), random.Random(3)
    out = np.zeros(4000, np.int32)  # misses one of 81 moves with a chance of 81 * (80/81)**4000 < 1e-19
    for _ in range(5):
        ours.start()
        turn, legal, _ = ours.look()
        while turn != OVER:
            game.kernel(draws)(ours.states, stream(4), out)
            assert np.unique(out).tolist() == legal
            ours.play(rng.choice(legal))
            turn, legal, _ = ours.look()


def test_bits() -> None:
    rng = random.Random(5)
    words = [0, 1, 1 << 63, (1 << 64) - 1, 0xFF, 0xFF << 56]
    words += [rng.getrandbits(64) & rng.getrandbits(64) for _ in range(200)]
    with np.errstate(over="ignore"):
        for word in words:
            places = [i for i in range(64) if word >> i & 1]
            assert bits.count(np.uint64(word)) == len(places)
            assert bits.lowest(np.uint64(word)) == min(places, default=64)
            assert bits.without_lowest(np.uint64(word)) == sum(1 << i for i in places[1:])
            assert [bits.nth(np.uint64(word), n) for n in range(len(places))] == places


# ---- what people see ----


def test_othello_start_and_shortest_game() -> None:
    state = State(make("othello"))
    assert str(state).splitlines()[4:6] == ["4 . . . O X . . .", "5 . . . X O . . ."]
    assert [move.name for move in state.legal_moves] == ["d3", "c4", "f5", "e6"]
    state.play_line("e6 f4 e3 f6 g5 d6 e7 f5 c5")  # white has no disc left
    assert (state.turn, state.scores, state.cells.count(2)) == (OVER, (1.0, -1.0), 0)


def test_othello_pass_is_a_move_and_only_when_forced() -> None:
    state = State(make("othello(size=4)"))
    assert state.game.moves[16].name == "pass"
    assert state.game.paths[16] == ("pass",)
    with pytest.raises(IllegalMove, match="'pass' is not legal here"):
        state.play("pass")
    rng = random.Random(6)
    while [move.name for move in state.legal_moves] != ["pass"]:
        if state.is_over:
            state = State(state.game)
        state.play(rng.choice(state.legal_moves))
    cells, turn = state.cells, state.turn
    state.play("pass")
    assert (state.cells, state.turn) == (cells, 1 - turn)
    assert state.legal_moves


def test_othello_keeps_all_eight_symmetries() -> None:
    """Four of them change the start, so images of positions are made here instead of played."""
    game = make("othello")

    def image(word: Any, cells: tuple[int, ...]) -> int:
        return sum(1 << cells[i] for i in range(64) if int(word) >> i & 1)

    rng = random.Random(7)
    for symmetry in game.symmetries:
        state, other = State(game), State(game)
        while not state.is_over:
            for seat in (0, 1):
                other.record.discs[seat, 0] = image(state.record.discs[seat, 0], symmetry.cells)
            other.record.open[0] = image(state.record.open[0], symmetry.cells)
            other.record.turn = state.turn
            mirrored = State(game, other.record)
            move = rng.choice(state.legal_moves)
            state.play(move)
            mirrored.play(symmetry.moves[move])
            assert tuple(mirrored.cells[i] for i in symmetry.cells) == state.cells
            assert sorted(symmetry.moves[m] for m in state.legal_moves) == list(mirrored.legal_moves)
            assert (mirrored.turn, mirrored.scores) == (state.turn, state.scores)


def test_othello_heuristic_prefers_corners_and_moves() -> None:
    game = make("othello")
    estimate, out = game.kernel(kernels.heuristic), np.zeros(2)
    state = State(game)
    estimate(state.records, 0, out)
    assert out.tolist() == [0.0, 0.0]
    state.record.discs[1] |= np.uint64(1)  # white on a1
    estimate(state.records, 0, out)
    assert -1.0 < out[0] < 0.0 < out[1] < 1.0


def test_more_than_five_in_a_line_win_at_gomoku() -> None:
    state = State(make("gomoku")).play_line("a1 a9 b1 c9 c1 e9 e1 g9 f1 i9")
    assert not state.is_over
    assert state.play("d1").scores == (1.0, -1.0)


def test_positions_are_equal_however_they_were_reached() -> None:
    game = make("gomoku")
    assert State(game).play_line("h8 a1 c3 o15") == State(game).play_line("c3 o15 h8 a1")


def test_names_of_cells() -> None:
    assert [move.name for move in make("tic_tac_toe").moves] == ["a3", "b3", "c3", "a2", "b2", "c2", "a1", "b1", "c1"]
    assert make("gomoku").find("o1") == 15 * 15 - 1
    assert [len(make(name).symmetries) for name in ("tic_tac_toe", "gomoku", "othello")] == [8, 8, 8]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("othello(size=7)", "even number"),
        ("othello(size=12)", "from 4 to 10"),
        ("gomoku(size=27)", "from 2 to 26"),
        ("gomoku(size=4)", "no line that long fits on 4 x 4"),
        ("tic_tac_toe(width=2, height=2)", "no line that long fits on 2 x 2"),
        ("tic_tac_toe(connect=1)", "from 2 to 26"),
    ],
)
def test_impossible_sizes_are_refused(expression: str, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        make(expression)
