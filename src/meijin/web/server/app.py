"""The application: `create_app(settings)`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from meijin import __version__
from meijin.core.wasm.link import missing
from meijin.web.server import arena, training
from meijin.web.server.analyses import Analyses
from meijin.web.server.catalogue import Catalogue
from meijin.web.server.designer import Designer
from meijin.web.server.errors import Refusal
from meijin.web.server.guard import Guard
from meijin.web.server.jobs import Jobs
from meijin.web.server.lanes import Lanes
from meijin.web.server.routes import answer, router
from meijin.web.server.settings import Settings
from meijin.web.server.socket import Connection, explained
from meijin.web.server.table_store import TableStore
from meijin.web.server.tables import WARMING, Tables

STATIC = Path(__file__).parents[1] / "static"
TEND = 10.0  # seconds between looks at what is no longer used

_log = logging.getLogger(__name__)


def create_app(settings: Settings) -> FastAPI:
    """The application with its workers and tables; they live from its start-up to its shutdown."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.lanes = Lanes(settings)
        store = TableStore(settings.data / "tables.db")
        app.state.tables = Tables(settings, app.state.lanes, store)
        app.state.analyses = Analyses(app.state.tables)
        app.state.catalogue = Catalogue(app.state.lanes)
        app.state.jobs = Jobs(settings, store)
        app.state.designer = Designer(settings, app.state.catalogue, app.state.tables, app.state.jobs)
        app.state.sockets = 0
        await app.state.lanes.start()
        await app.state.designer.start()
        app.state.tables.spawn(_warm(app))
        await app.state.jobs.start()
        tending = asyncio.create_task(_tend(app))
        try:
            yield
        finally:
            tending.cancel()
            await app.state.designer.close()
            await app.state.jobs.close()
            await app.state.tables.close()
            await app.state.lanes.close()
            store.close()

    app = FastAPI(
        redirect_slashes=False,
        title="Meijin",
        version=__version__,
        summary="Play, look inside and compare: the server of Meijin's web app.",
        lifespan=lifespan,
        docs_url=None,  # they would load scripts from another site
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.settings = settings
    app.state.features = lambda full: _features(settings, full)
    for routes in (router, arena.router, training.router):
        app.include_router(routes)
    app.add_api_websocket_route("/api/socket", _socket)
    app.add_api_route("/api/{path:path}", _nothing, include_in_schema=False)  # or else the files would be asked
    if STATIC.is_dir():
        app.mount("/", StaticFiles(directory=STATIC, html=True), name="static")
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)
    app.add_middleware(Guard, settings=settings)
    return app


async def _nothing(path: str) -> None:
    raise HTTPException(404)


async def _warm(app: FastAPI) -> None:
    """Ask, before anybody does, what the first page wants to know, and have an agent ready for the first game."""
    await app.state.catalogue.games()
    if game := app.state.settings.warm:
        asked = {"game": game, "position": None, "moves": [], "agent": None, "most": WARMING}
        await app.state.lanes.moves.call("warm", asked)


async def _tend(app: FastAPI) -> None:
    while True:
        await asyncio.sleep(TEND)
        app.state.tables.tend()
        app.state.jobs.tend()


def _features(settings: Settings, full: bool) -> dict[str, Any]:
    limits = settings.limits
    return {
        "version": __version__,
        "tables": True,
        "links": True,
        "records": ["jsonl", "sgf", "pgn", "ggf", "usi", "kif", "csa"],
        "pictures": ["svg", "png", "gif", "webp"] if find_spec("PIL") else ["svg"],
        "arena": full,
        "training": full,
        "train": full and settings.training,
        "nets": find_spec("torch") is not None,
        "designer": full and bool(settings.load),
        "modules": full and settings.modules and missing() is None,
        "access": "full" if full else "guest",
        "cores": settings.cores,
        "limits": {"seconds": limits.think_seconds, "analyses": limits.analyses_each, "body": limits.body},
    }


async def _socket(socket: WebSocket) -> None:
    state = socket.app.state
    if state.sockets >= state.settings.limits.sockets:
        await socket.close(1013, "too many connections; try again later")
        return
    await socket.accept()
    state.sockets += 1
    try:
        await Connection(socket).run()
    finally:
        state.sockets -= 1


# ---- errors ----


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return _problem(error)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _problem(Refusal("bad", explained(error.errors())))


async def _http(request: Request, error: Exception) -> Response:
    """Errors of the framework, such as an unknown path, in our form."""
    assert isinstance(error, HTTPException)
    response = answer({"code": "unknown" if error.status_code == 404 else "bad", "message": str(error.detail)})
    response.status_code = error.status_code
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response


def _problem(error: Refusal) -> Response:
    response = answer(error.to_dict())
    response.status_code = error.status
    return response
