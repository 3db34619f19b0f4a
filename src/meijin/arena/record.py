"""`GameRecord`: all that is kept of one game, and `Task`: all that must be known to play it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from meijin.core.agent import Limit

#: How a game came to its scores: by its rules, by a forfeit, by a judge's ruling, or by the cap on its length.
ENDINGS = ("rules", "forfeit", "judged", "cap")


@dataclass(frozen=True, slots=True)
class Task:
    """One game to be played. Equal tasks give equal games wherever and whenever they are played, clocks aside."""

    game: str  # expression
    agents: tuple[str, ...]  # [seat] -> expression
    opening: tuple[int, ...] = ()  # moves and chance outcomes already made
    seed: int = 0  # of the agents' and of chance's random numbers
    limits: tuple[Limit, ...] = ()  # [seat]; empty: the agents' own
    event: str = ""  # the match or tournament it belongs to
    number: int = 0  # which game of the event it is, counted from 0
    round: int = 0  # round of a tournament, counted from 0


@dataclass(frozen=True, slots=True)
class MoveNote:
    """What is kept of one ply besides the move."""

    seconds: float | None = None
    value: tuple[float, ...] | None = None  # [seat], by the agent that moved
    analysis: dict[str, Any] | None = None  # the agent's whole analysis, where that was asked for; plain JSON


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One game that was played. `moves` holds the opening, every move and every chance outcome, in order."""

    task: Task
    moves: tuple[int, ...]
    scores: tuple[float, ...]  # [seat]
    ending: str = "rules"  # one of ENDINGS
    forfeit: int | None = None  # the seat that forfeited
    reason: str = ""  # why the game ended as it did: "hex: no answer within 5 s"
    notes: tuple[MoveNote, ...] = ()  # one a ply of `moves`, or none at all
    began: str = ""  # UTC, ISO 8601
    seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)  # what an imported file said besides

    @property
    def plies(self) -> int:
        return len(self.moves)
