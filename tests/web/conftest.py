"""A real browser in front of a real server: one of each for all tests here.

Whatever a page does, three things fail the test that opened it: a request to another origin, an error on the console,
and an exception or rejected promise that nobody handled.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hands import CHOMP, Visitor
from serving import Server, serving

pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")

CHROMIUM = os.environ.get("MEIJIN_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With `examples/chomp.py`, as a copy that tests may change."""
    folder = tmp_path_factory.mktemp("web")
    own = folder / CHOMP.name
    shutil.copyfile(CHOMP, own)
    with serving(folder / "data", load=(own,)) as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        try:
            made = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, "--no-first-run"])
        except Error as error:
            pytest.skip(f"needs Chromium, at MEIJIN_CHROMIUM or by `playwright install chromium`: {error}")
        yield made
        made.close()


@pytest.fixture
def visit(browser: Any, server: Server) -> Iterator[Callable[..., Visitor]]:
    """Open a page of the app in a browser of its own: `visit("#/play/hex", width=390)`."""
    made: list[Visitor] = []

    def open_page(address: str = "", *, width: int = 1280, height: int = 800, **options: Any) -> Visitor:
        context = browser.new_context(
            viewport={"width": width, "height": height}, has_touch=width < 600, reduced_motion="reduce", **options
        )
        context.set_default_timeout(30_000)
        made.append(Visitor(context, f"http://{server.address}/"))
        made[-1].go(address)
        return made[-1]

    yield open_page
    for visitor in made:
        visitor.context.close()
    for visitor in made:
        assert visitor.faults == []
