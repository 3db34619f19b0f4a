"""The REST routes of training runs and of the designer's page."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from meijin.web.server import schema_jobs
from meijin.web.server.errors import Refusal
from meijin.web.server.jobs import Job
from meijin.web.server.routes import PROBLEMS, answer, api, full

router = APIRouter(prefix="/api")

Name = Annotated[str, Path(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", description="A run.")]


def _may_train(request: Request) -> None:
    full(request)
    if not api(request).settings.training:
        raise Refusal(
            "refused", "nobody can start, stop or resume training here: the server was started with --no-training"
        )


@router.get("/runs", response_model=list[schema_jobs.RunSummary], responses=PROBLEMS, tags=["training"])
async def runs(request: Request) -> Any:
    """The training runs there are, those that changed last first."""
    full(request)
    found = await api(request).lanes.chores.call("list_runs", {})
    begun = {job.name: job.public() for job in api(request).jobs.of("train")}
    return answer([run | {"job": begun.get(run["name"])} for run in found])


@router.post("/runs", response_model=schema_jobs.JobOut, responses=PROBLEMS, tags=["training"])
async def start_run(request: Request, given: schema_jobs.TrainIn) -> Any:
    """Begin a training run. It is resumed should the server be restarted."""
    _may_train(request)
    asked = await api(request).lanes.chores.call("check_run", given.model_dump())
    job = await api(request).jobs.begin("train", given.name, asked | {"resume": False})
    return answer(job.public())


@router.get("/runs/{name}", response_model=schema_jobs.RunOut, responses=PROBLEMS, tags=["training"])
async def run(request: Request, name: Name) -> Any:
    """A run: its settings, metrics and checkpoints."""
    full(request)
    found = await api(request).lanes.chores.call("show_run", {"name": name})
    job = api(request).jobs.get("train", name)
    return answer(found | {"job": None if job is None else job.public()})


@router.get("/runs/{name}/events", response_model=schema_jobs.Events, responses=PROBLEMS, tags=["training"])
async def run_events(request: Request, name: Name, after: Annotated[int, Query(ge=0)] = 0) -> Any:
    """What a run that this server has begun told since; the socket tells it as it happens."""
    full(request)
    job = _job(request, name)
    return answer({"job": job.public(), "events": [event for event in job.events if event["serial"] > after]})


@router.post("/runs/{name}/stop", response_model=schema_jobs.JobOut, responses=PROBLEMS, tags=["training"])
async def stop_run(request: Request, name: Name) -> Any:
    """Have a run end soon; it can be resumed."""
    _may_train(request)
    job = _job(request, name)
    stopping = asyncio.ensure_future(api(request).jobs.stop(job))
    await asyncio.wait([stopping], timeout=0.5)
    return answer(job.public())


@router.post("/runs/{name}/resume", response_model=schema_jobs.JobOut, responses=PROBLEMS, tags=["training"])
async def resume_run(request: Request, name: Name, given: schema_jobs.ResumeIn) -> Any:
    """Continue a run, of this server or of the command line."""
    _may_train(request)
    await api(request).lanes.chores.call("show_run", {"name": name})
    job = await api(request).jobs.begin("train", name, given.model_dump() | {"name": name, "resume": True})
    return answer(job.public())


def _job(request: Request, name: str) -> Job:
    job: Job | None = api(request).jobs.get("train", name)
    if job is None:
        raise Refusal("unknown", f"this server has begun no run '{name}'")
    return job


# ---- the designer's page ----


@router.get("/designer", response_model=schema_jobs.DesignerOut, responses=PROBLEMS, tags=["designer"])
async def designer(request: Request) -> Any:
    """The files that the server was started with, their games, and the newest results of their checks."""
    full(request)
    return answer(api(request).designer.public())


@router.post("/designer/check", response_model=schema_jobs.DesignerOut, responses=PROBLEMS, tags=["designer"])
async def check(request: Request, given: schema_jobs.CheckIn) -> Any:
    """Check a game of these files again."""
    full(request)
    await api(request).designer.again(given.game)
    return answer(api(request).designer.public())
