"""The messages of the socket: the same models as over REST, with an id and a type."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from meijin.web.server.schema import (
    AgentText,
    At,
    In,
    Key,
    Limit,
    PaceIn,
    PlayIn,
    RedoIn,
    ResignIn,
    RunName,
    SeatChange,
    TableId,
    UndoIn,
)


class Message(In):
    id: Annotated[int, Field(ge=0, lt=1 << 53, description="Chosen by the client; replies carry it.")]


class Analyse(Message):
    type: Literal["analyse"]
    at: At
    agent: AgentText
    limit: Limit | None = None
    every: Annotated[float, Field(ge=0.05, le=10, description="Seconds between two reports.")] = 0.2


class Stop(Message):
    """End what the message `target` began: an analysis, or being told about something."""

    type: Literal["stop"]
    target: Annotated[int, Field(ge=0, lt=1 << 53)]


class LookUp(Message):
    type: Literal["look"]
    at: At


class Join(Message):
    type: Literal["join"]
    table: TableId
    key: Key = None


class Play(Message, PlayIn):
    type: Literal["play"]
    table: TableId


class Undo(Message, UndoIn):
    type: Literal["undo"]
    table: TableId


class Redo(Message, RedoIn):
    type: Literal["redo"]
    table: TableId


class Resign(Message, ResignIn):
    type: Literal["resign"]
    table: TableId


class Seat(Message, SeatChange):
    type: Literal["seat"]
    table: TableId


class Run(Message, PaceIn):
    type: Literal["run"]
    table: TableId


class Follow(Message):
    """Be told what goes on: of a job, or of the designer's files."""

    type: Literal["follow"]
    what: Literal["train", "tournament", "designer"]
    name: Annotated[str, Field(max_length=100)] = ""


class Opinions(Message):
    """What the checkpoints of a run think of a position."""

    type: Literal["opinions"]
    run: RunName
    at: At


class Boards(Message):
    """Games that a run's newest net plays against itself."""

    type: Literal["boards"]
    run: RunName
    count: Annotated[int, Field(ge=1, le=12)] = 4
    every: Annotated[float, Field(ge=0.1, le=10)] = 0.5


class Ping(Message):
    type: Literal["ping"]


Request = Annotated[
    Analyse | Stop | LookUp | Join | Play | Undo | Redo | Resign | Seat | Run | Follow | Opinions | Boards | Ping,
    Field(discriminator="type"),
]
request: TypeAdapter[Any] = TypeAdapter(Request)
