"""What a person sees in a real browser: how soon the page can be used, how soon a move is drawn, how smooth it stays.

    python benchmarks/page.py [--moves 200]

Needs Playwright and Chromium (MEIJIN_CHROMIUM names it). The server, the browser and this script share the machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
from typing import Any

import httpx
from common import machine
from playwright.sync_api import Page, sync_playwright

from web import server

CHROMIUM = os.environ.get("MEIJIN_CHROMIUM") or shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
MOVES = [3] * 6 + [2] * 6 + [5] * 2  # of Connect Four, by column: nobody wins

# From the press of the button to the first frame after the board has another ply.
WATCH = """
() => {
  window.spans = [];
  let pressed = 0;
  addEventListener("pointerdown", () => (pressed = performance.now()), true);
  const stage = document.querySelector(".stage");
  new MutationObserver(() => {
    const began = pressed;
    if (began) requestAnimationFrame(() => spans.push(performance.now() - began));
    pressed = 0;
  }).observe(stage, { attributes: true, attributeFilter: ["data-ply"] });
}
"""
FRAMES = """
async () => {
  const times = [];
  let last = performance.now();
  const end = last + 5000;
  await new Promise((done) => {
    const next = (now) => {
      times.push(now - last);
      last = now;
      now < end ? requestAnimationFrame(next) : done();
    };
    requestAnimationFrame(next);
  });
  return times;
}
"""


def first_page(page: Page, address: str) -> None:
    """The first visit: nothing is in the browser's cache."""
    sizes: list[int] = []
    page.on(
        "requestfinished",
        lambda request: sizes.append(sum(map(request.sizes().get, ("responseBodySize", "responseHeadersSize")))),
    )  # type: ignore[arg-type]
    page.goto(f"http://{address}/")
    page.wait_for_selector("main a[href^='#/play/']")
    usable = page.evaluate("performance.now()")
    page.wait_for_load_state("networkidle")
    print(
        f"first page: {usable:.0f} ms until a game can be chosen; {sum(sizes) / 1000:.0f} kB in {len(sizes)} requests"
    )


def clicks(page: Page, address: str, moves: int) -> None:
    spans: list[float] = []
    while len(spans) < moves:
        people = [{"kind": "person"}, {"kind": "person"}]
        made = httpx.post(f"http://{address}/api/tables", json={"game": "connect_four", "seats": people}).json()
        page.goto(f"http://{address}/#/table/{made['id']}?key={made['keys']['host']}")
        page.wait_for_selector(f".stage[data-ply='0'] [data-cell='{MOVES[0]}']")
        page.evaluate(WATCH)
        for ply, column in enumerate(MOVES, 1):
            page.locator(f"[data-cell='{column}']").first.click()
            page.wait_for_selector(f".stage[data-ply='{ply}']")
        page.wait_for_timeout(50)
        spans += page.evaluate("spans")
    ordered = sorted(spans)
    print(
        f"click to the move drawn: median {statistics.median(spans):.1f} ms, "
        f"p95 {ordered[int(0.95 * len(ordered))]:.1f} ms, of {len(spans)}"
    )


def frames(page: Page, address: str) -> None:
    """While an agent's opinion streams onto a board of 19 x 19."""
    line = [60, 72, 288, 300, 180, 61, 79]
    made = httpx.post(f"http://{address}/api/tables", json={"game": "go(size=19)", "moves": line}, timeout=60).json()
    page.goto(f"http://{address}/#/table/{made['id']}?key={made['keys']['host']}")
    page.wait_for_selector(f".stage[data-ply='{len(line)}']")
    page.get_by_role("tab", name="Look inside").click()
    page.click("#analyse")
    page.wait_for_selector(".report")
    times = sorted(page.evaluate(FRAMES))
    print(
        f"19 x 19 Go, opinions streaming: {len(times) / 5:.0f} frames per second, "
        f"p95 {times[int(0.95 * len(times))]:.1f} ms, longest {times[-1]:.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=200)
    options = parser.parse_args()
    print(machine())
    with server() as (address, _), sync_playwright() as playwright:
        browser: Any = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)

        def fresh() -> Page:
            return browser.new_context(viewport={"width": 1280, "height": 800}).new_page()  # type: ignore[no-any-return]

        first_page(fresh(), address)
        clicks(fresh(), address, options.moves)
        frames(fresh(), address)
        browser.close()


if __name__ == "__main__":
    main()
