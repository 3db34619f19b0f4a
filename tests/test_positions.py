"""Setting up positions, by cells and as text: what `State` reads, writes and refuses."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from meijin.core import boards
from meijin.core import compile as compiling
from meijin.core.catalogue import game_names, make
from meijin.core.errors import BadParameter, IllegalMove, MeijinError
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.pieces import Piece
from meijin.core.positions import read_position, write_position
from meijin.core.state import State

OWN = [name for name in game_names() if make(name).setup is not None]


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few positions are set up sooner than compiled; that both are the same is a law of `check_game`."""
    monkeypatch.setattr(compiling, "JIT", False)


def refused(game: str, cells: Any, turn: Any) -> str:
    with pytest.raises(BadParameter) as caught:
        State.set_up(make(game), cells, turn)
    return str(caught.value)


# ---- by cells ----


def test_a_position_is_set_up_and_played_on() -> None:
    state = State.set_up(make("tic_tac_toe"), [1, 2, 1, 0, 2, 0, 0, 0, 0], 0)
    assert state.turn == 0 and state.cells == (1, 2, 1, 0, 2, 0, 0, 0, 0) and state.history == ()
    assert state == State(make("tic_tac_toe")).play_line("a3 b3 c3 b2"), "the position is what counts, not the way"
    assert state.play("b1").text == "tic_tac_toe [XOX/1O1/3 0] b1"
    assert State.parse(state.text) == state
    state.undo()
    with pytest.raises(IllegalMove, match="nothing to undo"):
        state.undo()


def test_a_position_that_is_won_is_over() -> None:
    state = State.set_up(make("tic_tac_toe"), [1, 1, 1, 2, 2, 0, 0, 0, 0], 1)
    assert (state.turn, state.scores, state.ending) == (OVER, (1, -1), "three in a row")
    assert State.parse(state.text) == state
    with pytest.raises(BadParameter, match="a finished game cannot be set up"):
        _ = state.position


def test_cells_and_turns_that_make_no_sense() -> None:
    assert refused("tic_tac_toe", [0] * 8, 0) == "8 cells given; tic_tac_toe has 9"
    assert refused("tic_tac_toe", [0, 3, *[0] * 7], 0) == (
        "cell b3 cannot have value 3; it can have 0 (.), 1 (X), 2 (O)"
    )
    assert "value -1" in refused("tic_tac_toe", [-1, *[0] * 8], 0)
    for cells in (["X"] * 9, [0.5] * 9, [None] * 9, 7, [[0] * 9]):
        assert "cells must be whole numbers" in refused("tic_tac_toe", cells, 0)
    assert refused("tic_tac_toe", [0] * 9, "0") == "turn='0': tic_tac_toe has seats 0 to 1"
    assert refused("2048", [0] * 16, None) == "turn=None: 2048 has seats 0 to 0, or -1 for chance"
    for turn in (2, -2, CHANCE, 10**9):
        assert refused("tic_tac_toe", [0] * 9, turn) == f"turn={turn}: tic_tac_toe has seats 0 to 1"
    assert refused("tic_tac_toe", [1, *[0] * 8], 0) == (
        "tic_tac_toe: this position cannot be set up: with an even number of pieces on the board it is X's turn, "
        "with an odd number O's"
    )


def test_alphabets_are_kept() -> None:
    """A tray cell of minishogi holds one kind of man, the middle of a cube's face its colour."""
    board = list(State(make("minishogi")).cells)
    assert "cell P cannot have value 2; it can have 0 (.), 1 (P), 21 (2P)" in refused(
        "minishogi", [*board[:25], 2, *board[26:]], 0
    )
    stickers = list(State(make("cube(size=3)")).cells)
    assert "cell u5 cannot have value 2; it can have 1 (U)" in refused(
        "cube(size=3)", [*stickers[:4], 2, *stickers[5:]], 0
    )


def test_a_game_without_the_rule_says_so() -> None:
    game = make("tic_tac_toe").changed(setup=None, refusals=())
    for ask in (lambda: State.set_up(game, [0] * 9, 0), lambda: State.from_position(game, "3/3/3 0")):
        with pytest.raises(BadParameter, match=r"cannot set up positions: it has no rule `setup`; give the moves"):
            ask()
    state = State(game).play("b2")
    assert State(game, state.record).text.endswith(" [?]")


# ---- as text ----


@pytest.mark.parametrize(
    ("expression", "line", "text"),
    [
        ("tic_tac_toe", "b2 a1", "3/1X1/O2 0"),
        ("connect_four(width=9, height=8)", "1 1 9", "9/9/9/9/9/9/O8/X7X 1"),
        ("hex(size=3)", "a1 c3 b2", "X2/1X1/2O 1"),
        ("abalone", "", "OOOOO/OOOOOO/2OOO2/8/9/8/2XXX2/XXXXXX/XXXXX 0"),
        ("go(size=5)", "c3 a1", "5/5/2X2/5/O4 0"),
        ("sim", "ad bc ef", "X=ad,ef/O=bc 1"),
        ("sim", "", "- 0"),
        ("nim", "d5 c1", "1,3,0,4 0"),
        ("nim(heaps=(12, 1), players=3)", "a11", "10,1 1"),
        ("2048(size=3)", "a1=2 c3=2", ".,.,2/.,.,./2,.,. 0"),
        ("2048(size=3)", "", ".,.,./.,.,./.,.,. chance"),
        ("cube", "", "UUUU/RRRR/FFFF/DDDD/LLLL/BBBB chance"),
        ("einstein", "4", "X1,X6,X3,.,./X5,X2,.,.,./X4,.,.,.,O4/.,.,.,O2,O5/.,.,O3,O6,O1:X4:. 0"),
        ("minishogi", "", "rbsgk/4p/5/P4/KGSBR b - 1"),
        ("othello(size=4)", "", "-----OX--XO----- X"),
        ("yavalath", "e5 e6", "5/6/7/8/4WB3/8/7/6/5 0"),
        ("breakthrough(rows=4, columns=3)", "a1a2", "BBB/3/W2/1WW 1"),
    ],
)
def test_the_text_of_a_position(expression: str, line: str, text: str) -> None:
    state = State(make(expression)).play_line(line)
    assert state.position == text
    again = State.from_position(state.game, f"  {text} ")
    assert (again.cells, again.turn, again.legal_moves) == (state.cells, state.turn, state.legal_moves)
    assert again.position == text
    assert State.parse(f"{expression} [{text}]") == again


@pytest.mark.parametrize("name", OWN)
def test_positions_of_random_games_are_read_back(name: str) -> None:
    """What a game writes it reads, from every position of a random game."""
    game, rng, read = make(name), random.Random(3), 0
    state = State(game)
    while not state.is_over and len(state.history) < 60:
        cells, turn = read_position(game, write_position(game, state.cells, state.turn))
        assert (tuple(cells), turn) == (state.cells, state.turn)
        try:
            again = State.set_up(game, cells, turn)
        except BadParameter as error:
            assert any(reason in str(error) for reason in game.refusals)
        else:
            assert (again.cells, again.turn) == (state.cells, state.turn)
            assert set(again.legal_moves) >= set(state.legal_moves)
            read += 1
        state.play(rng.choice(state.legal_moves))
    assert read > 0


def test_what_the_moves_before_matter_to_is_not_written() -> None:
    ko = State(make("go(size=4)")).play_line("b4 c4 a3 d3 b2 c2 c3 b3")  # black may not retake at c3
    with pytest.raises(BadParameter, match="this position depends on the moves before it; write those"):
        _ = ko.position
    assert State.parse(ko.text) == ko
    fours = State(make("2048")).play_line("a1=4 a2=4 up")  # the score would be another if the 8 were made of 2s
    with pytest.raises(BadParameter, match="depends on the moves"):
        _ = fours.position
    throw = State(make("einstein"))
    with pytest.raises(BadParameter, match="the board does not say whose throw is next"):
        _ = throw.position


@pytest.mark.parametrize(
    ("game", "text", "message"),
    [
        ("tic_tac_toe", "", "write the cells and the seat to move, as in '3/3/3 0'"),
        ("tic_tac_toe", "3/3/3", "write the cells and the seat to move"),
        ("tic_tac_toe", "3/3/3 0 1", "write the cells and the seat to move"),
        ("tic_tac_toe", "3/3/3 X", "'X' is neither the number of a seat nor 'chance'"),
        ("tic_tac_toe", "3/3/3 ²", "'²' is neither the number of a seat"),
        ("tic_tac_toe", "3/3/3 9999999999", "is neither the number of a seat"),
        ("tic_tac_toe", "3/3/3 7", "turn=7: tic_tac_toe has seats 0 to 1"),
        ("tic_tac_toe", "3/3/3 chance", "turn=-1: tic_tac_toe has seats 0 to 1"),
        ("tic_tac_toe", "3/3 0", "it has 2 rows; tic_tac_toe has 3"),
        ("tic_tac_toe", "3/3/3/3 0", "it has 4 rows"),
        ("tic_tac_toe", "3/X/3 0", "row 2, 'X', has 1 cells, not 3"),
        ("tic_tac_toe", "3/9999999999999/3 0", "row 2, '9999999999999', has 4 cells, not 3"),
        ("tic_tac_toe", "3/XQ1/3 0", "'Q' is not a piece; pieces are . X O"),
        ("tic_tac_toe", "3//3 0", "row 2, '', has 0 cells, not 3"),
        ("tic_tac_toe", "#ff00 0", "it has 1 rows"),
        ("tic_tac_toe", "3/٣/3 0", "'٣' is not a piece"),
        ("2048", "2,2/2,2/2,2/2,2 0", "row 1, '2,2', has 2 cells, not 4"),
        ("2048", "3,.,.,./.,.,.,./.,.,.,./.,.,.,. 0", "'3' is not a piece"),
        (
            "einstein",
            "X1,.,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,./.,.,.,.,O1 0",
            "it has 5 rows; einstein has 5 and 2 trays",
        ),
        ("sim", "X=ad,ad 0", "cell ad is given twice"),
        ("sim", "X=ag 0", "'ag' is not a cell"),
        ("sim", "ad 0", "'ad' is not a piece and its cells, as in 'X=ab,ac'"),
        ("sim", "Z=ad 0", "'Z' is not a piece"),
        ("nim", "1,3,5 0", "has 3 heaps; there are 4"),
        ("nim", "1,4,5,7 0", "heap b has at most 3 stones, not 4"),
        ("nim", "1,3,5," + "7" * 5000 + " 0", "write the heaps"),
        ("nim", "ooo 0", "write the heaps and the seat to move, as in '1,3,5,7 0'"),
        ("nim", "1,3,5,7 2", "turn=2: nim has seats 0 to 1"),
    ],
)
def test_bad_text_is_explained(game: str, text: str, message: str) -> None:
    with pytest.raises(BadParameter) as caught:
        State.from_position(make(game), text)
    assert message in str(caught.value)


def test_records_are_not_read() -> None:
    """Bytes would reach compiled rules unchecked; nothing that a person or a file sends may hold them."""
    state = State(make("connect_four")).play("4")
    for text in (f"connect_four #{state.records.tobytes().hex()}", f"connect_four [#{state.records.tobytes().hex()}]"):
        with pytest.raises(MeijinError):
            State.parse(text)


def test_a_line_with_a_set_up_position() -> None:
    state = State.parse("connect_four(width=5) [5/5/5/5/5/XOXO1 0] 5 1")
    assert [move.name for move in state.history] == ["5", "1"] and state.turn == 0
    assert state.text == "connect_four(width=5) [5/5/5/5/5/XOXO1 0] 5 1"
    for text, message in (
        ("connect_four [7/7/7/7/7/7 0", "is not legal here"),
        ("connect_four [] 4", "write the cells and the seat to move"),
        ("connect_four [7/7/7/7/X6/7 1]", "a disc hangs in the air"),
        ("connect_four [7/7/7/7/7/7 0] 8", r"'8' is not legal here; legal: 1.*after: the start"),
    ):
        with pytest.raises(MeijinError, match=message):
            State.parse(text)


# ---- the default form on other boards ----


def placing(board: boards.Board, pieces: tuple[Piece, ...], **changes: Any) -> Game:
    """A game that can be set up to anything."""
    count = len(board.cells)

    def start(s: Any) -> None:
        for i in range(count):
            s.held[i] = 0

    def turn(s: Any) -> int:
        return 0

    def legal(s: Any, moves: Any) -> int:
        moves[0] = 0
        return 1

    def play(s: Any, move: int) -> None:
        s.held[0] = 0

    def score(s: Any, out: Any) -> None:
        out[0] = 0.0

    def cells(s: Any, out: Any) -> None:
        for i in range(count):
            out[i] = s.held[i]

    def setup(s: Any, values: Any, mover: int) -> int:
        for i in range(count):
            s.held[i] = values[i]
        return 0

    return Game(
        state=[("held", "i1", (count,))],
        board=board,
        pieces=pieces,
        seats=1,
        num_moves=1,
        longest=1,
        rules=(start, turn, legal, play, score, cells, setup),
        name="placing",
        **changes,
    )


def forms() -> Iterator[tuple[Game, list[int], str]]:
    plain = (Piece("."), Piece("X"), Piece("O"))
    heaps = boards.heaps((2, 3))
    yield placing(heaps, plain), [1, 0, 2, 1, 0], "X1/OX1 0"
    yield placing(boards.square(1, 12), plain), [0] * 11 + [1], "11X 0"
    yield placing(boards.graph({"a": (0, 0), "b": (1, 0)}, [("a", "b")], play="points"), plain), [2, 1], "X=b/O=a 0"
    # Two pieces of one text, and texts that the form itself uses.
    odd = (Piece("."), Piece("X"), Piece("X"), Piece("/"), Piece("1"))
    yield placing(boards.square(2, 2), odd), [1, 2, 3, 4], "X,#2/#3,1 0"
    yield placing(boards.square(1, 2).with_trays({0: ("in",)}), plain), [0, 1, 2], "1X:O 0"


@pytest.mark.parametrize(("game", "cells", "text"), list(forms()))
def test_the_default_form(game: Game, cells: list[int], text: str) -> None:
    assert write_position(game, cells, 0) == text
    assert read_position(game, text) == (cells, 0)
    assert State.from_position(game, text).position == text
