"""A real browser in front of a real server: one server for all tests here, one browser for each file.

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

from meijin.agents.catalogue import agents
from meijin.core.catalogue import games
from meijin.core.registry import load_file
from meijin.web.server.settings import Limits
from serving import Server, serving

pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")

WAIT = 180_000  # milliseconds: a page may wait for several kernels to be compiled, on a machine that is busy
CHROMIUM = os.environ.get("MEIJIN_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
# The pages that Chromium prepares below the address bar of every window cost more than most of ours.
NO_BAR = "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup"


@pytest.fixture(autouse=True, scope="module")
def _example() -> None:
    """The example is in the catalogue."""
    load_file(CHOMP, games, agents)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With `examples/chomp.py`, as a copy that tests may change; it is not checked, which compiles a search for it."""
    folder = tmp_path_factory.mktemp("web")
    own = folder / CHOMP.name
    shutil.copyfile(CHOMP, own)
    with serving(folder / "data", load=(own,), limits=Limits(check_games=0)) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Closed after each file: Playwright's event loop would be in the way of other tests that need one."""
    from playwright.sync_api import Error, expect, sync_playwright

    expect.set_options(timeout=WAIT)

    with sync_playwright() as playwright:
        try:
            made = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, NO_BAR, "--no-first-run"])
        except Error as error:
            pytest.skip(f"needs Chromium, at MEIJIN_CHROMIUM or by `playwright install chromium`: {error}")
        yield made
        made.close()


@pytest.fixture(scope="module")
def contexts(browser: Any) -> Callable[..., Any]:
    """A browser with a cache of its own; one for each width is enough for most tests."""
    made: dict[tuple[int, int], Any] = {}

    def find(width: int, height: int, own: bool) -> Any:
        if own or (width, height) not in made:
            size, touch = {"width": width, "height": height}, width < 600
            context = browser.new_context(viewport=size, has_touch=touch, reduced_motion="reduce")
            context.set_default_timeout(WAIT)
            if own:
                return context
            made[width, height] = context
        return made[width, height]

    return find


@pytest.fixture
def visit(contexts: Callable[..., Any], server: Server) -> Iterator[Callable[..., Visitor]]:
    """Open a page of the app: `visit("#/play/hex", width=390)`; with `own`, in a browser of its own.

    Without an address nothing is loaded yet: most tests go straight to a table.
    """
    made: list[tuple[Visitor, bool]] = []

    def open_page(address: str | None = None, *, width: int = 1280, height: int = 800, own: bool = False) -> Visitor:
        visitor = Visitor(contexts(width, height, own), f"http://{server.address}/")
        made.append((visitor, own))
        if address is not None:
            visitor.go(address)
        return visitor

    yield open_page
    for visitor, own in made:
        visitor.page.evaluate("localStorage.clear()")
        if own:
            visitor.context.close()
        else:
            visitor.page.close()
    for visitor, _ in made:
        assert visitor.faults == []
