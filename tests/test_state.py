"""`State`: playing, taking back, comparing, writing, reading and drawing a position."""

from __future__ import annotations

import pickle
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from meijin.core import boards, kernels
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, IllegalMove, MeijinError, UnknownName
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.moves import Move
from meijin.core.pieces import Piece
from meijin.core.rng import stream
from meijin.core.state import State


def start(expression: str = "connect_four", line: str = "") -> State:
    return State(make(expression)).play_line(line)


# ---- moves ----


def test_a_move_is_a_number_with_a_name() -> None:
    move = start().legal_moves[3]
    assert isinstance(move, int) and move == 3 and move + 1 == 4 and hash(move) == hash(3)
    assert (str(move), repr(move), f"{move}", f"{move:>3}", move.name) == ("4", "4", "4", "  4", "4")
    assert [10, 11, 12, 13][move] == 13
    again = pickle.loads(pickle.dumps(move))
    assert isinstance(again, Move) and again == move and again.name == "4"


@pytest.mark.parametrize("move", [3, "4", " 4 ", Move(3, "4"), np.int32(3)])
def test_a_move_is_played_by_number_or_name(move: Any) -> None:
    state = start()
    assert state.play(move) is state
    assert state == start(line="4")
    assert [m.name for m in state.history] == ["4"] and isinstance(state.history[0], Move)
    assert state.moves_since(0) == list(state.history) and state.moves_since(1) == []


def test_names_are_read_in_either_case() -> None:
    assert start("tic_tac_toe").play("B2") == start("tic_tac_toe").play("b2")


# ---- playing and taking back ----


def test_play_undo_redo() -> None:
    state, states = start(), []
    for move in ("4", "4", "3", "1"):
        states.append(state.copy())
        state.play(move)
    final = state.copy()
    for before in reversed(states):
        undone = state.undo()
        assert state == before and state.history == before.history
        assert state.legal_moves == before.legal_moves and state.turn == before.turn
        assert undone == final.history[len(before.history)]
    with pytest.raises(IllegalMove, match="nothing to undo"):
        state.undo()
    for before in (*states[1:], final):
        assert state.redo() == before.history[-1]
        assert state == before
    with pytest.raises(IllegalMove, match="nothing to redo"):
        state.redo()


def test_a_new_move_forgets_what_was_taken_back() -> None:
    state = start(line="4 4")
    state.undo()
    state.play("5")
    with pytest.raises(IllegalMove, match="nothing to redo"):
        state.redo()


def test_an_illegal_move_changes_nothing() -> None:
    state = start(line="4 4 4 4 4 4")
    state.undo()
    state.redo()
    state.undo()
    before = state.copy()
    for move in ("8", 7, -1, 10**12, "x", ""):
        with pytest.raises(IllegalMove):
            state.play(move)
    assert state == before and state.history == before.history
    assert state.redo() == 3  # not even what was taken back is forgotten


def test_what_an_illegal_move_is_told() -> None:
    for move in ("9", 8, -1):
        with pytest.raises(IllegalMove, match=r"legal: 1, 2, 3, 4, 5, 6, 7$"):
            start().play(move)
    with pytest.raises(IllegalMove, match="'9' is not a move of connect_four"):
        start().play("9")
    with pytest.raises(IllegalMove, match=r"'4' is not legal here; legal: 1, 2, 3, 5, 6, 7"):
        start(line="444444").play(3)
    with pytest.raises(IllegalMove, match=r"'4' is not legal here; the game is over"):
        start(line="1 2 1 2 1 2 1").play("4")
    with pytest.raises(IllegalMove, match=r", and 185 more$"):
        start("gomoku").play("zz")
    with pytest.raises(ValueError, match="legal"):  # it is a ValueError too
        start().play("9")


def test_copies_are_independent() -> None:
    state = start(line="4 4")
    state.undo()
    other = state.copy()
    assert other == state and other.history == state.history
    other.play("1")
    assert state == start(line="4") and len(state.history) == 1
    assert state.redo() == 3  # the copy had what was taken back, and so has the state still
    assert state.copy().undo() == 3


def test_a_state_travels_between_processes() -> None:
    state = start("connect_four(width=12, height=2)", "3 3 2")
    again = pickle.loads(pickle.dumps(state))
    assert again == state and again.history == state.history and again.game is state.game
    assert again.undo() == 1 and again == start("connect_four(width=12, height=2)", "3 3")


# ---- lines of moves ----


@pytest.mark.parametrize(
    "line", ["4433", "4 4 3 3", "4,4,3,3", " 44 , 33\n", ["4", "4", "3", "3"], [3, 3, 2, 2], (3, "4", 2, "3")]
)
def test_a_line_in_every_form(line: Any) -> None:
    state = start().play_line(line)
    assert state.text == "connect_four 4 4 3 3"


def test_lines_of_cells_and_names_that_begin_alike() -> None:
    assert start("othello", "d3c5") == start("othello", "d3 c5")
    wide = "connect_four(width=12, height=2)"
    assert [m.name for m in start(wide, "12 1 2").history] == ["12", "1", "2"]
    assert [m.name for m in start(wide, "1212").history] == ["12", "12"]
    # A word that is a move's name is that move, also where it is not legal: "12" is not "1 2".
    with pytest.raises(IllegalMove, match="'12' is not legal here"):
        start(wide, "12 12 12")


@pytest.mark.parametrize("line", ["4 4 9", "449", ["4", "4", "9"], [3, 3, 8], "4 4 4 4 4 4 4", [3, 3, None], [3, 3.5]])
def test_a_line_is_played_whole_or_not_at_all(line: Any) -> None:
    state = start(line="1 2")
    state.undo()
    before = state.copy()
    with pytest.raises((IllegalMove, TypeError)) as caught:
        state.play_line(line)
    assert state == before and state.history == before.history
    assert state.redo() == 1
    if isinstance(caught.value, IllegalMove):
        assert "(after: 1 4 4" in str(caught.value)


def test_an_empty_line() -> None:
    for line in ("", "  ", []):
        assert start().play_line(line) == start()


# ---- comparing ----


def test_equal_positions_are_equal_however_reached() -> None:
    one, other = start("tic_tac_toe", "a1 b2 c3"), start("tic_tac_toe", "c3 b2 a1")
    assert one == other and hash(one) == hash(other) and len({one, other}) == 1
    assert one.history != other.history
    assert one != start("tic_tac_toe", "a1 c3 b2")  # the same cells, other owners
    assert start("tic_tac_toe") != start("tic_tac_toe(width=4)")
    assert start("connect_four") != start("tic_tac_toe")
    assert start() != "connect_four"


def test_equality_through_copies_undo_and_parse() -> None:
    """No path to a position leaves a trace in the bytes that are compared, between fields neither."""
    for expression, line in (("connect_four", "4433"), ("nim", "d3 c1"), ("2048", "a1=2 b2=4 up"), ("othello", "d3")):
        state = start(expression, line)
        undone = state.copy()
        undone.play(undone.legal_moves[0])
        undone.undo()
        views = [state, undone, state.copy(), State.parse(state.text), State(state.game, state.record)]
        assert len({view.records.tobytes() for view in views}) == 1
        assert len(set(views)) == 1


# ---- text ----


@pytest.mark.parametrize(
    ("expression", "line"),
    [
        ("connect_four", ""),
        ("connect_four", "4 4 3"),
        ("connect_four(width=12, height=2)", "12 11 1"),
        ("nim(heaps=(3, 3, 2), players=3)", "a2 b3"),
        ("othello", "d3 c5"),
        ("2048", "a1=2 c3=4 up b2=2"),
    ],
)
def test_text_is_read_back(expression: str, line: str) -> None:
    state = start(expression, line)
    assert state.text.split()[-1:] == (line.split()[-1:] or [expression])
    again = State.parse(state.text)
    assert again == state and again.history == state.history and again.text == state.text
    assert again.game is state.game
    assert State.parse(f"  {state.text}\n") == state


def test_a_position_without_its_moves_is_written_in_brackets() -> None:
    middle = start(line="4 4 3")
    state = State(middle.game, middle.record)
    assert state == middle and state.history == ()
    assert state.text == "connect_four [7/7/7/7/3O3/2XX3 1]"
    again = State.parse(state.text)
    assert again == middle and again.history == () and again.text == state.text
    with pytest.raises(IllegalMove, match="nothing to undo"):
        again.undo()
    again.play("2")
    assert again.text == "connect_four [7/7/7/7/3O3/2XX3 1] 2"
    assert State.parse(again.text) == again == start(line="4 4 3 2")
    assert State.parse(again.text).history == again.history
    assert again.undo() == 1 and again == middle


def test_a_set_up_position_is_a_copy() -> None:
    first = start(line="4")
    other = State(first.game, first.record)
    other.play("1")
    assert first == start(line="4")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", MeijinError, "does not begin with a game"),
        ("  ", MeijinError, "does not begin with a game"),
        ("conect_four 4", UnknownName, "did you mean 'connect_four'"),
        ("connect_four(width=99)", BadParameter, "width=99"),
        ("connect_four(wide=9) 4", BadParameter, "unknown parameter 'wide'"),
        ("connect_four(width=5 4", MeijinError, "the parenthesis after 'connect_four' is not closed"),
        ("connect_four 4 9 1", IllegalMove, r"'9' is not legal here; legal: 1.*\(after: 4\)"),
        ("connect_four 0", IllegalMove, r"'0' is not legal here; .*\(after: the start\)"),
        ("connect_four [7/7/7/7/7/7", IllegalMove, r"'\[7/7/7/7/7/7' is not legal here"),
        ("connect_four [7/7/7/7/7/7 0] 9", IllegalMove, r"'9' is not legal here; .*\(after: the start\)"),
    ],
)
def test_bad_text_is_explained(text: str, kind: type[MeijinError], message: str) -> None:
    with pytest.raises(kind, match=message):
        State.parse(text)


# ---- chance ----


def test_odds_of_a_chance_turn() -> None:
    state = start("2048")
    assert state.turn == CHANCE and state.is_chance and not state.is_over
    odds = state.odds
    assert len(odds) == 32 and tuple(odds) == state.legal_moves
    assert sum(odds.values()) == pytest.approx(1)
    assert {str(outcome)[-2:]: round(p * 16, 12) for outcome, p in odds.items()} == {"=2": 0.9, "=4": 0.1}
    state.play("b2=4").play("a1=2")
    assert state.turn == 0 and state.odds == {}
    assert [m.name for m in state.history] == ["b2=4", "a1=2"]


def test_outcomes_and_moves_are_told_apart() -> None:
    state = start("2048")
    with pytest.raises(IllegalMove, match="'up' is not an outcome of 2048"):
        state.play("up")
    with pytest.raises(IllegalMove, match="legal outcomes: "):
        state.play(32)
    state.play("a1=2")
    with pytest.raises(IllegalMove, match=r"'a1=4' is not legal here; legal outcomes: "):
        state.play("a1=4")  # the cell is taken
    state.play("a2=2")
    with pytest.raises(IllegalMove, match=r"'b1=2' is not a move of 2048.*; legal: up, right, down"):
        state.play("b1=2")


def test_a_roll_is_repeated_by_its_seed() -> None:
    one, same, other = (start("2048").roll(stream(seed)) for seed in (3, 3, 4))
    assert one == same and one.history == same.history
    assert one != other
    assert one.turn == 0 and len(one.history) == 2
    assert one.copy().roll(stream(1)) == one  # nothing to roll


def test_rolls_follow_the_odds() -> None:
    # The first tile is a 4 with p = 0.1: 2,000 rolls, 200 +- 13.4; 6 deviations, a false alarm in 10**-9.
    rng, fours = stream(11), 0
    for _ in range(2000):
        fours += start("2048(size=2)").roll(rng).history[0].name.endswith("4")
    assert abs(fours - 200) < 6 * (2000 * 0.1 * 0.9) ** 0.5


# ---- what a net and a person see ----


def test_default_planes_show_the_mover_first() -> None:
    empty = start("tic_tac_toe")
    assert empty.planes.shape == (4, 9) and empty.planes.dtype == np.float32
    one = start("tic_tac_toe", "a1")  # seat 1 to move
    two = start("tic_tac_toe", "a1 b2")  # seat 0 to move
    a1, b2 = (one.game.board.index(name) for name in ("a1", "b2"))
    mine, theirs, first, second = one.planes
    assert not mine.any() and theirs.nonzero()[0].tolist() == [a1]
    assert not first.any() and second.all()
    mine, theirs, first, second = two.planes
    assert mine.nonzero()[0].tolist() == [a1] and theirs.nonzero()[0].tolist() == [b2]
    assert first.all() and not second.any()


def test_default_planes_of_three_seats_and_neutral_pieces() -> None:
    """Pieces in the order mover, next, next but one, nobody's; then which seat moves."""

    def nothing(s: Any) -> None:
        s.seat = 0

    def turn(s: Any) -> int:
        return s.seat if s.seat < 3 else OVER

    def legal(s: Any, moves: Any) -> int:
        moves[0] = 0
        return 1

    def play(s: Any, move: int) -> None:
        s.seat += 1

    def score(s: Any, out: Any) -> None:
        out[:] = 0.0

    def cells(s: Any, out: Any) -> None:
        for i in range(5):
            out[i] = i

    pieces = (Piece("."), Piece("#"), Piece("A", owner=0), Piece("B", owner=1), Piece("C", owner=2))
    game = Game(
        state=[("seat", "i1")],
        board=boards.square(1, 5),
        pieces=pieces,
        seats=3,
        num_moves=1,
        longest=3,
        rules={"start": nothing, "turn": turn, "legal": legal, "play": play, "score": score, "cells": cells},
    )
    assert game.num_planes == 4 + 3
    for mover in range(3):
        states, out = game.states(1), np.full((7, 5), 9, np.float32)
        states[0].seat = mover
        game.kernel(kernels.planes, jit=False)(states, 0, out)
        shown = [plane.nonzero()[0].tolist() for plane in out[:4]]
        owners = [2 + (mover + k) % 3 for k in range(3)]
        assert shown == [*([owner] for owner in owners), [1]]
        assert out[4:].tolist() == [[float(seat == mover)] * 5 for seat in range(3)]


def test_a_game_may_be_given_by_its_expression() -> None:
    assert State("nim(heaps=(1, 2))") == State(make("nim", heaps=(1, 2)))
    with pytest.raises(UnknownName, match="did you mean 'othello'"):
        State("othelo")
    with pytest.raises(BadParameter, match="5 is not a game; give a Game, or an expression"):
        State(5)  # type: ignore[arg-type]


def test_the_last_move_is_marked() -> None:
    state = start(line="4 4")
    assert [state.game.board.cells[i].name for i in state.last_cells] == ["d2"]
    assert "[O]" in str(state)
    assert start().last_cells == ()
    dice = start("einstein", "5 a4b4 2")  # the throw after a move leaves it marked
    assert [dice.game.board.cells[i].name for i in dice.last_cells] == ["a4", "b4"]
    assert dice.undo() and dice.undo() and dice.last_cells == ()
    tiles = start("2048", "a1=2 b1=2")
    assert tiles.last_cells == ()  # the first tiles are nobody's move
    assert repr(state) == "<State connect_four 4 4>"


@pytest.mark.parametrize("text", ["connect_four 4 4", "2048 a1=2 d4=4 up", "nim d3", "othello d3", "gomoku h8"])
def test_a_notebook_shows_an_svg(text: str) -> None:
    root = ET.fromstring(State.parse(text)._repr_html_())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    state = State.parse(text)
    marked = {e.get("data-cell") for e in root.iter() if e.get("data-cell") is not None}
    assert marked == {str(i) for i in range(len(state.game.board.cells))}


def test_bytes_are_not_read() -> None:
    """Compiled rules trust their record, so no text may hold one."""
    for state in (start(line="4"), start("nim", "d3")):
        with pytest.raises(IllegalMove, match="is not legal here"):
            State.parse(f"{state.game} #{state.records.tobytes().hex()}")
