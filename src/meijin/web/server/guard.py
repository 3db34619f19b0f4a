"""Who may ask: every request passes here first.

- Host: the server answers only to names it knows, so that no other site's name can be made to point at it.
- Origin: a page of another site, or of another port of this machine, may not drive it.
- Token: full access beyond this machine needs one. Without it a client is a guest: it may look, and use the tables
  whose keys it has.
- Sizes and rates: what is too much is refused before it is read.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from meijin.web.server.errors import Refusal
from meijin.web.server.settings import Settings, is_loopback

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "meijin_token"
BODY_SECONDS = 30.0  # that a client may take to send a request
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
}
_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """ASGI middleware."""

    def __init__(self, app: App, settings: Settings):
        self._app, self._settings = app, settings
        self._rates = Rates(settings.limits.requests_burst, settings.limits.requests_rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            self._check(scope, headers)
        except Refusal as error:
            if scope["type"] == "http":
                await _refuse(send, error)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": error.message[:120]})
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        if (token := self._offered(scope)) is not None:
            await _enter(send, token, scope["path"])
            return
        body = Body(receive, self._settings.limits.body)

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        try:
            await body.prepare(headers)
        except Refusal as error:
            await _refuse(send, error)
            return
        await self._app(scope, body.receive, sent)

    def _check(self, scope: Scope, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        if not known_host(host, self._settings):
            raise Refusal(
                "refused", f"this server does not answer to the name {host!r}; start it with --name to allow that"
            )
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise Refusal("refused", f"a page of {origin} may not use this server")
        api = scope["path"].startswith("/api/")
        safe = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        site = headers.get("sec-fetch-site", "none")
        navigated = safe and headers.get("sec-fetch-mode") == "navigate"
        if api and site not in ("none", "same-origin") and not navigated:
            raise Refusal("refused", "a page of another site may not use this server")
        client = (scope.get("client") or ("",))[0]
        scope["meijin.client"] = client
        scope["meijin.full"] = self._full(headers)
        if api and not self._rates.allows(client):
            raise Refusal("limit", "too many requests; wait a moment")

    def _full(self, headers: dict[str, str]) -> bool:
        """Whether a request shows that it may do everything."""
        token = self._settings.token
        if token is None:
            return self._settings.local
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and secrets.compare_digest(given.strip().encode(), token.encode()):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and secrets.compare_digest(cookie.value.encode(), _stamp(token).encode())

    def _offered(self, scope: Scope) -> str | None:
        """The token of a link, which the browser keeps from then on."""
        if self._settings.token is None or scope["method"] != "GET" or scope["path"].startswith("/api/"):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return given if secrets.compare_digest(given.encode(), self._settings.token.encode()) else None


def known_host(host: str, settings: Settings) -> bool:
    """Whether a Host header names this server: by an address, as localhost, or by a name it was given.

    Another site can make its name point here, but not an address.
    """
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    if name is None:
        return False
    if name in ("localhost", *(each.lower() for each in settings.hosts), settings.host.lower()):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return not settings.local or is_loopback(name)


class Rates:
    """A bucket per client, which fills again with time."""

    def __init__(self, burst: int, rate: float):
        self._burst, self._rate = burst, rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client -> (left, when)

    def allows(self, client: str) -> bool:
        now = time.monotonic()
        left, when = self._buckets.pop(client, (float(self._burst), now))
        left = min(self._burst, left + (now - when) * self._rate)
        allowed = left >= 1
        self._buckets[client] = (left - 1 if allowed else left, now)
        if len(self._buckets) > 10_000:
            self._buckets.popitem(last=False)
        return allowed


class Body:
    """A request's body, read whole before anybody works on it; refused when it is too large or too slow."""

    def __init__(self, receive: Receive, most: int):
        self._receive, self._most = receive, most
        self._data = b""
        self._given = False

    async def prepare(self, headers: dict[str, str]) -> None:
        size = headers.get("content-length", "0")
        if size.isdigit() and int(size) > self._most:
            raise self._large()
        if size == "0" and "transfer-encoding" not in headers:
            return
        parts: list[bytes] = []
        total = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        return
                    parts.append(message.get("body", b""))
                    total += len(parts[-1])
                    if total > self._most:
                        raise self._large()
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            raise Refusal("limit", "the request took too long to arrive") from None
        self._data = b"".join(parts)

    def _large(self) -> Refusal:
        return Refusal("limit", f"the request is too large; at most {self._most:,} bytes are read")

    async def receive(self) -> MutableMapping[str, Any]:
        if not self._given:
            self._given = True
            return {"type": "http.request", "body": self._data, "more_body": False}
        return await self._receive()


async def _refuse(send: Send, error: Refusal) -> None:
    body = json.dumps(error.to_dict()).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *_HEADERS]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _stamp(token: str) -> str:
    """A token as a cookie can hold it."""
    return hashlib.sha256(token.encode()).hexdigest()


async def _enter(send: Send, token: str, path: str) -> None:
    """Keep what proves the token in a cookie, and the token out of the address."""
    cookie = f"{COOKIE}={_stamp(token)}; Path=/; HttpOnly; SameSite=Strict"
    location = quote("/" + path.lstrip("/\\"))  # never a line break, never another site
    headers = [(b"location", location.encode()), (b"set-cookie", cookie.encode()), *_HEADERS]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
