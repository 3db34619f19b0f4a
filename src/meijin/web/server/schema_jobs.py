"""Messages about long work and what comes of it: training runs, tournaments, games played, checks of a game."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from meijin.web.server.schema import AgentText, GameText, In, Limit, Moves, Out, RunName, Score

Seconds = Annotated[float | None, Field(gt=0, le=1e7, description="Of wall-clock time, earlier sessions included.")]
Iterations = Annotated[int | None, Field(ge=1, le=10**6)]


class JobOut(Out):
    """Long work that this server has begun."""

    kind: str
    name: str
    state: Literal["running", "stopping", "stopped", "finished", "failed"]
    message: str = Field(description="Why it failed.")
    began: float
    ended: float
    progress: dict[str, Any] | None = Field(description="The latest step.")
    result: Any = None
    events: int


class RunSummary(Out):
    name: str
    game: str
    method: str
    iteration: int
    seconds: float
    changed: float
    last: dict[str, float] = Field(description="The newest row of its metrics.")
    agent: str | None = Field(description="How its newest net is played; null before the first.")
    job: JobOut | None = None


class CheckpointOut(Out):
    name: str = Field(description='As agents name it: zero("NAME").', examples=["c4/000040"])
    iteration: int
    bytes: int


class TupleOut(Out):
    """The cells that one table sees."""

    number: int = Field(description="From 1, in the order of the network.")
    cells: list[int]
    entries: int = Field(description="Of its table for one seat, stage and move.")
    mean_weight: float | None = Field(description="Without signs; null in a checkpoint that does not tell.")


class TuplesOut(Out):
    """An n-tuple network, as its newest checkpoint has it."""

    games: int | None = Field(description="That it has learned from; null in a checkpoint that does not tell.")
    weights: int
    symmetries: int = Field(description="Of the game that share weights.")
    tuples: list[TupleOut] = Field(description="Those with the largest weights first.")


class RunOut(RunSummary):
    config: dict[str, Any]
    metrics: dict[str, list[float | None]] = Field(description="By column; thinned out where there are many rows.")
    checkpoints: list[CheckpointOut]
    tuples: TuplesOut | None = Field(description="Of td, sarsa and q, from the first checkpoint on; null for features.")


class TrainIn(In):
    """A new training run."""

    name: RunName
    game: GameText
    method: Literal["zero", "classic", "td", "sarsa", "q"] = "zero"
    preset: Literal["tiny", "quick", "strong"] | None = None
    seconds: Seconds = None
    iterations: Iterations = None
    evaluate: Annotated[
        list[Annotated[str, Field(max_length=400)]],
        Field(max_length=10, description="Evaluators.", examples=[["vs(mcts(simulations=200), games=40)"]]),
    ] = Field(default_factory=list)
    changes: Annotated[
        dict[Annotated[str, Field(max_length=80)], Any],
        Field(max_length=100, description="Settings by name.", examples=[{"search.simulations": 64}]),
    ] = Field(default_factory=dict)
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:[0-9])?)$")] = "cpu"


class ResumeIn(In):
    seconds: Seconds = None
    iterations: Iterations = None
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:[0-9])?)$")] = "cpu"


class Events(Out):
    """What a job has told; `serial` counts on."""

    job: JobOut
    events: list[dict[str, Any]]


class EntrantIn(In):
    name: Annotated[str, Field(max_length=60, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    expression: AgentText
    limit: Limit | None = None
    challenger: bool = False


class TournamentIn(In):
    """A new tournament; as in the plans of `meijin tournament`."""

    name: RunName
    games: Annotated[list[GameText], Field(min_length=1, max_length=20)]
    agents: Annotated[list[EntrantIn], Field(min_length=1, max_length=64)]
    kind: Literal["round_robin", "gauntlet", "swiss", "sampled"] = "round_robin"
    rounds: Annotated[int, Field(ge=1, le=10_000)] = 10
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    openings: Annotated[str, Field(max_length=400, examples=["random(plies=4)"])] = ""
    limit: Limit | None = None
    judges: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=5, examples=[["cap(200)"]])] = (
        Field(default_factory=list)
    )
    move_timeout: Annotated[float, Field(gt=0, le=3600, description="Seconds until a move is a forfeit.")] = 60.0
    notes: Literal["none", "times", "analyses"] = "none"
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    anchor: Annotated[str | None, Field(max_length=60, description="The agent whose rating is 0.")] = None


class MoreRounds(In):
    rounds: Annotated[int | None, Field(ge=1, le=10_000)] = None


class TournamentSummary(Out):
    name: str
    kind: str
    games: list[str]
    agents: list[str]
    played: int
    total: int
    changed: float
    job: JobOut | None = None


class StandingOut(Out):
    rank: int
    name: str
    elo: Score
    interval: list[Score] = Field(description="95 %.")
    glicko2: dict[str, float]
    games: int
    wins: int
    draws: int
    losses: int
    mean_score: Score


class PairOut(Out):
    """One agent against another."""

    agent: str
    other: str
    wins: int
    draws: int
    losses: int


class StandingsOut(Out):
    game: str
    title: str
    seats: int
    played: int
    total: int
    rows: list[StandingOut]
    pairs: list[PairOut]
    forfeits: list[dict[str, Any]]


class TournamentOut(Out):
    name: str
    about: dict[str, str]
    agents: list[dict[str, str]]
    played: int
    total: int
    tables: list[StandingsOut] = Field(description="One for each game.")
    overall: list[StandingOut] = Field(description="Over all games, if there are several.")
    job: JobOut | None = None


class PlaceOut(Out):
    game: str
    name: str
    definition: str
    rating: dict[str, float]
    games: int
    tournaments: int


class Filters(In):
    """What a game must be like. A * in a game or agent stands for any text."""

    event: Annotated[str | None, Field(max_length=200)] = None
    game: Annotated[str | None, Field(max_length=400)] = None
    agent: Annotated[str | None, Field(max_length=400)] = None
    seat: Annotated[int | None, Field(ge=0, le=63)] = None
    result: Annotated[Literal["win", "draw", "loss"] | None, Field(description="Of the agent or the seat.")] = None
    ending: Literal["rules", "forfeit", "judged", "cap"] | None = None


class PlayedIn(In):
    filters: Filters = Field(default_factory=Filters)
    skip: Annotated[int, Field(ge=0, le=10**7)] = 0


class PlayedGameOut(Out):
    id: int
    event: str
    number: int
    round: int
    game: str
    agents: list[str]
    scores: list[Score]
    ending: str
    forfeit: int | None
    reason: str
    plies: int
    began: str
    seconds: float


class PlayedOut(Out):
    games: list[PlayedGameOut]
    count: int = Field(description="Of all that fit.")
    events: list[dict[str, Any]]


class OpeningsIn(In):
    game: GameText
    moves: Moves = Field(default_factory=list)
    filters: Filters = Field(default_factory=Filters)


class BranchOut(Out):
    """A move that was played."""

    move: int
    games: int
    wins: list[int] = Field(description="[seat]")
    draws: list[int]
    scores: list[Score] = Field(description="[seat]: the mean.")


class DesignerOut(Out):
    """Files of rules that the server watches, and what their checks have found."""

    version: int = Field(description="Grows when something was loaded.")
    files: list[dict[str, Any]]
    checks: list[dict[str, Any]]


class CheckIn(In):
    game: GameText
