"""Where games begin: that a source gives what it says, the same every time, and says what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from meijin.agents.catalogue import build
from meijin.arena.openings import openings
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError, UnknownName
from meijin.core.state import State

TTT = "tic_tac_toe"


def lines(expression: str, game: str = TTT, count: int = 20, seed: int = 1) -> list[tuple[int, ...]]:
    source = openings(expression)
    return [source.line(make(game), number, seed) for number in range(count)]


@pytest.mark.parametrize(
    ("expression", "game"),
    [
        ("random(plies=4)", TTT),
        ("random(plies=3)", "2048(size=2)"),
        ("all(depth=2)", "connect_four"),
        ("balanced(2, perfect, margin=0.5)", TTT),
    ],
)
def test_an_opening_depends_on_its_number_and_the_seed_alone(expression: str, game: str) -> None:
    first = lines(expression, game)
    assert first == lines(expression, game)
    assert first[::-1] == [openings(expression).line(make(game), number, 1) for number in range(19, -1, -1)]
    assert first != lines(expression, game, seed=2)
    assert len(set(first)) > 5
    for line in first:
        assert not State(make(game)).play_line(line).is_over
    assert str(openings(expression)) == expression


def test_random_plies_are_those_of_the_seats() -> None:
    for line in lines("random(plies=3)", "2048(size=2)"):
        state, plies = State(make("2048(size=2)")), 0
        for move in line:
            plies += not state.is_chance
            state.play(move)
        assert plies == 3 and state.turn == 0  # chance has had its turn
    assert lines("random(plies=0)", "2048", 3) == lines("none", "2048", 3) == [()] * 3


# ---- all positions ----


def test_all_positions_each_once() -> None:
    # Counts of positions, not of lines: 9 * 8 cells for X and O, 9 * 8 * 7 / 2 as two X may come in either order.
    for depth, count in ((0, 1), (1, 9), (2, 72), (3, 252)):
        source = openings(f"all(depth={depth})")
        assert source.count(make(TTT)) == count
        reached = {State(make(TTT)).play_line(source.line(make(TTT), k, 3)) for k in range(count)}
        assert len(reached) == count
        assert all(len(state.history) == depth for state in reached)
        assert source.line(make(TTT), count, 3) == source.line(make(TTT), 0, 3)  # it begins again
    assert lines("all(depth=1, shuffle=False)", count=9) == [(k,) for k in range(9)]
    # Othello, as published for positions without symmetries: 4, 12, 54 after 1, 2, 3 plies.
    assert [openings(f"all({d})").count(make("othello")) for d in (1, 2, 3)] == [4, 12, 54]


def test_all_positions_with_chance() -> None:
    game = make("2048(size=2)")
    states = [State(game).play_line(line) for line in lines("all(depth=0)", "2048(size=2)", 30)]
    assert all(state.turn == 0 and len(state.history) == 2 for state in states)  # two tiles, then a move
    assert openings("all(depth=0)").count(game) == 6 * 4  # pairs of cells, a 2 or a 4 on each


def test_finished_games_are_no_openings() -> None:
    # Of the 5478 positions of the game, 1260, 1520, 1140 and 390 come after 5, 6, 7 and 8 plies; so many are won.
    counts = [openings(f"all(depth={depth})").count(make(TTT)) for depth in (5, 6, 7, 8)]
    assert counts == [1260 - 120, 1520 - 148, 1140 - 444, 390 - 168]
    with pytest.raises(BadParameter, match=r"all\(depth=9\): tic_tac_toe is always over by then"):
        lines("all(depth=9)")


# ---- files ----


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("# openings\n\na3 b3\nb2 a3 c3   # a comment\n", encoding="utf-8")
    moves = {move.name: int(move) for move in make(TTT).moves}
    expected = [(moves["a3"], moves["b3"]), (moves["b2"], moves["a3"], moves["c3"])]
    assert lines(f'file("{file}")', count=4) == expected * 2
    shuffled = {tuple(lines(f'file("{file}", shuffle=True)', count=2, seed=seed)) for seed in range(20)}
    assert shuffled == {tuple(expected), tuple(expected[::-1])}


def test_the_lines_of_the_othello_file(test_data: Path) -> None:
    source = openings(f'file("{test_data / "othello" / "openings-8ply.txt"}")')
    game = make("othello")
    assert source.count(game) == 500
    assert " ".join(map(str, State(game).play_line(source.line(game, 0, 0)).history)) == "f5 d6 c3 f4 f6 c4 c7 f7"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a3\n\na3 x9\n", r"lines.txt:3: 'x9' is not legal here; legal: .* \(after: a3\)"),
        ("a3 a3", r"lines.txt:1: 'a3' is not legal here"),
        ("a3 b3\na3 a1 b3 b1 c3", r"lines.txt:2: the game is over after 'a3 a1 b3 b1 c3'; remove moves at the end"),
        ("# nothing\n", "lines.txt: no openings"),
    ],
)
def test_errors_in_a_file_name_the_line(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text(text)
    with pytest.raises(BadParameter, match=message):
        lines(f'file("{file}")')


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match=r"cannot read '.*none\.txt': No such file"):
        openings(f'file("{tmp_path / "none.txt"}")')
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadParameter, match=r"not valid UTF-8 \(byte 0\)"):
        openings(f'file("{tmp_path / "binary"}")')


# ---- balanced ----


def test_balanced_openings_are() -> None:
    game, judge = make(TTT), build("perfect", make(TTT))
    values = [judge.value(State(game).play_line(line)) for line in lines("balanced(3, perfect, margin=0.5)")]
    assert set(values) == {(0.0, 0.0)}
    assert {judge.value(State(game).play_line(line)) for line in lines("random(plies=3)")} != {(0.0, 0.0)}


def test_what_cannot_be_balanced() -> None:
    with pytest.raises(BadParameter, match="2048 has one seat"):
        lines("balanced(2, random)", "2048")
    with pytest.raises(
        MeijinError,
        match=r"none of 1000 random openings of nim.* is balanced, the best has a lead of 1;",
    ):
        lines("balanced(1, perfect, margin=0.5)", "nim(heaps=(1, 2))")
    with pytest.raises(BadParameter, match="random gives no values"):
        lines("balanced(2, random)")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("random(plies=-1)", "plies = -1: must be at least 0"),
        ("all(depth=1.5)", "depth = 1.5: must be a whole number"),
        ("all", "parameter 'depth' is missing"),
        ("balanced(2, 3)", "evaluator = 3: must be an expression"),
        ("balanced(2, perfect, margin=0)", "margin = 0: must be above 0"),
    ],
)
def test_wrong_sources(expression: str, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        openings(expression)
    with pytest.raises(UnknownName, match="unknown opening source 'randon'; did you mean 'random'"):
        openings("randon")


def test_too_many_positions_are_given_up_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meijin.arena.openings.MAX_POSITIONS", 100)
    assert openings("all(depth=2)").count(make("connect_four")) == 49
    with pytest.raises(BadParameter, match=r"all\(depth=200\): connect_four has more than 100 positions on the way"):
        openings("all(depth=200)").count(make("connect_four"))
