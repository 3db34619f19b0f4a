"""The expression language: what is read, what is refused, and that texts survive a round trip."""

from __future__ import annotations

import math

import pytest

from meijin.core.errors import BadParameter
from meijin.core.expression import MAX_DEPTH, MAX_LENGTH, Call, Value, parse


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("mcts", Call("mcts")),
        ("mcts()", Call("mcts")),
        ("2048", Call("2048")),
        ("2048(target=1024)", Call("2048", kwargs={"target": 1024})),
        ("tic-tac-toe", Call("tic-tac-toe")),
        ("my.games.hex(11)", Call("my.games.hex", (11,))),
        ("  mcts ( simulations = 1_000 , ) ", Call("mcts", kwargs={"simulations": 1000})),
        ("nim(heaps=(3, 5, 7), players=3)", Call("nim", kwargs={"heaps": (3, 5, 7), "players": 3})),
        ("nim([3, 5])", Call("nim", ((3, 5),))),
        ("f((), (1,), (1), [1], [])", Call("f", ((), (1,), 1, (1,), ()))),
        ("f(-1, +2, .5, -1e-3, 1e+5, 0x10)", Call("f", (-1, 2, 0.5, -1e-3, 1e5, 16))),
        ("f(True, False, None)", Call("f", (True, False, None))),
        ("vs(random)", Call("vs", (Call("random"),))),
        ("vs(2048(), 2048)", Call("vs", (Call("2048"), 2048))),
        ('nply(td("runs/c4"), depth=2)', Call("nply", (Call("td", ("runs/c4",)),), {"depth": 2})),
        (r"""gtp('say "hi"\n', "it's")""", Call("gtp", ('say "hi"\n', "it's"))),
        ("f(k=g(x=(h(1), 2)))", Call("f", kwargs={"k": Call("g", kwargs={"x": (Call("h", (1,)), 2)})})),
    ],
)
def test_reads(text: str, call: Call) -> None:
    assert parse(text) == call
    assert parse(str(call)) == call


@pytest.mark.parametrize(
    "value",
    [
        "",
        'a"b\\c\n\t\0',
        "名人 é 😀",
        0,
        -7,
        10**30,
        0.1,
        -1e-300,
        math.inf,
        -math.inf,
        True,
        None,
        (),
        (1,),
        ((1, 2), "x"),
        Call("True"),
        Call("3d"),
        Call("3d", (1,)),
        Call("a-b.c"),
    ],
)
def test_round_trip_keeps_value_and_type(value: Value) -> None:
    again = parse(str(Call("f", (value,), {"k": value})))
    assert again == Call("f", (value,), {"k": value})
    assert type(again.args[0]) is type(value)


def test_canonical_text_is_the_one_people_write() -> None:
    text = 'nply(td("runs/c4"), depth=2)'
    assert str(parse(text)) == text
    assert str(parse("mcts( )")) == "mcts"


def test_nan_cannot_be_written() -> None:
    with pytest.raises(BadParameter, match="nan"):
        str(Call("f", (math.nan,)))


def test_calls_are_hashable_and_the_order_of_keywords_does_not_matter() -> None:
    one, two = parse("f(g(1), a=1, b=2)"), parse("f(g(1), b=2, a=1)")
    assert one == two
    assert len({one, two}) == 1


@pytest.mark.parametrize(
    ("text", "problem", "column"),
    [
        ("", "expected a name, found the end", 1),
        ("(1)", r"expected a name, found '\('", 1),
        ('"mcts"', "expected a name", 1),
        ("-mcts", "expected a name, found '-mcts'", 1),
        ("mcts simulations", "expected the end, found 'simulations'", 6),
        ("mcts(1))", r"expected the end, found '\)'", 8),
        ("mcts(", "expected a value, found the end", 6),
        ("mcts(1", r"expected ',' or '\)', found the end", 7),
        ("mcts(simulations=)", r"expected a value, found '\)'", 18),
        ("mcts(,)", "expected a value, found ','", 6),
        ("mcts(1 2)", r"expected ',' or '\)', found '2'", 8),
        ("mcts([1, 2)", r"expected ',' or '\]', found '\)'", 11),
        ("mcts(c=1, 2)", "must come before", 11),
        ("mcts(c=1, c=2)", "parameter 'c' is given twice", 11),
        ("mcts(a-b=1)", "expected a parameter's name, found 'a-b'", 6),
        ("mcts(007)", "expected a number, found '007'", 6),
        ("mcts(5-3)", "expected a number, found '5-3'", 6),
        ("mcts(2j)", "expected a number", 6),
        ("mcts(1 + 2)", r"unexpected character '\+'", 8),
        ("mcts({1: 2})", "unexpected character '{'", 6),
        ("f(__import__('os').system)", "unexpected|expected", 19),
        ('td("runs)', "string does not end", 4),
        (r'td("C:\games")', "bad escape", 4),
        (r'td("\x1")', "expected a string", 4),
        ("mcts(1);", "unexpected character ';'", 8),
    ],
)
def test_errors_point_at_the_place(text: str, problem: str, column: int) -> None:
    with pytest.raises(BadParameter, match=problem) as caught:
        parse(text)
    message, shown, caret = str(caught.value).split("\n")
    assert f"(character {column})" in message
    assert shown == f"  {text}"
    assert caret.index("^") == 2 + column - 1


def test_a_long_expression_is_shown_around_the_place() -> None:
    with pytest.raises(BadParameter) as caught:
        parse("f(" + "1, " * 500 + "?" + ", 1" * 500 + ")")
    _, shown, caret = str(caught.value).split("\n")
    assert len(shown) < 100
    assert shown[caret.index("^")] == "?"


def test_size_and_depth_are_bounded() -> None:
    assert parse("f(" * MAX_DEPTH + ")" * MAX_DEPTH).name == "f"
    for text in ("f(" * (MAX_DEPTH + 1) + ")" * (MAX_DEPTH + 1), "f(" + "[" * 1000 + "]" * 1000 + ")"):
        with pytest.raises(BadParameter, match="nested too deeply"):
            parse(text)
    with pytest.raises(BadParameter, match="too long"):
        parse("f" * (MAX_LENGTH + 1))
