"""The server's page with games compiled for the browser: the page looks and searches itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest
from hands import CHOMP, Visitor

from meijin.web.server.settings import Limits
from serving import Server, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("both")
    shutil.copyfile(CHOMP, folder / CHOMP.name)
    with serving(folder / "data", load=(folder / CHOMP.name,), modules=True, limits=Limits(check_games=0)) as found:
        yield found


def test_the_page_searches_and_shows_moves_itself(server: Server, visit: Callable[..., Visitor]) -> None:
    assert server.get("features")["modules"]
    server.get("module", game="tic_tac_toe")  # compiled, so that the page has it at once
    asked: list[str] = []
    table = server.post("tables", game="tic_tac_toe", seats=[{"kind": "person"}, {"kind": "person"}])
    visitor = visit()

    def hear(sent: str) -> None:
        asked.append(sent)

    visitor.page.on("websocket", lambda socket: socket.on("framesent", hear))
    with visitor.page.expect_response("**/api/module*"):
        visitor.at_table(table)
    visitor.page.on("request", lambda request: asked.append(request.url))
    visitor.play(server.get("description", game="tic_tac_toe"), 4)
    for _ in range(500):  # the page shows the move before the server has it
        if stored := server.get(f"tables/{table['id']}", key=table["keys"]["host"])["moves"]:
            break
        visitor.page.wait_for_timeout(20)
    assert stored == [4]
    visitor.page.get_by_role("tab", name="Look inside").click()
    visitor.page.get_by_label("Agent that looks at the position", exact=True).select_option("mcts")
    visitor.click("#analyse")
    visitor.see(".inside table")
    assert any('"play"' in text for text in asked)
    assert not [text for text in asked if "/api/look" in text or '"analyse"' in text]


def test_games_of_the_servers_own_files_stay_there(server: Server, visit: Callable[..., Visitor]) -> None:
    assert server.get("module", game="chomp") is None
    visitor = visit()  # whose console must stay empty
    with visitor.page.expect_response("**/api/module*"):
        visitor.at_table(server.post("tables", game="chomp", seats=[{"kind": "person"}, {"kind": "person"}]))
