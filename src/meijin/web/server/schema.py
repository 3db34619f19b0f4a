"""What clients and the server exchange over REST; `messages` has the same over the socket.

What comes in is checked strictly: unknown fields, texts for numbers and anything above its bounds are refused. Moves,
cells, seats and pieces are numbers; the game's description says what they mean.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_MOVES = 20_000  # of a line


class In(BaseModel):
    """What a client sends."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Out(BaseModel):
    """What the server sends."""


GameText = Annotated[
    str, Field(min_length=1, max_length=400, description="A game as an expression.", examples=["othello(size=6)"])
]
AgentText = Annotated[
    str, Field(min_length=1, max_length=400, description="An agent as an expression.", examples=["mcts(seconds=1)"])
]
Moves = Annotated[
    list[Annotated[int, Field(ge=0, lt=1 << 31)]],
    Field(max_length=MOST_MOVES, description="Move numbers, chance outcomes included.", examples=[[3, 3, 2]]),
]
Position = Annotated[
    str | None,
    Field(max_length=4000, description="The position to start from, as text; by default the game's start."),
]
Name = Annotated[str, Field(max_length=60, description="A name for people.", examples=["Ada"])]
TableId = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9_-]+$")]
Key = Annotated[str | None, Field(max_length=80, description="The key of a link: it says what its holder may do.")]
Ply = Annotated[
    int,
    Field(ge=0, le=MOST_MOVES, description="How many moves were made when the client decided; refused if it changed."),
]
RunName = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]
Score = float | None


# ---- games and positions ----


class Problem(Out):
    """What went wrong."""

    code: Literal["bad", "illegal", "unknown", "refused", "closed", "limit", "busy"]
    message: str = Field(description="A sentence for people.", examples=["'4' is not legal here; legal: 1, 2, 3"])


class Features(Out):
    """What this server can do; a page hides the rest."""

    version: str
    tables: bool
    links: bool
    records: list[str] = Field(description="Formats of game records.", examples=[["jsonl", "sgf"]])
    pictures: list[str] = Field(description="Formats of pictures.", examples=[["svg", "png", "gif"]])
    arena: bool
    training: bool = Field(description="Whether training runs are shown.")
    train: bool = Field(description="Whether they can be started, stopped and resumed.")
    nets: bool = Field(description="Whether nets can be trained; tables always can.")
    designer: bool = Field(description="Whether files of rules are watched.")
    modules: bool = Field(description="Whether games can be compiled for the page's own engine.")
    access: Literal["full", "guest"] = Field(description="Guests may use the tables they have a key for, and look.")
    cores: int
    limits: dict[str, float] = Field(description="What one client may ask for.")


class GameSummary(Out):
    name: str
    title: str
    summary: str
    seats: int
    seat_range: tuple[int, int] | None = Field(None, description="The fewest and the most, by its parameter `players`.")
    chance: bool
    levels: bool = Field(False, description="Whether its champion plays at levels from 1 to 10.")
    problem: str | None = Field(None, description="Why it cannot be played.")


class ParameterInfo(Out):
    name: str
    kind: str = Field(description='"int", "float", "bool", "str", "tuple", "agent" or "run".')
    default: Any = None
    low: float | None = None
    high: float | None = None
    choices: list[Any] = []
    help: str = ""
    needed: bool = False


class AgentInfo(Out):
    name: str
    summary: str
    parameters: list[ParameterInfo]
    unfit: str | None = Field(description="Why it cannot play the game; null if it can.")
    example: str
    levels: bool = Field(False, description="Whether it plays this game at levels from 1 to 10.")


class At(In):
    """A position: where a line of moves leads."""

    game: GameText
    position: Position = None
    moves: Moves = []


class Look(Out):
    """What there is to see of a position."""

    cells: list[int] = Field(description="The value of every cell: an index into the pieces of the description.")
    turn: int = Field(description="The seat to move; -1: chance; -2: the game is over.")
    legal: list[int]
    odds: list[float] | None = Field(None, description="At a chance turn: the probability of each legal outcome.")
    scores: list[Score]
    tallies: dict[str, list[Score]] = {}
    ending: str = ""
    last: list[int] = Field(description="The cells of the latest move of a seat and of what chance did after it.")


class SetupIn(In):
    game: GameText
    cells: Annotated[list[Annotated[int, Field(ge=0, le=1000)]], Field(max_length=4096)]
    turn: Annotated[int, Field(ge=-1, le=64)]


class SetupOut(Out):
    position: str
    look: Look


class Limit(In):
    """How long an agent may think about a move; the first that is reached counts."""

    seconds: Annotated[float | None, Field(gt=0, le=3600)] = None
    simulations: Annotated[int | None, Field(ge=1, le=10**9)] = None
    depth: Annotated[int | None, Field(ge=1, le=1000)] = None
    nodes: Annotated[int | None, Field(ge=1, le=10**12)] = None


class MoveInfo(Out):
    move: int
    visits: int | None
    prior: float | None
    value: list[Score] | None
    proven: bool
    pv: list[int]


class Analysis(Out):
    """What an agent thinks of a position. Values are per seat, in the game's scores."""

    turn: int
    moves: list[MoveInfo] = Field(description="Best first.")
    value: list[Score] | None
    proven: bool
    simulations: int
    nodes: int
    depth: int
    seconds: float | None
    note: str
    advice: str
    random: bool = Field(description="Whether its move was drawn by chance and is not the one it thinks best.")
    final: bool
    planes: list[list[float]] | None = Field(
        None, description="[plane][cell]: what its net sees, from the mover's view."
    )
    ownership: list[float] | None = Field(None, description="[cell]: 1: it will be seat 0's, -1: another's.")
    score: float | None = Field(None, description="The mean of the ownership that the net expects.")


# ---- records and pictures ----


class Subject(In):
    """A game: that of a line of moves, or that of a table."""

    at: At | None = None
    table: TableId | None = None
    key: Key = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.at is None) == (self.table is None):
            raise ValueError("give either `at` or `table`")
        return self


class RecordIn(Subject):
    format: Literal["jsonl", "sgf", "pgn", "ggf", "usi", "kif", "csa"]
    agents: Annotated[
        list[Name], Field(max_length=64, description="[seat]: who plays; by default as at the table.")
    ] = []


class RecordOut(Out):
    format: str
    text: str
    filename: str


class ReadIn(In):
    text: Annotated[str, Field(min_length=1, max_length=900_000)]
    format: Literal["jsonl", "sgf", "pgn", "ggf", "usi", "kif", "csa"] | None = Field(
        None, description="By default what it looks like."
    )


class ReadGame(Out):
    game: str
    position: str | None = Field(description="Where it begins; by default the game's start.")
    moves: list[int]
    agents: list[str]
    scores: list[Score]
    ending: str
    lost: int | None = Field(description="The seat that resigned or forfeited.")
    reason: str
    event: str
    began: str
    values: list[list[Score] | None] = Field(description="[ply]; empty if the record has none.")
    headers: dict[str, str]


class ReadOut(Out):
    format: str
    games: list[ReadGame]
    more: bool = Field(description="Whether the text has more games than were read.")


class PictureIn(Subject):
    format: Literal["svg", "png", "gif", "webp"] = Field("svg", description="gif and webp show the whole game.")
    size: Annotated[int, Field(ge=50, le=1200, description="Pixels of the longer side.")] = 480
    delay: Annotated[int, Field(ge=50, le=10_000, description="Milliseconds for each move.")] = 700


# ---- tables ----


class SeatIn(In):
    kind: Literal["person", "agent"]
    name: Name = ""
    agent: AgentText | None = None
    limit: Limit | None = None


class ClockIn(In):
    seconds: Annotated[float, Field(ge=1, le=86400 * 30)]
    increment: Annotated[float, Field(ge=0, le=3600)] = 0.0


class TableIn(In):
    """A new table. Seats that are left out are taken by people."""

    game: GameText
    position: Position = None
    moves: Moves = []
    seats: Annotated[list[SeatIn], Field(max_length=64)] = []
    clock: ClockIn | None = None
    running: bool = Field(True, description="Whether agents begin at once.")
    speed: Annotated[float, Field(ge=0, le=60, description="Least seconds between two moves of agents.")] = 0.0
    seed: Annotated[int | None, Field(ge=0, lt=1 << 63)] = None


class Keys(Out):
    """The links to a table."""

    host: str = Field(description="May do everything.")
    watch: str
    seats: list[str] = Field(description="[seat]: may play it.")


class SeatOut(Out):
    kind: Literal["person", "agent"]
    name: str
    agent: str | None
    limit: dict[str, Any] | None


class Clocks(Out):
    left: list[float] = Field(description="[seat]: seconds left at the time `at`.")
    increment: float
    active: int | None = Field(description="The seat whose clock runs.")
    at: float = Field(description="When `left` was true: milliseconds since 1970, by the server's clock.")


class Result(Out):
    scores: list[Score]
    ending: str = Field(description='"rules", "resign", "time" or "forfeit".')
    seat: int | None = Field(description="Who resigned, ran out of time or forfeited.")
    reason: str


class TableOut(Out):
    """A table as everybody at it sees it."""

    id: str
    version: int = Field(description="Grows with every change.")
    game: str
    title: str
    position: str | None
    moves: list[int]
    movers: list[int] = Field(description="[ply]: the seat that moved, -1 for chance.")
    redo: list[int]
    look: Look
    seats: list[SeatOut]
    clocks: Clocks | None
    result: Result | None
    running: bool
    speed: float
    thinking: int | None = Field(description="The seat whose agent thinks.")
    values: list[list[Score] | None] = Field(description="[ply]: what the agent that moved expected, by seat.")
    seconds: list[float | None] = Field(description="[ply]: how long the mover thought.")
    random: list[int] = Field(description="The plies that an agent drew by chance, not those it thought best.")
    created: float
    updated: float
    notes: int = Field(0, description="Grows when the notes change.")
    people: int = Field(0, description="Connections at the table.")
    you: list[int] = Field(description="The seats this client may play.")
    host: bool = Field(description="Whether this client may do everything here.")
    keys: Keys | None = Field(None, description="The links, for the host.")


class TableSummary(Out):
    id: str
    game: str
    title: str
    plies: int
    turn: int
    seats: list[SeatOut]
    result: Result | None
    created: float
    updated: float
    key: str = Field(description="The host's key.")


class Keyed(In):
    key: Key = None


class PlayIn(Keyed):
    move: Annotated[int, Field(ge=0, lt=1 << 31)]
    ply: Ply


class UndoIn(Keyed):
    ply: Ply
    plies: Annotated[
        int | None,
        Field(ge=1, le=MOST_MOVES, description="How many to take back; by default to the last choice of a person."),
    ] = None


class RedoIn(Keyed):
    ply: Ply
    plies: Annotated[int | None, Field(ge=1, le=MOST_MOVES)] = None


class ResignIn(Keyed):
    seat: Annotated[int, Field(ge=0, le=63)]
    ply: Ply


class SeatChange(Keyed):
    seat: Annotated[int, Field(ge=0, le=63)]
    sitter: SeatIn


class PaceIn(Keyed):
    """How agents move: on their own, or not."""

    running: bool | None = None
    speed: Annotated[float | None, Field(ge=0, le=60)] = None
    step: bool = Field(False, description="Let an agent make one move now.")


class Node(In):
    """A move of a tree of variations."""

    parent: Annotated[int, Field(ge=-1, le=MOST_MOVES, description="The node before it; -1: the start.")]
    move: Annotated[int, Field(ge=0, lt=1 << 31)]
    comment: Annotated[str, Field(max_length=4000)] = ""
    marks: Annotated[str, Field(max_length=400, description="Whatever a page wants to keep.")] = ""


class Notes(In):
    """Variations and comments that a page keeps with a table."""

    comment: Annotated[str, Field(max_length=4000, description="On the start.")] = ""
    nodes: Annotated[list[Node], Field(max_length=5000)] = []


class NotesIn(Keyed):
    notes: Notes


class NotesOut(Out):
    version: int
    notes: Notes


class Done(Out):
    done: Literal[True] = True
