"""Configs: what is written reaches the dataclass, and every mistake is named with its place, value and remedy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from meijin.core import config
from meijin.core.errors import BadParameter, MeijinError, UnknownName


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float | None = None
    depth: Annotated[int, Meta(ge=1, le=99)] = 1

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise BadParameter(f"seconds={self.seconds}: must be above 0")


class Player(msgspec.Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1)]
    limit: Limits = Limits()


@dataclass(frozen=True)
class Cup:
    title: str
    kind: Literal["knockout", "swiss"] = "swiss"
    notes: Literal["none", "times"] | None = None
    players: tuple[Player, ...] = ()
    pair: tuple[float, float] = (0.0, 1.0)
    files: str | list[str] = ""
    rate: float = 0.5
    net: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.title == "unknown":
            raise UnknownName("nobody knows it")


TOML = """
title = "spring"
kind = "knockout"
pair = [1, 2.5]
files = ["a", "b"]
net = { size = "nano", width = 3 }

[[players]]
name = "one"

[[players]]
name = "two"
limit = { seconds = 1, depth = 3 }
"""
CUP = Cup(
    "spring", "knockout", None, (Player("one"), Player("two", Limits(1.0, 3))), (1.0, 2.5), ["a", "b"],
    net={"size": "nano", "width": 3},
)  # fmt: skip


def test_toml_json_and_plain_values_give_the_same_config(tmp_path: Path) -> None:
    toml, json = tmp_path / "cup.toml", tmp_path / "cup.json"
    toml.write_text(TOML)
    json.write_bytes(msgspec.json.encode(CUP))
    assert config.load(Cup, toml) == config.load(Cup, json) == config.convert(Cup, msgspec.to_builtins(CUP)) == CUP


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "cup: missing key 'title'"),
        ([], "cup: []: must be a table"),
        ({"tilte": "a"}, "cup: unknown key 'tilte'; did you mean 'title'?"),
        ({"title": "a", "players": [{"nmae": "c"}]}, "cup: players[0]: unknown key 'nmae'; did you mean 'name'?"),
        ({"title": "a", "limit": 1}, "cup: unknown key 'limit'; known: title, kind, notes"),
        ({"title": "a", "patience": 1}, "cup: unknown key 'patience'; it is now called 'rate'"),
        ({"title": 3}, "cup: title = 3: must be a string"),
        ({"title": "a", "kind": "swis"}, "cup: kind = 'swis': choose from knockout, swiss; did you mean 'swiss'?"),
        ({"title": "a", "notes": "time"}, "cup: notes = 'time': choose from none, times; did you mean 'times'?"),
        ({"title": "a", "players": [{"name": ""}]}, "cup: players[0].name = '': must not be empty"),
        ({"title": "a", "players": [{"name": "b", "limit": {"depth": 0}}]}, "limit.depth = 0: must be at least 1"),
        ({"title": "a", "players": [{"name": "b", "limit": {"depth": 100}}]}, "depth = 100: must be at most 99"),
        ({"title": "a", "players": [{"name": "b", "limit": {"depth": True}}]}, "depth = True: must be a whole number"),
        ({"title": "a", "players": [{"name": "b", "limit": {"seconds": 0}}]}, ".limit: seconds=0.0: must be above 0"),
        ({"title": "a", "players": {}}, "cup: players = {}: must be a list"),
        ({"title": "a", "pair": [1]}, "cup: pair = [1]: must have 2 items"),
        ({"title": "a", "files": 3}, "cup: files = 3: must be a string or a list"),
        ({"title": "a", "rate": "1"}, "cup: rate = '1': must be a number"),
        ({"title": "a", "rate": float("nan")}, "cup: rate: nan is not a finite number"),
        ({"title": "a", "rate": 10**77}, "does not fit into 64 bits"),
        ({"title": "a", "rate": 10**5000}, "cup: rate: a int does not fit into 64 bits"),
        ({"title": "a", "sizes": {"b": 1 << 63}}, "cup: sizes.b: 9223372036854775808 does not fit into 64 bits"),
        ({"title": "a", "sizes": {"b": "c"}}, "cup: sizes[...]: must be a whole number"),
        ({"title": "a", "\ud800": 1}, r"cup: unknown key '\ud800'; known:"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_value_and_remedy(values: Any, problem: str) -> None:
    with pytest.raises(BadParameter) as error:
        config.convert(Cup, values, "cup", renamed={"patience": "rate"})
    assert problem in str(error.value)
    str(error.value).encode()  # can be printed


@dataclass(frozen=True)
class Cap:
    plies: Annotated[int, Meta(ge=1)]
    limit: Limits | None = None
    by: Player | str = ""

    def __post_init__(self) -> None:
        config.check(self, "cap")


def test_a_dataclass_can_check_its_own_fields() -> None:
    Cap(3, Limits(), Player("a"))
    for values, problem in [
        ((0,), "cap: plies = 0: must be at least 1"),
        (("x",), "cap: plies = 'x': must be a whole number"),
        ((True,), "cap: plies = True: must be a whole number"),
        ((10**77,), "cap: plies: 1000"),
        ((1, 3), "cap: limit = 3: must be a table"),
    ]:
        with pytest.raises(BadParameter) as error:
            Cap(*values)  # type: ignore[arg-type]
        assert str(error.value).startswith(problem)


def test_a_key_of_an_inner_table_is_suggested_with_its_table() -> None:
    with pytest.raises(BadParameter, match=r"unknown key 'seconds'; did you mean 'limit.seconds'\?"):
        config.convert(Player, {"name": "a", "seconds": 1})


def test_an_error_of_another_kind_keeps_its_kind_and_gains_the_file() -> None:
    with pytest.raises(UnknownName, match=r"^cup\.toml: nobody knows it$"):
        config.convert(Cup, {"title": "unknown"}, "cup.toml")


@pytest.mark.parametrize("syntax", ["toml", "json"])
@pytest.mark.parametrize(
    "value", ["[" * 100_000, "1" * 5000, "1e999", '"\\ud800"', '"open', "{", "\0", "nan", "1" * 77]
)
def test_no_text_ends_in_a_traceback(syntax: str, value: str) -> None:
    text = f"rate = {value}" if syntax == "toml" else f'{{"rate": {value}}}'
    with pytest.raises(MeijinError, match=r"^file: "):
        config.parse(Cup, text, "file", syntax)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    (tmp_path / "large.toml").write_bytes(b"#" * (config.MAX_BYTES + 1))
    for name, problem in [
        ("none.toml", "cannot read"), (".", "cannot read"), ("latin.toml", "not valid UTF-8 (byte 9)"),
        ("large.toml", "larger than 1 MiB"),
    ]:  # fmt: skip
        with pytest.raises(BadParameter) as error:
            config.load(Cup, tmp_path / name)
        assert problem in str(error.value)
