"""Who may use a server, and what hostile clients get: a clear error or a closed socket, while others play on."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from meijin.web.server.guard import Rates
from meijin.web.server.settings import Limits, Settings
from meijin.web.server.socket import Outbox
from serving import Server, serving

TOKEN = "a secret"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server"), limits=Limits(message=5000, body=20_000, sockets=4)) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that needs a token; its client has it."""
    with serving(tmp_path_factory.mktemp("shared"), token=TOKEN, hosts=("games.example",)) as made:
        made.http.headers["Authorization"] = f"Bearer {TOKEN}"
        yield made


# ---- other sites ----


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},  # DNS rebinding
        {"Host": "evil.example:8000"},
        {"Host": "192.168.0.7"},
        {"Host": ""},
        {"Host": "[::1"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},  # another server on this machine
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_sites_may_not_use_the_server(server: Server, headers: dict[str, str]) -> None:
    for method, path in (("GET", "/api/tables"), ("POST", "/api/tables")):
        response = server.http.request(method, path, headers=headers, json={"game": "tic_tac_toe"})
        assert response.status_code in (400, 403), headers
    if set(headers) != {"Host"}:
        with pytest.raises(InvalidStatus), server.socket(additional_headers=headers):
            pass


def test_a_form_of_another_site_cannot_pose_as_json(server: Server) -> None:
    body = json.dumps({"game": "tic_tac_toe"})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        response = server.http.post("/api/tables", content=body, headers={"Content-Type": kind})
        assert response.status_code == 422


def test_its_own_page_may(server: Server) -> None:
    own = {"Origin": f"http://{server.address}", "Sec-Fetch-Site": "same-origin"}
    assert server.http.get("/api/tables", headers=own).status_code == 200
    with server.socket(additional_headers=own) as talk:
        assert talk.ask("ping")["type"] == "pong"


def test_answers_forbid_what_pages_do_not_need(server: Server) -> None:
    for path in ("/api/features", "/api/nothing", "/"):
        headers = server.http.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy and "'unsafe-eval'" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-opener-policy"] == "same-origin" and "server" not in headers


# ---- guests ----


def test_a_guest_may_play_where_it_has_a_key_and_nothing_else(shared: Server) -> None:
    made = shared.post("tables", game="tic_tac_toe")
    key = made["keys"]["seats"][0]
    with httpx.Client(base_url=f"http://{shared.address}") as guest:
        assert guest.get("/api/features").json()["access"] == "guest"
        for method, path in (
            ("GET", "/api/tables"),
            ("POST", "/api/tables"),
            ("GET", f"/api/tables/{made['id']}"),
            ("GET", "/api/runs"),
            ("POST", "/api/runs"),
            ("GET", "/api/tournaments"),
            ("POST", "/api/tournaments"),
            ("POST", "/api/read"),
            ("POST", "/api/played"),
            ("GET", "/api/fame"),
            ("GET", "/api/designer"),
            ("GET", "/api/description?game=connect_four"),
        ):
            bodies = {
                "/api/read": {"text": "x"},
                "/api/runs": {"name": "a", "game": "hex"},
                "/api/tournaments": {"name": "a", "games": ["hex"], "agents": [{"expression": "random"}]},
                "/api/played": {},
            }
            body = bodies.get(path, {"game": "tic_tac_toe"}) if method == "POST" else None
            assert guest.request(method, path, json=body).status_code == 403, path
        assert guest.get("/api/description", params={"game": "tic_tac_toe"}).status_code == 200
        played = guest.post(f"/api/tables/{made['id']}/play", json={"key": key, "move": 4, "ply": 0})
        assert played.status_code == 200 and played.json()["keys"] is None
    with shared.socket() as talk:
        assert talk.ask("join", table=made["id"])["code"] == "refused"
        assert talk.ask("join", table=made["id"], key=key)["type"] == "table"
        assert talk.ask("analyse", at={"game": "tic_tac_toe"}, agent="mcts")["code"] == "refused"
        assert talk.ask("follow", what="designer")["code"] == "refused"


def test_the_link_with_the_token_lets_a_browser_in(shared: Server) -> None:
    with httpx.Client(base_url=f"http://{shared.address}") as browser:
        assert "set-cookie" not in browser.get("/", params={"token": "wrong"}).headers
        assert browser.get("/api/features").json()["access"] == "guest"
        entered = browser.get("/", params={"token": TOKEN})
        assert entered.status_code == 303 and entered.headers["location"] == "/"
        elsewhere = browser.get(f"http://{shared.address}//evil.example/%0d%0aX-Evil:1", params={"token": TOKEN})
        assert elsewhere.headers["location"].startswith("/evil.example") and "x-evil" not in elsewhere.headers
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        assert browser.get("/api/features").json()["access"] == "full"
        assert browser.get("/api/features", headers={"Host": "games.example"}).status_code == 200
    assert httpx.get(f"http://{shared.address}/api/tables", headers={"Authorization": "Bearer x"}).status_code == 403


def test_beyond_this_machine_there_is_always_a_token() -> None:
    assert not Settings(host="0.0.0.0").local and Settings().local and Settings(host="::1").local


# ---- hostile requests ----


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/static/../../server/app.py",
        "/%00",
        "/..%5c..%5cwindows",
        "/api/tables/..%2f..",
        "/api/tables/%00",
        "/api/tables/" + "x" * 3000,
        "/api/description?game=../../etc/passwd",
        "/api/description?game=" + "(" * 300,
        "/api/description?game=%ff%fe",
        "/api/agents?game=hex(size=999999999)",
        "/api/tables?count=1e99",
        "/api/tables?before=nan",
        "/api/nothing",
    ],
)
def test_strange_paths_find_nothing(server: Server, path: str) -> None:
    """Sent as they are: clients of good faith would tidy them up first."""
    import socket

    with socket.create_connection(server.address.split(":"), timeout=30) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: {server.address}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert 400 <= int(answer.split()[1]) < 500, answer[:300]
    assert b"root:" not in answer and b"import" not in answer


def test_requests_that_are_too_large_or_nonsense(server: Server) -> None:
    large = b'{"game": "' + b"x" * 30_000 + b'"}'
    headers = {"Content-Type": "application/json"}
    assert server.http.post("/api/tables", content=large, headers=headers).status_code == 429
    chunked = server.http.post("/api/tables", content=iter([large[:100], large[100:]]), headers=headers)
    assert chunked.status_code == 429
    for body in (b"", b"{", b"[]", b"null", b"\xff", b'{"game": NaN}', b"[" * 10_000, b'{"game": "\\ud800"}'):
        response = server.http.post("/api/tables", content=body, headers=headers)
        assert response.status_code in (400, 404, 422) and response.json()["message"], body[:20]


def test_hostile_messages_are_answered_and_others_play_on(server: Server) -> None:
    made = server.post("tables", game="tic_tac_toe")
    other = server.post("tables", game="connect_four")
    messages: list[Any] = [
        b"\xff\xfe", b"", "", "null", "[]", "7", '"text"', "{", "[" * 2000, "{}", '{"id": 1}', '{"type": "ping"}',
        {"id": -1, "type": "ping"}, {"id": "1", "type": "ping"}, {"id": True, "type": "ping"},
        {"id": 1e400, "type": "ping"}, {"id": 10**30, "type": "ping"}, {"id": 1, "type": "eval"},
        {"id": 1, "type": "ping", "extra": 1}, {"id": 1, "type": ["ping"]},
        {"id": 1, "type": "join", "table": "../../etc"}, {"id": 1, "type": "join", "table": "nothing"},
        {"id": 1, "type": "join", "table": made["id"], "key": "wrong"},
        {"id": 1, "type": "play", "table": made["id"], "move": 10**9, "ply": 0},
        {"id": 1, "type": "play", "table": made["id"], "move": 0, "ply": 5},  # out of turn
        {"id": 1, "type": "play", "table": made["id"], "move": 0.5, "ply": 0},
        {"id": 1, "type": "play", "table": other["id"], "key": made["keys"]["host"], "move": 0, "ply": 0},
        {"id": 1, "type": "look", "at": {"game": "tic_tac_toe", "moves": [0], "position": "#00"}},
        {"id": 1, "type": "look", "at": {"game": "tic_tac_toe", "moves": [[0]]}},
        {"id": 1, "type": "seat", "table": made["id"], "seat": 63, "sitter": {"kind": "person"}},
        {"id": 1, "type": "follow", "what": "train", "name": "../x"},
        {"id": 1, "type": "opinions", "run": "../x", "at": {"game": "tic_tac_toe"}},
    ]  # fmt: skip
    with server.socket() as hostile, server.socket() as friend:
        friend.ask("join", table=made["id"])
        for message in messages:
            hostile.raw.send(message if isinstance(message, str | bytes) else json.dumps(message))
            reply = hostile.hear()
            assert reply["type"] == "error" and reply["message"], message
        assert hostile.ask("ping")["type"] == "pong"
        friend.say("play", table=made["id"], move=4, ply=0)
        friend.until(lambda m: m["type"] == "table" and m["table"]["moves"] == [4])
        number = friend.say("play", table=made["id"], move=4, ply=0)  # the same message once more
        assert friend.until(lambda m: m["id"] == number)["code"] == "illegal"


def test_a_message_that_is_too_long_closes_the_socket(server: Server) -> None:
    with server.socket() as hostile, server.socket() as friend:
        with pytest.raises(ConnectionClosed):
            hostile.raw.send(json.dumps({"id": 1, "type": "ping", "x": "y" * 10_000}))
            hostile.hear()
        assert friend.ask("ping")["type"] == "pong"


def test_only_so_many_sockets(server: Server) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(server.socket())
        with pytest.raises((InvalidStatus, ConnectionClosed)), server.socket() as surplus:
            surplus.ask("ping")
    with server.socket() as again:
        assert again.ask("ping")["type"] == "pong"


# ---- floods and slow readers ----


def test_a_flood_of_messages_is_refused_but_not_for_others(tmp_path_factory: pytest.TempPathFactory) -> None:
    limits = Limits(requests_burst=50, requests_rate=0.5)
    with serving(tmp_path_factory.mktemp("server"), limits=limits) as server:
        with server.socket() as flooder, server.socket() as friend:
            for _ in range(100):
                flooder.say("ping")
            kinds = [flooder.hear()["type"] for _ in range(100)]
            assert kinds[:50] == ["pong"] * 50 and "error" in kinds[50:]
            assert friend.ask("ping")["type"] == "pong"
        codes = [server.http.get("/api/features").status_code for _ in range(60)]
        assert codes[0] == 200 and codes[-1] == 429
        assert server.http.get("/").status_code != 429  # the page itself still comes


def test_buckets_fill_again() -> None:
    rates = Rates(burst=2, rate=1e9)
    assert all(rates.allows("a") for _ in range(100))
    rates = Rates(burst=2, rate=0)
    assert [rates.allows("a") for _ in range(3)] == [True, True, False] and rates.allows("b")


class Stuck:
    """A client that reads its first message and no other."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def send_text(self, text: str) -> None:
        self.heard.append(text)
        if len(self.heard) > 1:
            await asyncio.Event().wait()


def test_who_does_not_read_gets_the_newest_and_is_let_go() -> None:
    async def scenario() -> None:
        client = Stuck()
        out = Outbox(client, 0.05)  # type: ignore[arg-type]
        for number in range(1000):
            out.put(b"%d" % number, "table")
        assert not out.full
        out.put(b"other")
        with pytest.raises(TimeoutError):
            await out.run()
        assert client.heard == ["999", "other"]
        for number in range(2000):
            out.put(b"%d" % number)
        assert out.full

    asyncio.run(scenario())
