"""Published pages in a real browser: no server, no network, a phone, a link sent to somebody, a notebook."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hands import Visitor

from meijin.core.catalogue import make
from meijin.core.state import State
from meijin.web.notebook import board
from meijin.web.wasm.publish import Site, site, write

GAMES = ("tic_tac_toe", "chomp")
TABLES = """() => Object.keys(localStorage).filter((key) => key.startsWith("meijin-table-"))
  .map((key) => JSON.parse(localStorage[key])).sort((a, b) => b.updated - a.updated)"""


class Host:
    """A static host that can go away."""

    def __init__(self, folder: Path):
        serve = functools.partial(_Handler, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small untrained net."""
    torch = pytest.importorskip("torch")
    from meijin.learning import files
    from meijin.learning.nets.config import NetConfig
    from meijin.learning.zero import checkpoint
    from meijin.learning.zero.nets import Net

    torch.manual_seed(3)
    small = NetConfig(blocks=1, channels=8, policy_channels=4, value_channels=2, value_hidden=8)
    folder = tmp_path_factory.mktemp("zero") / "run"
    checkpoint.save(folder / "checkpoints" / files.LATEST, Net(make("tic_tac_toe"), small).eval())
    return f'zero("{folder}", simulations=20)'


@pytest.fixture(scope="module")
def published(net: str) -> Site:
    return site([make(name) for name in GAMES], [net])


@pytest.fixture(scope="module")
def folder(published: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "page"
    write(published, made)
    return made


@pytest.fixture
def host(folder: Path) -> Iterator[Host]:
    made = Host(folder)
    yield made
    made.close()


@pytest.fixture
def visitor(browser: Any) -> Iterator[Callable[..., Visitor]]:
    """Open a page in a browser of its own: `visitor(address, "#/play/hex", width=390)`."""
    made: list[Visitor] = []

    def open_page(base: str, address: str = "", *, width: int = 1280, script: str = "") -> Visitor:
        context = browser.new_context(
            viewport={"width": width, "height": 800}, has_touch=width < 600, reduced_motion="reduce"
        )
        context.set_default_timeout(30_000)
        if script:
            context.add_init_script(script)
        made.append(Visitor(context, base))
        made[-1].go(address)
        return made[-1]

    yield open_page
    for each in made:
        each.context.close()
    for each in made:
        assert each.faults == []


def table(one: Visitor) -> dict[str, Any]:
    """The newest table that the page keeps."""
    return dict(one.page.evaluate(TABLES)[0])


def play_out(one: Visitor, name: str) -> list[int]:
    """Play seat 0 by mouse until the game is over; returns its moves."""
    game, said = make(name), make(name).describe()
    for _ in range(100):
        one.page.wait_for_selector('.stage[data-turn="0"], .status.over')
        now = table(one)
        moves = [ply[0] for ply in now["plies"]]
        if now["result"]:
            one.see(".status.over .result")
            return moves
        state = State(game).play_line(moves)
        if state.turn != 0:
            continue  # the page is ahead of what it keeps
        one.wait_for_ply(len(moves))
        one.play(said, int(state.legal_moves[len(moves) % len(state.legal_moves)]))
    raise AssertionError(f"{name} is not over")


@pytest.mark.parametrize("name", GAMES)
def test_a_game_by_mouse_after_the_host_is_gone(name: str, host: Host, visitor: Callable[..., Visitor]) -> None:
    one = visitor(host.address)
    one.see(f'[href*="{name}"]')  # the lobby has all games
    one.page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    host.close()
    one.go(f"#/play/{name}")
    moves = play_out(one, name)
    assert State(make(name)).play_line(moves).is_over
    one.page.reload()  # the table is kept
    one.wait_for_ply(len(moves))
    one.see(".status.over .result")


def test_one_file_from_the_disk(tmp_path: Path, published: Site, net: str, visitor: Callable[..., Visitor]) -> None:
    file = tmp_path / "game.html"
    file.write_bytes(site([make("tic_tac_toe")], [net], single_file=True).files["index.html"])
    one = visitor(file.as_uri())
    assert one.page.title().startswith("Tic-tac-toe")
    moves = play_out(one, "tic_tac_toe")  # it begins at the board of its only game
    assert State(make("tic_tac_toe")).play_line(moves).is_over


def test_a_net_plays_in_a_worker(host: Host, visitor: Callable[..., Visitor]) -> None:
    one = visitor(host.address, "#/play/tic_tac_toe")
    one.wait_for_ply(0)
    changed = {**table(one), "seats": [{"kind": "person"}, {"kind": "agent", "agent": "zero(simulations=20)"}]}
    one.page.evaluate("body => (localStorage[`meijin-table-${body.id}`] = JSON.stringify(body))", changed)
    one.page.reload()
    moves = play_out(one, "tic_tac_toe")
    assert len(moves) >= 5
    assert any(ply[2] is not None for ply in table(one)["plies"])  # what the net expected


def test_a_phone(host: Host, visitor: Callable[..., Visitor]) -> None:
    one = visitor(host.address, "#/play/tic_tac_toe", width=390)
    one.wait_for_ply(0)
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    play_out(one, "tic_tac_toe")


def test_a_link_in_a_second_browser(host: Host, visitor: Callable[..., Visitor]) -> None:
    one = visitor(host.address, "#/play/tic_tac_toe")
    play_out(one, "tic_tac_toe")
    one.menu("Share")
    link = one.see('input[aria-label="The game so far"]').input_value()
    labels = "() => [...document.querySelectorAll('.board [data-cell]')].map((cell) => cell.ariaLabel)"
    other = visitor(host.address, link.removeprefix(host.address))
    other.wait_for_ply(one.ply)
    assert other.page.evaluate(labels) == one.page.evaluate(labels)


def test_a_notebook_exported_to_html(tmp_path: Path, visitor: Callable[..., Visitor]) -> None:
    state = State(make("tic_tac_toe")).play_line("b2")
    shown = board(state, agents=["random", None])
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><title>Notebook</title><div>{shown._repr_html_()}</div>", encoding="utf-8")
    one = visitor(file.as_uri())
    frame = one.page.frame_locator("iframe")
    frame.locator('.stage[data-ply="1"]').wait_for()
    frame.locator('[data-cell="0"]').click()
    frame.locator('.stage[data-ply="3"]').wait_for()  # the agent has answered


@pytest.mark.parametrize(
    ("script", "said"),
    [("delete WebAssembly", "has no WebAssembly"), ("WebAssembly.validate = () => false", "no SIMD instructions")],
)
def test_a_browser_that_cannot_play_says_why(
    host: Host, visitor: Callable[..., Visitor], script: str, said: str
) -> None:
    assert said in visitor(host.address, script=script).read("main.notice")


def test_a_file_that_is_missing_is_named(folder: Path, host: Host, visitor: Callable[..., Visitor]) -> None:
    index = json.loads((folder / "games" / "index.json").read_text())
    (gone,) = (each["file"] for game in index["games"] for each in game["sets"] if game["name"] == "chomp")
    (folder / "games" / gone).rename(folder / gone)
    one = visitor(host.address, "#/play/chomp")
    assert f"{gone} is missing on this site" in one.read("main.notice")
    one.faults.clear()  # the browser reports the failed request
    (folder / gone).rename(folder / "games" / gone)
