"""What plays: `Agent`, how long it may think: `Limit`, and all it has to say: `Analysis`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meijin.core.errors import BadParameter
from meijin.core.moves import Move

if TYPE_CHECKING:
    from meijin.core.game import Game
    from meijin.core.state import State


@dataclass(frozen=True, slots=True)
class Limit:
    """How much an agent may search for one move. None: the agent's own default; the first limit met ends the search."""

    seconds: float | None = None
    simulations: int | None = None
    depth: int | None = None  # plies

    def __post_init__(self) -> None:
        for name in ("seconds", "simulations", "depth"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise BadParameter(f"{name}={value!r}: a limit is above zero, or left out")

    def over(self, default: Limit) -> Limit:
        """This limit where it says anything, else the default."""
        return self if any(v is not None for v in (self.seconds, self.simulations, self.depth)) else default


@dataclass(frozen=True, slots=True)
class MoveInfo:
    """What an agent knows of one move. Values are per seat, in the game's scores; None: the agent does not say."""

    move: Move
    visits: int | None = None
    prior: float | None = None  # probability before search
    value: tuple[float, ...] | None = None  # [seat]
    proven: bool = False  # the value is exact
    pv: tuple[Move, ...] = ()  # expected continuation, this move first


@dataclass(frozen=True, slots=True)
class Analysis:
    """What an agent has to say of a position. `moves` is ranked, best first; values are per seat, never negated."""

    turn: int
    moves: tuple[MoveInfo, ...]
    value: tuple[float, ...] | None = None  # [seat]
    proven: bool = False
    simulations: int = 0
    nodes: int = 0
    depth: int = 0  # deepest line searched, in plies
    seconds: float = 0.0
    note: str = ""  # a remark for people: "memory full", ...

    @property
    def best(self) -> Move:
        return self.moves[0].move

    @property
    def pv(self) -> tuple[Move, ...]:
        return self.moves[0].pv or (self.best,)


class Agent(ABC):
    """Chooses moves. `name` is the expression that makes the agent again."""

    name: str = "agent"
    #: Whether it draws no random numbers: then equal positions get equal moves (under a clock, nearly always), and
    #: matches between two such agents vary the openings.
    deterministic: bool = False

    @abstractmethod
    def analyse(self, state: State, limit: Limit = Limit()) -> Analysis:  # noqa: B008 - frozen
        """Look at a position in which a seat is to move."""

    def act(self, state: State, limit: Limit = Limit()) -> Move:  # noqa: B008
        return self.analyse(state, limit).best

    def value(self, state: State) -> tuple[float, ...]:
        """What each seat can expect of any position, finished games and chance turns included."""
        if state.is_over:
            return state.scores
        if state.is_chance:
            parts = [(p, self.value(state.copy().play(outcome))) for outcome, p in state.odds.items()]
            return tuple(sum(p * value[k] for p, value in parts) for k in range(state.game.seats))
        value = self.analyse(state).value
        if value is None:
            raise BadParameter(f"{self.name} gives no values; choose an agent that does, such as heuristic or mcts")
        return value

    def unfit(self, game: Game) -> str | None:
        """Why this agent cannot play that game; None when it can."""
        return None

    def seed(self, seed: int) -> None:
        """Make what follows reproducible. Agents without randomness ignore it."""

    def __repr__(self) -> str:
        return self.name
