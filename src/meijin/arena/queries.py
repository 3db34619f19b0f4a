"""Questions to a store: which games are meant, `event="cup", agent="mcts*", result="win"`, and what is answered."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from msgspec import Meta

from meijin.arena.record import ENDINGS
from meijin.core.errors import BadParameter, suggest

RESULTS = {"win": 1, "draw": 0, "loss": -1}


class Filters(TypedDict, total=False):
    """What a game must be like; None means anything. A `*` in a game or agent stands for any text."""

    id: int | None  # the number it is listed under
    event: str | None
    number: int | None  # within its event
    game: str | None  # expression: "othello" is the default size, "othello*" any size
    agent: str | None  # expression of an agent that played
    seat: int | None  # of that agent
    result: str | None  # of the agent or of the seat: "win", "draw" or "loss"
    ending: str | None  # one of ENDINGS
    since: str | None  # it began then or later: "2026-08", "2026-08-01", "2026-08-01T12:30"
    until: str | None  # it began then or before; all of the last day (hour, ...) is included


class GameSummary(NamedTuple):
    """How one game ended, without its moves."""

    event: str
    number: int
    round: int
    game: str
    agents: Annotated[tuple[str, ...], Meta(min_length=1)]  # [seat]
    scores: tuple[float, ...]  # [seat]
    ending: Literal["rules", "forfeit", "judged", "cap"]
    forfeit: Annotated[int, Meta(ge=0)] | None
    reason: str
    plies: Annotated[int, Meta(ge=0)]
    began: str
    seconds: float
    id: int  # the number it is listed under


class EventSummary(NamedTuple):
    name: str
    games: int
    first: str  # when its first game began, "" if unknown
    last: str


class AgentResults(NamedTuple):
    """Results of one agent, or of one against another, where scoring higher than the other is a win."""

    games: int
    wins: int
    draws: int
    losses: int
    score: float  # sum of its scores

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2


class Branch(NamedTuple):
    """A move or chance outcome that was played in a position, and the results of those games."""

    move: int
    games: int
    wins: tuple[int, ...]  # [seat]
    draws: tuple[int, ...]  # [seat]
    scores: tuple[float, ...]  # [seat] -> mean


def condition(filters: Filters) -> tuple[str, list[Any]]:
    """SQL for the games that fit, on `games g`, and its values."""
    given: dict[str, Any] = {name: value for name, value in filters.items() if value is not None}
    known = Filters.__annotations__
    for name in filters:
        if name not in known:
            raise BadParameter(f"unknown filter '{name}'{suggest(name, known)}; known: {', '.join(known)}")
    for name, choices in (("ending", ENDINGS), ("result", tuple(RESULTS))):
        if name in given and given[name] not in choices:
            near = suggest(str(given[name]), choices)
            raise BadParameter(f"{name}={given[name]!r}: choose from {', '.join(choices)}{near}")
    if "result" in given and not ("agent" in given or "seat" in given):
        raise BadParameter(f"result={given['result']!r}: say whose with an agent or a seat")
    for name, value in given.items():
        if not isinstance(value, int if name in ("id", "number", "seat") else str):
            raise BadParameter(
                f"{name}={value!r}: must be {'a whole number' if isinstance(value, str) else 'a string'}"
            )
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise BadParameter(f"{name}={value}: must fit into 64 bits")
        if isinstance(value, str) and re.search("[\ud800-\udfff]", value):
            raise BadParameter(f"{name}={value!r}: not valid UTF-8")
    played: list[str] = ["1"]
    seated: list[str] = []
    values: list[Any] = []
    for parts, name, sql in (
        (played, "id", "g.id = ?"),
        (played, "event", "g.event = (SELECT id FROM events WHERE name = ?)"),
        (played, "number", "g.number = ?"),
        (played, "game", f"g.game IN (SELECT id FROM names WHERE text {_like(given.get('game'))} ?)"),
        (played, "ending", "g.ending = ?"),
        (played, "since", "g.began >= ?"),
        (played, "until", "g.began <> '' AND substr(g.began, 1, length(?)) <= ?"),
        (seated, "agent", f"f.agent IN (SELECT id FROM names WHERE text {_like(given.get('agent'))} ?)"),
        (seated, "seat", "f.seat = ?"),
        (seated, "result", "f.result = ?"),
    ):
        if name in given:
            value = given[name]
            if "GLOB" in sql:
                value = value.replace("[", "[[]").replace("?", "[?]")  # only `*` is special
            parts.append(sql)
            values += [RESULTS[value] if name == "result" else value] * sql.count("?")
    if seated:
        played.append(f"EXISTS (SELECT 1 FROM seats f WHERE f.record = g.id AND {' AND '.join(seated)})")
    return " AND ".join(played), values


def _like(text: str | None) -> str:
    return "GLOB" if text and "*" in text else "="
