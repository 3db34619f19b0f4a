"""What a store answers: results without moves, counts, events, branches of an opening tree."""

from __future__ import annotations

from typing import NamedTuple


class Result(NamedTuple):
    """How one game ended, without its moves."""

    event: str
    number: int
    round: int
    game: str
    agents: tuple[str, ...]  # [seat]
    scores: tuple[float, ...]  # [seat]
    ending: str
    forfeit: int | None
    reason: str
    plies: int
    began: str
    seconds: float
    id: int  # the number it is listed under


class Event(NamedTuple):
    name: str
    games: int
    first: str  # when its first game began, "" if nobody said
    last: str


class Count(NamedTuple):
    """Results of one agent, or of one against another: of their games, those it scored higher in are won."""

    games: int
    wins: int
    draws: int
    losses: int
    score: float  # sum of its scores

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2


class Branch(NamedTuple):
    """A move, or chance outcome, that was made in a position, and what came of it."""

    move: int
    games: int
    wins: tuple[int, ...]  # [seat]
    draws: tuple[int, ...]  # [seat]
    scores: tuple[float, ...]  # [seat] -> mean
