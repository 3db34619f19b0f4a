"""The REST routes of tournaments, the hall of fame and the games database."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from meijin.web.server import schema, schema_jobs
from meijin.web.server.errors import Refusal
from meijin.web.server.routes import PROBLEMS, answer, api, full

router = APIRouter(prefix="/api")

Name = Annotated[
    str, Path(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", description="A tournament.")
]


async def _ask(request: Request, call: str, **asked: Any) -> Any:
    full(request)
    return await api(request).lanes.chores.call(call, asked)


# ---- tournaments ----


@router.get("/tournaments", response_model=list[schema_jobs.TournamentSummary], responses=PROBLEMS, tags=["arena"])
async def tournaments(request: Request) -> Any:
    """The tournaments there are, the newest first."""
    found = await _ask(request, "list_tournaments")
    begun = {job.name: job.public() for job in api(request).jobs.of("tournament")}
    return answer([each | {"job": begun.get(each["name"])} for each in found])


@router.post("/tournaments", response_model=schema_jobs.JobOut, responses=PROBLEMS, tags=["arena"])
async def start_tournament(request: Request, given: schema_jobs.TournamentIn) -> Any:
    """Begin a tournament. It is resumed should the server be restarted."""
    api(request).jobs.expect_room()
    await _ask(request, "plan_tournament", **given.model_dump(exclude_none=True))
    job = await api(request).jobs.begin("tournament", given.name, {"name": given.name})
    return answer(job.public())


@router.get("/tournaments/{name}", response_model=schema_jobs.TournamentOut, responses=PROBLEMS, tags=["arena"])
async def tournament(request: Request, name: Name) -> Any:
    """Crosstable and ratings with 95 % intervals of what has been played so far."""
    found = await _ask(request, "standings", name=name)
    job = api(request).jobs.get("tournament", name)
    return answer(found | {"job": None if job is None else job.public()})


@router.post("/tournaments/{name}/stop", response_model=schema_jobs.JobOut, responses=PROBLEMS, tags=["arena"])
async def stop_tournament(request: Request, name: Name) -> Any:
    """Have a tournament stop after the games in progress; it can be resumed."""
    full(request)
    job = api(request).jobs.get("tournament", name)
    if job is None:
        raise Refusal("unknown", f"this server has begun no tournament '{name}'")
    stopping = asyncio.ensure_future(api(request).jobs.stop(job))
    await asyncio.wait([stopping], timeout=0.5)
    return answer(job.public())


@router.post("/tournaments/{name}/resume", response_model=schema_jobs.JobOut, responses=PROBLEMS, tags=["arena"])
async def resume_tournament(request: Request, name: Name, given: schema_jobs.MoreRounds) -> Any:
    """Continue a tournament, perhaps for more rounds."""
    if given.rounds is not None:
        await _ask(request, "more_rounds", name=name, rounds=given.rounds)
    await _ask(request, "standings", name=name)
    job = await api(request).jobs.begin("tournament", name, {"name": name})
    return answer(job.public())


@router.post("/tournaments/{name}/fame", response_model=list[str], responses=PROBLEMS, tags=["arena"])
async def enter_fame(request: Request, name: Name) -> Any:
    """Enter a finished tournament in the hall of fame; the answer names the games in which that changed anything."""
    return answer(await _ask(request, "enter_hall", name=name))


@router.get("/fame", response_model=list[schema_jobs.PlaceOut], responses=PROBLEMS, tags=["arena"])
async def fame(
    request: Request, game: Annotated[str | None, Query(max_length=400, description="Only this game.")] = None
) -> Any:
    """The hall of fame: Glicko-2 ratings over many tournaments, game by game."""
    return answer(await _ask(request, "hall", game=game))


# ---- games ----


@router.post("/played", response_model=schema_jobs.PlayedOut, responses=PROBLEMS, tags=["arena"])
async def played(request: Request, given: schema_jobs.PlayedIn) -> Any:
    """Games of the database that fit some filters."""
    filters = given.filters.model_dump(exclude_none=True)
    return answer(await _ask(request, "list_played", filters=filters, skip=given.skip))


@router.get("/played/{id}", response_model=schema.ReadGame, responses=PROBLEMS, tags=["arena"])
async def played_game(request: Request, id: Annotated[int, Path(ge=0, lt=1 << 53)]) -> Any:
    """One game of the database with its moves."""
    return answer(await _ask(request, "show_played", id=id))


@router.post("/openings", response_model=list[schema_jobs.BranchOut], responses=PROBLEMS, tags=["arena"])
async def openings(request: Request, given: schema_jobs.OpeningsIn) -> Any:
    """What was played after some moves, how often, and how it went."""
    filters = given.filters.model_dump(exclude_none=True)
    return answer(await _ask(request, "opening_tree", game=given.game, moves=given.moves, filters=filters))
