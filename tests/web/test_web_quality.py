"""What must hold on every page: nothing that axe-core calls serious, and a small first page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe import AXE, faults
from hands import Visitor

from serving import Server

Visit = Callable[..., Visitor]
FIRST_PAGE = 300_000  # bytes, as they are sent
DIALOGS = ("New game", "Share", "Import or export", "Settings")


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: npm ci --prefix tools/web")
@pytest.mark.parametrize("theme", ["light", "dark", "wood"])
def test_axe_finds_nothing_serious(theme: str, server: Server, visit: Visit) -> None:
    visitor = visit("")
    visitor.page.evaluate("theme => localStorage.setItem('meijin', JSON.stringify({theme}))", theme)
    table = server.post("tables", game="minishogi")
    over = server.post("tables", game="tic_tac_toe", moves=[0, 3, 1, 4, 2])
    pages = {"": ".card .board"} | {f"#/table/{each['id']}": ".stage .board" for each in (table, over)}
    if theme == "light":
        more = {"arena": ".page-head", "training": ".page-head", "designer": ".explorer .board"}
        pages = {f"#/{name}": there for name, there in more.items()} | pages
    for address, there in pages.items():
        visitor.go(address)
        visitor.see(there)
        assert faults(visitor, only="" if theme == "light" else "color-contrast") == [], f"{address} in {theme}"
    if theme == "light":
        for name in DIALOGS:
            visitor.menu(name)
            visitor.page.get_by_role("dialog").wait_for()
            assert faults(visitor, "dialog") == [], name
            visitor.page.keyboard.press("Escape")
            visitor.page.get_by_role("dialog").wait_for(state="hidden")
        for name in ("Look inside", "Rules"):
            visitor.page.get_by_role("tab", name=name).click()
            assert faults(visitor, ".panel") == [], name


def test_the_first_page_is_small(visit: Visit) -> None:
    visitor = visit(own=True)
    answered: list[Any] = []
    visitor.page.on("requestfinished", lambda request: answered.append(request))  # noqa: PLW0108 - Playwright wants a function of Python
    visitor.go("")
    visitor.see(".card:nth-child(3) .board")
    visitor.page.wait_for_load_state("networkidle")
    sizes = [request.sizes() for request in answered]
    assert len(sizes) > 10  # the page's own files are among them
    assert sum(each["responseBodySize"] + each["responseHeadersSize"] for each in sizes) < FIRST_PAGE
