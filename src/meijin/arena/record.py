"""`Task`: everything needed to play a game. `GameRecord`: everything that is kept about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from meijin.core.agent import Limit
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State

_LIMITS = tuple(limit.name for limit in fields(Limit))
#: How a game ended: by its rules, by a forfeit, by a judge, or by the cap on its length.
ENDINGS = ("rules", "forfeit", "judged", "cap")


@dataclass(frozen=True, slots=True)
class Task:
    """One game to play. Equal tasks give equal games wherever and whenever they are played, unless a clock decides."""

    game: str  # expression
    agents: tuple[str, ...]  # [seat] -> expression
    opening: tuple[int, ...] = ()  # moves and chance outcomes already made
    seed: int = 0  # for the random numbers of agents and chance
    limits: tuple[Limit, ...] = ()  # [seat]; empty: the agents' own limits
    event: str = ""  # the match or tournament it belongs to
    number: int = 0  # within the event, from 0
    round: int = 0  # of a tournament, from 0
    position: str = ""  # where it begins, if not at the start: a text that `State.from_position` reads

    def begin(self, game: Game) -> State:
        """The position before the first move."""
        return State.from_position(game, self.position) if self.position else State(game)


def derive(seed: int, index: int) -> int:
    """The `index`-th of the unrelated seeds that follow from a seed; 63 bits."""
    return int(stream(seed, index)[0]) >> 1


def limit_fields(limit: Limit) -> dict[str, Any]:
    """What a limit sets, as JSON."""
    given = {name: value for name in _LIMITS if (value := getattr(limit, name)) is not None}
    return {name: value if isinstance(value, int | float) else asdict(value) for name, value in given.items()}


@dataclass(frozen=True, slots=True)
class MoveNote:
    """What is kept about one ply besides its move."""

    seconds: float | None = None
    value: tuple[float, ...] | None = None  # [seat], as the agent that moved sees it
    analysis: dict[str, Any] | None = None  # the agent's whole analysis as JSON, if requested


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One game. `moves` are the opening, all moves and all chance outcomes, in order."""

    task: Task
    moves: tuple[int, ...]
    scores: tuple[float, ...]  # [seat]
    ending: str = "rules"  # one of ENDINGS
    forfeit: int | None = None  # the seat that forfeited
    reason: str = ""  # why the game ended as it did: "hex: no answer within 5 s"
    notes: tuple[MoveNote, ...] = ()  # one per ply of `moves`, or none at all
    began: str = ""  # UTC, ISO 8601
    seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)  # other information from an imported file

    @property
    def plies(self) -> int:
        return len(self.moves)
