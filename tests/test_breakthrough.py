"""Breakthrough against OpenSpiel, whose player 0 begins at the top where ours begins at the bottom."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from driving import Runner, perft
from meijin.core import kernels
from meijin.core.catalogue import make
from meijin.core.check import check_game
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import OVER
from meijin.core.state import State

SIZES = [(8, 8), (6, 6), (5, 4), (10, 6), (3, 3), (2, 5), (6, 2), (2, 2)]  # rows, columns


def translated(theirs: str, rows: int) -> str:
    """A move of OpenSpiel on the board turned upside down: 'a7a6*' -> 'a2a3'. It writes row 10 as ':', and so on."""
    return "".join(str(rows + 1 - (ord(c) - ord("0"))) if c < "a" else c for c in theirs.rstrip("*"))


# ---- against OpenSpiel ----


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_random_games_agree_with_open_spiel(rows: int, columns: int) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    peer = pyspiel.load_game("breakthrough", {"rows": rows, "columns": columns})
    game = make("breakthrough", rows=rows, columns=columns)
    ours, rng = Runner(game), random.Random(rows)
    names: dict[str, int] = {}
    for _ in range(2000 if rows == 8 else 150):
        ours.start()
        theirs = peer.new_initial_state()
        while True:
            turn, legal, scores = ours.look()
            over = theirs.is_terminal()
            actions: dict[int, int] = {}
            for action in theirs.legal_actions():
                text = theirs.action_to_string(action)
                if text not in names:
                    names[text] = game.find(translated(text, rows))
                actions[names[text]] = action
            expected = (OVER if over else theirs.current_player(), sorted(actions), theirs.returns())
            assert (turn, legal, scores) == expected, theirs.history_str()
            if over:
                break
            move = rng.choice(legal)
            ours.play(move)
            theirs.apply_action(actions[move])
        shown = [line[1:] for line in str(theirs).splitlines()[:rows]]
        assert ours.cells() == [".bw".index(c) for line in reversed(shown) for c in line]


@pytest.mark.parametrize(("rows", "columns", "depth"), [(8, 8, 5), (6, 2, 7), (5, 4, 4), (3, 3, 6)])
def test_perft_agrees_with_open_spiel(rows: int, columns: int, depth: int) -> None:
    pyspiel = pytest.importorskip("pyspiel")

    def count(state: Any, depth: int) -> int:
        legal = state.legal_actions()
        return len(legal) if depth == 1 else sum(count(state.child(action), depth - 1) for action in legal)

    start = pyspiel.load_game("breakthrough", {"rows": rows, "columns": columns}).new_initial_state()
    game = make("breakthrough", rows=rows, columns=columns)
    assert [perft(game, d) for d in range(1, depth + 1)] == [count(start, d) for d in range(1, depth + 1)]


def test_perft() -> None:
    game = make("breakthrough")
    assert [perft(game, depth) for depth in range(1, 7)] == [22, 484, 11132, 256036, 6182818, 149264638]


# ---- rules one by one ----


def test_moves_and_captures() -> None:
    state = State(make("breakthrough(rows=5, columns=3)"))
    assert str(state).splitlines() == ["5 B B B", "4 . . .", "3 . . .", "2 . . .", "1 W W W", "  a b c"]
    assert [m.name for m in state.legal_moves] == ["a1a2", "a1b2", "b1a2", "b1b2", "b1c2", "c1b2", "c1c2"]
    state.play_line("b1b2 b5b4 b2b3")
    with pytest.raises(IllegalMove, match="'b4b3' is not legal here"):  # straight ahead nothing is captured
        state.play("b4b3")
    state.play_line("a5a4 b3a4")
    assert state.cells[3] == 1
    assert state.cells.count(2) == 2


def test_the_far_row_wins() -> None:
    state = State(make("breakthrough(rows=4, columns=3)")).play_line("a1a2 c4c3 a2a3 c3c2")
    assert state.copy().play("a3b4").scores == (1.0, -1.0)  # a capture on the far row
    with pytest.raises(IllegalMove):
        state.play("a3a4")
    state.play("b1b2")
    assert state.play("c2b1").scores == (-1.0, 1.0)  # to an empty cell
    assert state.is_over
    assert State(make("breakthrough(rows=2, columns=2)")).play("a1b2").scores == (1.0, -1.0)


def test_capturing_everything_wins() -> None:
    state = State(make("breakthrough"))
    record = state.record
    board = state.game.board
    record.pieces[0] = 1 << board.index("d4")
    record.pieces[1] = 1 << board.index("e5")
    assert State(state.game, record).play("d4e5").scores == (1.0, -1.0)
    record.turn = 1
    assert State(state.game, record).play("e5d4").scores == (-1.0, 1.0)
    assert not State(state.game, record).play("e5e4").is_over


def test_the_longest_game_is_no_longer_than_declared() -> None:
    """Every piece of both sides can walk to the row before the last only if none is captured; one more step wins."""
    assert [make("breakthrough", rows=r, columns=c).longest for r, c in ((8, 8), (5, 4), (2, 2))] == [177, 25, 1]


# ---- symmetries ----


@pytest.mark.parametrize("expression", ["breakthrough", "breakthrough(rows=5, columns=4)"])
def test_mirrored_games_are_the_same(expression: str) -> None:
    """Upside down with exchanged seats: the start is its own image but for the seat to move."""
    game, rng = make(expression), random.Random(4)
    names = {symmetry.name: symmetry.swaps for symmetry in game.symmetries}
    assert names == {"identity": False, "rotate180": True, "flip": True, "mirror": False}
    for symmetry in game.symmetries:
        for _ in range(10):
            state, image = State(game), State(game)
            if symmetry.swaps:
                image.record.turn = 1
                image = State(game, image.record)
            while not state.is_over:
                assert image.turn == symmetry.seats[state.turn]
                assert sorted(symmetry.moves[m] for m in state.legal_moves) == list(image.legal_moves)
                move = rng.choice(state.legal_moves)
                state.play(move)
                image.play(int(symmetry.moves[move]))
                assert [image.cells[i] for i in symmetry.cells] == [symmetry.values[v] for v in state.cells]
                assert guess(image)[symmetry.seats[0]] == guess(state)[0]
            assert image.is_over
            assert [image.scores[k] for k in symmetry.seats] == list(state.scores)


# ---- the rest ----


def guess(state: State) -> list[float]:
    out = np.zeros(2)
    state.game.kernel(kernels.heuristic)(state.records, 0, out)
    return list(out.tolist())


def test_heuristic_likes_pieces_and_steps_ahead() -> None:
    state = State(make("breakthrough"))
    assert guess(state) == [0.0, 0.0]
    state.play("a2a3")
    ahead = guess(state)
    assert 0.0 < ahead[0] == -ahead[1] < 1.0
    state.play_line("b7b6 a3a4 b6b5")
    assert guess(state.play("a4b5"))[0] > ahead[0]  # a piece up


@pytest.mark.parametrize(
    "expression",
    ["breakthrough(rows=2, columns=2)", pytest.param("breakthrough(rows=9, columns=7)", marks=pytest.mark.soak)],
)
def test_laws_of_games(expression: str, compiled_in_soak: None) -> None:
    check_game(make(expression), games=4, gpu=False)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("breakthrough(rows=1)", "from 2 to 32"),
        ("breakthrough(columns=1)", "from 2 to 32"),
        ("breakthrough(rows=9, columns=8)", "at most 64 cells"),
    ],
)
def test_impossible_sizes_are_refused(expression: str, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        make(expression)
