"""Records and pictures from the server: what a person saves can be read again, and what is wrong is named."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest

from meijin.web.server import schema
from serving import Server, serving

LINE = [3, 3, 2, 2, 4, 4, 1]  # Connect Four: seat 0 has four in a row


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as made:
        yield made


@pytest.mark.parametrize("format", ["jsonl", "sgf", "pgn"])
def test_a_record_is_read_as_it_was_written(server: Server, format: str) -> None:
    written = server.post("record", at={"game": "connect_four", "moves": LINE}, format=format, agents=["Ada", "Bo"])
    schema.RecordOut.model_validate(written)
    read = server.post("read", text=written["text"])
    schema.ReadOut.model_validate(read)
    assert read["format"] == format and not read["more"]
    (game,) = read["games"]
    assert game["moves"] == LINE and game["agents"] == ["Ada", "Bo"] and game["scores"] == [1.0, -1.0]


@pytest.mark.parametrize("format", ["jsonl", "sgf", "pgn"])
def test_a_record_keeps_the_position_where_its_game_began(server: Server, format: str) -> None:
    at = {"game": "tic_tac_toe", "position": "1OX/3/2X 1", "moves": [4]}
    (game,) = server.post("read", text=server.post("record", at=at, format=format)["text"])["games"]
    assert {name: game[name] for name in at} == at


def test_a_record_of_a_table_has_its_people_and_its_end(server: Server) -> None:
    made = server.post("tables", game="minishogi", seats=[{"kind": "person", "name": "Ada"}])
    move = made["look"]["legal"][0]
    server.post(f"tables/{made['id']}/play", move=move, ply=0)
    server.post(f"tables/{made['id']}/resign", seat=1, ply=1)
    for format in ("jsonl", "kif", "usi"):
        written = server.post("record", table=made["id"], format=format)
        (game,) = server.post("read", text=written["text"], format=format)["games"]
        assert game["moves"] == [move]
        if format == "jsonl":
            assert game["agents"] == ["Ada", "person 1"] and game["lost"] == 1 and game["reason"] == "resigned"


def test_texts_that_are_no_record_are_refused_with_the_line(server: Server) -> None:
    good = json.loads(server.post("record", at={"game": "connect_four", "moves": LINE}, format="jsonl")["text"])
    for change in (
        {"moves": [3, 3, 99]},
        {"moves": ["#00ff"]},
        {"game": "connect_four(width=1000000000)"},
        {"game": "../../etc/passwd"},
        {"agents": ["one"]},
        {"scores": [0, 0]},
        {"record": "00ff"},
    ):
        response = server.http.post("/api/read", json={"text": json.dumps(good | change)})
        assert response.status_code == 422 and "line 1" in response.json()["message"], change
        assert "/tmp" not in response.json()["message"]
    for text in ("(;GM[1]SZ[9];B[zz])", "[Event", "(", "{", "\x00", "position startpos moves zz", "(" * 100_000):
        assert server.refusal("read", text=text) == "bad"
    assert server.refusal("record", at={"game": "connect_four", "moves": LINE}, format="exe") == "bad"
    assert server.refusal("record", format="sgf") == "bad"


def test_pictures_of_positions_and_games(server: Server) -> None:
    image = pytest.importorskip("PIL.Image")
    at = {"game": "connect_four", "moves": LINE}
    drawn = server.http.post("/api/picture", json={"at": at})
    assert drawn.headers["content-type"] == "image/svg+xml" and drawn.text.startswith("<svg")
    png = server.http.post("/api/picture", json={"at": at, "format": "png", "size": 200})
    assert max(image.open(io.BytesIO(png.content)).size) == 200
    gif = image.open(io.BytesIO(server.http.post("/api/picture", json={"at": at, "format": "gif"}).content))
    assert gif.format == "GIF" and gif.n_frames == len(LINE) + 1
    made = server.post("tables", game="2048", seed=1)
    webp = server.http.post("/api/picture", json={"table": made["id"], "format": "webp", "size": 100})
    assert image.open(io.BytesIO(webp.content)).format == "WEBP"
    assert server.refusal("picture", at=at, size=100_000) == "bad"
    assert server.refusal("picture", table=made["id"], key="wrong") == "refused"
