"""Which games of a store are meant: `event="cup", agent="mcts*", result="win"`."""

from __future__ import annotations

from typing import Any, TypedDict

from meijin.arena.record import ENDINGS
from meijin.core.errors import BadParameter, suggest

RESULTS = {"win": 1, "draw": 0, "loss": -1}


class Filters(TypedDict, total=False):
    """What a game must be like to be counted; None says nothing. A `*` in a game or agent stands for any text."""

    id: int | None  # the number it is listed under
    event: str | None
    number: int | None  # in its event
    game: str | None  # expression: "othello" is Othello as it is by default, "othello*" of any size
    agent: str | None  # expression of an agent at the board
    seat: int | None  # that of the agent
    result: str | None  # of the agent or of the seat: "win", "draw" or "loss"
    ending: str | None  # one of ENDINGS
    since: str | None  # it began at that time or later: "2026-08", "2026-08-01", "2026-08-01T12:30"
    until: str | None  # it began at that time or before, all of the last day (hour, ...) included


def condition(filters: Filters) -> tuple[str, list[Any]]:
    """SQL for the games that fit, on `games g`, and its values."""
    for name in filters:
        if name not in Filters.__annotations__:
            known = Filters.__annotations__
            raise BadParameter(f"unknown filter '{name}'{suggest(name, known)}; known: {', '.join(known)}")
    parts: list[str] = ["1"]
    values: list[Any] = []
    given = {name: value for name, value in filters.items() if value is not None}

    def require(sql: str, *of: object) -> None:
        parts.append(sql)
        values.extend(of)

    if "id" in given:
        require("g.id = ?", given["id"])
    if "event" in given:
        require("g.event = (SELECT id FROM events WHERE name = ?)", given["event"])
    if "number" in given:
        require("g.number = ?", given["number"])
    if "game" in given:
        require(f"g.game IN (SELECT id FROM names WHERE {_like('text', given['game'])})", _pattern(given["game"]))
    if "ending" in given:
        require("g.ending = ?", _one_of("ending", given["ending"], ENDINGS))
    if "since" in given:
        require("g.began >= ?", given["since"])
    if "until" in given:
        require("g.began <> '' AND substr(g.began, 1, length(?)) <= ?", given["until"], given["until"])
    if "result" in given and not ("agent" in given or "seat" in given):
        raise BadParameter(f"result={given['result']!r}: say whose with an agent or a seat")
    seated: list[str] = []
    if "agent" in given:
        seated.append(f"f.agent IN (SELECT id FROM names WHERE {_like('text', given['agent'])})")
        values.append(_pattern(given["agent"]))
    if "seat" in given:
        seated.append("f.seat = ?")
        values.append(given["seat"])
    if "result" in given:
        seated.append("f.result = ?")
        values.append(RESULTS[_one_of("result", given["result"], RESULTS)])
    if seated:
        parts.append(f"EXISTS (SELECT 1 FROM seats f WHERE f.record = g.id AND {' AND '.join(seated)})")
    return " AND ".join(parts), values


def _one_of(name: str, value: Any, known: Any) -> str:
    if value not in known:
        raise BadParameter(f"{name}={value!r}: choose from {', '.join(known)}{suggest(str(value), known)}")
    return str(value)


def _like(column: str, text: Any) -> str:
    return f"{column} GLOB ?" if "*" in str(text) else f"{column} = ?"


def _pattern(text: Any) -> str:
    """The value for `_like`: only `*` is special, not what else GLOB knows."""
    return str(text).replace("[", "[[]").replace("?", "[?]") if "*" in str(text) else str(text)
