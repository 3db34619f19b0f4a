"""The REST routes. Everything a page needs but streams; those are in `socket`."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response

from meijin.web.server import schema
from meijin.web.server.errors import Refusal
from meijin.web.server.tables import Tables

router = APIRouter(prefix="/api")

Game = Annotated[str, Query(min_length=1, max_length=400, description="A game as an expression.", examples=["hex"])]
Id = Annotated[str, Path(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9_-]+$", description="A table's id.")]
KeyQuery = Annotated[str | None, Query(max_length=80, description="The key of a link.")]
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": schema.Problem, "description": "Refused; the message says why."}
}


def api(request: Request) -> Any:
    return request.app.state


def full(request: Request) -> None:
    if not request.scope["meijin.full"]:
        raise Refusal("refused", "this needs the server's token: open the link that the server printed when it started")


def answer(value: Any) -> Response:
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return Response(body, media_type="application/json")


# ---- games and positions ----


@router.get("/features", response_model=schema.Features, tags=["server"])
async def features(request: Request) -> Any:
    """What this server can do."""
    return answer(api(request).features(request.scope["meijin.full"]))


@router.get("/games", response_model=list[schema.GameSummary], tags=["games"])
async def games(request: Request) -> Any:
    """The games there are."""
    return answer(await api(request).catalogue.games())


@router.get("/description", responses=PROBLEMS, tags=["games"])
async def description(request: Request, game: Game) -> Any:
    """All about a game: board, pieces, moves, parameters; the version of the format is in it."""
    await _tables(request).expect_game(game, request.scope["meijin.full"])
    return answer(await api(request).catalogue.description(game))


@router.get("/agents", response_model=list[schema.AgentInfo], responses=PROBLEMS, tags=["games"])
async def agents(request: Request, game: Game) -> Any:
    """The agents there are, their parameters, and which of them can play the game."""
    await _tables(request).expect_game(game, request.scope["meijin.full"])
    return answer(await api(request).catalogue.agents(game))


@router.post("/look", response_model=schema.Look, responses=PROBLEMS, tags=["games"])
async def look(request: Request, at: schema.At) -> Any:
    """The position after a line of moves."""
    await _tables(request).expect_game(at.game, request.scope["meijin.full"])
    return answer(await api(request).lanes.rules(at.game).call("look", at.model_dump()))


@router.post("/looks", response_model=list[schema.Look], responses=PROBLEMS, tags=["games"])
async def looks(request: Request, at: schema.At) -> Any:
    """Every position of a line of moves, the start first."""
    await _tables(request).expect_game(at.game, request.scope["meijin.full"])
    return answer(await api(request).lanes.chores.call("looks", at.model_dump()))


@router.post("/setup", response_model=schema.SetupOut, responses=PROBLEMS, tags=["games"])
async def setup(request: Request, given: schema.SetupIn) -> Any:
    """The position with these values on its cells, as text; refused with a reason if there is none."""
    await _tables(request).expect_game(given.game, request.scope["meijin.full"])
    return answer(await api(request).lanes.rules(given.game).call("setup", given.model_dump()))


@router.get("/module", responses=PROBLEMS, tags=["games"])
async def module(request: Request, game: Game) -> Any:
    """A game as WebAssembly, where `features.modules` says so; the first time it is compiled, which takes seconds.
    Null for a game of the server's own files, which may change at any time."""
    full(request)
    await _tables(request).expect_game(game, True)
    if not api(request).features(True)["modules"]:
        raise Refusal("refused", "games are not compiled for pages; the server looks and searches")
    if api(request).lanes.changes(game):
        return answer(None)
    return answer(await api(request).catalogue.module(game))


# ---- records and pictures ----


async def _subject(request: Request, given: schema.Subject) -> dict[str, Any]:
    """The game that a record or a picture is of."""
    allowed = request.scope["meijin.full"]
    if given.at is not None:
        await _tables(request).expect_game(given.at.game, allowed)
        known: dict[str, Any] = {"agents": [], "lost": None, "reason": "", "seconds": [], "values": [], "began": None}
        return given.at.model_dump() | known
    table = await _tables(request).open(given.table or "")
    table.role(given.key, allowed)
    body, result = table.body, table.body["result"] or {"seat": None, "ending": ""}
    reasons = {"resign": "resigned", "time": "out of time"}
    return table.line() | {
        "agents": [seat["agent"] or seat["name"] or f"person {k}" for k, seat in enumerate(body["seats"])],
        "lost": result["seat"],
        "reason": reasons.get(result["ending"], ""),
        "values": [ply[2] for ply in body["plies"]],
        "seconds": [ply[3] for ply in body["plies"]],
        "began": body["created"],
    }


@router.post("/record", response_model=schema.RecordOut, responses=PROBLEMS, tags=["records"])
async def write_record(request: Request, given: schema.RecordIn) -> Any:
    """A game as a record in one of the arena's formats."""
    asked = await _subject(request, given) | {"format": given.format}
    asked["agents"] = given.agents or asked["agents"]
    text = await api(request).lanes.chores.call("write_record", asked)
    name = asked["game"].partition("(")[0]
    return answer({"format": given.format, "text": text, "filename": f"{name}.{given.format}"})


@router.post("/read", response_model=schema.ReadOut, responses=PROBLEMS, tags=["records"])
async def read_record(request: Request, given: schema.ReadIn) -> Any:
    """The games of a record, each replayed by its rules; an error names the line."""
    full(request)
    return answer(await api(request).lanes.chores.call("read_records", given.model_dump()))


PICTURES = {"svg": "image/svg+xml", "png": "image/png", "gif": "image/gif", "webp": "image/webp"}


@router.post(
    "/picture",
    response_class=Response,
    responses={**PROBLEMS, 200: {"content": {kind: {} for kind in PICTURES.values()}, "description": "The picture."}},
    tags=["records"],
)
async def picture(request: Request, given: schema.PictureIn) -> Any:
    """The board as a picture, or the game as a moving one."""
    asked = await _subject(request, given)
    asked |= {"format": given.format, "size": given.size, "delay": given.delay}
    found = await api(request).lanes.chores.call("picture", asked)
    return Response(found, media_type=PICTURES[given.format])


# ---- tables ----


def _tables(request: Request) -> Tables:
    found: Tables = api(request).tables
    return found


@router.post("/tables", response_model=schema.TableOut, responses=PROBLEMS, tags=["tables"])
async def create_table(request: Request, given: schema.TableIn) -> Any:
    """Begin a game. The answer has the keys of all links."""
    full(request)
    table = await _tables(request).create(given)
    table.wake()
    return answer(table.encoded(table.role(None, True)))


@router.get("/tables", response_model=list[schema.TableSummary], responses=PROBLEMS, tags=["tables"])
async def list_tables(
    request: Request,
    count: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[float | None, Query(allow_inf_nan=False, description="Only those changed before then.")] = None,
) -> Any:
    """The tables that changed last."""
    full(request)
    return answer(await _tables(request).list(count, before))


@router.get("/tables/{id}", response_model=schema.TableOut, responses=PROBLEMS, tags=["tables"])
async def get_table(request: Request, id: Id, key: KeyQuery = None) -> Any:
    """A table as the holder of the key sees it."""
    table = await _tables(request).open(id)
    role = table.role(key, request.scope["meijin.full"])
    table.wake()
    return answer(table.encoded(role))


@router.delete("/tables/{id}", response_model=schema.Done, responses=PROBLEMS, tags=["tables"])
async def delete_table(request: Request, id: Id, key: KeyQuery = None) -> Any:
    """Delete a table for good; only its host may."""
    table = await _tables(request).open(id)
    if not table.role(key, request.scope["meijin.full"]).host:
        raise Refusal("refused", "only the host may delete the table")
    await _tables(request).delete(table)
    return answer({"done": True})


async def _change(request: Request, id: str, what: str, given: Any) -> Response:
    table = await _tables(request).open(id)
    role = table.role(given.key, request.scope["meijin.full"])
    await asyncio.shield(_tables(request).spawn(getattr(table, what)(role, given)))
    return answer(table.encoded(role))


@router.post("/tables/{id}/play", response_model=schema.TableOut, responses=PROBLEMS, tags=["tables"])
async def play(request: Request, id: Id, given: schema.PlayIn) -> Any:
    """Make a move. `ply` says which one: a message that comes twice, or too late, is refused."""
    return await _change(request, id, "play", given)


@router.post("/tables/{id}/undo", response_model=schema.TableOut, responses=PROBLEMS, tags=["tables"])
async def undo(request: Request, id: Id, given: schema.UndoIn) -> Any:
    """Take moves back."""
    return await _change(request, id, "undo", given)


@router.post("/tables/{id}/redo", response_model=schema.TableOut, responses=PROBLEMS, tags=["tables"])
async def redo(request: Request, id: Id, given: schema.RedoIn) -> Any:
    """Make moves again that were taken back."""
    return await _change(request, id, "redo", given)


@router.post("/tables/{id}/resign", response_model=schema.TableOut, responses=PROBLEMS, tags=["tables"])
async def resign(request: Request, id: Id, given: schema.ResignIn) -> Any:
    """Give up."""
    return await _change(request, id, "resign", given)


@router.post("/tables/{id}/seat", response_model=schema.TableOut, responses=PROBLEMS, tags=["tables"])
async def seat(request: Request, id: Id, given: schema.SeatChange) -> Any:
    """Change who sits on a seat: a person takes over, or an agent does."""
    return await _change(request, id, "seat", given)


@router.post("/tables/{id}/run", response_model=schema.TableOut, responses=PROBLEMS, tags=["tables"])
async def run(request: Request, id: Id, given: schema.PaceIn) -> Any:
    """Let agents move on their own, at a speed, or one move at a time."""
    return await _change(request, id, "run", given)


@router.get("/tables/{id}/notes", response_model=schema.NotesOut, responses=PROBLEMS, tags=["tables"])
async def get_notes(request: Request, id: Id, key: KeyQuery = None) -> Any:
    """Variations and comments that were kept with the table."""
    table = await _tables(request).open(id)
    table.role(key, request.scope["meijin.full"])
    notes = await _tables(request).store.notes(id)
    return answer({"version": table.body["notes"], "notes": notes or {"comment": "", "nodes": []}})


@router.post("/tables/{id}/notes", response_model=schema.TableOut, responses=PROBLEMS, tags=["tables"])
async def set_notes(request: Request, id: Id, given: schema.NotesIn) -> Any:
    """Keep variations and comments with the table; every move must be legal where it stands."""
    table = await _tables(request).open(id)
    role = table.role(given.key, request.scope["meijin.full"])
    await table.write(role, given.notes)
    return answer(table.encoded(role))
