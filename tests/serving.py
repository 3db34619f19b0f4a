"""A real server for tests: uvicorn in a thread, with real worker processes, and clients that talk to it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from websockets.sync.client import ClientConnection, connect

from meijin.cli.serve import config
from meijin.web.server.app import create_app
from meijin.web.server.settings import Limits, Settings

PATIENCE = 180.0  # seconds for an answer; a cold machine may have to compile


class Server:
    """What a test knows of a running server."""

    def __init__(self, settings: Settings, app: Any):
        self.settings, self.app = settings, app
        self.address = f"127.0.0.1:{settings.port}"
        self.http = httpx.Client(base_url=f"http://{self.address}", timeout=PATIENCE)

    def get(self, path: str, **params: Any) -> Any:
        return self._json(self.http.get(f"/api/{path}", params=params))

    def post(self, path: str, **body: Any) -> Any:
        return self._json(self.http.post(f"/api/{path}", json=body))

    def _json(self, response: httpx.Response) -> Any:
        assert response.status_code == 200, response.text
        return response.json()

    def refusal(self, path: str, **body: Any) -> str:
        """The code of a request that must be refused."""
        response = self.http.post(f"/api/{path}", json=body)
        assert 400 <= response.status_code < 500, (response.status_code, response.text)
        found = response.json()
        assert set(found) == {"code", "message"} and found["message"]
        return str(found["code"])

    @contextmanager
    def socket(self, **options: Any) -> Iterator[Talk]:
        with connect(f"ws://{self.address}/api/socket", open_timeout=PATIENCE, **options) as made:
            yield Talk(made)


class Talk:
    """One WebSocket."""

    def __init__(self, made: ClientConnection):
        self.raw = made
        self._numbers = 0

    def say(self, type: str, **fields: Any) -> int:
        self._numbers += 1
        self.raw.send(json.dumps({"id": self._numbers, "type": type, **fields}))
        return self._numbers

    def hear(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.raw.recv(timeout=PATIENCE))
        return found

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message that is wanted; the others are passed over."""
        while not wanted(message := self.hear()):
            pass
        return message

    def ask(self, type: str, **fields: Any) -> dict[str, Any]:
        """The first reply to a message."""
        number = self.say(type, **fields)
        return self.until(lambda m: m["id"] == number)


@contextmanager
def serving(data: Path, *, limits: Limits | None = None, **settings: Any) -> Iterator[Server]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        settings = {"warm": "", "modules": False, "runs": data / "runs", **settings}
        made = Settings(port=port, data=data, limits=limits or Limits(), **settings)
        app = create_app(made)
        server = uvicorn.Server(config(app, made))
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            thread.join(0.01)
        found = Server(made, app)
        try:
            yield found
        finally:
            found.http.close()
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive(), "the server did not end"
