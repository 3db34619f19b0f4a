"""Hex against OpenSpiel and against connections found by walking over the stones."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from driving import Runner
from meijin.core import kernels
from meijin.core.catalogue import make
from meijin.core.check import check_game
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import OVER, Game
from meijin.core.rng import stream
from meijin.core.state import State


def joined(cells: list[int], size: int) -> list[bool]:
    """Whether each colour's stones join its sides: black from the top down, white from the left to the right."""
    found = []
    for value in (1, 2):
        board = {divmod(cell, size) for cell in range(size * size) if cells[cell] == value}
        if value == 2:
            board = {(column, row) for row, column in board}
        wave = {(row, column) for row, column in board if row == 0}
        while wave:
            board -= wave
            if any(row == size - 1 for row, _ in wave):
                break
            around = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1))
            wave = {(row + y, column + x) for row, column in wave for y, x in around} & board
        found.append(bool(wave))
    return found


# ---- against OpenSpiel: its actions are our cells, its player 0 joins the top and the bottom too ----


@pytest.mark.parametrize(("size", "games"), [(3, 700), (5, 700), (7, 600), (11, 300)])
@pytest.mark.parametrize("swap", [False, True])
def test_random_games_agree_with_open_spiel(size: int, games: int, swap: bool) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    peer = pyspiel.load_game("hex", {"board_size": size, "swap": swap})
    game = make("hex", size=size, swap=swap)
    ours, rng = Runner(game), random.Random(size)
    pieces = {".": 0, **dict.fromkeys("xyzX", 1), **dict.fromkeys("opqO", 2)}  # joined to no side, to one, to both
    for _ in range(games // 3 if swap else games):
        ours.start()
        theirs = peer.new_initial_state()
        while True:
            over, legal = theirs.is_terminal(), theirs.legal_actions()
            expected = (OVER if over else theirs.current_player(), legal, theirs.returns())
            assert ours.look() == expected, theirs.history_str()
            if over:
                break
            move = legal[-1] if swap and len(theirs.history()) == 1 and rng.random() < 0.5 else rng.choice(legal)
            assert game.moves[move].name == theirs.action_to_string(move)
            ours.play(move)
            theirs.apply_action(move)
        assert ours.cells() == [pieces[letter] for letter in str(theirs).split()]


# ---- who wins ----


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 9, 13, 19])
def test_the_game_ends_when_a_chain_joins_two_sides(size: int, compiled_in_soak: bool) -> None:
    """Sizes around every change of the number of words; each ply is compared with a walk over the stones."""
    until_a_chain_joins_two_sides(size, least=2 if compiled_in_soak else 1)


def test_the_compiled_game_ends_when_a_chain_joins_two_sides() -> None:
    until_a_chain_joins_two_sides(8)


def until_a_chain_joins_two_sides(size: int, least: int = 2) -> None:
    ours, rng = Runner(make("hex", size=size)), random.Random(size)
    for _ in range(max(least, 120 // size**2)):
        ours.start()
        turn, legal, scores = ours.look()
        while turn != OVER:
            assert joined(ours.cells(), size) == [False, False]
            assert legal == [cell for cell, value in enumerate(ours.cells()) if value == 0]
            ours.play(rng.choice(legal))
            turn, legal, scores = ours.look()
        assert joined(ours.cells(), size) == [score == 1.0 for score in scores]
        assert sorted(scores) == [-1.0, 1.0]


def test_exactly_one_colour_wins_every_full_board() -> None:
    """No draws: the winner keeps its chain however the rest of the board is filled, and the loser gets none."""
    game, rng = make("hex"), random.Random(2)
    walks, (moves, probs) = game.kernel(kernels.random_walks), kernels.buffers(game)
    ours = Runner(game)
    for number in range(100):
        walks(ours.states, game.longest, stream(1, number).reshape(1, 1), moves, probs)
        full = [value or rng.choice((1, 2)) for value in ours.cells()]
        assert joined(full, 11) == [score == 1.0 for score in ours.look()[2]]


def test_a_long_winding_chain_is_followed() -> None:
    """White's snake covers the board row by row; it is joined to the left only by its last stone."""
    size = 19
    state = State(make("hex", size=size))
    record = state.record
    snake = [(r, c) for r in range(1, size - 1, 2) for c in range(1, size - 1)]
    snake += [(r, size - 2 if r % 4 == 2 else 1) for r in range(2, size - 2, 2)]
    for r, c in snake:
        record.stones[1, (r * size + c) // 64] |= np.uint64(1 << (r * size + c) % 64)
    record.turn, record.opening = 1, 2
    state = State(state.game, record)
    state.play("a2")
    assert not state.is_over
    state.play("a1")
    assert not state.is_over
    row = size - 1  # the snake's last row, counted from 1
    state.play(f"s{row}")
    assert state.is_over
    assert state.scores == (-1.0, 1.0)


def test_smallest_boards() -> None:
    assert State(make("hex(size=1)")).play("a1").scores == (1.0, -1.0)
    assert State(make("hex(size=1, swap=True)")).play("a1").is_over  # nothing is left to swap
    game = make("hex(size=2)")
    assert State(game).play_line("a1 b1").turn == 0  # a1 is joined to the top, b1 to the right
    assert State(game).play_line("a1 b1 a2").scores == (1.0, -1.0)
    assert State(game).play_line("a1 a2 b2").turn == 1  # a1 and b2 are no neighbours: the short diagonal is b1-a2
    assert State(game).play_line("a1 a2 b2 b1").scores == (-1.0, 1.0)
    assert State(game).play_line("b1 a1 a2").scores == (1.0, -1.0)


# ---- the swap rule ----


def test_swap_mirrors_the_stone_and_changes_its_colour() -> None:
    game = make("hex(size=5, swap=True)")
    state = State(game)
    assert "swap" not in [move.name for move in state.legal_moves]
    state.play("a3")
    assert (state.turn, len(state.legal_moves), state.legal_moves[-1].name) == (1, 25, "swap")
    assert game.paths[state.legal_moves[-1]] == ("swap",)
    state.play("swap")
    shown = {cell.name: value for cell, value in zip(game.board.cells, state.cells, strict=True) if value}
    assert (state.turn, shown) == (0, {"c1": 2})
    assert "swap" not in [move.name for move in state.legal_moves]
    assert "a3" in [move.name for move in state.legal_moves]
    state.play("a3")
    with pytest.raises(IllegalMove, match="'swap' is not legal here"):
        state.play("swap")
    assert State.parse(state.text) == state


def test_a_swapped_stone_is_joined_to_the_side_it_now_stands_on() -> None:
    state = State(make("hex(size=3, swap=True)")).play_line("b1 swap a1 b2 b1 c2")  # b1 on top becomes a2 on the left
    assert state.scores == (-1.0, 1.0)


def test_without_a_swap_the_game_goes_on_as_usual() -> None:
    plain = State(make("hex(size=3)")).play_line("b2 a1 b1 a2 b3")
    option = State(make("hex(size=3, swap=True)")).play_line("b2 a1 b1 a2 b3")
    assert plain.cells == option.cells
    assert plain.scores == option.scores == (1.0, -1.0)
    with pytest.raises(IllegalMove, match="'swap' is not a move"):
        State(make("hex(size=3)")).play("b2").play("swap")


# ---- symmetries ----


def image_of_start(game: Game) -> Any:
    """The start with the other seat to move."""
    record = State(game).record
    record.turn = 1
    return record


@pytest.mark.parametrize("expression", ["hex(size=4)", "hex(size=4, swap=True)", "hex", "hex(size=9, swap=True)"])
def test_mirrored_games_with_exchanged_seats_are_the_same(expression: str) -> None:
    """The law of `Symmetry`, for those that exchange the seats and for the one that does not."""
    game, rng = make(expression), random.Random(3)
    names = {symmetry.name: symmetry.swaps for symmetry in game.symmetries}
    assert names == {"identity": False, "rotate180": False, "transpose": True, "antitranspose": True}
    for symmetry in game.symmetries:
        assert (symmetry.seats, symmetry.values) == (((1, 0), (0, 2, 1)) if symmetry.swaps else ((0, 1), (0, 1, 2)))
        for number in range(2):
            state, image = State(game), State(game, image_of_start(game) if symmetry.swaps else None)
            while not state.is_over:
                assert image.turn == symmetry.seats[state.turn]
                assert sorted(symmetry.moves[m] for m in state.legal_moves) == list(image.legal_moves)
                move = (
                    state.legal_moves[-1] if number % 2 and len(state.history) == 1 else rng.choice(state.legal_moves)
                )
                state.play(move)
                image.play(int(symmetry.moves[move]))
                assert [image.cells[i] for i in symmetry.cells] == [symmetry.values[v] for v in state.cells]
            assert image.is_over
            assert [image.scores[k] for k in symmetry.seats] == list(state.scores)


def test_planes_show_the_movers_stones_first() -> None:
    """Under a symmetry that exchanges the seats, only the planes that name the mover change places."""
    game = make("hex(size=5)")
    transpose = next(symmetry for symmetry in game.symmetries if symmetry.name == "transpose")
    state, image = State(game), State(game, image_of_start(game))
    for move in ("b1", "c4", "e2"):
        state.play(move)
        image.play(int(transpose.moves[game.find(move)]))
    planes, mirrored = state.planes, image.planes[:, list(transpose.cells)]
    assert (mirrored[:2] == planes[:2]).all()
    assert (mirrored[2:] == planes[[3, 2]]).all()


# ---- the rest ----


def test_positions_are_equal_however_they_were_reached() -> None:
    game = make("hex")
    assert State(game).play_line("a1 k5 a2 j5 a3 i5") == State(game).play_line("a3 i5 a1 k5 a2 j5")


@pytest.mark.parametrize(
    "expression",
    [
        "hex(size=2, swap=True)",
        *(pytest.param(f"hex({size})", marks=pytest.mark.soak) for size in ("size=1", "size=8", "size=9, swap=True")),
    ],
)
def test_laws_of_games(expression: str, compiled_in_soak: None) -> None:
    check_game(make(expression), games=4, gpu=False)


@pytest.mark.parametrize("expression", ["hex(size=0)", "hex(size=20)"])
def test_impossible_sizes_are_refused(expression: str) -> None:
    with pytest.raises(BadParameter, match="from 1 to 19"):
        make(expression)
