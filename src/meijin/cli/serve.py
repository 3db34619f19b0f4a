"""`meijin serve`: the web app."""

from __future__ import annotations

import contextlib
import secrets
import socket
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meijin.core.errors import BadParameter, MeijinError

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from meijin.web.server.settings import Settings


def serve(
    host: str,
    port: int,
    browse: bool,
    load: Sequence[Path],
    token: str | None,
    names: Sequence[str],
    agents: Sequence[str],
    data: Path | None,
    runs: Path,
    training: bool,
) -> None:
    import uvicorn

    from meijin.core.expression import parse
    from meijin.web.server.app import create_app
    from meijin.web.server.settings import Settings, is_loopback

    for path in load:
        if not path.is_file():
            raise BadParameter(f"--load '{path}': there is no such file")
    for expression in agents:
        parse(expression)
    if not is_loopback(host) and token is None:
        token = secrets.token_urlsafe(18)
    given: dict[str, Any] = {} if data is None else {"data": data}
    listening = _bind(host, port)
    port = listening.getsockname()[1]
    settings = Settings(
        host=host, port=port, token=token, hosts=tuple(names), load=tuple(path.resolve() for path in load),
        agents=tuple(agents), runs=runs.resolve(), training=training, **given,
    )  # fmt: skip
    app = create_app(settings)
    shown = f"[{host}]" if ":" in host else "localhost" if is_loopback(host) else host
    if host in ("0.0.0.0", "::"):
        shown = socket.gethostname() if socket.gethostname() in names else "localhost"
    address = f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
    print(f"Meijin is at {address}  (Ctrl-C ends it)", flush=True)
    server = uvicorn.Server(config(app, settings))
    if browse:
        _open_when_ready(server, address)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    if not server.started:
        raise MeijinError("the server could not start; the reason is above")


def config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How uvicorn serves the app."""
    import uvicorn

    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # addresses may hold keys
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=settings.limits.message,
        ws_per_message_deflate=False,  # it would cost each connection 300 kB
        timeout_graceful_shutdown=2,
        lifespan="on",
    )


def _bind(host: str, port: int) -> socket.socket:
    """The socket to listen on, so that a port in use is told before anything starts."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        made = socket.socket(family, socket.SOCK_STREAM)
        if sys.platform != "win32":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MeijinError(f"cannot listen on {host}:{port}: {reason}; choose another with --port") from None
    return made


def _open_when_ready(server: Any, address: str) -> None:
    import threading
    import time

    def wait() -> None:
        while not server.started and not server.should_exit:
            time.sleep(0.02)
        if server.started:
            webbrowser.open(address)

    threading.Thread(target=wait, daemon=True).start()
